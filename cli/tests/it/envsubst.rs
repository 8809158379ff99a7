//! `weir envsubst` (CLI-ENV01).

use std::process::{Output, Stdio};

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use weir_testkit::flux_program;

use crate::weir::Weir;

const CASES: [(&str, &[u8], &[u8], bool); 6] = [
    (
        "envsubst",
        b"namespace: ${REPO_NAMESPACE:=flux-system} ${NOPE}\n$${X}\r\n\nlast",
        b"namespace: flux-system \n${X}\n\nlast\n",
        true,
    ),
    (
        "envsubst",
        b"${HOME} ${HOME#/none} ${#HOME} ${HOME/none/some}\n",
        b"/nonexistent xistent 12 /somexistent\n",
        true,
    ),
    ("envsubst --strict", b"a: ${HOME}\nb: ${NOPE}\n", b"a: /nonexistent\n", false),
    ("envsubst", b"a: ${NOPE\n", b"", false),
    ("envsubst", b"", b"", true),
    // Text in another encoding.
    (
        "envsubst",
        b"caf\xe9: ${HOME}\n\xff${NOPE:-\xfe}\xc3\nb: \xc3\xa9",
        b"caf\xe9: /nonexistent\n\xff\xfe\xc3\nb: \xc3\xa9\n",
        true,
    ),
];

/// Runs a command whose stdin is a pipe.
pub(crate) async fn run(mut command: Command, input: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).await.unwrap();
    child.wait_with_output().await.unwrap()
}

#[tokio::test]
async fn variables_are_those_of_the_environment() {
    for (arguments, input, expected, succeeds) in CASES {
        let output = run(Weir::default().command(arguments), input).await;
        let (input, stderr) = (input.escape_ascii(), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.stdout, expected, "{input}: {stderr}");
        assert_eq!(output.status.success(), succeeds, "{input}: {stderr}");
    }
}

#[tokio::test]
async fn flux_replaces_the_same() {
    let Some(program) = flux_program("FLUX_CLI").unwrap() else { return };
    for (arguments, input, ..) in CASES {
        let ours = run(Weir::default().command(arguments), input).await;
        let theirs = run(Weir::default().with_program(&program).command(arguments), input).await;
        assert_eq!(ours, theirs, "{}", input.escape_ascii());
    }
}
