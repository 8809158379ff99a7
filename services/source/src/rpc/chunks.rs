//! An artifact as messages, and its digest behind them.

use std::io::{self, Read};
use std::time::Duration;

use futures::stream::{self, Stream};
use tokio::sync::mpsc;
use tokio::task::{JoinSet, spawn_blocking};
use tonic::{Code, Status};
use weir_artifact::{Algorithm, Digest, Hasher, Opened};
use weir_proto::source::v1::FetchResponse;

/// Bytes of one message.
const CHUNK: usize = 64 * 1024;
/// Chunks that are read ahead of a slow caller.
const CHUNKS_AHEAD: usize = 4;
/// Time in which a caller has to take a chunk: until then it holds the files of an artifact open. Consumers give up sooner.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The trailer with the digest of what was sent.
const DIGEST: &str = "digest";

/// An artifact that is being read.
struct Reading {
    file: Opened,
    hasher: Hasher,
}

/// Returns the artifact in chunks, read as fast as the caller takes them. No thread waits for the caller, and reading ends
/// with the stream.
pub(super) fn of(
    file: Opened,
    algorithm: Algorithm,
) -> impl Stream<Item = Result<FetchResponse, Status>> + Send {
    let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
    let mut reader = JoinSet::new();
    reader.spawn(send(Reading { file, hasher: Hasher::new(algorithm) }, sender));
    stream::unfold((receiver, reader), |(mut receiver, mut reader)| async {
        let item = match receiver.recv().await {
            Some(chunk) => Ok(FetchResponse { chunk }),
            None => {
                Err(reader.join_next().await?.unwrap_or_else(|error| Status::internal(error.to_string())))
            }
        };
        Some((item, (receiver, reader)))
    })
}

/// Sends all of an artifact, and returns the end of the stream: a status is what trailers travel with.
async fn send(mut reading: Reading, sender: mpsc::Sender<Vec<u8>>) -> Status {
    loop {
        let read = spawn_blocking(move || reading.next()).await.map_err(io::Error::other).flatten();
        let (chunk, rest) = match read {
            Ok(read) => read,
            Err(error) => return Status::data_loss(error.to_string()),
        };
        if chunk.is_empty() {
            return finished(&rest.hasher.finish());
        }
        reading = rest;
        match tokio::time::timeout(STALL_TIMEOUT, sender.send(chunk)).await {
            Ok(Ok(())) => {}
            // Nobody sees this: the stream is gone.
            Ok(Err(_)) => return Status::cancelled("the caller is gone"),
            Err(_) => return Status::deadline_exceeded("the caller takes nothing"),
        }
    }
}

impl Reading {
    /// Reads the next chunk; none of its bytes are left at the end. Blocks.
    fn next(mut self) -> io::Result<(Vec<u8>, Self)> {
        let mut chunk = Vec::with_capacity(CHUNK);
        self.file.by_ref().take(CHUNK as u64).read_to_end(&mut chunk)?;
        self.hasher.update(&chunk);
        Ok((chunk, self))
    }
}

fn finished(digest: &Digest) -> Status {
    let mut end = Status::new(Code::Ok, "");
    if let Ok(digest) = digest.to_string().parse() {
        end.metadata_mut().insert(DIGEST, digest);
    }
    end
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use futures::StreamExt;

    use super::*;

    fn opened(bytes: usize) -> Opened {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; bytes]).unwrap();
        file.rewind().unwrap();
        Opened::file(file).unwrap()
    }

    #[tokio::test]
    async fn all_bytes_come_and_their_digest_ends_the_stream() {
        let items: Vec<_> = of(opened(2 * CHUNK + 1), Algorithm::Sha256).collect().await;
        let lengths: Vec<_> = items.iter().flatten().map(|message| message.chunk.len()).collect();
        assert_eq!((lengths, items.len()), (vec![CHUNK, CHUNK, 1], 4));
        let end = items[3].as_ref().unwrap_err();
        let digest = Digest::of(Algorithm::Sha256, &vec![7; 2 * CHUNK + 1]).to_string();
        assert_eq!(
            (end.code(), end.metadata().get(DIGEST).unwrap().to_str().unwrap()),
            (Code::Ok, digest.as_str())
        );
    }

    /// A caller that takes nothing holds neither a thread nor the files.
    #[tokio::test(start_paused = true)]
    async fn a_caller_that_stalls_is_given_up() {
        let mut stream = Box::pin(of(opened(20 * CHUNK), Algorithm::Sha256));
        assert!(stream.next().await.unwrap().is_ok());
        let wait = tokio::time::timeout(2 * STALL_TIMEOUT, std::future::pending::<()>());
        assert!(wait.await.is_err());
        let rest: Vec<_> = stream.collect().await;
        let end = rest.last().unwrap().as_ref().unwrap_err();
        assert_eq!(end.code(), Code::DeadlineExceeded);
        assert!(rest.len() <= CHUNKS_AHEAD + 2, "{}", rest.len());
    }
}
