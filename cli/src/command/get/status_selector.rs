//! `--status-selector` (CLI-GET03).

use kube::api::DynamicObject;

use crate::error::Error;
use crate::kind::{Kind, condition};

/// `type=status` or `type!=status`, both in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StatusSelector {
    type_: String,
    status: String,
    negated: bool,
}

impl StatusSelector {
    /// Reads the flag's value.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let refused = || Error::StatusSelector(text.to_owned());
        let (type_, status) = text.split_once('=').ok_or_else(refused)?;
        let (type_, negated) = type_.strip_suffix('!').map_or((type_, false), |type_| (type_, true));
        if type_.is_empty() || status.is_empty() || status.contains('=') {
            return Err(refused());
        }
        Ok(Self { type_: type_.to_owned(), status: status.to_owned(), negated })
    }

    /// Returns true when an object has the condition, or for `!=` has it not.
    pub(super) fn matches(&self, kind: &Kind, object: &DynamicObject) -> bool {
        let has_it = match condition(object, &self.type_) {
            _ if !kind.has_conditions => {
                self.type_.eq_ignore_ascii_case("ready") && self.status.eq_ignore_ascii_case("true")
            }
            Some((status, _)) => status.eq_ignore_ascii_case(&self.status),
            None => false,
        };
        has_it != self.negated
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(status: serde_json::Value) -> DynamicObject {
        serde_json::from_value(json!({ "metadata": { "name": "x" }, "status": status })).unwrap()
    }

    #[rstest::rstest]
    #[case("ready=false", true, false)]
    #[case("READY=False", true, false)]
    #[case("Ready=True", false, false)]
    #[case("Ready!=True", true, true)]
    #[case("ready!=false", false, true)]
    #[case("Stalled=True", false, false)]
    fn conditions_are_compared_in_any_case(
        #[case] text: &str,
        #[case] not_ready_matches: bool,
        #[case] new_matches: bool,
    ) {
        let kind = Kind::find("ks").unwrap();
        let selector = StatusSelector::parse(text).unwrap();
        let not_ready = object(json!({ "conditions": [{ "type": "Ready", "status": "False" }] }));
        assert_eq!(selector.matches(kind, &not_ready), not_ready_matches);
        assert_eq!(selector.matches(kind, &object(json!({}))), new_matches);
    }

    #[rstest::rstest]
    #[case("ready=true", true)]
    #[case("ready=false", false)]
    #[case("stalled=true", false)]
    fn static_kinds_are_ready(#[case] text: &str, #[case] expected: bool) {
        let kind = Kind::find("alert").unwrap();
        assert_eq!(StatusSelector::parse(text).unwrap().matches(kind, &object(json!({}))), expected);
    }

    /// As in Flux, though its row says that it is ready.
    #[test]
    fn a_helm_repository_in_a_registry_has_no_condition() {
        let (kind, mut object) = (Kind::find("helmrepository").unwrap(), object(json!({})));
        object.data["spec"] = json!({ "type": "oci" });
        let matches = |text| StatusSelector::parse(text).unwrap().matches(kind, &object);
        assert!(!matches("ready=true") && matches("ready!=true"));
    }

    #[rstest::rstest]
    #[case("ready")]
    #[case("=true")]
    #[case("ready=")]
    #[case("a=b=c")]
    fn anything_else_is_refused(#[case] text: &str) {
        let refused = StatusSelector::parse(text).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!("expected status selector in type=status or type!=status format, but found: {text}")
        );
    }
}
