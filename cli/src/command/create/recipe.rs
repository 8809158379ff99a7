//! The recipes: what `weir create` takes for each kind, and what it makes of it (cli.md 5.1).

mod helmrelease;
mod image;
mod kustomization;
mod notification;
mod source;

use serde_json::{Map, Value};

pub(crate) use self::kustomization::below;
pub(super) use self::notification::RECEIVER_TYPE;
pub(super) use self::source::FETCH_TIMEOUT;
use super::flag::{Flag, Flags, duration};
use crate::error::Error;
use crate::kind::Kind;

/// A spec in the making.
pub(super) type Spec = Map<String, Value>;

/// A kind that can be made.
#[derive(Debug)]
pub(super) struct Recipe {
    /// Kind.
    kind: &'static str,
    /// An example of its flags.
    pub(super) example: &'static str,
    /// Its flags, which are also what of the spec they fill.
    pub(super) flags: &'static [&'static [Flag]],
    /// Checks the flags, and adds to the spec what no flag says alone.
    pub(super) complete: fn(&Flags<'_>, &mut Spec) -> Result<(), Error>,
}

/// All recipes.
static RECIPES: [&Recipe; 13] = [
    &source::GIT,
    &source::OCI,
    &source::BUCKET,
    &source::HELM,
    &source::CHART,
    &kustomization::KUSTOMIZATION,
    &helmrelease::HELM_RELEASE,
    &image::REPOSITORY,
    &image::POLICY,
    &image::UPDATE,
    &notification::ALERT,
    &notification::PROVIDER,
    &notification::RECEIVER,
];

impl Recipe {
    /// The recipe of a kind; nothing for kinds that only services make.
    pub(super) fn of(kind: &Kind) -> Option<&'static Self> {
        RECIPES.iter().find(|recipe| recipe.kind == kind.name).copied()
    }
}

/// The interval, for all kinds. Each of them says by itself what holds without the flag.
pub(super) const ANY_INTERVAL: &[Flag] = &[duration("interval", "", "Time between reconciliations")];

/// The interval, for kinds that have one in their spec.
const INTERVAL: &[Flag] = &[duration("interval", "/interval", "Time between reconciliations").or("1m")];

/// The interval, for objects that have no use for it.
pub(super) const UNUSED_INTERVAL: &[Flag] =
    &[duration("interval", "", "Taken for compatibility").or("1m").hidden()];

/// Refuses a combination of flags.
fn refuse<T>(reason: impl Into<String>) -> Result<T, Error> {
    Err(Error::Flags(reason.into()))
}
