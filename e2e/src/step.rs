use std::future::Future;
use std::time::Instant;

use anyhow::{Context, Result};

/// Prints a step, plays it, and prints its time.
pub(crate) async fn step<T, E: Into<anyhow::Error>>(
    what: &str,
    play: impl Future<Output = Result<T, E>>,
) -> Result<T> {
    println!("▶ {what}");
    let start = Instant::now();
    let played = play.await.map_err(Into::into).with_context(|| what.to_owned())?;
    println!("  ✔ {:.1} s", start.elapsed().as_secs_f64());
    Ok(played)
}
