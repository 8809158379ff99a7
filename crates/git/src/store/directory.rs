//! A bare repository on disk: its objects, and the few files beside them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::{Repository, RepositoryInitOptions, RepositoryOpenFlags};
use gix_hash::{Kind, ObjectId};
use tokio::sync::OwnedMutexGuard;
use weir_artifact::WorkFolder;

use super::Place;
use crate::error::Error;
use crate::objects::Objects;

/// Packs of a repository: each fetch adds one, and each one costs a descriptor and a search per object.
const MAX_PACKS: usize = 100;
/// Bytes by which a repository may outgrow twice its largest pack before it is fetched anew.
const SLACK_BYTES: u64 = 64 << 20;
/// Prefix of files of packs that are being received.
pub(crate) const PARTIAL_PACK: &str = "weir-pack-";
/// Prefixes of packs that were not complete when their process was killed: libgit2's, gitoxide's and ours.
const PARTIAL_PACKS: [&str; 3] = ["pack_git2_", ".tmp", PARTIAL_PACK];
/// Repository in a folder of its own.
const REPOSITORY: &str = "repository";
/// Git's own folder of packs.
const PACKS: &str = "objects/pack";
/// File in a repository of which some blobs are missing because nobody wanted them.
const PARTIAL_MARK: &str = "weir-partial";
/// Git's own file of the commits at which history is cut.
const ROOTS: &str = "shallow";
/// Reference to the newest commit of a kept repository: it is sent to the server, which answers with the missing
/// objects only.
const TIP: &str = "refs/weir/tip";
/// Git's own file about the format of a repository, and its content where SHA-256 names the objects.
const CONFIG: &str = "config";
const SHA256_CONFIG: &str =
    "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n";

/// A bare repository in use. Its turn ends, or its folder goes, with the last value that shares it.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    path: PathBuf,
    _held: Arc<Held>,
}

#[derive(Debug)]
enum Held {
    Own(#[expect(dead_code, reason = "removes the folder when it is dropped")] WorkFolder),
    Kept(#[expect(dead_code, reason = "ends the turn when it is dropped")] OwnedMutexGuard<()>),
}

impl Directory {
    /// A repository at `place`, and whether anything may be in it already.
    pub(crate) fn at(place: Place) -> Result<(Self, bool), Error> {
        let failed = |source| Error::WorkDirectory { source };
        let (path, turn) = match place {
            Place::Own => {
                let folder = WorkFolder::new().map_err(failed)?;
                // The folder itself stays when the repository is made anew.
                let path = folder.path().join(REPOSITORY);
                initialise(&path, Kind::Sha1)?;
                return Ok((Self { path, _held: Arc::new(Held::Own(folder)) }, false));
            }
            Place::Kept(path, turn) => (path, turn),
        };
        let directory = Self { path, _held: Arc::new(Held::Kept(turn)) };
        if directory.open().is_ok() && directory.is_worth_keeping().map_err(failed)? {
            return Ok((directory, true));
        }
        directory.clear(Kind::Sha1)?;
        Ok((directory, false))
    }

    /// Empties the repository; what comes then is named by `format`.
    pub(crate) fn clear(&self, format: Kind) -> Result<(), Error> {
        self.discard().map_err(|source| Error::WorkDirectory { source })?;
        initialise(&self.path, format)
    }

    /// Removes the repository: something in it cannot be read.
    pub(crate) fn discard(&self) -> io::Result<()> {
        match std::fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    /// Returns the hash that names the objects.
    pub(crate) fn format(&self) -> Kind {
        let config = std::fs::read_to_string(self.path.join(CONFIG)).unwrap_or_default();
        if config == SHA256_CONFIG { Kind::Sha256 } else { Kind::Sha1 }
    }

    /// Returns the folder of the packs.
    pub(crate) fn packs(&self) -> PathBuf {
        self.path.join(PACKS)
    }

    pub(crate) fn open(&self) -> Result<Objects, Error> {
        if self.format() == Kind::Sha256 {
            return Objects::sha256(&self.path);
        }
        // Not `open_bare`: it does not read which commits are shallow roots, and walks then miss their parents.
        let flags = RepositoryOpenFlags::BARE | RepositoryOpenFlags::NO_SEARCH;
        let repository = Repository::open_ext(&self.path, flags, std::iter::empty::<&std::ffi::OsStr>())?;
        Ok(Objects::Sha1(repository))
    }

    /// Returns true when blobs may be missing that nobody has wanted yet.
    pub(crate) fn is_partial(&self) -> bool {
        self.path.join(PARTIAL_MARK).exists()
    }

    /// Notes that blobs will be missing.
    pub(crate) fn mark_partial(&self) -> Result<(), Error> {
        std::fs::write(self.path.join(PARTIAL_MARK), "").map_err(|source| Error::WorkDirectory { source })
    }

    /// Commits whose parents are not there.
    pub(crate) fn roots(&self) -> Result<BTreeSet<ObjectId>, Error> {
        match std::fs::read_to_string(self.path.join(ROOTS)) {
            Ok(text) => text.lines().map(|line| Ok(line.parse()?)).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(source) => Err(Error::WorkDirectory { source }),
        }
    }

    /// Notes commits whose parents will not be there.
    pub(crate) fn add_roots(&self, roots: &[ObjectId]) -> Result<(), Error> {
        self.change_roots(|known| known.extend(roots))
    }

    /// Notes commits whose parents are there now.
    pub(crate) fn remove_roots(&self, roots: &[ObjectId]) -> Result<(), Error> {
        self.change_roots(|known| {
            for root in roots {
                known.remove(root);
            }
        })
    }

    fn change_roots(&self, change: impl FnOnce(&mut BTreeSet<ObjectId>)) -> Result<(), Error> {
        let before = self.roots()?;
        let mut after = before.clone();
        change(&mut after);
        if before == after {
            return Ok(());
        }
        self.replace(ROOTS, after.iter().map(|root| format!("{root}\n")).collect())
    }

    /// The newest commit, when one has been fetched.
    pub(crate) fn tip(&self) -> Result<Option<ObjectId>, Error> {
        match std::fs::read_to_string(self.path.join(TIP)) {
            Ok(text) => Ok(Some(text.trim_end().parse()?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::WorkDirectory { source }),
        }
    }

    /// Notes the newest commit.
    pub(crate) fn set_tip(&self, commit: ObjectId) -> Result<(), Error> {
        self.replace(TIP, format!("{commit}\n"))
    }

    fn replace(&self, file: &str, text: String) -> Result<(), Error> {
        let (path, temporary) = (self.path.join(file), self.path.join(format!("{file}.new")));
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = folder.and_then(|()| std::fs::write(&temporary, text));
        let replaced = written.and_then(|()| std::fs::rename(&temporary, &path));
        replaced.map_err(|source| Error::WorkDirectory { source })
    }

    /// Removes the remains of killed processes, and returns true when the repository is whole and within its bounds.
    fn is_worth_keeping(&self) -> io::Result<bool> {
        let digest_bytes = self.format().len_in_bytes();
        let (mut packs, mut total, mut largest) = (0, 0_u64, 0);
        for entry in std::fs::read_dir(self.packs())? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if PARTIAL_PACKS.iter().any(|partial| name.starts_with(partial)) {
                std::fs::remove_file(entry.path())?;
            } else if name.ends_with(".pack") {
                if !is_whole(&entry.path(), digest_bytes)? {
                    return Ok(false);
                }
                let bytes = entry.metadata()?.len();
                packs += 1;
                total += bytes;
                largest = bytes.max(largest);
            }
        }
        Ok(packs <= MAX_PACKS && total <= largest.saturating_mul(2).saturating_add(SLACK_BYTES))
    }
}

/// Returns true when a pack ends in the digest that its index knows it by: a full disk or a lost write cuts it off.
/// One without an index is not read.
fn is_whole(pack: &Path, digest_bytes: usize) -> io::Result<bool> {
    let index = pack.with_extension("idx");
    if !index.exists() {
        return Ok(true);
    }
    // The index ends in the digest of the pack and its own.
    let (pack, index) = (end_of(pack, digest_bytes)?, end_of(&index, 2 * digest_bytes)?);
    Ok(index.get(..digest_bytes).is_some_and(|digest| digest == pack))
}

/// The last bytes of a file; fewer when it is shorter.
fn end_of(path: &Path, count: usize) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(count as u64);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::with_capacity(count);
    file.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn initialise(path: &Path, format: Kind) -> Result<(), Error> {
    if format == Kind::Sha256 {
        let folders = [PACKS, "refs"].map(|folder| std::fs::create_dir_all(path.join(folder)));
        let files = [("HEAD", "ref: refs/heads/main\n"), (CONFIG, SHA256_CONFIG)];
        let files = files.map(|(file, text)| std::fs::write(path.join(file), text));
        let failed = |source| Error::WorkDirectory { source };
        return folders.into_iter().chain(files).collect::<io::Result<()>>().map_err(failed);
    }
    std::fs::create_dir_all(path).map_err(|source| Error::WorkDirectory { source })?;
    let mut options = RepositoryInitOptions::new();
    options.bare(true).external_template(false);
    let made = Repository::init_opts(path, &options);
    made.map(drop).map_err(|error| Error::WorkDirectory { source: io::Error::other(error) })
}
