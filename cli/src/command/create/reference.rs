//! References to other objects as flags write them (cli.md 1.3).

use serde_json::{Value, json};

use crate::error::Error;
use crate::output::manifest;

/// Splits `kind/name`; a text without exactly one slash is a name.
pub(super) fn split_kind(text: &str) -> (Option<&str>, &str) {
    match text.split_once('/') {
        Some((kind, name)) if !name.contains('/') => (Some(kind), name),
        _ => (None, text),
    }
}

/// Splits `name.namespace` at the last dot.
pub(super) fn split_namespace(text: &str) -> (&str, Option<&str>) {
    text.rsplit_once('.').map_or((text, None), |(name, namespace)| (name, Some(namespace)))
}

/// Returns a reference without the parts that are empty or not given.
pub(super) fn reference(kind: Option<&str>, name: &str, namespace: Option<&str>) -> Value {
    let mut reference = json!({ "name": name });
    for (key, value) in [("kind", kind), ("namespace", namespace)] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            manifest::set(&mut reference, key, value);
        }
    }
    reference
}

/// Reads `kind/name` of `--source`, where the kind is one of a list in any case, as the list writes it.
pub(super) fn of_kind<'a>(
    text: &'a str,
    kinds: &[&'static str],
    default: Option<&'static str>,
) -> Result<(&'static str, &'a str), Error> {
    let known = |kind: &str| kinds.iter().find(|known| known.eq_ignore_ascii_case(kind)).copied();
    let list = kinds.join(", ");
    // `/name` has no kind, as `name` has none.
    let (kind, name) = split_kind(text);
    let kind = kind.filter(|kind| !kind.is_empty());
    let bare_name = split_namespace(name).0;
    let read = match (kind, default) {
        (None, None) => Err(format!(
            "invalid helm chart source '{text}', must be in format <kind>/<name>; the kind is one of: {list}"
        )),
        (kind, _) if bare_name.is_empty() => {
            let kind = kind.map_or("", |kind| known(kind).unwrap_or(kind));
            Err(format!("no name given for source of kind '{kind}'"))
        }
        (None, Some(_)) if kinds.contains(&bare_name) => {
            Err(format!("no kind specified for source '{bare_name}'"))
        }
        (None, Some(default)) => Ok((default, name)),
        (Some(kind), _) => known(kind)
            .map(|kind| (kind, name))
            .ok_or_else(|| format!("source kind '{kind}' is not supported, must be one of: {list}")),
    };
    read.map_err(|reason| Error::Flags(format!("invalid argument {text:?} for \"--source\" flag: {reason}")))
}

/// The objects of `--depends-on`: `name` or `namespace/name`, and behind an `@` the expression that says when it is ready.
pub(super) fn dependencies(texts: &[&str]) -> Value {
    let dependency = |text: &&str| {
        let (object, expression) = text.split_once('@').unwrap_or((*text, ""));
        let (namespace, name) =
            object.split_once('/').map_or((None, object), |(namespace, name)| (Some(namespace), name));
        let mut dependency = reference(None, name, namespace);
        if !expression.is_empty() {
            manifest::set(&mut dependency, "readyExpr", expression);
        }
        dependency
    };
    texts.iter().map(dependency).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("x", Ok(("GitRepository", "x")))]
    #[case("bucket/x.ns", Ok(("Bucket", "x.ns")))]
    #[case(".x", Err("no name given for source of kind ''"))]
    #[case(".", Err("no name given for source of kind ''"))]
    #[case("bucket/.x", Err("no name given for source of kind 'Bucket'"))]
    #[case("bucket/", Err("no name given for source of kind 'Bucket'"))]
    #[case("Bucket", Err("no kind specified for source 'Bucket'"))]
    #[case("Bucket.ns", Err("no kind specified for source 'Bucket'"))]
    #[case("/x.ns", Ok(("GitRepository", "x.ns")))]
    #[case("/", Err("no name given for source of kind ''"))]
    #[case("other/x", Err("source kind 'other' is not supported, must be one of: GitRepository, Bucket"))]
    fn sources_have_a_kind_and_a_name(#[case] text: &str, #[case] expected: Result<(&str, &str), &str>) {
        let read = of_kind(text, &["GitRepository", "Bucket"], Some("GitRepository"));
        let refused = |reason: &str| format!("invalid argument {text:?} for \"--source\" flag: {reason}");
        assert_eq!(read.map_err(|error| error.to_string()), expected.map_err(refused));
    }

    #[test]
    fn dependencies_may_say_when_they_are_ready() {
        let expected =
            json!([{ "name": "a" }, { "name": "c", "namespace": "b", "readyExpr": "self.x == 'y@z'" }]);
        assert_eq!(dependencies(&["a", "b/c@self.x == 'y@z'"]), expected);
    }
}
