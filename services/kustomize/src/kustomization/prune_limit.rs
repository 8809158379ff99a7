//! A limit to what one run may prune, so that an emptied folder does not empty a cluster (docs/adr/0017). Pure.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};
use weir_api::Kustomization;
use weir_ssa::{Entry, ObjectId};

/// Annotation with the limit of one Kustomization; it replaces the limit of the flag.
const LIMIT: &str = "kustomize.weir.dev/prune-limit";

/// Annotation of a Kustomization that allows one refused prune: its value is the token that the condition names.
const CONFIRM: &str = "kustomize.weir.dev/confirm-prune";

/// Smallest inventory that a percentage applies to. One object of two is already half of them.
const MIN_INVENTORY: usize = 10;

/// Objects named in a message; conditions are read by people.
const MAX_NAMED: usize = 20;

/// Hexadecimal digits of a token. It distinguishes confirmations and need not be secret.
const TOKEN_DIGITS: usize = 12;

/// Kinds whose deletion takes with it what no manifest can bring back.
const GUARDED: [(&str, &str); 3] =
    [("", "Namespace"), ("", "PersistentVolumeClaim"), ("apiextensions.k8s.io", "CustomResourceDefinition")];

/// The most that one run may prune without a confirmation. Without either part there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PruneLimit {
    objects: Option<usize>,
    percent: Option<usize>,
}

/// A text that is no limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a number of objects, a percentage up to 100%, both with a comma between them, or none")]
pub(crate) struct LimitError(String);

impl FromStr for PruneLimit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let error = || LimitError(text.to_owned());
        let mut limit = Self::default();
        if text == "none" {
            return Ok(limit);
        }
        for part in text.split(',') {
            let part = part.trim();
            let (field, digits) = match part.strip_suffix('%') {
                Some(digits) => (&mut limit.percent, digits),
                None => (&mut limit.objects, part),
            };
            if field.replace(digits.parse().map_err(|_| error())?).is_some() {
                return Err(error());
            }
        }
        if limit.percent.is_some_and(|percent| percent > 100) { Err(error()) } else { Ok(limit) }
    }
}

impl fmt::Display for PruneLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [self.objects.map(|n| n.to_string()), self.percent.map(|percent| format!("{percent}%"))];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(" or "))
    }
}

/// A prune that somebody's manifests ask for.
pub(crate) struct Asked<'a> {
    /// Objects in the inventory.
    inventory: usize,
    /// Those of them that are no longer wanted.
    stale: &'a [Entry],
    /// The revision that had them. It stays the same until the prune went through.
    from: &'a str,
    /// Value of the annotation with the limit.
    limit: Option<&'a str>,
    /// Value of the annotation that confirms.
    confirmed: Option<&'a str>,
}

impl<'a> Asked<'a> {
    /// Gathers what [`decide`] looks at.
    pub(crate) fn of(kustomization: &'a Kustomization, inventory: usize, stale: &'a [Entry]) -> Self {
        let [limit, confirmed] = marks(kustomization);
        let status = kustomization.status.as_ref();
        let from = status.and_then(|status| status.last_applied_revision.as_deref()).unwrap_or_default();
        Self { inventory, stale, from, limit, confirmed }
    }

    /// Returns the value that confirms this prune: another one for other objects, and for the same objects after they have
    /// been pruned and applied again.
    fn token(&self) -> String {
        let mut ids: Vec<String> = self.stale.iter().map(|entry| entry.id.to_string()).collect();
        ids.sort();
        let digest = Sha256::digest([self.from, &ids.join("\n")].join("\n"));
        hex::encode(digest).chars().take(TOKEN_DIGITS).collect()
    }
}

/// Returns the annotations that concern the limit: the limit itself and the confirmation.
pub(crate) fn marks(kustomization: &Kustomization) -> [Option<&str>; 2] {
    let annotations = kustomization.metadata.annotations.as_ref();
    [LIMIT, CONFIRM].map(|key| annotations.and_then(|annotations| annotations.get(key)).map(String::as_str))
}

/// Decides whether a prune may begin; the error is the condition's message.
pub(crate) fn decide(asked: &Asked<'_>, flag: &PruneLimit) -> Result<(), String> {
    let cause = match asked.limit.map(str::parse).unwrap_or(Ok(*flag)) {
        Ok(limit) => excess(asked, limit),
        Err(error) => Some(format!("annotation {LIMIT}: {error}")),
    };
    let token = asked.token();
    match cause {
        Some(cause) if asked.confirmed != Some(&token) => Err(format!(
            "refused to prune {} of {} objects, {cause}: {}; annotate the Kustomization with {CONFIRM}={token} to allow it once",
            asked.stale.len(),
            asked.inventory,
            named(asked.stale),
        )),
        _ => Ok(()),
    }
}

/// Returns the message with which the service would refuse a prune, for those who look before it happens. `flag` is the limit of
/// all Kustomizations as `--prune-limit` has it; one that cannot be read is none, as no service runs with it.
#[must_use]
pub fn prune_refusal(
    kustomization: &Kustomization,
    inventory: usize,
    stale: &[Entry],
    flag: &str,
) -> Option<String> {
    let flag = flag.parse().unwrap_or_default();
    decide(&Asked::of(kustomization, inventory, stale), &flag).err()
}

/// Returns why a prune goes beyond the limit, if it does.
fn excess(asked: &Asked<'_>, limit: PruneLimit) -> Option<String> {
    if limit == PruneLimit::default() {
        return None;
    }
    let stale = asked.stale.len();
    let is_many = limit.objects.is_some_and(|objects| stale > objects);
    let is_large = asked.inventory >= MIN_INVENTORY
        && limit.percent.is_some_and(|percent| stale * 100 > percent * asked.inventory);
    if is_many || is_large {
        return Some(format!("the limit is {limit}"));
    }
    let guarded = asked.stale.iter().find(|entry| is_guarded(&entry.id))?;
    Some(format!("{} is among them", guarded.id.subject()))
}

fn is_guarded(id: &ObjectId) -> bool {
    GUARDED.contains(&(id.group.as_str(), id.kind.as_str()))
}

fn named(entries: &[Entry]) -> String {
    let subjects: Vec<String> = entries.iter().take(MAX_NAMED).map(|entry| entry.id.subject()).collect();
    let more = entries.len().saturating_sub(MAX_NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    subjects.join(", ") + &more
}

#[cfg(test)]
mod tests;
