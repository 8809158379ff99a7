//! The changes made to a manifest before it is sent (KS-SSA-3, KS-SSA-4).
//!
//! The server-side apply schema keys container and Service ports by number *and* protocol. A missing protocol has to be filled
//! in: without it, the second apply of the same manifest would add a second port.

mod unset;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use x509_parser::pem::Pem;

use crate::secret::decoded;
use crate::{Manifest, undeclared};

/// Kinds that have a Pod template, with its place.
const POD_SPECS: [(&str, &str, &str); 7] = [
    ("", "Pod", "/spec"),
    ("apps", "Deployment", "/spec/template/spec"),
    ("apps", "StatefulSet", "/spec/template/spec"),
    ("apps", "DaemonSet", "/spec/template/spec"),
    ("apps", "ReplicaSet", "/spec/template/spec"),
    ("batch", "Job", "/spec/template/spec"),
    ("batch", "CronJob", "/spec/jobTemplate/spec/template/spec"),
];

/// The manifest as it is sent.
pub(crate) fn normalize(manifest: &mut Manifest) {
    let (group, kind) = (manifest.id().group.clone(), manifest.id().kind.clone());
    let is_definition = group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition";
    let is_typed = undeclared::has_type(&group) && !undeclared::is_role(manifest.id());
    let value = manifest.value_mut();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("creationTimestamp");
        // The API server refuses an empty list too.
        if metadata.get("managedFields").is_some_and(is_empty_list) {
            metadata.shift_remove("managedFields");
        }
    }
    if !is_definition && let Some(object) = value.as_object_mut() {
        object.shift_remove("status");
    }
    if is_typed {
        unset::drop(value, &group, &kind);
    }
    match (group.as_str(), kind.as_str()) {
        ("", "Secret") => merge_string_data(value),
        ("", "Service") => {
            default_protocols(value.pointer_mut("/spec"));
            own_target_ports(value);
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => drop_broken_ca_bundle(value),
        ("batch", "Job") => {
            keep_template_metadata(value);
            default_container_protocols(value, &group, &kind);
        }
        ("", "Pod") => {
            keep_resources(value);
            default_container_protocols(value, &group, &kind);
        }
        _ => default_container_protocols(value, &group, &kind),
    }
}

fn is_empty_list(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// Merges `stringData` into `data`: applying it would leave keys behind that are taken out of it later. Null is the empty text, to
/// which variables without a value lead. Any other value that is no text stays, so that the server reports it.
fn merge_string_data(secret: &mut Value) {
    let Some(object) = secret.as_object_mut() else { return };
    let Some(Value::Object(texts)) = object.get("stringData") else { return };
    if !texts.values().all(|text| text.is_string() || text.is_null()) {
        return;
    }
    let texts = texts.clone();
    object.shift_remove("stringData");
    let data = object.entry("data").or_insert_with(|| Value::Object(Map::new()));
    if data.is_null() {
        *data = Value::Object(Map::new());
    }
    let Some(data) = data.as_object_mut() else { return };
    for (key, text) in texts {
        let encoded = STANDARD.encode(text.as_str().unwrap_or_default());
        data.insert(key, Value::String(encoded));
    }
}

/// Sends the metadata of a Job's template even when it is empty, as Flux does. A Job that Flux has applied would lose what the server has put
/// there otherwise, and the server refuses that (KS-API-25).
fn keep_template_metadata(job: &mut Value) {
    if let Some(template) = job.pointer_mut("/spec/template").and_then(Value::as_object_mut) {
        template.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    }
}

/// Sends the resources of each container of a Pod even when they are empty, as Flux does. A Pod that Flux has applied would lose what a
/// LimitRange has put there otherwise, and the server refuses that (KS-API-25).
fn keep_resources(pod: &mut Value) {
    for list in ["containers", "initContainers"] {
        let containers = pod.pointer_mut(&format!("/spec/{list}")).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            container.entry("resources").or_insert_with(|| Value::Object(Map::new()));
        }
    }
}

fn default_container_protocols(value: &mut Value, group: &str, kind: &str) {
    let Some((_, _, path)) =
        POD_SPECS.iter().find(|(of_group, of_kind, _)| (*of_group, *of_kind) == (group, kind))
    else {
        return;
    };
    for list in ["containers", "initContainers"] {
        let containers = value.pointer_mut(&format!("{path}/{list}")).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            default_protocols(Some(container));
        }
    }
}

fn default_protocols(holder: Option<&mut Value>) {
    let ports = holder.and_then(|holder| holder.get_mut("ports")).and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        // Anything else that is no text is for the server to refuse.
        if port.get("protocol").is_none_or(|protocol| protocol.is_null() || protocol == "") {
            port.insert("protocol".to_owned(), Value::String("TCP".to_owned()));
        }
    }
}

/// Says of each port that leads to no other one that it does: without, others could lead it elsewhere for good. Flux's Go type does so;
/// to the server, 0 is the port itself.
fn own_target_ports(service: &mut Value) {
    let ports = service.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        port.entry("targetPort").or_insert_with(|| Value::from(0));
    }
}

/// API servers since 1.31 refuse a bundle that is no certificate; injectors fill it in later.
fn drop_broken_ca_bundle(definition: &mut Value) {
    let Some(config) = definition.pointer_mut("/spec/conversion/webhook/clientConfig") else { return };
    let bundle = config.get("caBundle").and_then(Value::as_str).unwrap_or_default();
    let is_certificate = decoded(bundle).is_some_and(|pem| has_certificate(&pem));
    if !bundle.is_empty()
        && !is_certificate
        && let Some(config) = config.as_object_mut()
    {
        config.shift_remove("caBundle");
    }
}

/// Returns true for PEM text with a certificate in it that can be read.
fn has_certificate(pem: &[u8]) -> bool {
    Pem::iter_from_buffer(pem)
        .flatten()
        .any(|block| block.label == "CERTIFICATE" && block.parse_x509().is_ok())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn normalized(kind: (&str, &str), rest: &Value) -> Value {
        let mut object = json!({"apiVersion": kind.0, "kind": kind.1, "metadata": {"name": "x"}});
        for (key, value) in rest.as_object().unwrap() {
            object[key] = value.clone();
        }
        let mut manifest = Manifest::try_from(object).unwrap();
        normalize(&mut manifest);
        let mut value = manifest.value().clone();
        for key in ["apiVersion", "kind", "metadata"] {
            value.as_object_mut().unwrap().shift_remove(key);
        }
        value
    }

    #[rstest]
    #[case(("v1", "Secret"), json!({"stringData": {"a": "b"}}), json!({"data": {"a": "Yg=="}}))]
    #[case(("v1", "Secret"), json!({"data": {"a": "eA==", "c": "eQ=="}, "stringData": {"a": "b"}}), json!({"data": {"a": "Yg==", "c": "eQ=="}}))]
    #[case(("v1", "Secret"), json!({"stringData": {"a": 1}}), json!({"stringData": {"a": 1}}))]
    #[case(("v1", "Secret"), json!({"stringData": {"a": null, "b": "b"}}), json!({"data": {"a": "", "b": "Yg=="}}))]
    #[case(("v1", "Service"), json!({"spec": {"ports": [{"port": 1}, {"port": 2, "protocol": "UDP", "targetPort": "dns"}]}}),
        json!({"spec": {"ports": [{"port": 1, "protocol": "TCP", "targetPort": 0}, {"port": 2, "protocol": "UDP", "targetPort": "dns"}]}}))]
    #[case(("v1", "Service"), json!({"spec": {"ports": [{"port": 1, "protocol": 6}, {"port": 2, "protocol": ""}]}}), json!({"spec": {"ports": [{"port": 1, "protocol": 6, "targetPort": 0}, {"port": 2, "protocol": "TCP", "targetPort": 0}]}}))]
    #[case(("batch/v1", "CronJob"), json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": {"containers": [{"ports": [{"containerPort": 1}]}]}}}}}}), json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": {"containers": [{"ports": [{"containerPort": 1, "protocol": "TCP"}]}]}}}}}}))]
    #[case(("apps/v1", "Deployment"), json!({"status": {"replicas": 1}}), json!({}))]
    #[case(("batch/v1", "Job"), json!({"spec": {"template": {"spec": {"containers": [{"ports": [{"containerPort": 1}]}]}}}}),
        json!({"spec": {"template": {"spec": {"containers": [{"ports": [{"containerPort": 1, "protocol": "TCP"}]}]}, "metadata": {}}}}))]
    #[case(("batch/v1", "Job"), json!({"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}), json!({"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}))]
    #[case(("batch/v1", "Job"), json!({"spec": {"template": "odd"}}), json!({"spec": {"template": "odd"}}))]
    #[case(("apiextensions.k8s.io/v1", "CustomResourceDefinition"), json!({"status": {}, "spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": "Cg=="}}}}}), json!({"status": {}, "spec": {"conversion": {"webhook": {"clientConfig": {}}}}}))]
    #[case(("example.com/v1", "Service"), json!({"spec": {"ports": [{"port": 1}]}}), json!({"spec": {"ports": [{"port": 1}]}}))]
    #[case(("apps/v1", "Deployment"), json!({"spec": {"replicas": null, "template": {"spec": {"nodeSelector": {"a": null}, "containers": [{"image": "x", "env": null}]}}}}),
        json!({"spec": {"template": {"spec": {"nodeSelector": {"a": null}, "containers": [{"image": "x"}]}}}}))]
    #[case(("apps/v1", "Deployment"), json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}}), json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}}))]
    #[case(("example.com/v1", "App"), json!({"spec": {"replicas": null}}), json!({"spec": {"replicas": null}}))]
    #[case(("v1", "PersistentVolumeClaim"), json!({"spec": {"volumeName": "", "storageClassName": ""}}), json!({"spec": {"storageClassName": ""}}))]
    #[case(("v1", "ServiceAccount"), json!({"secrets": [{"name": "a"}], "imagePullSecrets": []}), json!({"secrets": [{"name": "a"}]}))]
    #[case(("v1", "ServiceAccount"), json!({"secrets": [], "imagePullSecrets": null}), json!({}))]
    #[case(("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
        json!({"webhooks": [{"clientConfig": {"caBundle": ""}}, {"clientConfig": {"caBundle": null}}, {"clientConfig": {"caBundle": "Cg=="}}, "odd"]}),
        json!({"webhooks": [{"clientConfig": {}}, {"clientConfig": {}}, {"clientConfig": {"caBundle": "Cg=="}}, "odd"]}))]
    #[case(("v1", "ServiceAccount"), json!({"automountServiceAccountToken": null}), json!({}))]
    #[case(("rbac.authorization.k8s.io/v1", "RoleBinding"), json!({"subjects": [], "roleRef": {}}), json!({"roleRef": {}}))]
    #[case(("rbac.authorization.k8s.io/v1", "ClusterRole"), json!({"rules": [], "aggregationRule": null}), json!({"rules": [], "aggregationRule": null}))]
    #[case(("v1", "ConfigMap"), json!({"data": {"command": "", "n": null}, "immutable": null}), json!({"data": {"command": "", "n": null}}))]
    #[case(("v1", "Secret"), json!({"data": null, "type": ""}), json!({}))]
    #[case(("apps/v1", "Deployment"),
        json!({"spec": {"replicas": 0, "paused": false, "selector": {"matchLabels": {"command": ""}}, "template": {"spec": {"nodeSelector": {}, "tolerations": [], "hostNetwork": false, "affinity": {},
            "containers": [{"args": [], "env": [{"name": "A", "value": ""}], "tty": true, "stdin": 0, "resources": {"limits": {}}, "securityContext": {"privileged": false}}]}}}}),
        json!({"spec": {"replicas": 0, "selector": {"matchLabels": {"command": ""}}, "template": {"spec": {"affinity": {},
            "containers": [{"env": [{"name": "A", "value": ""}], "tty": true, "stdin": 0, "resources": {}, "securityContext": {"privileged": false}}]}}}}))]
    #[case(("v1", "Service"), json!({"spec": {"type": "", "externalIPs": [], "selector": {"tty": "", "hostname": ""}, "ports": [{"port": 1, "protocol": "TCP", "nodePort": 0}]}}),
        json!({"spec": {"selector": {"tty": "", "hostname": ""}, "ports": [{"port": 1, "protocol": "TCP", "targetPort": 0}]}}))]
    #[case(("v1", "Service"), json!({"spec": {"selector": {}}}), json!({"spec": {}}))]
    #[case(("v1", "PersistentVolumeClaim"), json!({"spec": {"selector": {}}}), json!({"spec": {"selector": {}}}))]
    #[case(("discovery.k8s.io/v1", "EndpointSlice"), json!({"ports": [], "endpoints": [{"hostname": "", "zone": null}]}), json!({"ports": [], "endpoints": [{"hostname": ""}]}))]
    #[case(("networking.k8s.io/v1", "NetworkPolicy"), json!({"spec": {"podSelector": {}, "ingress": [], "policyTypes": ["Ingress"]}}), json!({"spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}))]
    #[case(("scheduling.k8s.io/v1", "PriorityClass"), json!({"globalDefault": false, "value": 1}), json!({"value": 1}))]
    #[case(("example.com/v1", "Deployment"), json!({"spec": {"paused": false, "tolerations": []}}), json!({"spec": {"paused": false, "tolerations": []}}))]
    #[case(("v1", "Service"), json!({"spec": {"clusterIP": "None"}}), json!({"spec": {"clusterIP": "None"}}))]
    #[case(("v1", "Pod"), json!({"spec": "odd"}), json!({"spec": "odd"}))]
    #[case(("v1", "Pod"), json!({"spec": {"containers": [{"image": "x"}, "odd"], "initContainers": [{"resources": {"limits": {"cpu": "1"}}}]}}),
        json!({"spec": {"containers": [{"image": "x", "resources": {}}, "odd"], "initContainers": [{"resources": {"limits": {"cpu": "1"}}}]}}))]
    fn normalization(#[case] kind: (&str, &str), #[case] rest: Value, #[case] expected: Value) {
        assert_eq!(normalized(kind, &rest), expected);
    }

    /// `kubectl neat` and others leave such a list behind.
    #[rstest]
    #[case(json!([]), None)]
    #[case(json!(null), None)]
    #[case(json!([{"manager": "a"}]), Some(json!([{"manager": "a"}])))]
    fn empty_managed_fields_are_none(#[case] given: Value, #[case] expected: Option<Value>) {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "managedFields": given}});
        let mut manifest = Manifest::try_from(object).unwrap();
        normalize(&mut manifest);
        assert_eq!(manifest.value().pointer("/metadata/managedFields").cloned(), expected);
    }

    #[test]
    fn bundles_stay_if_there_is_a_certificate_in_them() {
        let certificate = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap().cert.pem();
        let placeholder = "-----BEGIN CERTIFICATE-----\nplaceholder\n-----END CERTIFICATE-----\n".to_owned();
        let encoded = |pem: &str| STANDARD.encode(pem);
        let broken = encoded(&certificate).replacen('A', "\nA", 1);
        for (bundle, stays) in [
            (encoded(&certificate), true),
            (broken, true),
            (encoded(&format!("{placeholder}{certificate}")), true),
            (encoded(&placeholder), false),
            (encoded("-----BEGIN CERTIFICATE-----"), false),
            (String::new(), true),
        ] {
            let config = json!({"caBundle": bundle});
            let definition = json!({"spec": {"conversion": {"webhook": {"clientConfig": config}}}});
            let found = normalized(("apiextensions.k8s.io/v1", "CustomResourceDefinition"), &definition);
            assert_eq!(found == definition, stays, "{bundle}");
        }
    }
}
