//! `weir envsubst` (CLI-ENV01).

use std::process::{Output, Stdio};

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use weir_testkit::flux_program;

use crate::weir::Weir;

const CASES: [(&str, &str, &str, bool); 5] = [
    (
        "envsubst",
        "namespace: ${REPO_NAMESPACE:=flux-system} ${NOPE}\n$${X}\r\n\nlast",
        "namespace: flux-system \n${X}\n\nlast\n",
        true,
    ),
    (
        "envsubst",
        "${HOME} ${HOME#/none} ${#HOME} ${HOME/none/some}\n",
        "/nonexistent xistent 12 /somexistent\n",
        true,
    ),
    ("envsubst --strict", "a: ${HOME}\nb: ${NOPE}\n", "a: /nonexistent\n", false),
    ("envsubst", "a: ${NOPE\n", "", false),
    ("envsubst", "", "", true),
];

async fn run(mut command: Command, input: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
    child.wait_with_output().await.unwrap()
}

#[tokio::test]
async fn variables_are_those_of_the_environment() {
    for (arguments, input, expected, succeeds) in CASES {
        let output = run(Weir::default().command(arguments), input).await;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{input}: {stderr}");
        assert_eq!(output.status.success(), succeeds, "{input}: {stderr}");
    }
}

#[tokio::test]
async fn flux_replaces_the_same() {
    let Some(program) = flux_program("FLUX_CLI").unwrap() else { return };
    for (arguments, input, ..) in CASES {
        let ours = run(Weir::default().command(arguments), input).await;
        let theirs = run(Weir::default().with_program(&program).command(arguments), input).await;
        assert_eq!(ours, theirs, "{input}");
    }
}
