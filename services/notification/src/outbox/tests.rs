//! The outbox over a real folder: what survives a restart, and what does not.

use jiff::ToSpan;

use super::*;

const RETENTION: SignedDuration = SignedDuration::from_mins(5);

fn start() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

fn alerts(names: &[&str]) -> BTreeSet<Target> {
    names.iter().map(|name| target(name)).collect()
}

fn target(name: &str) -> Target {
    Target { namespace: "apps".into(), name: name.into() }
}

fn event(message: &str) -> Arc<Event> {
    Arc::new(Event { message: message.into(), ..Default::default() })
}

async fn open(folder: &Path, now: Timestamp) -> (Outbox, Found, JoinHandle<()>) {
    Outbox::open(folder, RETENTION, now).await.unwrap()
}

/// Closes the outbox and waits until the folder is free.
async fn close(outbox: Outbox, task: JoinHandle<()>) {
    drop(outbox);
    task.await.unwrap();
}

#[tokio::test]
async fn what_is_not_done_is_found_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (outbox, found, task) = open(folder.path(), start()).await;
    assert!(found.pending.is_empty());
    let one = outbox.accept("k1".into(), event("one"), alerts(&["a", "b"]), start()).await.unwrap();
    let two = outbox.accept("k2".into(), event("two"), alerts(&["a"]), start()).await.unwrap();
    outbox.done(one.id, target("a"), start()).await;
    outbox.done(two.id, target("a"), start()).await;
    close(outbox, task).await;

    let (_, found, _) = open(folder.path(), start()).await;
    assert_eq!(found.pending, [Entry { alerts: alerts(&["b"]), ..one }]);
    let known: BTreeSet<&str> = found.recent.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(known, BTreeSet::from(["k1", "k2"]));
}

#[tokio::test]
async fn what_is_done_is_forgotten_after_the_retention_and_ids_are_not_reused() {
    let folder = tempfile::tempdir().unwrap();
    let (outbox, _, task) = open(folder.path(), start()).await;
    let one = outbox.accept("k1".into(), event("one"), alerts(&["a"]), start()).await.unwrap();
    outbox.done(one.id, target("a"), start()).await;
    let two = outbox.accept("k2".into(), event("two"), alerts(&["a"]), start()).await.unwrap();
    close(outbox, task).await;

    let (outbox, found, _) = open(folder.path(), start() + 6.minutes()).await;
    assert_eq!(found.recent.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["k2"]);
    let three = outbox.accept("k3".into(), event("three"), alerts(&["a"]), start()).await.unwrap();
    assert!(three.id > two.id);
}

#[tokio::test]
async fn a_torn_last_line_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let (outbox, _, task) = open(folder.path(), start()).await;
    outbox.accept("k1".into(), event("one"), alerts(&["a"]), start()).await.unwrap();
    close(outbox, task).await;
    let path = folder.path().join("journal");
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"accepted\":{\"id\":7,\"ke");
    std::fs::write(&path, text).unwrap();

    let (_, found, _) = open(folder.path(), start()).await;
    assert_eq!(found.pending.len(), 1);
}

#[tokio::test]
async fn a_folder_belongs_to_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let (_outbox, _, _) = open(folder.path(), start()).await;
    assert!(matches!(Outbox::open(folder.path(), RETENTION, start()).await, Err(OutboxError::Locked(_))));
}

#[tokio::test]
async fn room_is_bounded_and_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let (outbox, _, _) = open(folder.path(), start()).await;
    let large = 3 * 1024 * 1024;
    let rooms: Vec<Room> = std::iter::from_fn(|| outbox.room_for(large)).collect();
    assert_eq!(rooms.len(), 21);
    drop(rooms);
    assert!(outbox.room_for(large).is_some());
}

#[tokio::test]
async fn of_what_is_done_only_the_key_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (outbox, _, task) = open(folder.path(), start()).await;
    let one = outbox.accept("k1".into(), event("a long message"), alerts(&["a"]), start()).await.unwrap();
    outbox.done(one.id, target("a"), start()).await;
    close(outbox, task).await;

    let (_, found, _) = open(folder.path(), start()).await;
    assert_eq!((found.pending, found.recent), (vec![], vec![("k1".to_owned(), start())]));
    let journal = std::fs::read_to_string(folder.path().join("journal")).unwrap();
    assert!(journal.contains("k1") && !journal.contains("a long message"), "{journal}");
}

#[test]
fn a_journal_of_an_earlier_version_has_whole_events_that_are_done() {
    let entry = Entry { id: 3, key: "k".into(), accepted: start(), event: event("old"), alerts: alerts(&[]) };
    let line = serde_json::to_string(&Record::Accepted(entry)).unwrap();
    let mut state = journal::State::default();
    state.apply(serde_json::from_str(&line).unwrap());
    let found = state.found();
    assert_eq!((found.pending, found.recent), (vec![], vec![("k".to_owned(), start())]));
    assert_eq!(state.next_id(), 4);
}
