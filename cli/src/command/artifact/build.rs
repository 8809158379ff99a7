//! `weir build artifact` (CLI-ART08).

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;

use super::content::{Content, Ignored, reason};
use crate::error::Error;
use crate::output::progress;

/// Permission bits of the file.
const MODE: u32 = 0o640;

/// The file to make.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # Pack a directory as `weir push artifact` does
  weir build artifact --path ./deploy --output ./artifact.tgz")]
pub(crate) struct Build {
    /// Directory or file to pack; - is standard input.
    #[arg(short, long, default_value = "", hide_default_value = true)]
    path: String,
    /// File to make.
    #[arg(short, long, default_value = "artifact.tgz")]
    output: PathBuf,
    /// Put the targets of symbolic links into the artifact.
    #[arg(long)]
    resolve_symlinks: bool,
    #[command(flatten)]
    ignored: Ignored,
}

impl Build {
    /// Packs the files. The file appears when it is whole.
    pub(crate) fn run(self) -> Result<(), Error> {
        let content = Content::find(&self.path, self.resolve_symlinks, false)?;
        progress::action(&format!("building artifact from {}", content.path.display()));
        let written = self.write(&content);
        written.map_err(|error| Error::Artifact(format!("building artifact failed, error: {error}")))?;
        progress::success(&format!("artifact created at {}", self.output.display()));
        Ok(())
    }

    fn write(&self, content: &Content) -> io::Result<()> {
        // Packed first: the file may lie in the directory that is packed.
        let mut archive = content.packed(&self.ignored)?;
        let folder = self.output.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        std::fs::metadata(folder).map_err(|error| io::Error::other(reason(folder, &error)))?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        io::copy(&mut archive, &mut file)?;
        file.as_file().set_permissions(Permissions::from_mode(MODE))?;
        file.persist(&self.output)?;
        Ok(())
    }
}
