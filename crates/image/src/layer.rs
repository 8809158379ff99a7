use std::collections::BTreeSet;

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

use crate::Error;
use crate::contents::{Contents, Entry};

/// The system by which gzip says a file was made: "unknown", whatever the machine.
const GZIP_SYSTEM: u8 = 255;

/// A layer of an image: a compressed archive.
#[derive(Debug, Clone)]
pub struct Layer {
    pub(crate) compressed: Vec<u8>,
    /// Digest of the archive before compression, which the image's configuration names.
    pub(crate) content_digest: String,
}

impl Layer {
    /// Packs files. Folders that lead to them are made, and all times are zero.
    ///
    /// # Errors
    /// When a path is too long for an archive.
    pub fn pack(contents: &Contents) -> Result<Self, Error> {
        let mut archive = tar::Builder::new(Vec::new());
        let mut made = BTreeSet::new();
        for (path, entry) in &contents.entries {
            for folder in missing_folders(path, contents, &made) {
                append(&mut archive, &folder, &Entry::Folder { mode: 0o755, owner: 0 })?;
                made.insert(folder);
            }
            append(&mut archive, path, entry)?;
        }
        let failed = |source| Error::Pack { path: "/".into(), source };
        let archive = archive.into_inner().map_err(failed)?;
        let mut encoder: GzEncoder<Vec<u8>> =
            GzBuilder::new().operating_system(GZIP_SYSTEM).write(Vec::new(), Compression::new(6));
        std::io::Write::write_all(&mut encoder, &archive).map_err(failed)?;
        let compressed = encoder.finish().map_err(failed)?;
        Ok(Self { compressed, content_digest: digest(&archive) })
    }

    /// Size of the compressed layer in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.compressed.len()
    }
}

/// Returns the folders that lead to a path and are in the archive neither yet nor on their own.
fn missing_folders(path: &str, contents: &Contents, made: &BTreeSet<String>) -> Vec<String> {
    let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    let folders = ends.filter_map(|at| path.get(..at)).map(str::to_owned);
    folders.filter(|folder| !made.contains(folder) && !contents.entries.contains_key(folder)).collect()
}

fn append(archive: &mut tar::Builder<Vec<u8>>, path: &str, entry: &Entry) -> Result<(), Error> {
    let failed = |source| Error::Pack { path: path.to_owned(), source };
    // Names in an archive are relative to the root of the image.
    let name = path.trim_start_matches('/');
    let mut header = Header::new_gnu();
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    match entry {
        Entry::File { content, mode } => {
            header.set_entry_type(EntryType::Regular);
            header.set_mode(*mode);
            header.set_size(content.len() as u64);
            archive.append_data(&mut header, name, content.as_slice()).map_err(failed)
        }
        Entry::Link { target } => {
            header.set_entry_type(EntryType::Symlink);
            header.set_mode(0o777);
            header.set_size(0);
            archive.append_link(&mut header, name, target).map_err(failed)
        }
        Entry::Folder { mode, owner } => {
            header.set_entry_type(EntryType::Directory);
            header.set_mode(*mode);
            header.set_uid(*owner);
            header.set_gid(*owner);
            header.set_size(0);
            archive.append_data(&mut header, format!("{name}/"), std::io::empty()).map_err(failed)
        }
    }
}

pub(crate) fn digest(content: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(content)))
}
