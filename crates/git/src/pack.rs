//! Packs on their way into a repository: nothing of one can be read before all of it is there and has been checked. Their
//! size is the server's choice, so they stop before the disk is full (SRC 14.6).

mod sizes;

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::sync::atomic::AtomicBool;

use git2::Repository;
use gix_hash::Kind;
use gix_odb::HandleArc;
use gix_pack::Bundle;
use gix_pack::bundle::write::Options;
use tempfile::NamedTempFile;
use weir_artifact::Room;

use self::sizes::Sizes;
use crate::conversation::answer::Answer;
use crate::error::Error;
use crate::objects::{MAX_BLOB, Objects};
use crate::operation::Operation;
use crate::store::{Directory, PARTIAL_PACK};

/// Takes the bytes of a pack.
pub(crate) type Sink<'a> = dyn FnMut(&[u8]) -> Result<(), Error> + 'a;
/// Receives an answer, and gives the pack in it to a sink.
type Receive<'a> = dyn FnMut(&mut Sink<'_>) -> Result<Answer, Error> + 'a;

/// Puts the pack of an answer into a repository.
pub(crate) fn keep(
    operation: &Operation,
    directory: &Directory,
    receive: &mut Receive<'_>,
) -> Result<(), Error> {
    let (mut room, objects) = (Room::at(&directory.packs()), directory.open()?);
    let receive: &mut Receive<'_> = &mut |sink| {
        let mut sizes = Sizes::new(&objects)?;
        let answer = receive(&mut |bytes| {
            room.take(bytes.len() as u64).map_err(|source| Error::Keep { source })?;
            sizes.see(bytes)?;
            sink(bytes)
        })?;
        sizes.finish()?;
        Ok(answer)
    };
    let answer = match &objects {
        Objects::Sha1(repository) => by_library(operation, directory, repository, receive)?,
        Objects::Sha256(store) => by_gitoxide(operation, directory, store, receive)?,
    };
    directory.remove_roots(&answer.unshallow)
}

fn by_library(
    operation: &Operation,
    directory: &Directory,
    repository: &Repository,
    receive: &mut Receive<'_>,
) -> Result<Answer, Error> {
    let objects = repository.odb()?;
    let mut pack = objects.packwriter().map_err(of_library)?;
    pack.progress(|_| operation.is_live());
    let answer =
        receive(&mut |bytes| pack.write_all(bytes).map_err(|_| of_library(git2::Error::last_error(-1))))?;
    (operation.step)("git-pack-received");
    // In this order, so that a repository whose process is killed never claims history that it lacks.
    directory.add_roots(&answer.shallow)?;
    (operation.step)("git-roots-noted");
    pack.commit().map_err(of_library)?;
    (operation.step)("git-pack-kept");
    Ok(answer)
}

/// Maps an error of the library; a file-system error does not condemn the pack.
fn of_library(error: git2::Error) -> Error {
    match error.class() {
        git2::ErrorClass::Os => Error::Keep { source: io::Error::other(error) },
        _ => error.into(),
    }
}

fn by_gitoxide(
    operation: &Operation,
    directory: &Directory,
    store: &HandleArc,
    receive: &mut Receive<'_>,
) -> Result<Answer, Error> {
    let failed = |source| Error::Keep { source };
    let mut file =
        tempfile::Builder::new().prefix(PARTIAL_PACK).tempfile_in(directory.packs()).map_err(failed)?;
    let answer = receive(&mut |bytes| file.write_all(bytes).map_err(failed))?;
    (operation.step)("git-pack-received");
    directory.add_roots(&answer.shallow)?;
    (operation.step)("git-roots-noted");
    // The library makes a copy, with what is missing in it.
    let bytes = file.seek(SeekFrom::End(0)).map_err(failed)?;
    Room::at(&directory.packs()).take(bytes).map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let mut pack = Interruptible { operation, file: BufReader::new(file) };
    let limit = usize::try_from(MAX_BLOB).unwrap_or(usize::MAX);
    let options = Options { alloc_limit_bytes: Some(limit), ..Options::default() };
    let written = Bundle::write_to_directory(
        &mut pack,
        Some(&directory.packs()),
        &mut gix_utils::progress::Discard,
        &AtomicBool::new(false),
        Some(store),
        Kind::Sha256,
        options,
    )
    .map_err(of_gitoxide)?;
    // It would keep the pack from being collected, which nothing here does.
    written.keep_path.map_or(Ok(()), std::fs::remove_file).map_err(failed)?;
    (operation.step)("git-pack-kept");
    Ok(answer)
}

/// A full disk is found among the causes.
fn of_gitoxide(error: gix_error::Error) -> Error {
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |cause| cause.source());
    let mut words = causes.filter_map(|cause| cause.downcast_ref::<io::Error>());
    let full = words.find(|cause| cause.kind() == io::ErrorKind::StorageFull);
    match full.map(ToString::to_string) {
        Some(said) => Error::Keep { source: io::Error::new(io::ErrorKind::StorageFull, said) },
        None => error.into(),
    }
}

/// Ends with the operation.
struct Interruptible<'a> {
    operation: &'a Operation,
    file: BufReader<NamedTempFile>,
}

impl Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.operation.check()?;
        self.file.read(buffer)
    }
}

impl BufRead for Interruptible<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.operation.check()?;
        self.file.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.file.consume(count);
    }
}
