//! Files that generators and patches read (KS-DEC-20 to KS-DEC-23).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weir_kustomize::{DirEntry, FileKind, FileSystem, FsError, FsPath, Kustomization, UnknownFields};
use weir_sops::Format;
use zeroize::Zeroizing;

use super::{Decryption, Error, MAX_BYTES, format_of};
use crate::build::parsed_by_flux;

/// Directories that refer to each other; real trees have some hundreds.
const MAX_DIRECTORIES: usize = 10_000;

/// Plaintext by path.
type Plain = BTreeMap<FsPath, Zeroizing<Vec<u8>>>;

/// Files of which some are decrypted.
pub(crate) struct Decrypted<'f> {
    files: &'f dyn FileSystem,
    plain: Plain,
}

/// Decrypts the files that a document, which stands for a directory, and the kustomization files of the directories that it and they
/// name give to `secretGenerator` and to `patches`.
pub(crate) fn decrypt_files<'f>(
    files: &'f dyn FileSystem,
    directory: &FsPath,
    document: &Kustomization,
    decryption: &Decryption,
) -> Result<Decrypted<'f>, Error> {
    let mut plain = Plain::new();
    let mut seen = BTreeSet::from([directory.clone()]);
    let mut left = VecDeque::from([(directory.clone(), Cow::Borrowed(document))]);
    while let Some((directory, document)) = left.pop_front() {
        let mut decrypt = |path: &str, format: Format| {
            decrypt_file(files, &directory, path, format, decryption, &mut plain)
        };
        for generator in &document.secret_generator {
            for source in &generator.common.files {
                let (key, path) = source.split_once('=').unwrap_or((source, source));
                decrypt(path, format_of(key))?;
            }
            for path in generator.common.envs.iter().chain([&generator.common.env]) {
                let format = format_of(path);
                decrypt(path, if format == Format::Binary { Format::Dotenv } else { format })?;
            }
        }
        for patch in &document.patches {
            decrypt(&patch.path, Format::of_path(&patch.path))?;
        }
        // Whatever is no directory here is read, fetched or reported by the build.
        for path in document.resources.iter().chain(&document.components) {
            let next = directory.join(path).ok().and_then(|path| files.resolve(&path).ok());
            if let Some((next, FileKind::Directory)) = next
                && seen.insert(next.clone())
            {
                let found = Kustomization::load(files, &next, UnknownFields::Drop);
                let found = found.map_err(|error| unreadable(files, &next, &error))?;
                left.extend(found.map(|(_, document)| (next, Cow::Owned(document))));
            }
        }
        if seen.len() > MAX_DIRECTORIES {
            return Err(Error::TooMany { limit: MAX_DIRECTORIES });
        }
    }
    Ok(Decrypted { files, plain })
}

/// A kustomization file that cannot be read, named unless the cause does so.
fn unreadable(files: &dyn FileSystem, directory: &FsPath, cause: &weir_kustomize::Error) -> Error {
    let of_content = matches!(
        cause,
        weir_kustomize::Error::MalformedKustomization(_) | weir_kustomize::Error::InvalidKustomization(_)
    );
    let path = Kustomization::files_of(directory, |path| files.is_file(path)).into_iter().next();
    let path = path.filter(|_| of_content).map(|path| path.to_string());
    Error::Kustomization { path, cause: parsed_by_flux(cause) }
}

/// Decrypts a file if it looks encrypted. One that is missing is reported by the build.
fn decrypt_file(
    files: &dyn FileSystem,
    directory: &FsPath,
    path: &str,
    format: Format,
    decryption: &Decryption,
    plain: &mut Plain,
) -> Result<(), Error> {
    let resolved = directory.join(path).ok().and_then(|path| files.resolve(&path).ok());
    let Some((path, FileKind::File)) = resolved.filter(|_| !path.is_empty()) else { return Ok(()) };
    if plain.contains_key(&path) {
        return Ok(());
    }
    let failed = |source: Error| Error::Source { path: path.to_string(), source: Box::new(source) };
    let bytes = match files.read(&path, u64::try_from(MAX_BYTES).unwrap_or(u64::MAX)) {
        Ok(bytes) => bytes,
        // The message names its size.
        Err(FsError::TooLarge { .. }) => {
            let size = files.read(&path, u64::MAX).map(|bytes| bytes.len());
            return Err(failed(size.map_or_else(Error::from, |size| Error::TooLarge { size })));
        }
        Err(error) => return Err(failed(error.into())),
    };
    if format.is_marked(&bytes) {
        let text = decryption.convert(&bytes, format, format).map_err(failed)?;
        plain.insert(path, text);
    }
    Ok(())
}

impl FileSystem for Decrypted<'_> {
    fn read(&self, path: &FsPath, limit: u64) -> Result<Vec<u8>, FsError> {
        let resolved = self.files.resolve(path).map(|(path, _)| path);
        match resolved.as_ref().ok().and_then(|path| self.plain.get(path)) {
            Some(text) if text.len() as u64 > limit => Err(FsError::TooLarge { path: path.clone(), limit }),
            Some(text) => Ok(text.to_vec()),
            None => self.files.read(path, limit),
        }
    }

    fn resolve(&self, path: &FsPath) -> Result<(FsPath, FileKind), FsError> {
        self.files.resolve(path)
    }

    fn list(&self, path: &FsPath) -> Result<Vec<DirEntry>, FsError> {
        self.files.list(path)
    }
}
