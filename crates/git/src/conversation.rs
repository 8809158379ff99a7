//! The conversation with a server to list and to download (docs/adr/0010): Git's protocol in its first version, which
//! all servers speak. A download is one request: the wanted objects, the present ones, `done`.

mod advertisement;
pub(crate) mod answer;
pub(crate) mod error;
mod lines;
mod request;

use std::io::Write;
use std::sync::Arc;

use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream};

pub use self::advertisement::Advertisement;
pub use self::answer::Answer;
pub use self::error::ConversationError;
pub(crate) use self::request::{FetchDepth, Request};
use crate::error::Error;
use crate::operation::Operation;
use crate::pack::{self, Sink};
use crate::reference::RemoteRef;
use crate::store::Directory;
use crate::transport;

/// Bytes of one download: several times the largest public monorepos, and less than a volume.
const MAX_PACK_BYTES: usize = 16 << 30;
/// Bytes sent in place of a request when nothing is wanted.
const NOTHING: &[u8] = b"0000";

type Stream = Box<dyn SmartSubtransportStream>;

/// A server that has listed its references.
pub(crate) struct Conversation {
    operation: Arc<Operation>,
    transport: Box<dyn SmartSubtransport>,
    /// The stream of the list, on which SSH takes one request. HTTP has a stream for each.
    stream: Option<Stream>,
    offered: Advertisement,
}

impl Conversation {
    /// Asks the server of an operation for its list.
    pub(crate) fn begin(operation: &Arc<Operation>) -> Result<Self, Error> {
        let transport = transport::of(operation);
        let mut stream = transport.action("", Service::UploadPackLs)?;
        let offered = Advertisement::read(&mut stream).map_err(|error| operation.discreet(error))?;
        let stream = (!operation.is_http()).then_some(stream);
        Ok(Self { operation: Arc::clone(operation), transport, stream, offered })
    }

    /// Returns the references and capabilities of the server.
    pub(crate) fn offered(&self) -> &Advertisement {
        &self.offered
    }

    /// Ends, without a download if there was none; a server need not care. Returns what it has.
    pub(crate) fn end(mut self) -> Vec<RemoteRef> {
        if let Some(stream) = &mut self.stream {
            let _ = stream.write_all(NOTHING);
        }
        self.offered.refs
    }

    /// Downloads into a repository.
    pub(crate) fn download(&mut self, request: &Request, directory: &Directory) -> Result<(), Error> {
        let operation = Arc::clone(&self.operation);
        pack::keep(&operation, directory, &mut |sink| self.receive(request, sink))
    }

    fn receive(&mut self, request: &Request, pack: &mut Sink<'_>) -> Result<Answer, Error> {
        let mut stream = self.turn()?;
        stream.write_all(&request.encode(&self.offered)).map_err(ConversationError::stream)?;
        let mut meter = Meter::new(&self.operation);
        let answer = Answer::read(&mut stream, request.depth.is_cut(), |bytes| {
            meter.count(bytes.len())?;
            pack(bytes)
        });
        let answer = answer.map_err(|error| self.operation.discreet(error))?;
        meter.settle();
        Ok(answer)
    }

    /// A stream for the next request.
    fn turn(&mut self) -> Result<Stream, Error> {
        if self.operation.is_http() {
            return Ok(self.transport.action("", Service::UploadPack)?);
        }
        if let Some(stream) = self.stream.take() {
            return Ok(stream);
        }
        let mut stream = self.transport.action("", Service::UploadPackLs)?;
        Advertisement::read(&mut stream).map_err(|error| self.operation.discreet(error))?;
        Ok(stream)
    }
}

/// Counts what is downloaded.
struct Meter<'a> {
    operation: &'a Operation,
    received: usize,
    limit: usize,
}

impl Meter<'_> {
    fn new(operation: &Operation) -> Meter<'_> {
        let allowance = operation.remote.allowance.as_ref();
        let limit = allowance.map_or(MAX_PACK_BYTES, |allowance| allowance.left().min(MAX_PACK_BYTES));
        Meter { operation, received: 0, limit }
    }

    fn count(&mut self, bytes: usize) -> Result<(), Error> {
        self.received += bytes;
        if self.received > self.limit {
            let limit = self.limit as u64;
            return Err(Error::Limit { what: "size of the download".to_owned(), limit });
        }
        Ok(())
    }

    fn settle(self) {
        if let Some(allowance) = &self.operation.remote.allowance {
            allowance.spend(self.received);
        }
    }
}
