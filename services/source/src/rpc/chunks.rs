//! A file as messages.

use std::io::Read;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use weir_proto::source::v1::FetchResponse;

/// Bytes of one message.
const CHUNK: usize = 64 * 1024;
/// Chunks that are read ahead of a slow caller.
const CHUNKS_AHEAD: usize = 4;

/// The file in pieces, read on a blocking thread as fast as the caller takes them.
pub(super) fn of(mut file: std::fs::File) -> ReceiverStream<Result<FetchResponse, Status>> {
    let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
    tokio::task::spawn_blocking(move || {
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            let read = file.by_ref().take(CHUNK as u64).read_to_end(&mut chunk);
            let message = match read {
                Ok(0) => return,
                Ok(_) => Ok(FetchResponse { chunk }),
                Err(error) => Err(Status::data_loss(error.to_string())),
            };
            let is_last = message.is_err();
            if sender.blocking_send(message).is_err() || is_last {
                return;
            }
        }
    });
    ReceiverStream::new(receiver)
}
