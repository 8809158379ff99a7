//! The store as the file server sees it: artifacts by path, whether they lie in one file or in pieces.

use std::io::{self, SeekFrom};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::SystemTime;

use bytes::{Buf, Bytes};
use futures::FutureExt;
use futures::future::{BoxFuture, Ready, ready};
use tokio::io::{AsyncRead, AsyncSeek, ReadBuf};
use tokio::task::{JoinHandle, spawn_blocking};
use tower_http::services::fs::{Backend, File, Metadata};
use weir_artifact::{Opened, RelPath, Store};

/// The artifacts that are served.
#[derive(Clone)]
pub(super) struct Artifacts(pub(super) Store);

impl Backend for Artifacts {
    type File = Download;
    type Metadata = Known;
    type OpenFuture = BoxFuture<'static, io::Result<Download>>;
    type MetadataFuture = BoxFuture<'static, io::Result<Known>>;

    fn open(&self, path: PathBuf) -> Self::OpenFuture {
        let store = self.0.clone();
        let open = spawn_blocking(move || store.open_file(&relative(&path)?));
        let opened = open.map(|opened| opened.map_err(io::Error::other).flatten());
        opened.map(|opened| opened.map(Download::new)).boxed()
    }

    fn metadata(&self, path: PathBuf) -> Self::MetadataFuture {
        self.open(path).map(|opened| opened.map(|download| Known::of(&download.artifact))).boxed()
    }
}

/// A path as the file server makes it.
fn relative(path: &Path) -> io::Result<RelPath> {
    let path = path.strip_prefix(".").unwrap_or(path).to_str().ok_or(io::ErrorKind::NotFound)?;
    RelPath::parse(path).map_err(|_| io::ErrorKind::NotFound.into())
}

/// The facts about an artifact that headers carry.
pub(super) struct Known {
    size: u64,
    modified: SystemTime,
}

impl Known {
    fn of(artifact: &Opened) -> Self {
        Self { size: artifact.size(), modified: artifact.modified() }
    }
}

impl Metadata for Known {
    /// Anything but an artifact cannot be opened.
    fn is_dir(&self) -> bool {
        false
    }

    fn modified(&self) -> io::Result<SystemTime> {
        Ok(self.modified)
    }

    fn len(&self) -> u64 {
        self.size
    }
}

/// An artifact on its way, read on blocking threads as fast as the caller takes it.
pub(super) struct Download {
    artifact: Arc<Opened>,
    position: u64,
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
    read: Bytes,
}

impl Download {
    fn new(artifact: Opened) -> Self {
        Self { artifact: Arc::new(artifact), position: 0, reading: None, read: Bytes::new() }
    }
}

impl File for Download {
    type Metadata = Known;
    type MetadataFuture<'a> = Ready<io::Result<Known>>;

    fn metadata(&self) -> Self::MetadataFuture<'_> {
        ready(Ok(Known::of(&self.artifact)))
    }
}

impl AsyncRead for Download {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read.is_empty() {
            let (artifact, position, wanted) = (self.artifact.clone(), self.position, buffer.remaining());
            let read = move || {
                let mut bytes = vec![0; wanted];
                let count = artifact.read_at(&mut bytes, position)?;
                bytes.truncate(count);
                Ok(bytes)
            };
            let reading = self.reading.get_or_insert_with(|| spawn_blocking(read));
            let bytes = std::task::ready!(reading.poll_unpin(context));
            self.reading = None;
            self.read = bytes.map_err(io::Error::other)??.into();
            self.position += self.read.len() as u64;
        }
        // The next buffer may be smaller than the one that was read for.
        let count = self.read.len().min(buffer.remaining());
        buffer.put_slice(self.read.get(..count).unwrap_or_default());
        self.read.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncSeek for Download {
    fn start_seek(mut self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
        let here = self.position - self.read.len() as u64;
        let place = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(by) => here.checked_add_signed(by),
            SeekFrom::End(by) => self.artifact.size().checked_add_signed(by),
        };
        self.position = place.ok_or(io::ErrorKind::InvalidInput)?;
        (self.reading, self.read) = (None, Bytes::new());
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(Ok(self.position))
    }
}
