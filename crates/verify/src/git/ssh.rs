//! SSH signatures (`ssh-keygen -Y sign -n git`).

use ssh_key::{Error, HashAlg, PublicKey, SshSig};

/// Namespace that an SSH signature must have; one made for a file or an e-mail is none of Git's.
pub(super) const NAMESPACE: &str = "git";
/// Keys that are tried. Each costs a comparison, the one that fits a signature check.
const MAX_KEYS: usize = 10_000;
/// Last line of a signature.
const END: &[u8] = b"-----END SSH SIGNATURE-----";
/// Characters between the fields of a key.
const BLANKS: [char; 2] = [' ', '\t'];

/// Faults of an SSH signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SshError {
    /// The signature cannot be read.
    #[error("unable to unarmor SSH signature: {reason}")]
    Malformed {
        /// The decoder's message.
        reason: String,
    },
    /// Not one entry of the Secret consists of keys.
    #[error("unable to parse authorized keys: unable to parse authorized key: ssh: no key found")]
    NoKey,
    /// None of the keys made it.
    #[error(
        "unable to verify payload with any of the given authorized keys: no matching key{}",
        lines(causes)
    )]
    NoMatch {
        /// Faults of the keys, each reason once.
        causes: Vec<String>,
    },
}

fn lines(causes: &[String]) -> String {
    causes.iter().map(|cause| format!("\n{cause}")).collect()
}

/// Checks the signature with the keys of all entries that can be read; returns the fingerprint of the one that made it.
pub(super) fn verify(payload: &[u8], signature: &[u8], entries: &[Vec<u8>]) -> Result<String, SshError> {
    let malformed = |error: Error| SshError::Malformed { reason: error.to_string() };
    let signature = SshSig::from_pem(armour(signature)).map_err(malformed)?;
    let readable: Vec<Vec<PublicKey>> = entries.iter().filter_map(|entry| authorized_keys(entry)).collect();
    if readable.is_empty() {
        return Err(SshError::NoKey);
    }
    let mut causes = Vec::new();
    for key in readable.iter().flatten().take(MAX_KEYS) {
        match key.verify(NAMESPACE, payload, &signature) {
            Ok(()) => return Ok(key.fingerprint(HashAlg::Sha256).to_string()),
            Err(error) => {
                let cause = cause(&error);
                if !causes.contains(&cause) {
                    causes.push(cause);
                }
            }
        }
    }
    Err(SshError::NoMatch { causes })
}

/// The keys of an `authorized_keys` file; nothing when one of its lines is no key, since that is a mistake of whoever
/// wrote it.
fn authorized_keys(entry: &[u8]) -> Option<Vec<PublicKey>> {
    let text = std::str::from_utf8(entry).ok()?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(authorized_key).collect()
}

/// The key of a line, behind options or the name of its owner if there are any.
fn authorized_key(line: &str) -> Option<PublicKey> {
    key(line).or_else(|| key(behind_options(line)?))
}

/// Reads the kind of a key and the key; all behind them is a comment.
fn key(text: &str) -> Option<PublicKey> {
    let mut fields = text.split(BLANKS).filter(|field| !field.is_empty());
    PublicKey::from_openssh(&format!("{} {}", fields.next()?, fields.next()?)).ok()
}

/// Returns all behind the first blank that is not in quotes.
fn behind_options(line: &str) -> Option<&str> {
    let (mut is_quoted, mut before) = (false, ' ');
    for (at, character) in line.char_indices() {
        if !is_quoted && BLANKS.contains(&character) {
            return line.get(at..);
        }
        if character == '"' && before != '\\' {
            is_quoted = !is_quoted;
        }
        before = character;
    }
    None
}

/// Returns a signature without blanks before it, and without all that stands behind it.
fn armour(signature: &[u8]) -> &[u8] {
    let signature = signature.trim_ascii();
    let end = signature.windows(END.len()).position(|found| found == END);
    end.and_then(|end| signature.get(..end + END.len())).unwrap_or(signature)
}

/// The words of the library that Flux uses.
fn cause(error: &Error) -> String {
    match error {
        Error::PublicKey => "public key does not match".to_owned(),
        Error::Namespace => "namespace does not match".to_owned(),
        _ => "ssh: signature did not verify".to_owned(),
    }
}
