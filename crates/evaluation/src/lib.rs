//! Evaluation of the rules of others: off the reactor, a few at once, and given up when it takes too long (KS-DEP-10).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

/// Evaluations at once. One that is given up keeps its place until it ends, so that no more threads than these are ever busy.
const AT_ONCE: usize = 4;
/// Time for one evaluation, with the wait for its place. Usual ones take less than a millisecond.
const TIME: Duration = Duration::from_secs(5);

/// Returns true for as long as somebody waits for an evaluation.
pub type MayGoOn<'a> = dyn Fn() -> bool + Send + Sync + 'a;

static PLACES: Semaphore = Semaphore::const_new(AT_ONCE);

/// Evaluates on a thread of its own. The work is given up when it takes too long, or when nobody polls this any more: what it gets
/// returns false from then on.
///
/// # Errors
/// Words for people, when it takes too long or has failed.
pub async fn evaluated<T: Send + 'static>(
    work: impl FnOnce(&MayGoOn<'_>) -> T + Send + 'static,
) -> Result<T, String> {
    let waiting = Arc::new(());
    let waiter = Arc::downgrade(&waiting);
    let evaluating = async {
        let place = PLACES.acquire().await.map_err(|_| "the service stops".to_owned())?;
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            work(&|| waiter.strong_count() > 0)
        });
        done.await.map_err(|_| "the evaluator failed".to_owned())
    };
    let done = tokio::time::timeout(TIME, evaluating).await;
    drop(waiting);
    done.unwrap_or_else(|_| Err(format!("the expression takes longer than {} seconds", TIME.as_secs())))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    /// Tests share the places of the process, and take turns.
    static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

    #[tokio::test(start_paused = true)]
    async fn what_takes_too_long_is_given_up_and_keeps_its_place() {
        let _turn = TURN.lock().await;
        let (end, running) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let endless = || {
            let (end, running) = (Arc::clone(&end), Arc::clone(&running));
            evaluated(move |_| {
                running.fetch_add(1, Ordering::SeqCst);
                while !end.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
            })
        };
        let begun = async {
            while running.load(Ordering::SeqCst) < AT_ONCE {
                tokio::task::yield_now().await;
            }
            // The clock stands while a thread works.
            tokio::time::advance(TIME).await;
        };
        let all = futures::future::join_all((0..AT_ONCE).map(|_| endless()));
        let (all, ()) = tokio::join!(all, begun);
        let late = Err("the expression takes longer than 5 seconds".to_owned());
        assert!(all.iter().all(|done| *done == late), "{all:?}");
        // No further thread is begun.
        let (further, ()) = tokio::join!(endless(), async {
            tokio::task::yield_now().await;
            tokio::time::advance(TIME).await;
        });
        assert_eq!((further, running.load(Ordering::SeqCst)), (late, AT_ONCE));
        end.store(true, Ordering::SeqCst);
        assert_eq!(evaluated(|_| 7).await, Ok(7));
    }

    #[tokio::test(start_paused = true)]
    async fn the_work_learns_that_nobody_waits() {
        let _turn = TURN.lock().await;
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (ended, has_ended) = tokio::sync::oneshot::channel();
        let endless = evaluated(move |may_go_on| {
            begun.send(()).unwrap();
            while may_go_on() {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
        });
        tokio::select! {
            done = endless => panic!("{done:?}"),
            begun = has_begun => begun.unwrap(),
        }
        has_ended.await.unwrap();
    }
}
