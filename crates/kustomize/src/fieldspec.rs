//! Field specs: which field of which kinds a transformer changes (§7.1).

mod set;
mod walk;

pub(crate) use set::{set_scalar, set_string_entry};
pub(crate) use walk::{CompiledSpecs, Creation, FieldPath, split_slash_path};

use crate::id::Gvk;

/// A path in resources of a kind (KZ-701).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldSpec {
    /// API group; empty matches every group.
    pub group: String,
    /// API version; empty matches every version.
    pub version: String,
    /// Kind; empty matches every kind.
    pub kind: String,
    /// Slash path of the field; `[]` behind a part means that it must be a list, `\/` is a slash.
    pub path: String,
    /// Missing fields are made.
    pub create: bool,
}

/// Two specs for one field that disagree about creating it (KZ-704).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("conflicting fieldspecs")]
pub struct ConflictingFieldSpecs;

impl FieldSpec {
    /// The kinds that the spec is for.
    pub(crate) fn gvk(&self) -> Gvk<'_> {
        Gvk { group: &self.group, version: &self.version, kind: &self.kind }
    }
}

/// Adds specs to a set; what is there already stays (KZ-704).
///
/// # Errors
/// A spec is there with another `create`.
pub(crate) fn merge_all(
    specs: &mut Vec<FieldSpec>,
    incoming: impl IntoIterator<Item = FieldSpec>,
) -> Result<(), ConflictingFieldSpecs> {
    for spec in incoming {
        merge_one(specs, spec)?;
    }
    Ok(())
}

/// Adds one spec to a set.
pub(crate) fn merge_one(specs: &mut Vec<FieldSpec>, spec: FieldSpec) -> Result<(), ConflictingFieldSpecs> {
    let present =
        specs.iter().find(|known| known.path == spec.path && known.gvk().is_selected_by(spec.gvk()));
    match present {
        Some(known) if known.create != spec.create => Err(ConflictingFieldSpecs),
        Some(_) => Ok(()),
        None => {
            specs.push(spec);
            Ok(())
        }
    }
}
