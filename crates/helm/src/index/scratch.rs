//! The versions of one chart on their way into order: their JSON lies in a temporary file, memory holds where.

use std::io::{self, Read, Seek, SeekFrom, Write};

use tempfile::SpooledTempFile;
use weir_policy::semver::Version;

use super::IndexError;
use crate::metadata::Metadata;

/// Bytes that stay in memory; the versions of a usual chart fit.
const IN_MEMORY: usize = 1 << 20;

/// The place of one version in the file.
struct Place {
    /// Its precedence; what is no version stands last.
    version: Option<Version>,
    start: u64,
    length: u64,
}

/// Versions in the order of their arrival, to be written in the order of their precedence.
pub(super) struct Scratch {
    file: SpooledTempFile,
    places: Vec<Place>,
    end: u64,
}

impl Scratch {
    pub(super) fn new() -> Self {
        Self { file: SpooledTempFile::new(IN_MEMORY), places: Vec::new(), end: 0 }
    }

    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.places.clear();
        self.end = 0;
        self.file.seek(SeekFrom::Start(0)).map(drop)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn push(&mut self, release: &Metadata) -> Result<(), IndexError> {
        let json =
            serde_json::to_vec_pretty(release).map_err(|error| IndexError::Io { source: error.into() })?;
        self.file.write_all(&json).map_err(|source| IndexError::Io { source })?;
        let length = json.len() as u64;
        let version = Version::parse(&release.version).ok();
        self.places.push(Place { version, start: self.end, length });
        self.end += length;
        Ok(())
    }

    /// Gives the JSON of each version to `write`, the highest first, equal ones as they came.
    pub(super) fn in_order(&mut self, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        self.places.sort_by(|a, b| b.version.cmp(&a.version));
        let mut json = Vec::new();
        for place in &self.places {
            json.clear();
            self.file.seek(SeekFrom::Start(place.start))?;
            (&mut self.file).take(place.length).read_to_end(&mut json)?;
            write(&json)?;
        }
        Ok(())
    }
}
