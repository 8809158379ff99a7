//! Names of objects, and keys and values of labels, that Kubernetes accepts. Refusals are in the words of the API server.

/// Bytes of an object's name.
const MAX_NAME: usize = 253;
/// Bytes of a label's value, and of the part of its key that is not a domain.
const MAX_LABEL: usize = 63;

/// Returns an error when the text cannot be the name of an object.
pub(super) fn check_object_name(name: &str) -> Result<(), String> {
    let is_alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = |label: &str| {
        label.starts_with(is_alphanumeric)
            && label.ends_with(is_alphanumeric)
            && label.chars().all(|c| is_alphanumeric(c) || c == '-')
    };
    refused([
        (name.len() > MAX_NAME, "must be no more than 253 characters"),
        (
            !name.split('.').all(is_label),
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ),
    ])
}

/// Returns an error when the text, which has no slash, cannot be the key of a label.
pub(super) fn check_label_key(key: &str) -> Result<(), String> {
    refused([
        (key.len() > MAX_LABEL, "name part must be no more than 63 bytes"),
        (
            !is_label_text(key),
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
             alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ),
    ])
}

/// Returns an error when the text cannot be the value of a label.
pub(super) fn check_label_value(value: &str) -> Result<(), String> {
    refused([
        (value.len() > MAX_LABEL, "must be no more than 63 bytes"),
        (
            !value.is_empty() && !is_label_text(value),
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
             validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ),
    ])
}

fn is_label_text(text: &str) -> bool {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(|c| is_end(c) || matches!(c, '-' | '_' | '.'))
}

/// Joins the rules that are broken.
fn refused(rules: [(bool, &str); 2]) -> Result<(), String> {
    let broken: Vec<&str> =
        rules.into_iter().filter(|(is_broken, _)| *is_broken).map(|(_, rule)| rule).collect();
    if broken.is_empty() { Ok(()) } else { Err(broken.join("; ")) }
}
