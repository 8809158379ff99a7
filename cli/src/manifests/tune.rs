//! The choices that no kustomization expresses: arguments, images, tolerations, names of what has no namespace.

use serde_json::{Value, json};

use super::{Choice, WRITTEN_NAMESPACE, component, exists};
use crate::output::manifest::{set, text};

/// Fits the objects of an installation to a choice; those that it does without are left out.
pub(super) fn tune(mut objects: Vec<Value>, choice: &Choice, namespace: &str) -> Vec<Value> {
    objects.retain(|object| text(object, "/kind") != "CustomResourceDefinition" || is_wanted(object, choice));
    let roles = objects.iter().filter(|object| text(object, "/kind") == "ClusterRole");
    let roles: Vec<String> = roles.map(|role| text(role, "/metadata/name").to_owned()).collect();
    for object in &mut objects {
        rename(object, namespace);
        match text(object, "/kind") {
            "Deployment" => deployment(object, choice),
            "ClusterRole" | "ClusterRoleBinding" | "ResourceQuota" | "ValidatingAdmissionPolicy" => {
                suffix(object, "/metadata/name", namespace);
            }
            "ValidatingAdmissionPolicyBinding" => {
                suffix(object, "/metadata/name", namespace);
                suffix(object, "/spec/policyName", namespace);
            }
            _ => {}
        }
        let is_ours = roles.iter().any(|role| role == text(object, "/roleRef/name"));
        if is_ours && text(object, "/roleRef/kind") == "ClusterRole" {
            suffix(object, "/roleRef/name", namespace);
        }
        subjects(object, choice);
    }
    objects
}

/// Keeps rights from components that the installation does not have.
fn subjects(object: &mut Value, choice: &Choice) {
    let Some(subjects) = object.get_mut("subjects").and_then(Value::as_array_mut) else { return };
    let components = choice.components();
    subjects.retain(|subject| {
        let name = text(subject, "/name");
        components.contains(&name) || !exists(&format!("base/{name}"))
    });
}

/// Moves an object to the installation's namespace. Users in conditions, groups and the namespaces in selectors are texts
/// that the builder does not know as namespaces, so all texts are searched.
fn rename(value: &mut Value, namespace: &str) {
    match value {
        Value::String(text) if text.contains(WRITTEN_NAMESPACE) => {
            *text = text.replace(WRITTEN_NAMESPACE, namespace);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, namespace)),
        Value::Object(fields) => fields.values_mut().for_each(|field| rename(field, namespace)),
        _ => {}
    }
}

/// CRDs come with the components that serve them, which their labels name (CLI-INS01).
fn is_wanted(definition: &Value, choice: &Choice) -> bool {
    let server = component(text(definition, "/metadata/labels/app.kubernetes.io~1component"));
    choice.components().contains(&server)
}

/// Several installations in one cluster do not share roles: their names end with the namespace (MAN-01).
fn suffix(object: &mut Value, name: &str, namespace: &str) {
    let suffixed = format!("{}-{namespace}", text(object, name));
    set(object, name, suffixed);
}

fn deployment(object: &mut Value, choice: &Choice) {
    let Some(pod) = object.pointer_mut("/spec/template/spec") else { return };
    let has_notification = choice.components().contains(&"notification-controller");
    let containers = pod.get_mut("containers").and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        if let Some(registry) = &choice.registry {
            let name = text(container, "/image").rsplit('/').next().unwrap_or_default().to_owned();
            set(container, "/image", format!("{}/{name}", registry.trim_end_matches('/')));
        }
        let arguments = container.get("args").and_then(Value::as_array).into_iter().flatten();
        let arguments = arguments.filter_map(Value::as_str);
        let arguments: Vec<_> = arguments.filter_map(|it| argument(it, choice, has_notification)).collect();
        set(container, "/args", arguments);
    }
    if let Some(secret) = &choice.image_pull_secret {
        set(pod, "/imagePullSecrets", json!([{ "name": secret }]));
    }
    let tolerations: Vec<_> =
        choice.toleration_keys().map(|key| json!({ "key": key, "operator": "Exists" })).collect();
    if !tolerations.is_empty() {
        set(pod, "/tolerations", tolerations);
    }
}

/// An argument of a service; the first ones keep their places, because patches of users count them (CMP-26).
fn argument(argument: &str, choice: &Choice, has_notification: bool) -> Option<String> {
    let name = argument.split('=').next().unwrap_or(argument);
    match name {
        "--watch-all-namespaces" => Some(format!("{name}={}", choice.watch_all_namespaces)),
        "--log-level" => Some(format!("{name}={}", choice.log_level)),
        "--events-addr" if !has_notification => Some(format!("{name}=")),
        "--events-grpc-addr" if !has_notification => None,
        _ => Some(argument.replace(".svc.cluster.local.", &format!(".svc.{}.", choice.cluster_domain))),
    }
}
