use std::path::{Path, PathBuf};

/// Errors while an image is made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// The tool that lists the shared objects of a program failed.
    #[error("ldd {}: {reason}", program.display())]
    SharedObjects {
        /// The program.
        program: PathBuf,
        /// The tool's message.
        reason: String,
    },
    /// A layer could not be packed.
    #[error("pack {path}")]
    Pack {
        /// The path in the image.
        path: String,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// The output of `cargo metadata` lacks something.
    #[error("the metadata of cargo has no {0}")]
    Metadata(String),
}

impl Error {
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }
}
