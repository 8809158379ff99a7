//! The fields of each kind that hold names, sorted by kind so that most resources see only their own.

use std::collections::{HashMap, HashSet};

use crate::config::Config;
use crate::fieldspec::FieldPath;
use crate::id::Gvk;

/// A field that may hold the name of a resource of some kind.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) path: FieldPath,
    group: String,
    version: String,
    target: (String, String, String),
}

impl Lookup {
    /// The kind that is referred to.
    pub(super) fn target(&self) -> Gvk<'_> {
        let (group, version, kind) = &self.target;
        Gvk { group, version, kind }
    }
}

/// All lookups, by the kind of the referrer; each knows its place in the configuration.
#[derive(Debug, Default)]
pub(super) struct Referrers {
    by_kind: HashMap<String, Vec<(usize, Lookup)>>,
}

impl Referrers {
    /// The lookups for resources of these kinds: few builds have more than some of the kinds that the configuration knows.
    pub(super) fn new(config: &Config, kinds: &HashSet<String>) -> Self {
        let mut referrers = Self::default();
        let specs = config
            .name_reference
            .iter()
            .flat_map(|reference| reference.referrers.iter().map(move |spec| (reference, spec)));
        let wanted =
            specs.enumerate().filter(|(_, (_, spec))| spec.kind.is_empty() || kinds.contains(&spec.kind));
        for (place, (reference, spec)) in wanted {
            let lookup = Lookup {
                path: FieldPath::new(&spec.path),
                group: spec.group.clone(),
                version: spec.version.clone(),
                target: (reference.group.clone(), reference.version.clone(), reference.kind.clone()),
            };
            referrers.by_kind.entry(spec.kind.clone()).or_default().push((place, lookup));
        }
        referrers
    }

    /// The lookups for resources of a kind, in the order of the configuration.
    pub(super) fn lookups_of(&self, gvk: Gvk<'_>) -> Vec<&Lookup> {
        let mut found: Vec<&(usize, Lookup)> = [gvk.kind, ""]
            .into_iter()
            .filter_map(|kind| self.by_kind.get(kind))
            .flatten()
            .filter(|(_, lookup)| {
                gvk.is_selected_by(Gvk { group: &lookup.group, version: &lookup.version, kind: "" })
            })
            .collect();
        found.sort_by_key(|(place, _)| *place);
        found.into_iter().map(|(_, lookup)| lookup).collect()
    }
}
