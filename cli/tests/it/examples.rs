//! The examples of all commands, read from their man pages and run in a shell as they stand there.

mod manual;
mod services;
mod stage;

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use futures::{StreamExt, stream};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use weir_testkit::{ControlPlane, eventually};

use self::manual::{examples, pages};
use self::services::with_services;
use self::stage::{Stage, folder, shell};
use crate::nodes::with_nodes;

/// Examples that are not run, by a part of their text, and the reason. All are parsed by a test beside the tree of commands.
const PARSED_ONLY: [(&str, &str); 7] = [
    (
        "weir bootstrap",
        "goes to a host on the Internet; bootstrap.rs and bootstrap_hosted.rs run it against stand-ins",
    ),
    (
        "ssh://git@github.com",
        "asks a host on the Internet for its keys; create.rs runs it against a server of its own",
    ),
    ("--branch feature", "fetches from a host on the Internet; plan.rs does it from a server of its own"),
    ("weir demo", "needs the programs of a control plane, and --keep does not end; demo.rs runs it"),
    ("weir plugin", "asks the catalogue on the Internet; plugin.rs has a stand-in"),
    ("weir watch", "does not end, and needs the ports of services; watch.rs runs it against one"),
    ("weir run", "does not end, and works on a whole cluster; run.rs and e2e run it"),
];

/// Commands that are about an installation.
const OF_INSTALLATION: [&str; 5] =
    ["weir-install", "weir-check", "weir-version", "weir-migrate", "weir-uninstall"];

/// Verbs that change objects which others need as they were, in the order in which they may be run.
const CHANGING: [&str; 5] = ["weir-create", "weir-reconcile", "weir-suspend", "weir-resume", "weir-delete"];

/// Examples at once.
const AT_ONCE: usize = 4;

/// Longest time of an example, on a machine that compiles on every core meanwhile.
const DEADLINE: Duration = Duration::from_secs(120);

#[tokio::test]
async fn every_command_has_a_page_with_examples() {
    let pages = pages().await;
    let mut named = BTreeSet::from(["weir".to_owned()]);
    for (name, page) in &pages {
        assert!(!examples(page).is_empty(), "{name} has no example");
        let subcommands = page.split_once("\n.SH SUBCOMMANDS\n").map_or("", |(_, rest)| rest);
        let subcommands = subcommands.split("\n.SH ").next().unwrap().lines();
        named.extend(subcommands.filter_map(|line| Some(line.strip_suffix("(1)")?.replace("\\-", "-"))));
    }
    assert_eq!(pages.keys().cloned().collect::<BTreeSet<_>>(), named);
    let page = &pages["weir-suspend-kustomization"];
    insta::assert_snapshot!(page.replace(env!("CARGO_PKG_VERSION"), "[version]"));
}

#[tokio::test]
async fn every_example_can_be_run() {
    let (pages, stage) = (pages().await, Stage::new().await);
    let of = |wanted: &dyn Fn(&str) -> bool| -> BTreeSet<String> {
        let wanted =
            pages.iter().filter(|(name, _)| wanted(name) && !OF_INSTALLATION.contains(&name.as_str()));
        let examples = wanted.flat_map(|(_, page)| examples(page));
        examples.filter(|example| !is_parsed_only(example)).collect()
    };
    let changes = |name: &str, verb: &str| name.starts_with(verb);
    let mut phases = vec![of(&|name: &str| !CHANGING.iter().any(|verb| changes(name, verb)))];
    phases.extend(CHANGING.iter().map(|verb| of(&|name: &str| changes(name, verb))));
    let mut failed = Vec::new();
    for phase in phases {
        assert!(!phase.is_empty());
        let run = stream::iter(phase).map(|example| run(stage.shell(&bounded(&example)), example));
        let outcomes = with_services(stage.plane, run.buffer_unordered(AT_ONCE).collect::<Vec<_>>()).await;
        failed.extend(outcomes.into_iter().filter_map(Result::err));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[tokio::test]
async fn examples_about_an_installation_can_be_run() {
    let (pages, plane, folder) = (pages().await, ControlPlane::start().await.unwrap(), folder());
    let run_here = async |example: String| {
        with_nodes(&plane, run(shell(&example, folder.path(), &plane), example)).await
    };
    for name in OF_INSTALLATION {
        if name == "weir-check" {
            // The installation before is still rolled out.
            let settled = || async { run_here("weir check".to_owned()).await.ok() };
            eventually("the Deployments to be as wanted", DEADLINE, settled).await.unwrap();
        }
        for example in examples(&pages[name]) {
            run_here(example).await.unwrap_or_else(|failed| panic!("{failed}"));
        }
    }
}

#[tokio::test]
async fn each_reason_not_to_run_an_example_is_needed() {
    let all: Vec<_> = pages().await.values().flat_map(|page| examples(page)).collect();
    for (part, reason) in PARSED_ONLY {
        assert!(all.iter().any(|example| example.contains(part)), "no example has {part:?}, which {reason}");
    }
}

fn is_parsed_only(example: &str) -> bool {
    PARSED_ONLY.iter().any(|(part, _)| example.contains(part))
}

fn follows(example: &str) -> bool {
    ["--watch", "--follow"].iter().any(|flag| example.contains(flag))
}

/// Ends an example that follows changes.
fn bounded(example: &str) -> String {
    if follows(example) { format!("{example} --timeout 1s") } else { example.to_owned() }
}

/// Runs an example, whose questions are all answered with yes; returns what went wrong.
async fn run(mut shell: Command, example: String) -> Result<(), String> {
    let mut child =
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Most read nothing, and may be gone.
    drop(child.stdin.take().unwrap().write_all(b"y\n").await);
    let Ok(ended) = tokio::time::timeout(DEADLINE, child.wait_with_output()).await else {
        return Err(format!("$ {example}\ndoes not end"));
    };
    let output = ended.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let is_right = match output.status.code() {
        Some(0) => true,
        Some(1) if follows(&example) => said.contains("timed out") || said.contains("deadline exceeded"),
        Some(1) if ["weir diff", "weir plan"].iter().any(|command| example.starts_with(command)) => {
            said.contains("identified at least one change")
        }
        _ => false,
    };
    if is_right { Ok(()) } else { Err(format!("$ {example}\n{said}[{}]", output.status)) }
}
