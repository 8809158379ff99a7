//! Applies that run out of time (KS-REC-40).

use std::time::{Duration, Instant};

use weir_ssa::{Error, Settings};

use crate::world::{Recorded, World};

/// Time for an apply that is to run out of it: enough to try two objects on a machine that compiles meanwhile.
const LIMIT: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_without_time_to_try_writes_and_records_nothing() {
    let world = World::new().await;
    let (settings, record) = (Settings { time: Duration::ZERO, ..world.settings() }, Recorded::default());
    let failure = world.apply_recorded(&[world.cm("a", "1")], &settings, &record).await.unwrap_err();
    assert!(matches!(failure.error, Error::TimedOut { .. }), "{failure}");
    assert!(record.0.lock().is_empty());
    assert!(world.config_map("a").await.is_none());
}

/// The object that was written is in the record, and the next apply goes on behind it.
#[tokio::test(flavor = "multi_thread")]
async fn an_apply_that_runs_out_of_time_between_objects_is_taken_up() {
    let mut world = World::new().await;
    let manifests = [world.cm("a", "1"), world.cm("b", "1")];
    let (settings, record) = (Settings { time: LIMIT, ..world.settings() }, Recorded::default());
    let usual = world.session.clone();
    world.session = usual.clone().stepping(lets_time_pass);
    let failure = world.apply_recorded(&manifests, &settings, &record).await.unwrap_err();
    assert_eq!(failure.error.to_string(), "apply is not done within 5 seconds");
    let names: Vec<String> = record.0.lock().iter().map(|entry| entry.id.name.clone()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(world.config_map("a").await.is_some());
    assert!(world.config_map("b").await.is_none());
    world.session = usual;
    let changes = world.apply(&manifests).await.unwrap();
    assert_eq!(changes.changed_lines(), format!("ConfigMap/{}/b created", world.ns));
}

/// Holds an apply up after its first object until its time is over.
fn lets_time_pass(step: &'static str) {
    let since = Instant::now();
    while step == "object-applied" && since.elapsed() <= LIMIT {
        std::thread::park_timeout(LIMIT);
    }
}
