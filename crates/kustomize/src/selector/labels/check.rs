//! Kubernetes' rules for the keys and values of labels.

/// Longest value, and name of a key, in bytes: Kubernetes' limit.
const MAX_NAME: usize = 63;
/// Longest prefix of a key, in bytes: that of a DNS name.
const MAX_PREFIX: usize = 253;

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const PREFIX: &str = "a DNS-1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
                      start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                      '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
                     must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
                     regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Checks a key: a name, with a DNS name before a slash or without.
pub(super) fn key(key: &str) -> Result<(), String> {
    let mut problems = Vec::new();
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if name.contains('/') {
        let example = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
        problems.push(format!("a qualified name {NAME} {example}"));
    } else {
        if prefix == Some("") {
            problems.push("prefix part must be non-empty".to_owned());
        } else if let Some(prefix) = prefix {
            problems.extend(too_long(prefix, MAX_PREFIX).map(|problem| format!("prefix part {problem}")));
            problems.extend((!is_subdomain(prefix)).then(|| format!("prefix part {PREFIX}")));
        }
        problems.extend(name.is_empty().then(|| "name part must be non-empty".to_owned()));
        problems.extend(too_long(name, MAX_NAME).map(|problem| format!("name part {problem}")));
        problems.extend((!is_name(name)).then(|| format!("name part {NAME}")));
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(format!("invalid label key {key:?}: {}", problems.join("; ")))
    }
}

/// Checks a value of a key.
pub(super) fn value(key: &str, value: &str) -> Result<(), String> {
    let is_legal = value.is_empty() || is_name(value);
    let problems: Vec<String> =
        too_long(value, MAX_NAME).into_iter().chain((!is_legal).then(|| VALUE.to_owned())).collect();
    let problem = || format!("invalid label value: {value:?}: at key: {key:?}: {}", problems.join("; "));
    if problems.is_empty() { Ok(()) } else { Err(problem()) }
}

fn too_long(text: &str, limit: usize) -> Option<String> {
    (text.len() > limit).then(|| format!("must be no more than {limit} characters"))
}

fn is_name(name: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let ends = [name.bytes().next(), name.bytes().next_back()];
    name.bytes().all(is_legal) && ends.iter().all(|end| end.is_some_and(|byte| byte.is_ascii_alphanumeric()))
}

fn is_subdomain(text: &str) -> bool {
    let is_legal =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    text.bytes().all(is_legal) && text.split('.').all(is_name)
}
