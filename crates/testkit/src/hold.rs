//! Things that people try by hand, held until they are done with them.

use std::error::Error as StdError;
use std::process::ExitCode;

use tokio::signal::ctrl_c;
use tokio::signal::unix::{SignalKind, signal};

use crate::Error;

/// Starts something, prints how to reach it (`shown`), and holds it until Ctrl-C or SIGTERM.
pub async fn hold<T>(
    start: impl Future<Output = Result<T, Error>>,
    shown: impl FnOnce(&T) -> String,
) -> ExitCode {
    match held(start, shown).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn held<T>(
    start: impl Future<Output = Result<T, Error>>,
    shown: impl FnOnce(&T) -> String,
) -> Result<(), Box<dyn StdError>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let started = start.await?;
    print!("{}", shown(&started));
    eprintln!("It is ready. Ctrl-C ends it; nothing of it stays.");
    tokio::select! {
        stopped = ctrl_c() => stopped?,
        _ = terminate.recv() => {}
    }
    Ok(())
}

fn with_causes(error: &dyn StdError) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", with_causes(cause)),
        None => error.to_string(),
    }
}
