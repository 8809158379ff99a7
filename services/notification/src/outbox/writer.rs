//! The one writer of the journal: collects what is waiting, appends it, syncs once for all of it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, BufWriter, IntoInnerError, Read, Write};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{mpsc, oneshot};

use super::journal::{MAX_LINE, Record, State};
use super::{Found, OutboxError};

/// Records written with one sync: under load the disk's latency is shared.
const BATCH: usize = 256;
/// The journal is rewritten when it has grown by this since the last time; rewriting 64 MiB at most takes well below a second.
const COMPACT_AFTER: u64 = 16 * 1024 * 1024;
const JOURNAL: &str = "journal";
const NEXT_JOURNAL: &str = "journal.next";
const LOCK: &str = "lock";

/// A record to be written, with the sender that waits until it is on disk.
pub(super) struct Command {
    pub(super) record: Record,
    pub(super) now: Timestamp,
    pub(super) written: Option<oneshot::Sender<Result<(), OutboxError>>>,
}

pub(super) struct Writer {
    folder: PathBuf,
    retention: SignedDuration,
    state: State,
    journal: File,
    grown: u64,
    /// True when the journal may end in a part of a line, which would swallow the record behind it.
    is_torn: bool,
    /// Held while the process lives; the system releases it when the process is killed.
    _lock: File,
}

impl Writer {
    /// Locks the folder, reads the journal and rewrites it without what is done.
    pub(super) fn open(
        folder: &Path,
        retention: SignedDuration,
        now: Timestamp,
    ) -> Result<Self, OutboxError> {
        let failed = |source| OutboxError::File { path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let lock = OpenOptions::new().create(true).append(true).open(folder.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OutboxError::Locked(folder.to_owned())),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let mut state = read(&folder.join(JOURNAL)).map_err(failed)?;
        state.forget(retention, now);
        let journal = rewrite(folder, &state).map_err(failed)?;
        let folder = folder.to_owned();
        Ok(Self { folder, retention, state, journal, grown: 0, is_torn: false, _lock: lock })
    }

    pub(super) fn found(&self) -> Found {
        self.state.found()
    }

    pub(super) fn next_id(&self) -> u64 {
        self.state.next_id()
    }

    /// Writes until the last handle is gone.
    pub(super) fn run(mut self, mut inbox: mpsc::Receiver<Command>) {
        while let Some(first) = inbox.blocking_recv() {
            let mut batch = vec![first];
            while batch.len() < BATCH
                && let Ok(next) = inbox.try_recv()
            {
                batch.push(next);
            }
            self.write(batch);
        }
    }

    fn write(&mut self, batch: Vec<Command>) {
        let mut bytes = Vec::new();
        for command in &batch {
            encode(&command.record, &mut bytes);
        }
        let needs_sync = batch.iter().any(|command| command.written.is_some());
        let result = self.append(&bytes, needs_sync);
        let now = batch.iter().map(|command| command.now).max().unwrap_or(Timestamp::MIN);
        for command in batch {
            // An event that did not reach the disk is refused, so that its sender comes again.
            if result.is_ok() || command.written.is_none() {
                self.state.apply(command.record);
            }
            if let Some(answer) = command.written {
                let copy = |error: &io::Error| self.failed(io::Error::new(error.kind(), error.to_string()));
                // The sender's connection may be gone; then nobody waits for the answer.
                let _ = answer.send(result.as_ref().copied().map_err(copy));
            }
        }
        if let Err(error) = &result {
            tracing::error!(%error, "outbox cannot be written");
        }
        // After a failure a torn line may stand at the end; a fresh journal has none.
        if result.is_err() || self.grown > COMPACT_AFTER {
            self.compact(now);
        }
    }

    fn append(&mut self, bytes: &[u8], needs_sync: bool) -> io::Result<()> {
        if std::mem::replace(&mut self.is_torn, true) {
            self.journal.write_all(b"\n")?;
        }
        self.journal.write_all(bytes)?;
        self.is_torn = false;
        self.grown = self.grown.saturating_add(bytes.len() as u64);
        if needs_sync { self.journal.sync_data() } else { Ok(()) }
    }

    fn compact(&mut self, now: Timestamp) {
        self.state.forget(self.retention, now);
        match rewrite(&self.folder, &self.state) {
            Ok(journal) => (self.journal, self.is_torn) = (journal, false),
            // The old journal stays valid; the next try comes when it has grown again.
            Err(error) => {
                tracing::error!(%error, "outbox cannot be compacted");
                // On a full disk its bytes are missed elsewhere.
                let _ = std::fs::remove_file(self.folder.join(NEXT_JOURNAL));
            }
        }
        self.grown = 0;
    }

    fn failed(&self, source: io::Error) -> OutboxError {
        OutboxError::File { path: self.folder.clone(), source }
    }
}

fn encode(record: &Record, out: &mut Vec<u8>) {
    match serde_json::to_writer(&mut *out, record) {
        Ok(()) => out.push(b'\n'),
        Err(error) => tracing::error!(%error, "outbox record cannot be encoded"),
    }
}

/// Reads line by line. A torn or damaged line, as a crash in the middle of a write leaves it, is skipped: its event was
/// never acknowledged.
fn read(path: &Path) -> io::Result<State> {
    let mut state = State::default();
    let mut reader = match File::open(path) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(state),
        Err(error) => return Err(error),
    };
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut reader).take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(state);
        }
        if line == b"\n" {
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(record) => state.apply(record),
            Err(error) => {
                tracing::warn!(%error, bytes = line.len(), "unreadable record in the outbox is skipped")
            }
        }
    }
}

/// Writes a fresh journal beside the old one and puts it in its place at once.
fn rewrite(folder: &Path, state: &State) -> io::Result<File> {
    let next = folder.join(NEXT_JOURNAL);
    let mut file = BufWriter::new(OpenOptions::new().create(true).write(true).truncate(true).open(&next)?);
    let mut line = Vec::new();
    for record in state.records() {
        line.clear();
        encode(&record, &mut line);
        file.write_all(&line)?;
    }
    let file = file.into_inner().map_err(IntoInnerError::into_error)?;
    file.sync_all()?;
    std::fs::rename(&next, folder.join(JOURNAL))?;
    File::open(folder)?.sync_all()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Entry, Target};
    use super::*;

    const RETENTION: SignedDuration = SignedDuration::from_mins(5);

    fn open(folder: &Path) -> Writer {
        Writer::open(folder, RETENTION, Timestamp::UNIX_EPOCH).unwrap()
    }

    /// Writes an event; returns true when it was accepted.
    fn accept(writer: &mut Writer, id: u64) -> bool {
        let alert = Target { namespace: "apps".to_owned(), name: "a".to_owned() };
        let (accepted, alerts) = (Timestamp::UNIX_EPOCH, [alert].into());
        let entry = Entry { id, key: id.to_string(), accepted, event: Arc::default(), alerts };
        let (written, mut answer) = oneshot::channel();
        let record = Record::Accepted(entry);
        writer.write(vec![Command { record, now: accepted, written: Some(written) }]);
        answer.try_recv().unwrap().is_ok()
    }

    #[test]
    fn a_torn_line_does_not_swallow_the_events_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, next) = (folder.path().join(JOURNAL), folder.path().join(NEXT_JOURNAL));
        let mut writer = open(folder.path());
        // For a while nothing can be written, and no fresh journal takes the place of the old one.
        std::fs::create_dir(&next).unwrap();
        let good = std::mem::replace(&mut writer.journal, File::open(journal).unwrap());
        assert!(!accept(&mut writer, 1));
        writer.journal = good;
        writer.journal.write_all(b"{\"accepted\":{\"id\":1,\"ke").unwrap();
        assert!(accept(&mut writer, 2) && accept(&mut writer, 3));
        drop(writer);
        std::fs::remove_dir(next).unwrap();
        let found: Vec<u64> = open(folder.path()).found().pending.iter().map(|entry| entry.id).collect();
        assert_eq!(found, [2, 3]);
    }
}
