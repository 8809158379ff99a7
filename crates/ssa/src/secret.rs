//! Messages about Secrets. The API server's messages repeat values that it cannot decode; fixed messages replace them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::core::Status;
use serde_json::Value;

use crate::error::{status, whole_text};
use crate::{Manifest, ObjectId};

/// Stands in place of a text of the API server.
const WITHHELD: &str = "the API server's message is not shown, because it may repeat values of the Secret";

/// Verbs that the API server names when it denies a request.
const VERBS: [&str; 8] = ["get", "list", "watch", "create", "update", "patch", "delete", "impersonate"];

/// Fields that may be immutable.
const FIELDS: [&str; 3] = ["type", "data", "immutable"];

/// Flaws of a Secret that the API server tells without any of its values.
const FLAWS: [&str; 11] = [
    "metadata.annotations: Too long: may not be more than 262144 bytes",
    "metadata.annotations: Too long: must have at most 262144 bytes",
    "data: Too long: may not be more than 1048576 bytes",
    "data: Too long: must have at most 1048576 bytes",
    "data[.dockercfg]: Required value",
    "data[.dockerconfigjson]: Required value",
    "data[password]: Required value",
    "data[ssh-privatekey]: Required value",
    "data[tls.crt]: Required value",
    "data[tls.key]: Required value",
    "data[username]: Required value",
];

/// Begin of the server's message about a pull Secret that is no JSON. Words of the parser follow.
const NO_PULL_SECRET: &str = "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\"";

/// Fields named in one message.
const MAX_FLAWS: usize = 10;

/// Returns true for the id of a Secret, whose values nobody may see.
pub(crate) fn is_secret(id: &ObjectId) -> bool {
    id.group.is_empty() && id.kind == "Secret"
}

/// Decodes base64 as the API server does, which takes no notice of line breaks: generators put one behind each 70 characters.
#[must_use]
pub fn decoded(text: &str) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|character| !matches!(character, '\n' | '\r')).collect();
    STANDARD.decode(text).ok()
}

/// Returns the message of an error about a Secret. The server's own message is used only when the whole of it is one that
/// holds nothing but names.
pub(crate) fn message(id: &ObjectId, error: &kube::Error) -> String {
    let text = whole_text(error);
    match status(error) {
        // The server was not reached, so the message is not the server's.
        None if !matches!(error, kube::Error::SerdeError(_)) => text,
        None => WITHHELD.to_owned(),
        Some(_) if names_only(id).contains(&text) || has_known_flaws(id, &text) => text,
        Some(status) if text.contains("field is immutable") => {
            format!("{}field is immutable; {WITHHELD}", immutable_field(status))
        }
        Some(_) if text.contains(NO_PULL_SECRET) => format!("{NO_PULL_SECRET}: {WITHHELD}"),
        Some(_) => denial(id, &text).or_else(|| refusal(id, &text)).unwrap_or_else(|| WITHHELD.to_owned()),
    }
}

/// Returns which fields of a Secret cannot be right, if the manifest is one and shows it: only the server's text would name
/// them, together with their values.
pub(crate) fn flaws(manifest: &Manifest) -> Option<String> {
    if !is_secret(manifest.id()) {
        return None;
    }
    let mut flaws = Vec::new();
    for field in ["data", "stringData"] {
        match manifest.value().get(field) {
            None | Some(Value::Null) => {}
            Some(Value::Object(entries)) => {
                let flawed = entries.iter().filter_map(|(key, value)| Some((key, flaw(field, value)?)));
                flaws.extend(flawed.map(|(key, flaw)| format!("{field}.{key} is {flaw}")));
            }
            Some(_) => flaws.push(format!("{field} is no map")),
        }
    }
    flaws.truncate(MAX_FLAWS);
    if flaws.is_empty() { None } else { Some(flaws.join(", ")) }
}

fn flaw(field: &str, value: &Value) -> Option<&'static str> {
    match value {
        Value::Null => None,
        Value::String(text) if field == "data" && decoded(text).is_none() => Some("not base64"),
        Value::String(_) => None,
        _ => Some("not text"),
    }
}

/// The field of a Secret that the server says is immutable, where it is one that has a name of the API's own.
fn immutable_field(status: &Status) -> String {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let mut fields = causes.map(|cause| cause.field.as_str());
    let field = fields.find(|field| FIELDS.contains(field));
    field.map(|field| format!("{field}: ")).unwrap_or_default()
}

/// Texts of the API server that are made of names alone.
fn names_only(id: &ObjectId) -> [String; 6] {
    [
        "Request entity too large: limit is 3145728".to_owned(),
        format!(
            "secrets \"{}\" is forbidden: unable to create new content in namespace {} because it is being terminated",
            id.name, id.namespace
        ),
        format!("secrets \"{}\" not found", id.name),
        format!("namespaces \"{}\" not found", id.namespace),
        format!("secrets \"{}\" already exists", id.name),
        "the server could not find the requested resource".to_owned(),
    ]
}

/// Returns true if a text tells flaws of a Secret, and of them only those whose words are known.
fn has_known_flaws(id: &ObjectId, text: &str) -> bool {
    let Some(flaws) = text.strip_prefix(&format!("Secret \"{}\" is invalid: ", id.name)) else {
        return false;
    };
    // Nothing but the server's fixed words about names follows.
    if flaws.starts_with(&format!("metadata.name: Invalid value: \"{}\": ", id.name)) {
        return true;
    }
    let flaws = flaws.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(flaws);
    flaws.split(", ").all(|flaw| FLAWS.contains(&flaw))
}

/// Returns the message of a request that RBAC denies, rebuilt from its user and verb. Messages of admission plug-ins are free
/// text, and give nothing.
fn denial(id: &ObjectId, text: &str) -> Option<String> {
    let start = format!("secrets \"{}\" is forbidden: User \"", id.name);
    let (user, rest) = text.strip_prefix(&start)?.split_once("\" cannot ")?;
    let (verb, rest) = rest.split_once(' ')?;
    let place = "resource \"secrets\" in API group \"\"";
    if !rest.starts_with(place) || user.contains('"') || !VERBS.contains(&verb) {
        return None;
    }
    Some(format!("{start}{user}\" cannot {verb} {place} in the namespace \"{}\"", id.namespace))
}

/// Returns which webhook or policy refuses a Secret, or is not reached. Its reasons are free text, and are left out.
fn refusal(id: &ObjectId, text: &str) -> Option<String> {
    let policy = format!("secrets \"{}\" is forbidden: ValidatingAdmissionPolicy '", id.name);
    let forms = [
        ("admission webhook \"", "\" denied the request"),
        ("Internal error occurred: failed calling webhook \"", "\""),
        (policy.as_str(), "'"),
    ];
    forms.into_iter().find_map(|(start, end)| {
        let (name, _) = text.strip_prefix(start)?.split_once(end)?;
        let is_name = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-'));
        is_name.then(|| format!("{start}{name}{end}: {WITHHELD}"))
    })
}

/// Replaces the values of a Secret's two states by words that say which of them differ.
pub(crate) fn hide_values(before: &mut Value, after: &mut Value) {
    let values = |secret: &Value| secret.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
    let (old, new) = (values(before), values(after));
    let hide = |secret: &mut Value, changed: &str| {
        let data = secret.get_mut("data").and_then(Value::as_object_mut);
        for (key, value) in data.into_iter().flatten() {
            let differs = old.contains_key(key) && new.contains_key(key) && old.get(key) != new.get(key);
            *value = Value::from(if differs { changed } else { "***" });
        }
    };
    hide(before, "*** (before)");
    hide(after, "*** (after)");
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn said(text: &str) -> String {
        let status = Status { message: text.to_owned(), code: 422, ..Status::default() };
        message(&"n_s__Secret".parse().unwrap(), &kube::Error::Api(Box::new(status)))
    }

    const DENIAL: &str = r#"secrets "s" is forbidden: User "u" cannot patch resource "secrets" in API group "" in the namespace "n""#;

    const DENIAL_AND_MORE: &str = r#"secrets "s" is forbidden: User "u" cannot patch resource "secrets" in API group "" in the namespace "n": hunter2"#;

    const TERMINATING: &str = r#"secrets "s" is forbidden: unable to create new content in namespace n because it is being terminated"#;

    const BAD_NAME: &str = r#"Secret "s" is invalid: metadata.name: Invalid value: "s": a lowercase RFC 1123 subdomain must consist of lower case"#;

    const NO_PAIR: &str =
        r#"Secret "s" is invalid: [data[tls.crt]: Required value, data[tls.key]: Required value]"#;

    const TOO_LONG: &str = r#"Secret "s" is invalid: data: Too long: may not be more than 1048576 bytes"#;

    #[rstest]
    #[case::names(r#"namespaces "n" not found"#, r#"namespaces "n" not found"#)]
    #[case::size(TOO_LONG, TOO_LONG)]
    #[case::missing(NO_PAIR, NO_PAIR)]
    #[case::name(BAD_NAME, BAD_NAME)]
    #[case::key(
        r#"Secret "s" is invalid: [data[tls.crt]: Required value, data[hunter 2]: Invalid value: "hunter2"]"#,
        WITHHELD
    )]
    #[case::rbac(DENIAL, DENIAL)]
    #[case::rbac_with_more(DENIAL_AND_MORE, DENIAL)]
    #[case::terminating(TERMINATING, TERMINATING)]
    #[case::admission(r#"secrets "s" is forbidden: policy denied: hunter2"#, WITHHELD)]
    #[case::no_webhook(r#"admission webhook "hunter 2" denied the request: hunter2"#, WITHHELD)]
    #[case::other(r#"Secret in version "v1" cannot be handled: hunter2"#, WITHHELD)]
    #[case::other_name(r#"secrets "hunter2" not found"#, WITHHELD)]
    fn security_server_texts_about_secrets_are_not_repeated(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(said(text), expected);
    }

    #[rstest]
    #[case::denied(r#"admission webhook "w.example.com" denied the request"#, ": hunter2")]
    #[case::unreachable(
        r#"Internal error occurred: failed calling webhook "w.example.com""#,
        ": Post hunter2"
    )]
    #[case::policy(
        r#"secrets "s" is forbidden: ValidatingAdmissionPolicy 'p-1'"#,
        " with binding 'b' denied request: hunter2"
    )]
    fn who_refuses_a_secret_is_named(#[case] named: &str, #[case] reason: &str) {
        assert_eq!(said(&format!("{named}{reason}")), format!("{named}: {WITHHELD}"));
    }

    #[test]
    fn broken_pull_secrets_are_named_as_such() {
        let text = format!(r#"Secret "s" is invalid: {NO_PULL_SECRET}: invalid character 'h' hunter2"#);
        assert_eq!(said(&text), format!("{NO_PULL_SECRET}: {WITHHELD}"));
    }

    #[test]
    fn immutable_fields_are_named_as_such() {
        assert_eq!(
            said("data: Forbidden: field is immutable: hunter2"),
            format!("field is immutable; {WITHHELD}")
        );
        let status = json!({"code": 422, "message": "type: Invalid value: \"hunter2\": field is immutable",
            "details": {"causes": [{"field": "data[hunter2]"}, {"field": "type"}]}});
        let status: Status = serde_json::from_value(status).unwrap();
        let shown = message(&"n_s__Secret".parse().unwrap(), &kube::Error::Api(Box::new(status)));
        assert_eq!(shown, format!("type: field is immutable; {WITHHELD}"));
    }

    #[rstest]
    #[case(json!({"stringData": {"pin": 123456, "ok": "x"}}), Some("stringData.pin is not text"))]
    #[case(json!({"data": {"a": "hunter2!", "b": {"c": 1}, "d": "eA=="}}), Some("data.a is not base64, data.b is not text"))]
    #[case(json!({"data": ["x"]}), Some("data is no map"))]
    #[case(json!({"data": {"a": null}}), None)]
    #[case(json!({"data": {"a": "aHVu\ndGVy\r\n"}}), None)]
    fn flaws_are_named_without_values(#[case] fields: Value, #[case] expected: Option<&str>) {
        let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
        object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_eq!(flaws(&Manifest::try_from(object).unwrap()).as_deref(), expected);
    }
}
