use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

const RBAC: &str = "rbac.authorization.k8s.io";

/// The identity of an object in all versions of its API (KS-SSA-95, KS-SSA-96).
///
/// Displayed as it stands in an inventory: `<namespace>_<name>_<group>_<Kind>`. Ids that an inventory writes alike are equal: nobody
/// can tell an RBAC name with `__` that was read from one from a name with `:`.
#[derive(Clone, Debug)]
pub struct ObjectId {
    /// Namespace; empty for cluster scope.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// API group; empty for the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
}

/// A text that is no inventory id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unable to parse inventory id '{text}': expected <namespace>_<name>_<group>_<kind>")]
pub struct ParseIdError {
    /// The text.
    pub text: String,
}

impl ObjectId {
    /// The object as messages name it: `Kind/namespace/name`, or `Kind/name` for cluster scope (KS-SSA-90).
    pub fn subject(&self) -> String {
        let Self { namespace, name, kind, .. } = self;
        if namespace.is_empty() { format!("{kind}/{name}") } else { format!("{kind}/{namespace}/{name}") }
    }

    /// The name as inventories write it: RBAC names may hold `:`, which a label value cannot hold.
    fn written_name(&self) -> Cow<'_, str> {
        match self.group.as_str() {
            RBAC if self.name.contains(':') => self.name.replace(':', "__").into(),
            _ => self.name.as_str().into(),
        }
    }

    fn key(&self) -> (&str, Cow<'_, str>, &str, &str) {
        (&self.namespace, self.written_name(), &self.group, &self.kind)
    }
}

impl PartialEq for ObjectId {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for ObjectId {}

impl Hash for ObjectId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialOrd for ObjectId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ObjectId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (namespace, name, group, kind) = self.key();
        write!(f, "{namespace}_{name}_{group}_{kind}")
    }
}

impl FromStr for ObjectId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let error = || ParseIdError { text: text.to_owned() };
        let (namespace, rest) = text.split_once('_').ok_or_else(error)?;
        let (rest, kind) = rest.rsplit_once('_').ok_or_else(error)?;
        let (name, group) = rest.rsplit_once('_').ok_or_else(error)?;
        if name.is_empty() || kind.is_empty() {
            return Err(error());
        }
        let [namespace, group, kind] = [namespace, group, kind].map(str::to_owned);
        Ok(Self { namespace, name: name.replace("__", ":"), group, kind })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("default_app__Service", ("default", "app", "", "Service"), "Service/default/app")]
    #[case("_ns1__Namespace", ("", "ns1", "", "Namespace"), "Namespace/ns1")]
    #[case("_a__b_rbac.authorization.k8s.io_ClusterRole", ("", "a:b", RBAC, "ClusterRole"), "ClusterRole/a:b")]
    #[case("x_things.a.b_apiextensions.k8s.io_CustomResourceDefinition", ("x", "things.a.b", "apiextensions.k8s.io", "CustomResourceDefinition"), "CustomResourceDefinition/x/things.a.b")]
    fn inventory_ids(#[case] text: &str, #[case] parts: (&str, &str, &str, &str), #[case] subject: &str) {
        let id: ObjectId = text.parse().unwrap();
        assert_eq!((&*id.namespace, &*id.name, &*id.group, &*id.kind), parts);
        assert_eq!(id.to_string(), text);
        assert_eq!(id.subject(), subject);
    }

    #[rstest]
    #[case("")]
    #[case("a_b_c")]
    #[case("a___")]
    #[case("a__g_Kind")]
    fn texts_that_are_no_ids(#[case] text: &str) {
        assert!(text.parse::<ObjectId>().is_err());
    }

    proptest! {
        #[test]
        fn ids_survive_the_inventory(
            namespace in "[a-z0-9-]{0,9}", name in "[a-z0-9:.-]{1,9}", kind in "[A-Z][a-z]{1,9}"
        ) {
            let id = ObjectId { namespace, name, group: RBAC.into(), kind };
            prop_assert_eq!(id.to_string().parse(), Ok(id));
        }
    }
}
