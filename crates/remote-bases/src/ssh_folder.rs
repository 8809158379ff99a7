//! The key and the known hosts of a user.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use weir_git::{SshAuth, identity_is_encrypted};

/// Bytes of each file. A `known_hosts` of ten thousand lines has about that.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Keys by name, the first one that is there is used, in the order in which OpenSSH tries them today.
const IDENTITIES: [&str; 3] = ["id_ed25519", "id_ecdsa", "id_rsa"];
const KNOWN_HOSTS: &str = "known_hosts";

/// A folder such as `~/.ssh`.
#[derive(Clone)]
pub(crate) struct SshFolder(pub(crate) PathBuf);

/// Errors that make the folder unusable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SshFolderError {
    #[error("SSH needs a key: there is none of {} in '{}'", IDENTITIES.join(", "), .folder.display())]
    NoIdentity { folder: PathBuf },
    #[error("the SSH key '{}' has a passphrase, which nobody can be asked for; use another key or an https:// URL", .path.display())]
    Encrypted { path: PathBuf },
    #[error("SSH needs '{}': {cause}", .path.display())]
    File { path: PathBuf, cause: io::Error },
}

impl SshFolder {
    /// Reads what a connection needs.
    ///
    /// # Errors
    /// A file is missing or too large, or the key has a passphrase.
    pub(crate) fn read(&self) -> Result<SshAuth, SshFolderError> {
        let folder = &self.0;
        let is_there = |path: &PathBuf| path.is_file();
        let path = IDENTITIES.iter().map(|name| folder.join(name)).find(is_there);
        let path = path.ok_or_else(|| SshFolderError::NoIdentity { folder: folder.clone() })?;
        let identity = text(path.clone())?;
        if identity_is_encrypted(&identity) {
            return Err(SshFolderError::Encrypted { path });
        }
        let known_hosts = text(folder.join(KNOWN_HOSTS))?;
        Ok(SshAuth { identity: identity.into(), passphrase: None, known_hosts })
    }
}

fn text(path: PathBuf) -> Result<String, SshFolderError> {
    let read = || {
        let mut text = String::new();
        let length = File::open(&path)?.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
        if length as u64 > MAX_FILE_BYTES {
            return Err(io::Error::other(format!("more than {MAX_FILE_BYTES} bytes")));
        }
        Ok(text)
    };
    read().map_err(|cause| SshFolderError::File { path, cause })
}
