use super::*;

const KIND: &str = "Receiver";

fn subject(name: &str) -> Subject {
    Subject { kind: KIND, key: ObjectKey::new("apps", name) }
}

fn object(name: &str) -> ObjectStatus {
    ObjectStatus { kind: KIND.into(), namespace: "apps".into(), name: name.into(), ..ObjectStatus::default() }
}

fn with(names: &[&str]) -> Journal {
    let mut journal = Journal::default();
    names.iter().for_each(|name| journal.applied(subject(name)));
    journal
}

/// Returns the changes that a reader who was at `position` receives.
fn told(journal: &Journal, mut position: u64) -> Vec<String> {
    let mut told = Vec::new();
    while let (at, Some(happened)) = journal.next(position, |_| true) {
        position = at;
        told.push(match happened {
            Happened::Applied(subject) => subject.key.name,
            Happened::Deleted(object) => format!("-{}", object.name),
        });
    }
    told
}

#[test]
fn who_is_behind_is_told_the_newest_state_of_each_object_once() {
    let mut journal = with(&["a", "b", "c"]);
    for _ in 0..1000 {
        journal.applied(subject("a"));
        journal.applied(subject("b"));
    }
    assert_eq!(told(&journal, 0), ["c", "a", "b"]);
    assert_eq!(journal.entries.len(), 3, "as long as the list of objects, whatever happens");
}

#[test]
fn a_deletion_is_told_for_ten_minutes() {
    let start = Instant::now();
    let mut journal = with(&["a", "b"]);
    let seen = journal.head();
    journal.deleted(subject("a"), object("a"), start);
    journal.deleted(subject("never seen"), object("never seen"), start);
    assert!(journal.reader(seen, start + REMEMBERED - Duration::from_secs(1)).is_some());
    assert_eq!(told(&journal, seen), ["-a"]);
    assert!(journal.reader(seen, start + REMEMBERED).is_none(), "it would show a dead object");
    assert!(journal.reader(journal.head(), start + REMEMBERED).is_some(), "who has seen the deletion");
    assert_eq!(journal.deletion_bytes, 0);
}

#[test]
fn a_reader_that_is_open_is_told_of_deletions_however_slow_it_is() {
    let start = Instant::now();
    let mut journal = with(&["a"]);
    let slow = journal.reader(journal.head(), start).unwrap();
    journal.deleted(subject("a"), object("a"), start);
    journal.forget(start + REMEMBERED * 10);
    assert!(journal.knows(slow.get()));
    assert_eq!(told(&journal, slow.get()), ["-a"]);
    slow.move_to(journal.head());
    journal.forget(start + REMEMBERED * 10);
    assert!(journal.deletions.is_empty());
}

#[test]
fn what_deletions_take_is_bounded() {
    let now = Instant::now();
    let mut journal = with(&["a", "b"]);
    let slow = journal.reader(0, now).unwrap();
    let huge =
        |name: &str| ObjectStatus { revision: "x".repeat(MAX_REMEMBERED_BYTES / 2 + 1), ..object(name) };
    journal.deleted(subject("a"), huge("a"), now);
    assert!(journal.knows(slow.get()));
    journal.deleted(subject("b"), huge("b"), now);
    assert!(!journal.knows(slow.get()), "such a reader has to begin anew");
    assert!(journal.deletion_bytes <= MAX_REMEMBERED_BYTES);
}

#[test]
fn what_comes_back_is_there() {
    let mut journal = with(&["a", "b"]);
    let seen = journal.head();
    journal.deleted(subject("a"), object("a"), Instant::now());
    assert_eq!(journal.there(KIND, "", None).count(), 1);
    journal.applied(subject("a"));
    assert_eq!(told(&journal, seen), ["a"]);
    assert_eq!(journal.deletion_bytes, 0);
    assert_eq!(journal.there(KIND, "", None).count(), 2);
}

#[test]
fn a_position_from_nowhere_is_no_place_to_begin() {
    let mut journal = with(&["a"]);
    assert!(journal.reader(2, Instant::now()).is_none());
}

#[test]
fn what_is_there_is_in_order_and_of_the_namespace_asked_for() {
    let mut journal = Journal::default();
    let subjects =
        [("Receiver", "b", "1"), ("Receiver", "a", "2"), ("Receiver", "a", "1"), ("Alert", "a", "1")];
    for (kind, namespace, name) in subjects {
        journal.applied(Subject { kind, key: ObjectKey::new(namespace, name) });
    }
    let there = |namespace: &str, after: Option<ObjectKey>| {
        let keys = journal.there(KIND, namespace, after.as_ref());
        keys.map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(there("", None), ["a/1", "a/2", "b/1"]);
    assert_eq!(there("a", None), ["a/1", "a/2"]);
    assert_eq!(there("", Some(ObjectKey::new("a", "1"))), ["a/2", "b/1"]);
    assert_eq!(there("a", Some(ObjectKey::new("a", "2"))), Vec::<String>::new());
}
