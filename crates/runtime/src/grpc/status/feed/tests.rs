use futures::FutureExt;
use tonic::Code;
use weir_api::Receiver;

use super::*;
use crate::cache::Cache;

/// A process with Receivers, whose versions count on.
struct World {
    registry: StatusRegistry,
    receivers: Cache<Receiver>,
    version: u64,
}

impl World {
    fn with(names: &[&str]) -> Self {
        let mut world = Self { registry: StatusRegistry::default(), receivers: Cache::default(), version: 0 };
        world.registry.add(world.receivers.clone());
        names.iter().for_each(|name| world.apply(name));
        world
    }

    fn apply(&mut self, name: &str) {
        self.version += 1;
        let mut receiver = Receiver::default();
        receiver.metadata.namespace = Some("apps".to_owned());
        receiver.metadata.name = Some(name.to_owned());
        receiver.metadata.resource_version = Some(self.version.to_string());
        self.receivers.apply(receiver);
    }

    fn delete(&self, name: &str) {
        self.receivers.delete(&ObjectKey::new("apps", name));
    }

    fn feed(&self, since: Option<Version>) -> Result<Feed, Status> {
        let selection = Selection { kinds: vec!["Receiver"], namespace: String::new(), name: String::new() };
        Feed::new(self.registry.clone(), selection, since)
    }
}

/// All that a feed has to say now: names with versions, deletions with a minus, the mark as a word.
fn told(feed: &mut Feed) -> Vec<String> {
    std::iter::from_fn(|| next(feed)).collect()
}

fn next(feed: &mut Feed) -> Option<String> {
    let item = feed.next().now_or_never()?.unwrap();
    Some(match (item.r#type(), item.object) {
        (_, None) => "synced".to_owned(),
        (ChangeType::Deleted, Some(object)) => format!("-{}", object.name),
        (_, Some(object)) => format!("{}@{}", object.name, object.resource_version),
    })
}

/// Returns the version that the last item may be resumed from.
fn version(feed: &Feed) -> Version {
    feed.registry.version(feed.bookmark.get())
}

#[test]
fn a_slow_reader_gets_the_newest_state_of_each_object_and_every_deletion() {
    let mut world = World::with(&["a", "b", "c"]);
    let mut feed = world.feed(None).unwrap();
    assert_eq!(told(&mut feed), ["a@1", "b@2", "c@3", "synced"]);
    for _ in 0..10_000 {
        world.apply("a");
        world.apply("b");
    }
    world.delete("c");
    world.apply("d");
    assert_eq!(told(&mut feed), ["a@20002", "b@20003", "-c", "d@20004"]);
    assert_eq!(told(&mut feed), Vec::<String>::new());
}

#[test]
fn all_that_was_there_is_told_before_the_mark_even_while_it_changes() {
    let mut world = World::with(&["a", "b", "c", "d"]);
    let mut feed = world.feed(None).unwrap();
    assert_eq!(next(&mut feed).unwrap(), "a@1");
    world.apply("b");
    world.delete("c");
    world.delete("a");
    world.apply("e");
    assert_eq!(told(&mut feed), ["b@5", "d@4", "e@6", "synced", "b@5", "-c", "-a", "e@6"]);
}

#[test]
fn who_resumes_is_told_what_changed_and_what_was_deleted() {
    let mut world = World::with(&["a", "b", "c"]);
    let mut feed = world.feed(None).unwrap();
    told(&mut feed);
    let seen = version(&feed);
    drop(feed);
    world.delete("b");
    world.apply("a");
    assert_eq!(told(&mut world.feed(Some(seen)).unwrap()), ["-b", "a@4", "synced"]);
}

#[test]
fn what_another_process_has_told_is_nothing_to_resume_from() {
    let (old, new) = (World::with(&["a", "b"]), World::with(&["a"]));
    let mut feed = old.feed(None).unwrap();
    told(&mut feed);
    assert_eq!(new.feed(Some(version(&feed))).err().unwrap().code(), Code::OutOfRange);
    let ahead = Version { position: 99, ..version(&feed) };
    assert_eq!(old.feed(Some(ahead)).err().unwrap().code(), Code::OutOfRange);
}

#[tokio::test]
async fn a_waiting_reader_is_woken() {
    let mut world = World::with(&["a"]);
    let mut feed = world.feed(None).unwrap();
    told(&mut feed);
    let waiting = async { feed.next().await.unwrap().object.unwrap().name };
    let changing = async {
        tokio::task::yield_now().await;
        world.apply("b");
    };
    assert_eq!(tokio::join!(waiting, changing).0, "b");
}
