//! Fields that a built-in kind does not have.
//!
//! Flux reads built-in kinds into Go types, which forget such fields; manifests have come to rely on it (KS-SSA-3).
//! Weir has no copy of the types: it removes the fields that the API server reports as unknown, and tries again.

use serde_json::Value;

use crate::ObjectId;

/// End of a line of the server's message about a field.
pub(crate) const COMPLAINT: &str = ": field not declared in schema";

/// Groups whose Go types Flux has (`client-go`); it has none for definitions of custom resources and for APIs.
const GROUPS: [&str; 17] = [
    "",
    "admissionregistration.k8s.io",
    "apps",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Returns true for groups whose kinds Flux reads into Go's types.
pub(crate) fn has_type(group: &str) -> bool {
    GROUPS.contains(&group)
}

/// Takes away the fields that the server's message complains of. False if the kind is not Kubernetes' own or nothing
/// could be taken away.
pub(crate) fn remove(id: &ObjectId, object: &mut Value, message: &str) -> bool {
    if !has_type(&id.group) || is_role(id) {
        return false;
    }
    let paths = message.lines().filter_map(|line| line.trim_end().strip_suffix(COMPLAINT));
    // A single complaint follows the sentence's colon, several stand on lines of their own.
    let paths = paths.filter_map(|line| line.rsplit_once(": ").map_or(Some(line), |(_, path)| Some(path)));
    // All of them, not only the first that can be.
    paths.map(str::trim).filter(|path| remove_path(object, path)).count() > 0
}

/// Returns true for the two kinds that Flux leaves as they are, though it has their types.
pub(crate) fn is_role(id: &ObjectId) -> bool {
    id.group == "rbac.authorization.k8s.io" && matches!(id.kind.as_str(), "Role" | "ClusterRole")
}

fn remove_path(object: &mut Value, path: &str) -> bool {
    let Some((parent, field)) = path.rsplit_once('.') else { return false };
    let Some(holder) = follow(object, parent) else { return false };
    holder.as_object_mut().is_some_and(|holder| holder.shift_remove(field).is_some())
}

/// Follows `.field`, `[index]` and `[key="value",key=1]`.
fn follow<'v>(value: &'v mut Value, path: &str) -> Option<&'v mut Value> {
    if path.is_empty() {
        return Some(value);
    }
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (field, rest) = rest.split_at(end);
        return follow(value.get_mut(field)?, rest);
    }
    let (selector, rest) = path.strip_prefix('[')?.split_once(']')?;
    let items = value.as_array_mut()?;
    let place = match selector.parse::<usize>() {
        Ok(index) => index,
        Err(_) => place(items, selector)?,
    };
    follow(items.get_mut(place)?, rest)
}

/// The place of the item with these keys, or else of the first one that lacks some of them: the server names their defaults then
/// (`protocol="TCP"`, `name=""`).
fn place(items: &[Value], selector: &str) -> Option<usize> {
    let keys = selector.split(',').map(|pair| {
        let (key, wanted) = pair.split_once('=')?;
        Some((key, serde_json::from_str::<Value>(wanted).ok()?))
    });
    let keys = keys.collect::<Option<Vec<_>>>()?;
    let find = |lacks: bool| {
        let has =
            |item: &Value| keys.iter().all(|(key, wanted)| item.get(key).map_or(lacks, |it| it == wanted));
        items.iter().position(has)
    };
    find(false).or_else(|| find(true))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const ONE: &str = "failed to create typed patch object (apps/web; apps/v1, Kind=Deployment): .hoge: field not declared in schema";
    const MORE: &str = "failed to create typed patch object (apps/web; apps/v1, Kind=Deployment): errors:\n  .hoge: field not declared in schema\n  .spec.containers[name=\"c\"].x: field not declared in schema\n  .spec.ports[port=80,protocol=\"TCP\"].y: field not declared in schema";

    #[rstest]
    #[case("n_x_apps_Deployment", ONE, true, json!({"spec": {"containers": [{"name": "b", "x": 1}, {"name": "c", "x": 1}], "ports": [{"port": 80, "protocol": "TCP", "y": 1}]}}))]
    #[case("n_x_apps_Deployment", MORE, true, json!({"spec": {"containers": [{"name": "b", "x": 1}, {"name": "c"}], "ports": [{"port": 80, "protocol": "TCP"}]}}))]
    #[case("n_x_rbac.authorization.k8s.io_RoleBinding", ONE, true, json!({"spec": {"containers": [{"name": "b", "x": 1}, {"name": "c", "x": 1}], "ports": [{"port": 80, "protocol": "TCP", "y": 1}]}}))]
    #[case("_x_rbac.authorization.k8s.io_ClusterRole", ONE, false, Value::Null)]
    #[case("_x_apiextensions.k8s.io_CustomResourceDefinition", ONE, false, Value::Null)]
    #[case("n_x_example.com_Deployment", ONE, false, Value::Null)]
    #[case("n_x_apps_Deployment", "anything else", false, Value::Null)]
    #[case("n_x_apps_Deployment", ".no.such: field not declared in schema", false, Value::Null)]
    fn removal(#[case] id: &str, #[case] message: &str, #[case] removed: bool, #[case] left: Value) {
        let object = json!({"hoge": 1, "spec": {"containers": [{"name": "b", "x": 1}, {"name": "c", "x": 1}], "ports": [{"port": 80, "protocol": "TCP", "y": 1}]}});
        let mut changed = object.clone();
        assert_eq!(remove(&id.parse().unwrap(), &mut changed, message), removed);
        assert_eq!(changed, if removed { left } else { object });
    }

    #[rstest]
    #[case(".env[name=\"\"].$patch", json!({"env": [{"name": "a", "$patch": 1}, {}]}))]
    #[case(".ports[port=80,protocol=\"TCP\"].y", json!({"ports": [{"port": 80, "protocol": "UDP", "y": 1}, {"port": 80}]}))]
    #[case(".ports[port=80,protocol=\"UDP\"].y", json!({"ports": [{"port": 80, "protocol": "UDP"}, {"port": 80, "y": 1}]}))]
    fn items_that_lack_a_key_are_found_by_its_default(#[case] path: &str, #[case] left: Value) {
        let mut object = json!({
            "env": [{"name": "a", "$patch": 1}, {"$patch": 1}],
            "ports": [{"port": 80, "protocol": "UDP", "y": 1}, {"port": 80, "y": 1}],
        });
        assert!(remove_path(&mut object, path));
        let (field, changed) = left.as_object().unwrap().iter().next().unwrap();
        assert_eq!(object.get(field), Some(changed));
    }
}
