use super::*;

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("apps", name)
}

#[tokio::test(start_paused = true)]
async fn the_most_urgent_goes_first_and_equals_in_order_of_arrival() {
    let queue = Queue::default();
    queue.enqueue(key("timer"), Cause::Timer);
    queue.enqueue(key("spec-1"), Cause::Spec);
    queue.enqueue(key("spec-2"), Cause::Spec);
    queue.enqueue(key("asked"), Cause::Requested);
    let mut order = Vec::new();
    for _ in 0..4 {
        order.push(queue.next().await.key.name);
    }
    assert_eq!(order, ["asked", "spec-1", "spec-2", "timer"]);
}

#[tokio::test(start_paused = true)]
async fn causes_of_one_object_are_one_run() {
    let queue = Queue::default();
    queue.enqueue(key("a"), Cause::Timer);
    queue.enqueue(key("a"), Cause::Revision);
    let ticket = queue.next().await;
    assert_eq!(ticket.causes, [Cause::Revision, Cause::Timer]);
    assert_eq!(queue.depth(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_running_object_runs_again_after_it_is_done() {
    let queue = Queue::default();
    queue.enqueue(key("a"), Cause::Spec);
    let first = queue.next().await;
    queue.enqueue(key("a"), Cause::Health);
    assert_eq!(queue.depth(), 0);
    assert!(!first.cancel.is_cancelled());
    queue.done(&first.key, None);
    assert_eq!(queue.next().await.causes, [Cause::Health]);
}

#[tokio::test(start_paused = true)]
async fn a_new_revision_cancels_the_run_in_flight() {
    let queue = Queue::default();
    queue.enqueue(key("a"), Cause::Timer);
    let first = queue.next().await;
    queue.enqueue(key("a"), Cause::Revision);
    assert!(first.cancel.is_cancelled());
}

/// Requests that come faster than a run takes are one more run each time, and every run ends.
#[tokio::test(start_paused = true)]
async fn requests_do_not_starve_the_run_that_was_requested() {
    let queue = Queue::default();
    queue.enqueue(key("a"), Cause::Timer);
    let by_time = queue.next().await;
    queue.enqueue(key("a"), Cause::Requested);
    assert!(by_time.cancel.is_cancelled());
    for _ in 0..3 {
        queue.done(&key("a"), None);
        let requested = queue.next().await;
        queue.enqueue(key("a"), Cause::Requested);
        queue.enqueue(key("a"), Cause::Requested);
        assert_eq!((requested.cancel.is_cancelled(), queue.depth()), (false, 0));
    }
    queue.done(&key("a"), None);
    let requested = queue.next().await;
    queue.enqueue(key("a"), Cause::Spec);
    assert!(requested.cancel.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_timer_fires_when_due_and_a_run_replaces_it() {
    let queue = Queue::default();
    queue.enqueue(key("a"), Cause::Startup);
    let ticket = queue.next().await;
    queue.done(&ticket.key, Some((Cause::Timer, Duration::from_secs(60))));
    queue.enqueue(key("a"), Cause::Spec);
    let ticket = queue.next().await;
    queue.done(&ticket.key, Some((Cause::Timer, Duration::from_secs(90))));
    let before = Instant::now();
    let ticket = queue.next().await;
    assert_eq!(ticket.causes, [Cause::Timer]);
    assert_eq!(before.elapsed().as_secs(), 90);
}

#[tokio::test(start_paused = true)]
async fn an_earlier_timer_wins() {
    let queue = Queue::default();
    queue.enqueue_after(key("a"), Cause::Retry, Duration::from_secs(10));
    queue.enqueue_after(key("a"), Cause::Timer, Duration::from_secs(20));
    assert_eq!(queue.next().await.causes, [Cause::Retry]);
}

/// A cause that is put off comes before the object's timer, and the ticket still knows when that was due.
#[tokio::test(start_paused = true)]
async fn a_cause_that_is_put_off_keeps_the_timer_known() {
    let queue = Queue::default();
    queue.enqueue(key("a"), Cause::Startup);
    let ticket = queue.next().await;
    assert_eq!(ticket.due, None);
    let due = Instant::now() + Duration::from_secs(60);
    queue.done(&ticket.key, Some((Cause::Timer, Duration::from_secs(60))));
    queue.enqueue_after(key("a"), Cause::Drift, Duration::from_secs(10));
    let ticket = queue.next().await;
    assert_eq!((ticket.causes, ticket.due), (vec![Cause::Drift], Some(due)));
    queue.done(&ticket.key, Some((Cause::Timer, Duration::from_secs(50))));
    assert_eq!(queue.next().await.causes, [Cause::Timer]);
    assert_eq!(Instant::now(), due);
}

/// A run about the health of an object must not swallow the correction of another one.
#[tokio::test(start_paused = true)]
async fn a_cause_that_is_put_off_outlives_other_runs() {
    let queue = Queue::default();
    let start = Instant::now();
    queue.enqueue(key("a"), Cause::Startup);
    let ticket = queue.next().await;
    queue.done(&ticket.key, Some((Cause::Timer, Duration::from_secs(5))));
    queue.enqueue_after(key("a"), Cause::Drift, Duration::from_secs(10));
    queue.enqueue(key("a"), Cause::Health);
    for (causes, after) in [(Cause::Health, 0), (Cause::Timer, 5), (Cause::Drift, 10)] {
        let ticket = queue.next().await;
        assert_eq!((&*ticket.causes, start.elapsed().as_secs()), (&[causes][..], after));
        queue.done(&ticket.key, Some((Cause::Timer, Duration::from_secs(if after == 0 { 5 } else { 60 }))));
    }
}
