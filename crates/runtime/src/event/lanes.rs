//! Work on events: of one object in order, of different objects beside each other.

use std::collections::HashSet;

use tokio::task::JoinSet;

/// Work on events that goes on in the background, at most so much at a time.
pub(super) struct Lanes {
    most: usize,
    works: JoinSet<String>,
    /// UIDs of the objects whose events are worked on.
    busy: HashSet<String>,
}

impl Lanes {
    /// Lanes for at most so many events at a time.
    pub(super) fn new(most: usize) -> Self {
        Self { most, works: JoinSet::new(), busy: HashSet::new() }
    }

    /// Waits until work on an event of this object may begin.
    pub(super) async fn room_for(&mut self, uid: &str) {
        while self.works.len() >= self.most || self.busy.contains(uid) {
            self.one_ended().await;
        }
    }

    /// Begins work on an event of this object.
    pub(super) fn start(&mut self, uid: String, work: impl Future<Output = ()> + Send + 'static) {
        self.busy.insert(uid.clone());
        self.works.spawn(async move {
            work.await;
            uid
        });
    }

    /// Waits until all work has ended.
    pub(super) async fn all_ended(&mut self) {
        while !self.works.is_empty() {
            self.one_ended().await;
        }
    }

    async fn one_ended(&mut self) {
        match self.works.join_next().await {
            Some(Ok(uid)) => {
                self.busy.remove(&uid);
            }
            // Work that panicked does not say whose it was; in doubt everybody may go on.
            Some(Err(_)) | None => self.busy.clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::FutureExt;
    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn objects_wait_for_themselves_and_for_room() {
        let mut lanes = Lanes::new(2);
        let ends = Arc::new(Notify::new());
        let held = |ends: &Arc<Notify>| {
            let ends = ends.clone();
            async move { ends.notified().await }
        };
        lanes.room_for("a").await;
        lanes.start("a".to_owned(), held(&ends));
        assert!(lanes.room_for("a").now_or_never().is_none(), "its event before is worked on");
        lanes.room_for("b").await;
        lanes.start("b".to_owned(), std::future::pending());
        assert!(lanes.room_for("c").now_or_never().is_none(), "two are worked on");
        ends.notify_one();
        lanes.room_for("a").await;
        assert!(lanes.all_ended().now_or_never().is_none(), "b is worked on");
    }

    #[tokio::test]
    async fn work_that_panics_holds_nobody_up() {
        let mut lanes = Lanes::new(1);
        lanes.start("a".to_owned(), async { panic!("told to panic") });
        lanes.room_for("a").await;
        lanes.start("a".to_owned(), async {});
        lanes.all_ended().await;
        lanes.room_for("a").await;
    }
}
