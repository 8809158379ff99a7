//! The leaves that are encrypted (KS-SOPS-2).

use regex::bytes::Regex;

use crate::error::MetadataError;

/// The rule of a document. Suffixes and expressions are compared with every key on the way to a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScopeRule {
    /// Every leaf is encrypted.
    All,
    /// All but those below a key with this suffix.
    UnencryptedSuffix(String),
    /// Only those below a key with this suffix.
    EncryptedSuffix(String),
    /// All but those below a key that matches.
    UnencryptedRegex(String),
    /// Only those below a key that matches.
    EncryptedRegex(String),
    /// All but those whose comments match.
    UnencryptedCommentRegex(String),
    /// Only those whose comments match.
    EncryptedCommentRegex(String),
}

/// A rule with its expression compiled.
pub(crate) struct Scope {
    rule: ScopeRule,
    regex: Option<Regex>,
}

impl Scope {
    pub(crate) fn new(rule: &ScopeRule) -> Result<Self, MetadataError> {
        let pattern = match rule {
            ScopeRule::UnencryptedRegex(pattern) => Some(("unencrypted_regex", pattern)),
            ScopeRule::EncryptedRegex(pattern) => Some(("encrypted_regex", pattern)),
            ScopeRule::UnencryptedCommentRegex(pattern) => Some(("unencrypted_comment_regex", pattern)),
            ScopeRule::EncryptedCommentRegex(pattern) => Some(("encrypted_comment_regex", pattern)),
            _ => None,
        };
        let compile = |(field, pattern): (&'static str, &String)| {
            let failed = |reason: String| MetadataError::Regex { field, reason };
            let translated =
                weir_policy::go_regex::translate(pattern).map_err(|error| failed(error.to_string()))?;
            Regex::new(&translated).map_err(|error| failed(error.to_string()))
        };
        Ok(Self { rule: rule.clone(), regex: pattern.map(compile).transpose()? })
    }

    /// Returns true when the leaf at `path` is encrypted. `comments` are the active comments of each open collection; of a
    /// comment, the last of them is itself.
    pub(crate) fn is_encrypted(&self, path: &[String], comments: &[Vec<String>], is_comment: bool) -> bool {
        let matches = |text: &str| self.regex.as_ref().is_some_and(|regex| regex.is_match(text.as_bytes()));
        let matches_key = || path.iter().any(|key| matches(key));
        match &self.rule {
            ScopeRule::All => true,
            ScopeRule::UnencryptedSuffix(suffix) => !path.iter().any(|key| key.ends_with(suffix.as_str())),
            ScopeRule::EncryptedSuffix(suffix) => path.iter().any(|key| key.ends_with(suffix.as_str())),
            ScopeRule::UnencryptedRegex(_) => !matches_key(),
            ScopeRule::EncryptedRegex(_) => matches_key(),
            ScopeRule::UnencryptedCommentRegex(_) => !comments.iter().flatten().any(|text| matches(text)),
            ScopeRule::EncryptedCommentRegex(_) => {
                let mut earlier: Vec<&String> = comments.iter().flatten().collect();
                // The comment that matches is not encrypted itself.
                if is_comment && comments.last().is_some_and(|last| !last.is_empty()) {
                    earlier.pop();
                }
                earlier.into_iter().any(|text| matches(text))
            }
        }
    }
}
