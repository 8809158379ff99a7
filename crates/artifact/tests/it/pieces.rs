//! Large artifacts lie in pieces that successive ones share: the same bytes, less disk (docs/adr/0014).

mod lives;
mod sharing;
mod wrong;

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use weir_artifact::archive::Sink;
use weir_artifact::{Algorithm, Location, Opened, Store, StoreOptions, Stored};

/// Bytes of a piece here.
const PIECE: usize = 256 << 10;
/// Bytes of a run, and how they are handed over.
const RUN: usize = 32 << 10;
const BLOCK: usize = 10_000;

fn options() -> StoreOptions {
    let (advertised, algorithm) = ("source".to_owned(), Algorithm::Blake3);
    StoreOptions { advertised, algorithm, records: 1, piece_bytes: PIECE as u64, step: |_| {} }
}

fn location() -> Location {
    Location::new("GitRepository", "flux-system", "app").unwrap()
}

/// A store in a folder of its own.
struct Disk {
    folder: tempfile::TempDir,
    store: Store,
}

impl Disk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), options()).unwrap();
        Self { folder, store }
    }

    /// Writes an artifact after another one.
    fn put(&self, file: &str, runs: &[u32], previous: Option<&Written>) -> Written {
        let opened = previous.map(|previous| (self.open(previous), previous));
        let fill = |out: &mut dyn Sink| fill(out, runs, opened.as_ref().map(|(opened, of)| (opened, *of)));
        let stored = self.store.write(&location(), file, fill).unwrap();
        Written::new(stored, runs)
    }

    fn open(&self, artifact: &Written) -> Opened {
        self.store.open_file(&artifact.stored.path).unwrap()
    }

    fn verify(&self, artifact: &Written) -> Result<(), weir_artifact::VerifyError> {
        let Stored { path, digest, .. } = &artifact.stored;
        self.store.verify(&location(), path.as_str(), &digest.to_string())
    }

    fn object(&self) -> PathBuf {
        self.folder.path().join(location().directory().as_str())
    }

    fn names(&self) -> Vec<String> {
        names(&self.object())
    }

    /// The files of an artifact.
    fn pieces(&self, artifact: &Written) -> Vec<PathBuf> {
        let path = self.folder.path().join(format!("{}.pieces", artifact.stored.path));
        names(&path).iter().map(|name| path.join(name)).collect()
    }

    fn assert_whole(&self, artifact: &Written) {
        let mut bytes = Vec::new();
        self.open(artifact).read_to_end(&mut bytes).unwrap();
        assert!(bytes == artifact.bytes(), "{}", artifact.stored.path);
        self.verify(artifact).unwrap();
    }
}

fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn inodes(pieces: &[PathBuf]) -> Vec<u64> {
    pieces.iter().map(|path| path.metadata().unwrap().ino()).collect()
}

/// An artifact: where its runs lie, as the archive's writer remembers it.
struct Written {
    stored: Stored,
    runs: Vec<u32>,
    places: BTreeMap<u32, u64>,
}

impl Written {
    fn new(stored: Stored, runs: &[u32]) -> Self {
        let mut at = 0;
        let mut place = |run: &u32| {
            let place = (*run, at);
            at += bytes_of(*run).len() as u64;
            place
        };
        let places = runs.iter().map(&mut place).collect();
        Self { stored, runs: runs.to_vec(), places }
    }

    fn bytes(&self) -> Vec<u8> {
        let runs: Vec<_> = self.runs.iter().map(|run| bytes_of(*run)).chain([trailer(&self.runs)]).collect();
        runs.concat()
    }
}

/// A run, of a size of its own.
fn bytes_of(run: u32) -> Vec<u8> {
    let mut bytes = blake3::hash(&run.to_le_bytes()).as_bytes().repeat(2 * RUN / 32);
    bytes.truncate(RUN / 2 + (run as usize * 7919) % RUN);
    bytes
}

/// Returns the end of an artifact, which differs from one to the next.
fn trailer(runs: &[u32]) -> Vec<u8> {
    let bytes: Vec<u8> = runs.iter().flat_map(|run| run.to_le_bytes()).collect();
    blake3::hash(&bytes).as_bytes().to_vec()
}

fn fill(out: &mut dyn Sink, runs: &[u32], previous: Option<(&Opened, &Written)>) -> std::io::Result<()> {
    for run in runs {
        let known = previous.and_then(|(opened, of)| Some((opened, *of.places.get(run)?)));
        for (number, block) in bytes_of(*run).chunks(BLOCK).enumerate() {
            match known {
                Some((opened, at)) => out.copied(block, opened, at + (number * BLOCK) as u64)?,
                None => out.write_all(block)?,
            }
        }
        out.may_cut()?;
    }
    out.write_all(&trailer(runs))
}
