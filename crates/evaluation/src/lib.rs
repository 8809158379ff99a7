//! Evaluation of the rules of others: off the reactor, a few at once, and given up when it takes too long (KS-DEP-10).

use std::time::Duration;

use tokio::sync::Semaphore;

/// Evaluations at once. One that is given up keeps its place until it ends, so that no more threads than these are ever busy.
const AT_ONCE: usize = 4;
/// Time for one evaluation, with the wait for its place. Usual ones take less than a millisecond.
const TIME: Duration = Duration::from_secs(5);

static PLACES: Semaphore = Semaphore::const_new(AT_ONCE);

/// Evaluates on a thread of its own.
///
/// # Errors
/// Words for people, when it takes too long or has failed. Nobody waits for the thread then, whose loops end by themselves (weir-expression).
pub async fn evaluated<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    let evaluating = async {
        let place = PLACES.acquire().await.map_err(|_| "the service stops".to_owned())?;
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            work()
        });
        done.await.map_err(|_| "the evaluator failed".to_owned())
    };
    let done = tokio::time::timeout(TIME, evaluating).await;
    done.unwrap_or_else(|_| Err(format!("the expression takes longer than {} seconds", TIME.as_secs())))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_takes_too_long_is_given_up_and_keeps_its_place() {
        let (end, running) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let endless = || {
            let (end, running) = (Arc::clone(&end), Arc::clone(&running));
            evaluated(move || {
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
        assert_eq!(evaluated(|| 7).await, Ok(7));
    }
}
