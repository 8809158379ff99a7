//! Names of objects and values of labels that Kubernetes accepts.

/// Bytes of an object's name.
const MAX_NAME: usize = 253;
/// Bytes of a label's value.
const MAX_LABEL_VALUE: usize = 63;

/// Returns true when the text can be the name of an object; if not, the rule, in the words of the API server.
pub(super) fn check_object_name(name: &str) -> Result<(), &'static str> {
    if name.len() > MAX_NAME {
        return Err("must be no more than 253 characters");
    }
    let is_alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = |label: &str| {
        label.starts_with(is_alphanumeric)
            && label.ends_with(is_alphanumeric)
            && label.chars().all(|c| is_alphanumeric(c) || c == '-')
    };
    if name.split('.').all(is_label) {
        return Ok(());
    }
    Err(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
         and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    )
}

/// Returns true when the text can be the value of a label.
pub(super) fn is_label_value(value: &str) -> bool {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    value.is_empty()
        || (value.len() <= MAX_LABEL_VALUE
            && value.starts_with(is_end)
            && value.ends_with(is_end)
            && value.chars().all(|c| is_end(c) || matches!(c, '-' | '_' | '.')))
}
