//! The files that a write makes before the artifact gets its final name: a file, and for a large artifact a directory
//! of pieces beside it.

use std::io;

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, File, OpenOptions, OpenOptionsExt};
use cap_std::fs::{Permissions, PermissionsExt};
use rustix::fs::{RenameFlags, renameat_with};

use super::{DIRECTORY_MODE, FILE_MODE, PARTIAL_SUFFIX, PIECES_SUFFIX};
use crate::opened::FileState;

/// The places of one write.
pub(super) struct Partial<'a> {
    root: &'a Dir,
    /// Path of the file that is being written: the whole artifact, or a piece.
    file: String,
    /// Path of the directory of finished pieces.
    directory: String,
    /// Called with the name of each step that is done.
    pub(super) step: fn(&'static str),
}

/// The files of a written artifact, without its final name.
pub(super) enum Laid {
    /// [`Partial::file`], not synced.
    File(File),
    /// [`Partial::directory`], its pieces synced, with their states.
    Pieces(Dir, Vec<FileState>),
}

impl<'a> Partial<'a> {
    pub(super) fn new(root: &'a Dir, path: &str, number: u64, step: fn(&'static str)) -> Self {
        let name = format!("{path}.{}-{number}", std::process::id());
        let (file, directory) =
            (format!("{name}{PARTIAL_SUFFIX}"), format!("{name}{PIECES_SUFFIX}{PARTIAL_SUFFIX}"));
        Partial { root, file, directory, step }
    }

    /// Begins a file.
    pub(super) fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(FILE_MODE);
        self.root.open_with(&self.file, &options)
    }

    /// Begins the directory of pieces.
    pub(super) fn open_directory(&self) -> io::Result<Dir> {
        let mut builder = DirBuilder::new();
        builder.mode(DIRECTORY_MODE);
        self.root.create_dir_with(&self.directory, &builder)?;
        self.root.open_dir(&self.directory)
    }

    /// Makes the file a piece.
    pub(super) fn move_into(&self, directory: &Dir, name: &str) -> io::Result<()> {
        self.root.rename(&self.file, directory, name)
    }

    /// Makes what was written durable.
    pub(super) fn sync(&self, laid: &Laid) -> io::Result<()> {
        match laid {
            Laid::File(file) => {
                file.set_permissions(Permissions::from_mode(FILE_MODE))?;
                file.sync_all()
            }
            Laid::Pieces(directory, _) => directory.open(".")?.sync_all(),
        }
    }

    /// Gives it its final name, at once also where an artifact has that name already. Returns whether the pieces of that one
    /// have been put where those of this were.
    pub(super) fn publish(&self, laid: &Laid, path: &str) -> io::Result<bool> {
        let pieces = format!("{path}{PIECES_SUFFIX}");
        match laid {
            // From here on readers find the file, and no longer what else has its name.
            Laid::File(_) => {
                self.root.rename(&self.file, self.root, path)?;
                is_done(self.root.rename(&pieces, self.root, &self.directory))
            }
            Laid::Pieces(..) => {
                let is_exchanged = self.place(&pieces)?;
                // Until now readers found the file, if there is one.
                is_done(self.root.remove_file(path))?;
                Ok(is_exchanged)
            }
        }
    }

    /// Puts the directory of pieces in its place. Returns whether it has changed places with another.
    fn place(&self, pieces: &str) -> io::Result<bool> {
        use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty};
        match self.root.rename(&self.directory, self.root, pieces) {
            Err(error) if matches!(error.kind(), AlreadyExists | DirectoryNotEmpty) => {
                self.exchange(pieces).map(|()| true)
            }
            done => done.map(|()| false),
        }
    }

    fn exchange(&self, path: &str) -> io::Result<()> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
        let (parent, name) = path.rsplit_once('/').ok_or_else(invalid)?;
        let (_, old) = self.directory.rsplit_once('/').ok_or_else(invalid)?;
        let parent = self.root.open_dir(parent)?;
        match renameat_with(&parent, old, &parent, name, RenameFlags::EXCHANGE) {
            // Not every file system can: for a moment there is nothing then.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                let aside = format!("{old}{PARTIAL_SUFFIX}");
                parent.rename(name, &parent, &aside)?;
                parent.rename(old, &parent, name)?;
                parent.rename(&aside, &parent, old)
            }
            done => done.map_err(io::Error::from),
        }
    }

    /// Removes the file, which is not needed.
    pub(super) fn discard_file(&self) {
        let _ = self.root.remove_file(&self.file);
    }

    /// Removes whatever is left at these places, of either form. Best effort: the sweep takes what stays.
    pub(super) fn discard(&self) {
        for place in [&self.file, &self.directory] {
            if self.root.remove_file(place).is_err_and(|error| error.kind() == io::ErrorKind::IsADirectory) {
                let _ = self.root.remove_dir_all(place);
            }
        }
    }
}

/// Returns true when there was something to be done.
pub(super) fn is_done(result: io::Result<()>) -> io::Result<bool> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        done => done.map(|()| true),
    }
}
