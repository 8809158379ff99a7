//! Programs that people have logged in with, and that print a token. A service runs none.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

/// Bytes of an answer that are read; tokens have a few KiB.
const MAX_ANSWER: u64 = 1 << 20;

/// Runs a program and returns what it has printed, or the reason why there is nothing. Its error output is not read: a token may be
/// in it.
pub(crate) async fn printed(program: &mut Command, limit: Duration) -> Result<Vec<u8>, String> {
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = program.spawn().map_err(|error| format!("it does not start: {error}"))?;
    let output = child.stdout.take();
    let running = async {
        let mut text = Vec::new();
        if let Some(output) = output {
            output.take(MAX_ANSWER).read_to_end(&mut text).await?;
        }
        Ok::<_, std::io::Error>((child.wait().await?, text))
    };
    match timeout(limit, running).await {
        Ok(Ok((status, text))) if status.success() => Ok(text),
        Ok(Ok((status, _))) => Err(format!("it has failed: {status}")),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("it has not ended within {limit:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("echo token", 60, Ok("token\n"))]
    #[case("echo secret; exit 3", 60, Err("it has failed: exit status: 3"))]
    #[case("exec sleep 60", 2, Err("it has not ended within 2s"))]
    #[tokio::test]
    async fn programs_end(#[case] script: &str, #[case] seconds: u64, #[case] expected: Result<&str, &str>) {
        let mut shell = Command::new("/bin/sh");
        let printed = printed(shell.args(["-c", script]), Duration::from_secs(seconds)).await;
        let printed = printed.map(|text| String::from_utf8(text).unwrap());
        assert_eq!(printed, expected.map(str::to_owned).map_err(str::to_owned));
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_does_not_start() {
        let reason = printed(&mut Command::new("/nowhere"), Duration::from_secs(2)).await.unwrap_err();
        assert!(reason.starts_with("it does not start: "), "{reason}");
    }
}
