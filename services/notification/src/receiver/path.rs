//! The secret path of a Receiver (NTF-84 … NTF-86).

use sha2::{Digest, Sha256};

/// Prefix of all webhook paths.
pub const PREFIX: &str = "/hook/";

/// `/hook/` and the hash of token, name and namespace. Other programs compute the same one offline: the formula is frozen.
pub fn webhook_path(token: &[u8], name: &str, namespace: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(token);
    hash.update(name);
    hash.update(namespace);
    format!("{PREFIX}{}", hex::encode(hash.finalize()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(b"test-token", "/hook/df3ebadde655d58cd8236886baaaca95ff9c420f4c89e11a5d91965baa0cdf0f")]
    #[case(b"", "/hook/d9c6bac01b84166b25cc5beaa8bc0d10807c6ec7c12e73ee81880689f8ed8538")]
    fn path_is_the_frozen_formula(#[case] token: &[u8], #[case] path: &str) {
        assert_eq!(webhook_path(token, "github-receiver", "flux-system"), path);
    }
}
