//! Completion as shells do it: their scripts are sourced where the shell is on this machine, and what they run is run.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::process::Command;
use weir_testkit::found_or_skipped;

use crate::weir::Weir;
use crate::world::World;

/// The cursor in a line.
const CURSOR: char = '▏';

/// Variable that lets a machine which compiles on every core take its time, and its value.
const WAIT: (&str, &str) = ("WEIR_COMPLETION_WAIT", "60s");

/// The folder of the program, which the scripts find by its name.
fn path() -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_weir")).parent().unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// A shell of this machine.
fn installed(shell: &str) -> Option<PathBuf> {
    let all = std::env::var_os("PATH").unwrap();
    let found =
        std::env::split_paths(&all).map(|folder| folder.join(shell)).find(|program| program.is_file());
    found_or_skipped(shell, found.ok_or("it is not on the PATH")).unwrap()
}

/// Runs a shell, in which the program asks a cluster.
async fn shell(program: &Path, arguments: &[&str], world: &World) -> String {
    // Fish writes there, whatever it is for.
    let home = tempfile::tempdir().unwrap();
    let mut shell = Command::new(program);
    shell.args(arguments).env_clear().env("PATH", path()).env("HOME", home.path());
    shell.env("KUBECONFIG", world.plane.kubeconfig_path()).env("FLUX_SYSTEM_NAMESPACE", &world.namespace);
    shell.env(WAIT.0, WAIT.1);
    let output = shell.output().await.unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Completes a line in bash, at the word with the cursor.
async fn in_bash(line: &str, world: &World) -> String {
    let words: Vec<_> = line.split(' ').collect();
    let index = words.iter().position(|word| word.ends_with(CURSOR)).unwrap();
    let words: Vec<_> = words.iter().map(|word| format!("'{}'", word.trim_end_matches(CURSOR))).collect();
    let script = format!(
        "source <(weir completion bash); COMP_WORDS=({}); COMP_CWORD={index}; \
         _clap_complete_weir weir {} {}; echo \"${{COMPREPLY[@]}}\"",
        words.join(" "),
        words[index],
        words[index - 1],
    );
    shell(Path::new("/bin/bash"), &["-c", &script], world).await
}

/// Runs what the script of a shell runs.
async fn asked(weir: &Weir, shell: &str, line: &str) -> String {
    let mut command = weir.command("--");
    command.args(line.split(' ')).env("_WEIR_COMPLETE", shell);
    let index = line.split(' ').count() - 1;
    if shell == "zsh" {
        command.env("_CLAP_COMPLETE_INDEX", index.to_string()).env("_CLAP_IFS", "\n");
    }
    let output = command.output().await.unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A namespace with objects of two kinds; one name is in both.
async fn world(namespace: &str) -> World {
    let world = World::new(namespace).await;
    for name in ["podinfo", "redis"] {
        world.object("Kustomization", name).await;
    }
    for name in ["podinfo", "flux"] {
        world.object("GitRepository", name).await;
    }
    world
}

const LINES: [&str; 23] = [
    "weir get ku▏",
    "weir get kustomizations ▏",
    "weir get ks re▏",
    "weir get sources git ▏",
    "weir get ks ▏ -n default",
    "weir suspend kustomization podinfo r▏",
    "weir export source git --all ▏",
    "weir get ks --context ▏",
    "weir get ks --namespace completion-of-ba▏",
    "weir get ks --namespace = completion-of-ba▏",
    "weir get ks --namespace = completion-of-bash ▏",
    "weir why ks/▏",
    "weir why kust▏",
    "weir watch kustomization p▏",
    "weir events --for GitRepository/▏",
    "weir get ks --n▏",
    "weir create secret receiver ▏",
    "weir logs --kind Kustomization --name ▏",
    "weir get ks --watch ▏",
    "weir trace serviceacc▏",
    "weir trace ks/▏",
    "weir trace gitrepository ▏",
    "weir trace gitrepo/flux ks/re▏",
];

#[tokio::test]
async fn bash_completes_commands_flags_and_names() {
    let world = world("completion-of-bash").await;
    let mut all = String::new();
    for line in LINES {
        all.push_str(&format!("{line}  {}", in_bash(line, &world).await));
    }
    insta::assert_snapshot!(all);
}

#[rstest::rstest]
#[case("fish")]
#[case("powershell")]
#[case("zsh")]
#[tokio::test]
async fn other_shells_are_given_names_and_help(#[case] shell: &str) {
    let world = world(&format!("completion-of-{shell}")).await;
    let weir = world.weir().with_env(WAIT.0, WAIT.1);
    let mut all = String::new();
    for line in ["weir get kustomizations ", "weir get al", "weir why ks/r", "weir get ks --watc"] {
        all.push_str(&format!("{line}▏\n{}\n", asked(&weir, shell, line).await));
    }
    insta::assert_snapshot!(format!("given_to_{shell}"), all);
}

#[tokio::test]
async fn fish_completes_names() {
    let Some(fish) = installed("fish") else { return };
    let world = world("completion-in-fish").await;
    let script = "weir completion fish | source; complete -C 'weir get ks r'";
    assert_eq!(shell(&fish, &["-c", script], &world).await, "redis\n");
}

/// Zsh takes the script where completion is set up; what it then runs is tested above.
#[tokio::test]
async fn zsh_takes_the_script() {
    let Some(zsh) = installed("zsh") else { return };
    let world = world("completion-in-zsh").await;
    let script = "autoload -U compinit; compinit -D; source <(weir completion zsh); echo $_comps[weir]";
    assert_eq!(shell(&zsh, &["-f", "-c", script], &world).await, "_clap_dynamic_completer_weir\n");
}

#[rstest::rstest]
#[case("bash", "complete -o nospace")]
#[case("zsh", "#compdef weir")]
#[case("fish", "complete --keep-order")]
#[case("powershell", "Register-ArgumentCompleter -Native -CommandName weir")]
#[tokio::test]
async fn each_shell_has_a_script(#[case] shell: &str, #[case] part: &str) {
    let script = Weir::default().stdout(&format!("completion {shell}")).await;
    assert!(script.contains(part), "{script}");
}

/// A server that does not answer, a file that is none, and a program for logins that asks: a shell gets nothing, soon.
#[tokio::test]
async fn nothing_keeps_a_shell_waiting() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let program = json!({ "apiVersion": "client.authentication.k8s.io/v1", "command": "sh",
        "args": ["-c", "echo a question >&2; sleep 60"], "interactiveMode": "IfAvailable" });
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{ "name": "silent", "cluster": { "server": format!("http://{}", silent.local_addr().unwrap()) } }],
        "users": [{ "name": "nobody", "user": {} }, { "name": "asks", "user": { "exec": program } }],
        "contexts": [
            { "name": "a", "context": { "cluster": "silent", "user": "nobody" } },
            { "name": "b", "context": { "cluster": "silent", "user": "asks" } },
        ],
    });
    std::fs::write(folder.path().join("config"), config.to_string()).unwrap();
    std::fs::write(folder.path().join("torn"), "{").unwrap();
    let weir = |file: &str| {
        Weir::default().with_kubeconfig(&folder.path().join(file)).with_env("PATH", "/usr/bin:/bin")
    };
    let started = Instant::now();
    let lines =
        [("config", "weir get ks x"), ("config", "weir get ks --context b x"), ("torn", "weir get ks x")];
    for (file, line) in lines {
        assert_eq!(asked(&weir(file), "fish", line).await, "", "{line}");
    }
    // Each of the first two waits for less than a second; the rest is for a machine that is busy.
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!(asked(&weir("config"), "fish", "weir get ks --context ").await, "a\nb\n");
    assert_eq!(asked(&weir("torn"), "fish", "weir get ks --context ").await, "");
}
