//! Warnings about conflicts over objects: with a second Kustomization (KS-TEN-6), or with a controller whose changes are overwritten
//! again and again.

use weir_ssa::{Change, ChangeSet, ObjectId, Owner};

use super::memory::Fight;

/// Reason of the event about objects that belonged to another Kustomization.
const OWNER_CHANGED: &str = "OwnerChanged";
/// Reason of the event about a fight for fields.
const DRIFT_CONTESTED: &str = "DriftContested";
/// Objects named in one warning; more of them help nobody.
const MAX_OBJECTS: usize = 20;

/// The text of a warning event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Warning {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Warning {
    /// Returns true for a warning about objects that belonged to another Kustomization.
    pub(super) fn is_of_owners(&self) -> bool {
        self.reason == OWNER_CHANGED
    }
}

/// The objects in which an apply has set fields back that other field managers had changed.
pub(super) fn contested(changes: &ChangeSet) -> impl Iterator<Item = &ObjectId> {
    changes.0.iter().filter(|change| !change.conflict.managers.is_empty()).map(|change| &change.id)
}

/// Returns the warnings after an apply. `fight` has the objects whose drift was corrected again and again. No warning names an owner that
/// is about to go, as after a rename.
pub(super) fn warnings(
    changes: &ChangeSet,
    fight: Option<&Fight>,
    is_going: impl Fn(&Owner) -> bool,
) -> Vec<Warning> {
    let owners = lines(changes, |change| {
        let owner = change.conflict.owner.as_ref().filter(|owner| !is_going(owner))?;
        Some(format!("{} of Kustomization/{}/{}", change.id.subject(), owner.namespace, owner.name))
    });
    let owners = owners.map(|lines| Warning {
        reason: OWNER_CHANGED,
        message: format!(
            "objects of other Kustomizations were taken over, keep each in one of them only:\n{lines}"
        ),
    });
    let fight = fight.and_then(|fight| {
        let fought = |change: &Change| fight.objects.contains(&change.id).then(|| contest(change));
        Some((fight.pause, lines(changes, fought)?))
    });
    let fight = fight.map(|(pause, lines)| Warning {
        reason: DRIFT_CONTESTED,
        message: format!(
            "others keep changing fields that are set here; name the fields in spec.ignore or take them out of the manifests \
             (the next correction waits {}):\n{lines}",
            weir_api::Duration::from(pause)
        ),
    });
    owners.into_iter().chain(fight).collect()
}

fn contest(change: &Change) -> String {
    let conflict = &change.conflict;
    let managers: Vec<&str> = conflict.managers.iter().map(String::as_str).collect();
    format!("{}: {} by {}", change.id.subject(), conflict.fields.join(", "), managers.join(", "))
}

/// A line for each object that gives one, if any does.
fn lines(changes: &ChangeSet, line: impl Fn(&Change) -> Option<String>) -> Option<String> {
    let lines: Vec<String> = changes.0.iter().filter_map(line).take(MAX_OBJECTS).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_ssa::{Action, Conflict};

    use super::*;

    fn changes(conflict: Conflict) -> ChangeSet {
        let id = "n_web_apps_Deployment".parse().unwrap();
        ChangeSet(vec![Change { id, version: "v1".into(), action: Action::Configured, conflict }])
    }

    #[test]
    fn nobody_is_warned_of_a_single_correction() {
        let conflict = Conflict {
            managers: ["hpa".to_owned()].into(),
            fields: vec!["/spec/replicas".into()],
            ..Conflict::default()
        };
        let changes = changes(conflict);
        assert_eq!(warnings(&changes, None, |_| false), []);
        let fight = Fight { objects: contested(&changes).cloned().collect(), pause: Duration::from_secs(8) };
        let fight = warnings(&changes, Some(&fight), |_| false);
        assert_eq!(fight[0].reason, DRIFT_CONTESTED);
        let expected = "waits 8s):\nDeployment/n/web: /spec/replicas by hpa";
        assert!(fight[0].message.ends_with(expected), "{}", fight[0].message);
    }

    #[test]
    fn a_former_owner_is_named() {
        let owner = Owner { group: "g".into(), name: "other".into(), namespace: "team".into() };
        let changes = changes(Conflict { owner: Some(owner), ..Conflict::default() });
        assert_eq!(warnings(&changes, None, |owner| owner.name == "other"), []);
        let taken = warnings(&changes, None, |_| false);
        assert_eq!(taken[0].reason, OWNER_CHANGED);
        assert!(taken[0].message.ends_with(":\nDeployment/n/web of Kustomization/team/other"));
    }
}
