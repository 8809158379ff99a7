//! An artifact as messages, and its digest behind them.

use std::io::Read;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};
use weir_artifact::{Algorithm, Digest, Hasher, Opened};
use weir_proto::source::v1::FetchResponse;

/// Bytes of one message.
const CHUNK: usize = 64 * 1024;
/// Chunks that are read ahead of a slow caller.
const CHUNKS_AHEAD: usize = 4;
/// The trailer with the digest of what was sent.
const DIGEST: &str = "digest";

/// The artifact in chunks, read on a blocking thread as fast as the caller takes them.
pub(super) fn of(mut file: Opened, algorithm: Algorithm) -> ReceiverStream<Result<FetchResponse, Status>> {
    let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
    tokio::task::spawn_blocking(move || {
        let mut hasher = Hasher::new(algorithm);
        let end = loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            match file.by_ref().take(CHUNK as u64).read_to_end(&mut chunk) {
                Ok(0) => break finished(&hasher.finish()),
                Ok(_) => hasher.update(&chunk),
                Err(error) => break Status::data_loss(error.to_string()),
            }
            if sender.blocking_send(Ok(FetchResponse { chunk })).is_err() {
                return;
            }
        };
        // A caller that is gone misses nothing.
        let _ = sender.blocking_send(Err(end));
    });
    ReceiverStream::new(receiver)
}

/// The end of a stream that went well: a status is what trailers travel with.
fn finished(digest: &Digest) -> Status {
    let mut end = Status::new(Code::Ok, "");
    if let Ok(digest) = digest.to_string().parse() {
        end.metadata_mut().insert(DIGEST, digest);
    }
    end
}
