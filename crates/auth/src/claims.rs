//! Claims of a JSON Web Token, read without verifying it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;

/// Reads claims of a JSON Web Token without verifying it: they may be used to be careful with one's own token, and prove nothing about
/// somebody else's. Returns nothing for other tokens and other claims.
#[must_use]
pub fn unverified_claims<C: DeserializeOwned>(token: &str) -> Option<C> {
    let payload = token.split('.').nth(1)?;
    let claims = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    serde_json::from_slice(&claims).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::whole("e30.eyJleHAiOjd9.c2ln", Some(7))]
    #[case::padded("e30.eyJleHAiOjd9==.c2ln", Some(7))]
    #[case::without_signature("e30.eyJleHAiOjd9", Some(7))]
    #[case::of_another_type("e30.eyJleHAiOiI3In0.c2ln", None)]
    #[case::no_json("e30.e30x.c2ln", None)]
    #[case::no_base64("a.%%%.c", None)]
    #[case::opaque("opaque", None)]
    #[case::empty("", None)]
    fn claims(#[case] token: &str, #[case] expected: Option<u64>) {
        let claims: Option<BTreeMap<String, u64>> = unverified_claims(token);
        assert_eq!(claims.and_then(|claims| claims.get("exp").copied()), expected);
    }
}
