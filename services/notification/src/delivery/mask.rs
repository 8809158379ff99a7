//! Keeping secrets out of texts (NTF-54, NTF-128).

const MASK: &str = "*****";
/// Shorter values are not masked: they are no secrets worth the name, and replacing each `1` makes a text unreadable.
const MIN_SECRET: usize = 4;

/// Replaces each occurrence of each secret, the longest first.
pub fn mask(text: &str, secrets: &[String]) -> String {
    let mut secrets: Vec<&str> =
        secrets.iter().map(|secret| secret.trim()).filter(|secret| secret.len() >= MIN_SECRET).collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_secret_values_are_masked_the_longest_first() {
        let secrets = ["sesame".to_owned(), " sesame9 ".to_owned(), "1".to_owned(), String::new()];
        assert_eq!(mask("a1 sesame9 and sesame", &secrets), "a1 ***** and *****");
    }
}
