//! Fields of built-in kinds that say nothing. Flux reads these kinds into Go's types and forgets such fields; applied, they would
//! take away from others what those fill in (KS-SSA-3).

use serde_json::{Map, Value};

/// Fields whose keys people choose: there, null and nothing are values that the server judges.
const FREE_KEYS: [&str; 10] = [
    "annotations",
    "hard",
    "labels",
    "limits",
    "matchLabels",
    "nodeSelector",
    "options",
    "parameters",
    "requests",
    "volumeAttributes",
];

/// The same, for the whole of an object.
const FREE_PARTS: [&str; 5] = ["binaryData", "data", "metadata", "parameters", "stringData"];

/// A Deployment of `type: Recreate` must not have it, and null is how people take away what the server has filled in.
const REMOVED_BY_NULL: &str = "rollingUpdate";

/// Groups in whose types the names below stand for pointers, to which nothing is a value.
const OTHER_TYPES: [&str; 3] = ["discovery.k8s.io", "flowcontrol.apiserver.k8s.io", "resource.k8s.io"];

/// Fields of one kind and name that mean something else elsewhere.
const OF_ONE_KIND: [(&str, &str, &str, &str); 3] = [
    ("", "Secret", "", "type"),
    ("", "Service", "/spec", "type"),
    ("", "PersistentVolumeClaim", "/spec", "volumeName"),
];

/// Lists and maps that are no pointers and have `omitempty` wherever they stand.
const LISTS: [&str; 51] = [
    "args",
    "clusterIPs",
    "command",
    "egress",
    "env",
    "envFrom",
    "externalIPs",
    "from",
    "hostAliases",
    "hosts",
    "httpHeaders",
    "imagePullSecrets",
    "ingress",
    "initContainers",
    "ipFamilies",
    "items",
    "loadBalancerSourceRanges",
    "matchConditions",
    "matchExpressions",
    "matchFields",
    "matchLabelKeys",
    "metrics",
    "mountOptions",
    "nameservers",
    "operations",
    "policies",
    "policyTypes",
    "ports",
    "preferredDuringSchedulingIgnoredDuringExecution",
    "readinessGates",
    "resourceNames",
    "rules",
    "schedulingGates",
    "scopes",
    "searches",
    "secrets",
    "subjects",
    "supplementalGroups",
    "sysctls",
    "taints",
    "tls",
    "to",
    "tolerations",
    "topologySpreadConstraints",
    "validations",
    "variables",
    "volumeClaimTemplates",
    "volumeDevices",
    "volumeMounts",
    "volumes",
    "webhooks",
];
const MAPS: [&str; 5] = ["limits", "matchLabels", "nodeSelector", "requests", "volumeAttributes"];

/// Texts, numbers and flags of the same sort.
const TEXTS: [&str; 24] = [
    "caBundle",
    "clusterIP",
    "concurrencyPolicy",
    "dnsPolicy",
    "externalName",
    "externalTrafficPolicy",
    "hostIP",
    "hostname",
    "imagePullPolicy",
    "loadBalancerIP",
    "medium",
    "nodeName",
    "persistentVolumeReclaimPolicy",
    "podManagementPolicy",
    "priorityClassName",
    "schedulerName",
    "serviceAccount",
    "serviceAccountName",
    "sessionAffinity",
    "subPath",
    "subdomain",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "workingDir",
];
const NUMBERS: [&str; 7] = [
    "failureThreshold",
    "healthCheckNodePort",
    "hostPort",
    "initialDelaySeconds",
    "minReadySeconds",
    "nodePort",
    "successThreshold",
];
const FLAGS: [&str; 10] = [
    "globalDefault",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "paused",
    "publishNotReadyAddresses",
    "stdin",
    "stdinOnce",
    "tty",
    "unschedulable",
];

/// Kinds whose selector is a map of labels.
const WITH_LABELS: [&str; 2] = ["ReplicationController", "Service"];

/// Drops them from an object of a built-in kind.
pub(super) fn drop(object: &mut Value, group: &str, kind: &str) {
    for (of_group, of_kind, path, field) in OF_ONE_KIND {
        if (of_group, of_kind) == (group, kind)
            && let Some(holder) = object.pointer_mut(path).and_then(Value::as_object_mut)
            && holder.get(field).and_then(Value::as_str) == Some("")
        {
            holder.shift_remove(field);
        }
    }
    let fields = Fields {
        are_known: !OTHER_TYPES.contains(&group),
        selects_labels: group.is_empty() && WITH_LABELS.contains(&kind),
    };
    let Some(object) = object.as_object_mut() else { return };
    fields.drop_from(object);
    let parts = object.iter_mut().filter(|(key, _)| !FREE_PARTS.contains(&key.as_str()));
    parts.for_each(|(_, part)| fields.drop_below(part));
}

/// Knowledge about the fields of a kind.
struct Fields {
    are_known: bool,
    selects_labels: bool,
}

impl Fields {
    fn drop_below(&self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                self.drop_from(map);
                let is_free = |key: &str| FREE_KEYS.contains(&key) || self.is_selector(key);
                let parts = map.iter_mut().filter(|(key, _)| !is_free(key));
                parts.for_each(|(_, part)| self.drop_below(part));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.drop_below(item)),
            _ => {}
        }
    }

    /// Nulls say nothing anywhere: `replicas: null` leaves the replicas to a scaler, where the server would set them back to its
    /// default.
    fn drop_from(&self, map: &mut Map<String, Value>) {
        map.retain(|key, value| match value {
            Value::Null => key == REMOVED_BY_NULL,
            _ if !self.are_known => true,
            Value::Array(list) => !list.is_empty() || !LISTS.contains(&key.as_str()),
            Value::Object(map) => !map.is_empty() || !(MAPS.contains(&key.as_str()) || self.is_selector(key)),
            Value::String(text) => !text.is_empty() || !TEXTS.contains(&key.as_str()),
            Value::Number(number) => number.as_i64() != Some(0) || !NUMBERS.contains(&key.as_str()),
            Value::Bool(flag) => *flag || !FLAGS.contains(&key.as_str()),
        });
    }

    fn is_selector(&self, key: &str) -> bool {
        self.selects_labels && key == "selector"
    }
}
