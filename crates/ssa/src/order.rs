//! The order in which objects are applied; deletion is the reverse (KS-SSA-14, KS-GC-1).

use std::cmp::Ordering;

use crate::ObjectId;

/// Kinds that others need, before these others.
const FIRST: [&str; 23] = [
    "CustomResourceDefinition",
    "Namespace",
    "ClusterRole",
    "ClusterClass",
    "RuntimeClass",
    "PriorityClass",
    "StorageClass",
    "VolumeSnapshotClass",
    "IngressClass",
    "GatewayClass",
    "ClusterRoleBinding",
    "ResourceQuota",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ConfigMap",
    "Secret",
    "Service",
    "LimitRange",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

/// Rank of the first kind that nothing else needs to be deleted: a ConfigMap.
const ORDINARY: usize = 15;

/// Kinds that may refuse the others, after them.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Compares two objects by the order in which they are applied.
pub fn by_apply_order(a: &ObjectId, b: &ObjectId) -> Ordering {
    key(a).cmp(&key(b))
}

/// The sort key of an object: rank of its kind, then group, kind, namespace and name.
pub(crate) fn key(id: &ObjectId) -> (usize, &str, &str, &str, &str) {
    (rank(&id.kind), &id.group, &id.kind, &id.namespace, &id.name)
}

/// Returns the wave of deletions of an object: it goes after the objects that may need it. Ordinary objects are one wave; before
/// them go webhooks, which may refuse deletions, and after them, kind by kind, rights, accounts, places and kinds.
pub(crate) fn wave(id: &ObjectId) -> usize {
    match rank(&id.kind) {
        rank if (ORDINARY..=FIRST.len()).contains(&rank) => ORDINARY,
        rank => rank,
    }
}

fn rank(kind: &str) -> usize {
    let first = FIRST.iter().position(|known| *known == kind);
    let last = || LAST.iter().position(|known| *known == kind).map(|place| FIRST.len() + 1 + place);
    first.or_else(last).unwrap_or(FIRST.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_objects_are_deleted_at_once_and_before_what_they_need() {
        let wave = |kind: &str| wave(&format!("n_a_x_{kind}").parse().unwrap());
        assert_eq!(rank("ConfigMap"), ORDINARY);
        assert_eq!(wave("Deployment"), wave("ConfigMap"));
        assert_eq!(wave("Deployment"), wave("Anything"));
        assert!(wave("ValidatingWebhookConfiguration") > wave("Anything"));
        for (first, then) in
            [("Secret", "RoleBinding"), ("RoleBinding", "ServiceAccount"), ("Role", "Namespace")]
        {
            assert!(wave(first) > wave(then), "{first}");
        }
    }

    #[test]
    fn kinds_that_others_need_come_first_and_webhooks_last() {
        let mut ids: Vec<ObjectId> = [
            "__v_ValidatingWebhookConfiguration",
            "n_b_networking.k8s.io_NetworkPolicy",
            "n_b_autoscaling_HorizontalPodAutoscaler",
            "n_d_apps_Deployment",
            "n_b__ConfigMap",
            "n_a__ConfigMap",
            "_n__Namespace",
            "_m_x_MutatingWebhookConfiguration",
        ]
        .iter()
        .filter_map(|id| id.replace("__v_", "_v_x_").parse().ok())
        .collect();
        ids.sort_by(|a, b| key(a).cmp(&key(b)));
        let order: Vec<String> = ids.iter().map(ObjectId::subject).collect();
        assert_eq!(
            order.join(" "),
            "Namespace/n ConfigMap/n/a ConfigMap/n/b Deployment/n/d HorizontalPodAutoscaler/n/b \
             NetworkPolicy/n/b MutatingWebhookConfiguration/m ValidatingWebhookConfiguration/v"
        );
    }
}
