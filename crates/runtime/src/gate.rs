//! Feature gates: `--feature-gates=Name=true,Other=false` over a service's table of defaults.

use std::collections::{BTreeMap, BTreeSet};

use crate::args::{ArgsError, on_or_off};

/// Gate of the services that log in to clouds: whether objects act with the identities of ServiceAccounts that they name
/// (SRC-CLD-2).
pub const WORKLOAD_IDENTITY: &str = "ObjectLevelWorkloadIdentity";

/// Returns the message of a refusal while [`WORKLOAD_IDENTITY`] is off. `usage` completes "to use … authentication".
pub fn workload_identity_needed(usage: &str) -> String {
    format!(
        "to use {usage} authentication please enable the {WORKLOAD_IDENTITY} feature gate in the controller"
    )
}

/// The gates of one service with their values in force.
#[derive(Debug, Clone, Default)]
pub struct Gates {
    values: BTreeMap<&'static str, bool>,
    /// Those that the flag names.
    given: BTreeSet<String>,
}

impl Gates {
    /// Takes the service's `(name, default)` table and applies the flag to it (FLG-01).
    ///
    /// # Errors
    /// When the flag is malformed or names an unknown gate.
    pub fn parse(table: &[(&'static str, bool)], flag: &str) -> Result<Self, ArgsError> {
        let mut values: BTreeMap<_, _> = table.iter().copied().collect();
        let mut given = BTreeSet::new();
        for entry in flag.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let syntax = || ArgsError::FeatureGateSyntax(entry.to_owned());
            let (name, value) = entry.split_once('=').ok_or_else(syntax)?;
            let (name, value) = (name.trim(), value.trim());
            let gate = values.get_mut(name).ok_or_else(|| ArgsError::FeatureGate(name.to_owned()))?;
            *gate = on_or_off(value).ok_or_else(syntax)?;
            given.insert(name.to_owned());
        }
        Ok(Self { values, given })
    }

    /// Returns true when the gate is on; a gate the service does not have is off.
    pub fn enabled(&self, name: &str) -> bool {
        self.values.get(name).copied().unwrap_or(false)
    }

    /// Returns true when the flag names a gate.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains(name)
    }

    /// Returns true when the flag turns a gate off, whatever its default is.
    pub fn turned_off(&self, name: &str) -> bool {
        self.given.contains(name) && !self.enabled(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[(&str, bool)] = &[("Strict", true), ("Extra", false)];

    #[test]
    fn the_flag_overrides_defaults() {
        let gates = Gates::parse(TABLE, "Extra = T, Strict=False").unwrap();
        assert!(gates.enabled("Extra") && !gates.enabled("Strict"));
        assert!(gates.turned_off("Strict") && !gates.turned_off("Extra"));
        assert!(
            !Gates::parse(TABLE, "").unwrap().turned_off("Extra"),
            "its default is no word of the operator"
        );
    }

    #[test]
    fn unknown_gates_are_named() {
        let error = Gates::parse(TABLE, "Nope=true").unwrap_err();
        assert_eq!(error.to_string(), "feature-gate 'Nope' not supported");
    }
}
