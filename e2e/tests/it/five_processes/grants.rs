//! The grants of RBAC to an account, one resource and verb at a time.

use std::collections::BTreeSet;

use serde_json::Value;
use weir_e2e::Installation;
use weir_testkit::AuditedRequest;

/// No object has this name: rules for it hold the places of Flux's and allow nothing.
const NO_NAME: &str = "-";

/// One verb for one resource, granted by one role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Grant {
    pub(super) role: String,
    /// Of a Role; a ClusterRole grants it everywhere.
    namespace: Option<String>,
    group: String,
    pub(super) resource: String,
    pub(super) verb: String,
}

impl Grant {
    /// True if the request is allowed by this grant.
    pub(super) fn covers(&self, request: &AuditedRequest) -> bool {
        self.group == request.group
            && self.resource == request.resource
            && self.verb == request.verb
            && self.namespace.as_ref().is_none_or(|namespace| *namespace == request.namespace)
    }
}

/// Everything that the roles of an installation grant to an account of the namespace of the services, those of
/// `cluster-reconciler` excepted, which applies what tenants may apply.
pub(super) fn of_account(installation: &Installation, account: &str) -> BTreeSet<Grant> {
    let is_binding =
        |object: &&Value| matches!(object["kind"].as_str(), Some("ClusterRoleBinding" | "RoleBinding"));
    let bindings = installation.objects().iter().filter(is_binding).filter(|binding| {
        let subjects = binding["subjects"].as_array().into_iter().flatten();
        binding["metadata"]["name"] != "cluster-reconciler"
            && subjects.into_iter().any(|subject| subject["name"] == account)
    });
    bindings.flat_map(|binding| of_binding(installation, binding)).collect()
}

fn of_binding(installation: &Installation, binding: &Value) -> Vec<Grant> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let namespace = binding["metadata"]["namespace"].as_str().map(str::to_owned);
    let (kind, role) = (text(&binding["roleRef"]["kind"]), text(&binding["roleRef"]["name"]));
    let rules = installation.object(&kind, &role).unwrap()["rules"].as_array().unwrap().clone();
    let mut grants = Vec::new();
    for rule in rules.iter().filter(|rule| rule["resourceNames"][0] != NO_NAME) {
        let texts = |field: &str| rule[field].as_array().cloned().unwrap_or_default();
        for (group, resource) in product(&texts("apiGroups"), &texts("resources")) {
            for verb in texts("verbs") {
                grants.push(Grant {
                    role: role.clone(),
                    namespace: namespace.clone(),
                    group: text(&group),
                    resource: text(&resource),
                    verb: text(&verb),
                });
            }
        }
    }
    grants
}

fn product(left: &[Value], right: &[Value]) -> Vec<(Value, Value)> {
    left.iter().flat_map(|l| right.iter().map(|r| (l.clone(), r.clone()))).collect()
}
