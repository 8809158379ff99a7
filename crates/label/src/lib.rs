//! Kubernetes' rules for the keys and values of labels, in its words.

/// Longest value, and name of a key, in bytes: Kubernetes' limit.
const MAX_NAME: usize = 63;
/// Longest prefix of a key, in bytes: that of a DNS name.
const MAX_PREFIX: usize = 253;

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const PREFIX: &str = "must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an \
                      alphanumeric character (e.g. 'example.com', regex used for validation is \
                      '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
                     must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
                     regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// The words of one version of Kubernetes' library.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    key: &'static str,
    prefix: &'static str,
    unit: &'static str,
}

/// The words of the API server and of Flux's controllers.
pub const CURRENT: Words =
    Words { key: "a valid label key", prefix: "a lowercase RFC 1123 subdomain", unit: "bytes" };

/// The words of the older copy that kustomize has.
pub const OLD: Words = Words { key: "a qualified name", prefix: "a DNS-1123 subdomain", unit: "characters" };

impl Words {
    /// Returns what is wrong with a key: a name, with a DNS name before a slash or without. None for a good one.
    #[must_use]
    pub fn faults_of_key(self, key: &str) -> Vec<String> {
        let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
        if name.contains('/') {
            let example = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("{} {NAME} {example}", self.key)];
        }
        let mut faults = Vec::new();
        if prefix == Some("") {
            faults.push("prefix part must be non-empty".to_owned());
        } else if let Some(prefix) = prefix {
            faults.extend(self.too_long(prefix, MAX_PREFIX).map(|fault| format!("prefix part {fault}")));
            faults.extend((!is_subdomain(prefix)).then(|| format!("prefix part {} {PREFIX}", self.prefix)));
        }
        faults.extend(name.is_empty().then(|| "name part must be non-empty".to_owned()));
        faults.extend(self.too_long(name, MAX_NAME).map(|fault| format!("name part {fault}")));
        faults.extend((!is_name(name)).then(|| format!("name part {NAME}")));
        faults
    }

    /// Returns what is wrong with a value. None for a good one, as the empty one is.
    #[must_use]
    pub fn faults_of_value(self, value: &str) -> Vec<String> {
        let is_legal = value.is_empty() || is_name(value);
        self.too_long(value, MAX_NAME).into_iter().chain((!is_legal).then(|| VALUE.to_owned())).collect()
    }

    fn too_long(self, text: &str, limit: usize) -> Option<String> {
        (text.len() > limit).then(|| format!("must be no more than {limit} {}", self.unit))
    }
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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("app", &[])]
    #[case("app.kubernetes.io/name", &[])]
    #[case("a_B.c-9", &[])]
    #[case("-a", &["name part must consist"])]
    #[case("", &["name part must be non-empty", "name part must consist"])]
    #[case("/a", &["prefix part must be non-empty"])]
    #[case("Example.com/a", &["prefix part a lowercase RFC 1123 subdomain must consist"])]
    #[case("a..b/c", &["prefix part a lowercase RFC 1123 subdomain must consist"])]
    #[case("a/b/c", &["a valid label key must consist"])]
    #[case(&"x".repeat(64), &["name part must be no more than 63 bytes"])]
    fn keys(#[case] key: &str, #[case] expected: &[&str]) {
        let found = CURRENT.faults_of_key(key);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert!(found.iter().zip(expected).all(|(found, start)| found.starts_with(start)), "{found:?}");
    }

    #[rstest]
    #[case("", &[])]
    #[case("web-1", &[])]
    #[case("a b", &[VALUE])]
    #[case("a_", &[VALUE])]
    fn values(#[case] value: &str, #[case] expected: &[&str]) {
        assert_eq!(CURRENT.faults_of_value(value), expected);
    }

    #[test]
    fn the_older_copy_has_other_words() {
        let found =
            [OLD.faults_of_key("a/b/c"), OLD.faults_of_key("A/b"), OLD.faults_of_value(&"x".repeat(64))]
                .concat();
        let starts = [
            "a qualified name must",
            "prefix part a DNS-1123 subdomain must",
            "must be no more than 63 characters",
        ];
        assert!(found.iter().zip(starts).all(|(found, start)| found.starts_with(start)), "{found:?}");
    }
}
