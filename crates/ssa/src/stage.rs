use std::str::FromStr;

use crate::{ObjectId, manifest::split_api_version};

/// When an object is applied (KS-SSA-10..13): a stage begins when the ones before it are applied, and after the first
/// two, ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Objects that bring kinds or places into being: CRDs, Namespaces, ClusterRoles.
    Definitions,
    /// Kinds whose name ends in `Class`.
    Classes,
    /// Kinds that the operator has named.
    Custom,
    /// All others.
    Rest,
}

impl Stage {
    /// All stages in their order.
    pub const ALL: [Self; 4] = [Self::Definitions, Self::Classes, Self::Custom, Self::Rest];

    /// The stage of an object.
    pub fn of(id: &ObjectId, custom: &[GroupKind]) -> Self {
        match (id.group.as_str(), id.kind.as_str()) {
            ("apiextensions.k8s.io", kind) if kind.eq_ignore_ascii_case("CustomResourceDefinition") => {
                Self::Definitions
            }
            ("", kind) if kind.eq_ignore_ascii_case("Namespace") => Self::Definitions,
            ("rbac.authorization.k8s.io", kind) if kind.eq_ignore_ascii_case("ClusterRole") => {
                Self::Definitions
            }
            (_, kind) if kind.ends_with("Class") => Self::Classes,
            _ if custom.iter().any(|named| named.matches(id)) => Self::Custom,
            _ => Self::Rest,
        }
    }

    /// Returns true when later stages need these objects to be ready, not only applied.
    pub(crate) fn is_awaited(self) -> bool {
        matches!(self, Self::Definitions | Self::Classes)
    }
}

/// A kind as flags name it: `group/Kind`, or `Kind` for the core group (KS-SSA-12).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupKind {
    /// API group; empty for the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
}

/// Objects of a kind that are watched together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scope {
    pub(crate) kind: GroupKind,
    /// Nothing for the objects of all namespaces.
    pub(crate) namespace: Option<String>,
}

impl Scope {
    /// The objects of a kind, wherever they are.
    pub(crate) fn everywhere(kind: GroupKind) -> Self {
        Self { kind, namespace: None }
    }
}

impl GroupKind {
    fn matches(&self, id: &ObjectId) -> bool {
        self.group == id.group && self.kind == id.kind
    }
}

impl FromStr for GroupKind {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (group, kind) = split_api_version(text.trim());
        Ok(Self { group: group.to_owned(), kind: kind.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("_x_apiextensions.k8s.io_CustomResourceDefinition", Stage::Definitions)]
    #[case("_x__Namespace", Stage::Definitions)]
    #[case("_x_rbac.authorization.k8s.io_ClusterRole", Stage::Definitions)]
    #[case("_x_rbac.authorization.k8s.io_ClusterRoleBinding", Stage::Rest)]
    #[case("_x_gateway.networking.k8s.io_GatewayClass", Stage::Classes)]
    #[case("n_x_rbac.authorization.k8s.io_Role", Stage::Custom)]
    #[case("n_x__ConfigMap", Stage::Custom)]
    #[case("n_x_example.com_ConfigMap", Stage::Rest)]
    #[case("n_x_apps_Deployment", Stage::Rest)]
    fn stages(#[case] id: &str, #[case] stage: Stage) {
        let custom = [" rbac.authorization.k8s.io/Role", "ConfigMap "].map(|kind| kind.parse().unwrap());
        assert_eq!(Stage::of(&id.parse().unwrap(), &custom), stage);
    }
}
