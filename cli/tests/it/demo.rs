//! `weir demo`: all steps, on the control plane that it starts, and nothing of it left.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use regex::Regex;
use weir_testkit::{ControlPlane, Folder, Process, eventually};

use crate::weir::Weir;

/// A demo takes some ten seconds; the rest is for a machine that compiles on every core meanwhile.
const DEADLINE: Duration = Duration::from_secs(240);

/// A demo that puts its files into a folder of the test.
struct Demo {
    folder: Folder,
    temporary: String,
    process: Process,
}

impl Demo {
    async fn start(flags: &[&str]) -> Self {
        let folder = Folder::new("demo").unwrap();
        let temporary = folder.join("tmp").display().to_string();
        std::fs::create_dir(&temporary).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.arg("demo").arg("--control-plane").arg(ControlPlane::programs().await.unwrap()).args(flags);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("TMPDIR", &temporary);
        let process = Process::start("weir demo", &mut command, &folder.join("demo.log")).unwrap();
        Self { folder, temporary, process }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.process.log_path()).unwrap()
    }

    /// Waits until it has printed a text.
    async fn has_printed(&self, text: &str) {
        let printed = || async { self.log().contains(text).then_some(()) };
        assert!(eventually(text, DEADLINE, printed).await.is_ok(), "{}", self.log());
    }

    /// Sends a signal and waits for its end; returns its exit code.
    async fn end(&mut self, signal: &str) -> Option<i32> {
        let pid = self.process.pid().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        self.process.wait(DEADLINE).await.unwrap().code()
    }

    /// Shows what it printed, without what is another each time.
    fn shown(&self) -> String {
        let replaced = [
            (r"\(\d+\.\d s\)", "([time])"),
            (r"127\.0\.0\.1:\d+", "[address]"),
            ("commit [0-9a-f]{7,}", "commit [id]"),
            (r"kube-apiserver v\S+", "kube-apiserver [version]"),
            ("weir-demo-[^/]+", "[demo]"),
        ];
        let text = self.log().replace(&self.temporary, "[tmp]");
        replaced.iter().fold(text, |text, (pattern, shown)| {
            Regex::new(pattern).unwrap().replace_all(&text, *shown).into_owned()
        })
    }

    /// Fails when a file or a process is left.
    fn has_left_nothing(&self) {
        let files: Vec<_> = std::fs::read_dir(&self.temporary).unwrap().flatten().collect();
        assert!(files.is_empty(), "{files:?}");
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
        let ours: Vec<_> = lines.filter(|line| line.contains(&self.temporary)).collect();
        assert!(ours.is_empty(), "{ours:?}");
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.com"];
    let status = Command::new("git").arg("-C").arg(folder).args(identity).args(arguments).status().unwrap();
    assert!(status.success(), "git {arguments:?}");
}

#[tokio::test]
async fn the_loop_is_shown_and_removed() {
    let mut demo = Demo::start(&[]).await;
    let ended = demo.process.wait(DEADLINE).await.unwrap();
    assert!(ended.success(), "{ended}: {}", demo.log());
    demo.has_left_nothing();
    insta::assert_snapshot!(demo.shown());
}

#[tokio::test]
async fn a_demo_that_is_kept_applies_what_is_pushed_until_it_is_stopped() {
    let mut demo = Demo::start(&["--keep"]).await;
    demo.has_printed("weir watch --grpc-addr").await;
    let log = demo.log();
    let printed = |start: &str| log.lines().find_map(|line| line.strip_prefix(start)).unwrap().to_owned();
    let clone = demo.folder.join("clone");
    git(demo.folder.path(), &["clone", "-q", &printed("git clone "), clone.to_str().unwrap()]);
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: default}\n";
    std::fs::write(clone.join("mine.yaml"), manifest).unwrap();
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-q", "-m", "Mine"]);
    git(&clone, &["push", "-q"]);
    let weir = Weir::default().with_kubeconfig(Path::new(&printed("export KUBECONFIG=")));
    let has_mine = || async {
        weir.stdout("tree kustomization fleet").await.contains("ConfigMap/default/mine").then_some(())
    };
    assert!(eventually("what was pushed", DEADLINE, has_mine).await.is_ok(), "{}", demo.log());

    assert_eq!(demo.end("INT").await, Some(0), "{}", demo.log());
    demo.has_left_nothing();
    insta::assert_snapshot!(demo.shown());
}

#[tokio::test]
async fn a_demo_that_is_stopped_leaves_nothing() {
    let mut demo = Demo::start(&[]).await;
    demo.has_printed("installing the CRDs").await;
    assert_eq!(demo.end("TERM").await, Some(1), "{}", demo.log());
    assert!(demo.log().ends_with("✗ stopped by a signal\n"), "{}", demo.log());
    demo.has_left_nothing();
}

#[tokio::test]
async fn a_demo_without_a_control_plane_says_how_to_get_one() {
    let folder = Folder::new("demo").unwrap();
    let weir = Weir::default().in_folder(folder.path());
    let commands = ["demo", "demo --control-plane nowhere", "demo --control-plane ."];
    let mut transcript = weir.transcript(&commands).await;
    let assets = weir.with_env("KUBEBUILDER_ASSETS", "/nonexistent");
    transcript.push_str(&assets.transcript(&["demo"]).await);
    insta::assert_snapshot!(transcript);
}
