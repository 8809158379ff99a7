//! A log line of a service.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The fields of a log line that are printed or filtered by.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    ts: String,
    level: String,
    msg: String,
    error: String,
    #[serde(rename = "reconciler kind")]
    kind: String,
    #[serde(rename = "controllerKind")]
    controller_kind: String,
    name: String,
    namespace: String,
}

/// The lines that are printed; an empty text is no condition.
#[derive(Debug)]
pub(super) struct Filter<'a> {
    pub(super) level: &'a str,
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
    /// Nothing for all namespaces. Lines that are about no object have none.
    pub(super) namespace: Option<&'a str>,
}

impl Filter<'_> {
    pub(super) fn shows(&self, entry: &Entry) -> bool {
        let is = |wanted: &str, found: &str| wanted.is_empty() || wanted.eq_ignore_ascii_case(found);
        (self.level.is_empty() || self.level == entry.level)
            && (is(self.kind, &entry.kind) || is(self.kind, &entry.controller_kind))
            && is(self.name, &entry.name)
            && self.namespace.is_none_or(|wanted| wanted.eq_ignore_ascii_case(&entry.namespace))
    }
}

impl Entry {
    /// Reads a log line. Of a field that stands twice the last one counts, and null is an empty text, as in Flux: loggers take
    /// fields from several places.
    pub(super) fn parse(line: &str) -> Result<Self, serde_json::Error> {
        let mut fields: Map<String, Value> = serde_json::from_str(line)?;
        fields.retain(|_, value| !value.is_null());
        serde_json::from_value(Value::Object(fields))
    }

    /// Returns the entry as a line for people.
    pub(super) fn line(&self) -> String {
        let Self { ts, level, msg, error, name, namespace, .. } = self;
        let kind = if self.kind.is_empty() { &self.controller_kind } else { &self.kind };
        let object = if name.is_empty() { String::new() } else { format!("/{name}.{namespace}") };
        crate::output::plain(&format!("{ts} {level} {kind}{object} - {msg} {error}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"level":"error","ts":"2023-08-16T09:36:41.286Z","msg":"failed","error":"why","controllerKind":"Kustomization","name":"apps","namespace":"prod","Kustomization":{"name":"apps"}}"#;

    #[rstest::rstest]
    #[case("", "", "", None, true)]
    #[case("error", "kustomization", "APPS", Some("prod"), true)]
    #[case("info", "", "", None, false)]
    #[case("", "GitRepository", "", None, false)]
    #[case("", "", "other", None, false)]
    #[case("", "", "", Some("flux-system"), false)]
    fn lines_are_filtered(
        #[case] level: &str,
        #[case] kind: &str,
        #[case] name: &str,
        #[case] namespace: Option<&str>,
        #[case] expected: bool,
    ) {
        let entry = Entry::parse(LINE).unwrap();
        assert_eq!(Filter { level, kind, name, namespace }.shows(&entry), expected);
    }

    #[test]
    fn a_line_names_the_object_if_there_is_one() {
        let entry = Entry::parse(LINE).unwrap();
        assert_eq!(entry.line(), "2023-08-16T09:36:41.286Z error Kustomization/apps.prod - failed why\n");
        let entry = Entry::parse(r#"{"msg":"starting","error":null,"msg":"starting manager"}"#).unwrap();
        assert_eq!(entry.line(), "   - starting manager \n");
    }
}
