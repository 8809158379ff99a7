//! Decryption of what a build reads and of what comes out of it (KS-DEC-20 to KS-DEC-28). Pure but for the keys that servers
//! keep, and CPU bound. Plaintext stays in memory: files are decrypted in a view of them, never on disk.

mod files;
mod objects;

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use weir_sops::{Document, Format, KeyService, MasterKey, Plain};
use zeroize::Zeroizing;

pub(crate) use self::files::decrypt_files;
pub(crate) use self::objects::{decrypt_object, opts_out};

/// Bytes of an encrypted file or value (KS-DEC-23).
const MAX_BYTES: usize = 5 << 20;

/// Decrypts with the keys of one Kustomization. Clones share everything.
#[derive(Clone)]
pub struct Decryption {
    inner: Arc<Inner>,
    turn: Option<Arc<dyn Lend>>,
}

/// A turn to work, which somebody else may have while its owner waits for a server.
pub trait Lend: Send + Sync {
    /// Waits.
    fn lend(&self, wait: &mut dyn FnMut());
}

struct Inner {
    keys: Box<dyn KeyService + Send + Sync>,
    fingerprint: u64,
    /// Plaintext that a message must not show.
    revealed: Mutex<Vec<Zeroizing<String>>>,
}

impl fmt::Debug for Decryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decryption")
    }
}

/// Errors of decrypting one document. They show neither plaintext nor ciphertext (KS-DEC-29).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// More than is read.
    #[error("cannot decrypt file with size ({size} bytes) exceeding limit ({MAX_BYTES})")]
    TooLarge {
        /// Bytes.
        size: usize,
    },
    /// The document is broken.
    #[error("failed to load encrypted {format} data: {source}")]
    Load {
        /// Its format.
        format: &'static str,
        /// Cause.
        source: weir_sops::Error,
    },
    /// No key gives the data key.
    #[error(transparent)]
    Key(weir_sops::KeyError),
    /// A value was changed, or the data key is another one.
    #[error("error decrypting sops tree: {0}")]
    Tree(weir_sops::Error),
    /// The plaintext cannot be written in the format that is wanted.
    #[error("failed to emit encrypted {from} file as decrypted {to}: {source}")]
    Emit {
        /// Format of the ciphertext.
        from: &'static str,
        /// Format of the plaintext.
        to: &'static str,
        /// Cause.
        source: weir_sops::FormatError,
    },
    /// A field of a Secret.
    #[error("failed to decrypt and format '{object}' Secret field '{field}': {source}")]
    Field {
        /// `namespace/name` of the Secret.
        object: String,
        /// The field.
        field: String,
        /// Cause.
        source: Box<Self>,
    },
    /// An object as a whole.
    #[error("failed to decrypt and format '{object}' {kind} data: {source}")]
    Data {
        /// `namespace/name` of the object.
        object: String,
        /// Its kind.
        kind: String,
        /// Cause.
        source: Box<Self>,
    },
    /// The decrypted object is no JSON.
    #[error("failed to read the decrypted object")]
    Object,
    /// A file that names or holds what is to be decrypted cannot be read.
    #[error(transparent)]
    File(#[from] weir_kustomize::FsError),
    /// A kustomization file cannot be read.
    #[error("{}{cause}", .path.as_deref().map_or_else(String::new, unmarshalled))]
    Kustomization {
        /// The file, where its content is what is wrong.
        path: Option<String>,
        /// Cause.
        cause: String,
    },
    /// A file of a generator or a patch.
    #[error("failed to decrypt '{path}': {source}")]
    Source {
        /// Path of the file from the root.
        path: String,
        /// Cause.
        source: Box<Self>,
    },
    /// More directories than are looked through.
    #[error("more than {limit} directories refer to each other")]
    TooMany {
        /// Limit.
        limit: usize,
    },
}

impl Decryption {
    /// Decrypts with these keys; the fingerprint differs when the keys do.
    #[must_use]
    pub fn new(keys: Box<dyn KeyService + Send + Sync>, fingerprint: u64) -> Self {
        Self { inner: Arc::new(Inner { keys, fingerprint, revealed: Mutex::default() }), turn: None }
    }

    /// The same, for who has a turn to lend.
    pub(crate) fn lending(&self, turn: Arc<dyn Lend>) -> Self {
        Self { turn: Some(turn), ..self.clone() }
    }

    /// A number that differs when the keys do.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.inner.fingerprint
    }

    /// The plaintext values that no message may show.
    pub(crate) fn revealed(&self) -> Vec<Zeroizing<String>> {
        self.inner.revealed.lock().clone()
    }

    /// Decrypts bytes of one format into another. The MAC is not checked: kustomize changes documents (KS-DEC-30).
    fn convert(&self, bytes: &[u8], from: Format, to: Format) -> Result<Zeroizing<Vec<u8>>, Error> {
        if bytes.len() > MAX_BYTES {
            return Err(Error::TooLarge { size: bytes.len() });
        }
        let document =
            Document::read(bytes, from).map_err(|source| Error::Load { format: shown(from), source })?;
        let plain = self.open(document)?;
        plain.write(to).map_err(|source| Error::Emit { from: shown(from), to: shown(to), source })
    }

    fn open(&self, document: Document) -> Result<Plain, Error> {
        let key = document
            .data_key(&Patient { keys: &*self.inner.keys, turn: self.turn.as_deref() })
            .map_err(Error::Key)?;
        let plain = document.decrypt(&key).map_err(Error::Tree)?;
        self.inner.revealed.lock().extend(plain.revealed.iter().cloned());
        Ok(plain)
    }
}

/// Waits for servers without keeping others from working.
struct Patient<'a> {
    keys: &'a (dyn KeyService + Send + Sync),
    turn: Option<&'a dyn Lend>,
}

impl KeyService for Patient<'_> {
    fn decrypt(&self, key: &MasterKey) -> Result<Zeroizing<Vec<u8>>, String> {
        let Some(turn) = self.turn.filter(|_| key.is_kept_by_server()) else { return self.keys.decrypt(key) };
        let mut done = Err(String::new());
        turn.lend(&mut || done = self.keys.decrypt(key));
        done
    }
}

fn unmarshalled(path: &str) -> String {
    format!("failed to unmarshal kustomization file from '{path}': ")
}

/// The name of a format in messages.
fn shown(format: Format) -> &'static str {
    match format {
        Format::Yaml => "YAML",
        Format::Json => "JSON",
        Format::Ini => "INI",
        Format::Dotenv | Format::Binary => format.name(),
    }
}

/// The format of a file by its name, as Flux has it (KS-DEC-21).
fn format_of(path: &str) -> Format {
    if path.ends_with(".dockerconfigjson") { Format::Json } else { Format::of_path(path) }
}

#[cfg(test)]
mod tests;
