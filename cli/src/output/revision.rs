//! Hashes as people read them.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Characters that are left of a hash.
const SHORT: usize = 8;

/// Characters of the shortest hash, SHA-1.
const SHORTEST: usize = 40;

/// Cuts every hash in a text to its first eight characters (CLI-G14).
pub(crate) fn shorten(text: &str) -> Cow<'_, str> {
    // Most cells of a table: a search with the pattern takes longer.
    if text.len() < SHORTEST {
        return Cow::Borrowed(text);
    }
    // As in Go, only ASCII makes words: a hash may stand right behind a letter of another script.
    static HASH: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?-u:\b)[a-f0-9]{40,128}(?-u:\b)").ok());
    let Some(hash) = HASH.as_ref() else { return Cow::Borrowed(text) };
    // As in Flux, a hash that stands somewhere as a word is cut everywhere.
    hash.find_iter(text).fold(Cow::Borrowed(text), |shown, found| match found.as_str().get(..SHORT) {
        Some(short) => Cow::Owned(shown.replace(found.as_str(), short)),
        None => shown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA1: &str = "696f056df216eea4f9401adbee0ff744d4df390f";

    #[rstest::rstest]
    #[case("main@sha1:696f056df216eea4f9401adbee0ff744d4df390f", "main@sha1:696f056d")]
    #[case("main/696f056df216eea4f9401adbee0ff744d4df390f", "main/696f056d")]
    #[case("from 696f056df216eea4f9401adbee0ff744d4df390f to 1.0.0", "from 696f056d to 1.0.0")]
    #[case("版本696f056df216eea4f9401adbee0ff744d4df390f已应用", "版本696f056d已应用")]
    #[case(
        "sha-696f056df216eea4f9401adbee0ff744d4df390f_dev of 696f056df216eea4f9401adbee0ff744d4df390f",
        "sha-696f056d_dev of 696f056d"
    )]
    #[case("696f056", "696f056")]
    #[case("x696f056df216eea4f9401adbee0ff744d4df390f", "x696f056df216eea4f9401adbee0ff744d4df390f")]
    #[case("", "")]
    fn hashes_are_cut(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(shorten(text), expected);
    }

    #[test]
    fn longer_than_any_hash_is_kept() {
        let long = SHA1.repeat(4);
        assert_eq!(shorten(&long), long);
    }
}
