//! Plugins (CLI-PLG01): programs of a folder are commands, and come from a catalogue.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use flate2::Compression;
use flate2::write::GzEncoder;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use weir_testkit::{FaultProxy, Folder, Server, eventually};
use zip::write::SimpleFileOptions;

use crate::weir::{DEADLINE, Weir};

/// Writes a program that shows how it was called.
fn program(folder: &Path, name: &str, mode: u32) {
    let lines = format!("echo \"{name} in $PWD got: $*\"\n[ \"$1\" != fail ] || exit 7\n");
    write_program(folder, name, mode, &lines);
}

/// Writes a program with these lines.
fn write_program(folder: &Path, name: &str, mode: u32, lines: &str) {
    // Another program makes it executable: a child that a test starts meanwhile would inherit the open file.
    let draft = folder.join("draft");
    std::fs::write(&draft, format!("#!/bin/sh\n{lines}")).unwrap();
    let mut install = std::process::Command::new("install");
    let made = install.args(["-m", &format!("{mode:o}")]).arg(draft).arg(folder.join(name)).status();
    assert!(made.unwrap().success());
}

#[tokio::test]
async fn programs_of_the_folder_are_commands() {
    let folder = Folder::new("plugins").unwrap();
    let path = folder.path();
    program(path, "flux-operator", 0o755);
    program(path, "flux-both", 0o755);
    program(path, "weir-both", 0o755);
    program(path, "flux-get", 0o755);
    program(path, "flux-plugin", 0o755);
    program(path, "flux-no-program", 0o644);
    program(path, "other", 0o755);
    std::fs::create_dir(path.join("flux-folder")).unwrap();
    symlink(path.join("other"), path.join("flux-linked")).unwrap();
    symlink(path.join("nowhere"), path.join("flux-broken")).unwrap();
    folder.write("flux-operator.yaml", "name: operator\nversion: 0.45.0\n").unwrap();
    let home = Folder::new("home").unwrap();
    let weir = Weir::default().in_folder(home.path()).with_env("FLUXCD_PLUGINS", path.to_str().unwrap());
    let shown = |text: String| {
        text.replace(path.to_str().unwrap(), "[plugins]").replace(home.path().to_str().unwrap(), "[here]")
    };
    let commands = [
        "plugin list",
        "operator",
        "operator --help -n apps --export=x -- y",
        "operator fail",
        "-n apps operator tree",
        "--token -x operator",
        "both",
        "linked x",
        "get --bad",
        "broken",
        "no-program",
        "folder",
        "oprator",
    ];
    insta::assert_snapshot!(shown(weir.transcript(&commands).await));
    let help = weir.stdout("--help").await;
    let is_listed =
        |line: &str| line.starts_with("  operator ") && line.ends_with(" Run the plugin operator");
    assert!(help.lines().any(is_listed), "{help}");
    let own = weir.with_env("WEIR_PLUGINS", home.path().to_str().unwrap());
    assert_eq!(own.transcript(&["plugin list"]).await, "$ weir plugin list\nNo plugins found\n\n");
}

/// As Flux's command does, with the answers of cobra's `__complete`: the plugin knows its words, and nobody else.
#[tokio::test]
async fn plugins_complete_their_own_words() {
    let folder = Folder::new("completing").unwrap();
    let answer = "[ \"$1\" = __complete ] || exit 1\nshift\n[ \"$1\" != fail ] || exit 3\n\
                  [ \"$1\" != hang ] || { echo $$ >\"${0%/*}/process\"; exec sleep 6000; }\n\
                  printf 'tree\\tShows all\\n--all\\ntrunk\\ngot:%s\\n:4\\n' \"$*\"\n";
    write_program(folder.path(), "flux-operator", 0o755, answer);
    let weir = Weir::default().with_env("FLUXCD_PLUGINS", folder.path().to_str().unwrap());
    let weir = weir.with_env("WEIR_COMPLETION_WAIT", "60s");
    let completed = async |line: &str| {
        let mut command = weir.command("--");
        command.args(line.split(' ')).env("_WEIR_COMPLETE", "fish");
        let output = command.output().await.unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(completed("weir oper").await, "operator\tRun the plugin operator\n");
    assert_eq!(completed("weir operator tr").await, "tree\tShows all\ntrunk\n");
    assert_eq!(completed("weir operator get --a").await, "--all\n");
    let asked = "weir -n apps operator get --export x -- got:";
    assert_eq!(completed(asked).await, "got:-n apps get --export x -- got:\n");
    assert_eq!(completed("weir operator fail ").await, "");
    let hasty = Weir::default().with_env("FLUXCD_PLUGINS", folder.path().to_str().unwrap());
    let mut hasty = hasty.with_env("WEIR_COMPLETION_WAIT", "2s").command("--");
    let output = hasty.args(["weir", "operator", "hang", ""]).env("_WEIR_COMPLETE", "fish").output();
    assert!(output.await.unwrap().stdout.is_empty());
    // A plugin that is killed before it has written its number has gone too.
    if let Ok(process) = std::fs::read_to_string(folder.join("process")) {
        let line = format!("/proc/{}/cmdline", process.trim());
        let is_gone = async || std::fs::read(&line).unwrap_or_default().is_empty().then_some(());
        eventually("the end of the plugin", DEADLINE, is_gone).await.unwrap();
    }
    assert!(completed("weir get kustomizat").await.starts_with("kustomizations"));
}

#[tokio::test]
async fn the_folder_in_the_home_folder() {
    let home = Folder::new("home").unwrap();
    let folder = home.path().join(".fluxcd/plugins");
    std::fs::create_dir_all(&folder).unwrap();
    program(&folder, "weir-hello", 0o755);
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    let weir = Weir::default().in_folder(home.path()).with_env("HOME", home.path().to_str().unwrap());
    let text = weir.stdout("hello world").await;
    assert!(text.starts_with("weir-hello in ") && text.ends_with(" got: world\n"), "{text}");
}

/// A catalogue in which `operator` comes as an archive, and `raw` as a bare program.
struct Shelf {
    server: Server,
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

impl Shelf {
    async fn start() -> Self {
        let files = Arc::new(Mutex::new(BTreeMap::<String, Vec<u8>>::new()));
        let served = Arc::clone(&files);
        let answer = move |uri: axum::http::Uri| {
            let found = served.lock().get(uri.path()).cloned();
            async move { found.ok_or(axum::http::StatusCode::NOT_FOUND) }
        };
        let server = Server::start(Router::new().fallback(answer), None).await.unwrap();
        Self { server, files }
    }

    fn address(&self) -> String {
        format!("http://{}/", self.server.address())
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        self.files.lock().insert(format!("/{path}"), content.as_ref().to_vec());
    }

    fn rename(&self, from: &str, to: &str) {
        let content = self.files.lock().remove(&format!("/{from}")).unwrap();
        self.put(to, content);
    }

    /// Offers versions of a plugin, the newest first; returns the digest of the newest download.
    fn offer(&self, name: &str, bin: &str, versions: &[(&str, &[u8])]) -> String {
        let arch = if cfg!(target_arch = "x86_64") { "amd64" } else { "arm64" };
        let mut text =
            format!("apiVersion: cli.fluxcd.io/v1beta1\nkind: Plugin\nname: {name}\nbin: {bin}\nversions:\n");
        let mut digests = Vec::new();
        for (version, content) in versions {
            let (file, digest) = (format!("{name}-{version}"), hex::encode(Sha256::digest(content)));
            let url = format!("{}{file}", self.address());
            text.push_str(&format!(
                "- version: {version}\n  platforms:\n  - {{os: plan9, arch: {arch}, url: 'http://x', checksum: 'sha256:0'}}\n  \
                 - {{os: linux, arch: {arch}, url: '{url}', checksum: 'sha256:{digest}'}}\n"
            ));
            self.put(&file, content);
            digests.push(digest);
        }
        self.put(&format!("{name}.yaml"), text);
        digests.remove(0)
    }
}

fn script(text: &str) -> Vec<u8> {
    format!("#!/bin/sh\necho \"{text} got: $*\"\n").into_bytes()
}

/// An archive with the program in a folder, behind another file and a folder of its name.
fn archive(bin: &str, program: &[u8]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, content) in [("README.md", b"read me".as_slice()), (&format!("bin/{bin}"), program)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        archive.append_data(&mut header, path, content).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

/// The same as a zip archive, behind a file of its name that leads out of the archive.
fn zip_archive(bin: &str, program: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive.add_directory(format!("{bin}/"), SimpleFileOptions::default()).unwrap();
    for (path, content) in [(format!("../{bin}"), b"led out".as_slice()), (format!("bin/{bin}"), program)] {
        archive.start_file(path, SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[tokio::test]
async fn plugins_of_a_catalogue_come_and_go() {
    let (shelf, home) = (Shelf::start().await, Folder::new("home").unwrap());
    let (old, new) = (archive("flux-operator", &script("old")), archive("flux-operator", &script("new")));
    shelf.offer("operator", "flux-operator", &[("0.44.0", &old)]);
    let raw = shelf.offer("raw", "flux-raw", &[("2.0.0", &script("raw 2")), ("1.0.0", &script("raw 1"))]);
    shelf.offer("bad", "../flux-bad", &[("1.0.0", b"x")]);
    shelf.offer("zipped", "flux-zipped", &[("1.0.0", &zip_archive("flux-zipped", &script("zipped")))]);
    shelf.offer("zip-empty", "flux-zip-empty", &[("1.0.0", &zip_archive("flux-other", b"x"))]);
    shelf.offer("zip-torn", "flux-zip-torn", &[("1.0.0", b"PK\x03\x04")]);
    shelf.offer("torn", "flux-torn", &[("1.0.0", b"whole")]);
    shelf.put("torn-1.0.0", "torn");
    shelf.offer("empty", "flux-empty", &[("1.0.0", &archive("flux-other", b"x"))]);
    shelf.offer("../led", "flux-led", &[("1.0.0", b"x")]);
    shelf.rename("../led.yaml", "led.yaml");
    shelf.put("odd.yaml", "apiVersion: cli.fluxcd.io/v2\nkind: Plugin\n");
    let entries =
        "plugins:\n- {name: operator, description: Runs operators}\n- {name: raw, description: Nothing}\n";
    shelf.put("catalog.yaml", format!("apiVersion: cli.fluxcd.io/v1beta1\nkind: PluginCatalog\n{entries}"));
    let weir = Weir::default().with_env("HOME", home.path().to_str().unwrap());
    let weir = weir.with_env("FLUXCD_PLUGIN_CATALOG", &shelf.address());
    let first = [
        "plugin search",
        "plugin search OPERATORS",
        "plugin search nothing-like-it",
        "plugin install operator",
        "plugin install raw@1.0.0",
        "operator a -b",
        "raw",
        "plugin list",
        "plugin install bad",
        "plugin install zipped",
        "zipped c",
        "plugin uninstall zipped",
        "plugin install zip-empty",
        "plugin install zip-torn",
        "plugin install torn",
        "plugin install empty",
        "plugin install odd",
        "plugin install led",
        "plugin install ../raw",
        "plugin install raw@3.0.0",
        "plugin install raw@sha256:0",
        "plugin install missing",
    ];
    let mut transcript = weir.transcript(&first).await;
    shelf.offer("operator", "flux-operator", &[("0.45.0", &new), ("0.44.0", &old)]);
    let folder = home.path().join(".fluxcd/plugins");
    program(&folder, "flux-by-hand", 0o755);
    std::fs::remove_file(folder.join("draft")).unwrap();
    let by_digest = format!("plugin install raw@sha256:{raw}");
    let second = [
        "plugin update operator",
        "plugin update",
        "operator",
        &by_digest,
        "raw",
        "plugin search raw",
        "plugin uninstall raw",
        "plugin uninstall by-hand",
        "plugin uninstall raw",
        "plugin uninstall ../../x",
        "plugin update raw",
    ];
    transcript.push_str(&weir.transcript(&second).await);
    let mut left: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["flux-operator", "flux-operator.yaml"]);
    let record = std::fs::read_to_string(folder.join("flux-operator.yaml")).unwrap();
    let time = record.lines().find(|line| line.starts_with("installedAt: ")).unwrap();
    transcript.push_str(&record.replace(time, "installedAt: [time]"));
    let shown = transcript
        .replace(&shelf.address(), "http://[catalogue]/")
        .replace(home.path().to_str().unwrap(), "[home]")
        .replace("amd64", "[arch]")
        .replace("arm64", "[arch]");
    // Archives hold the settings of the compressor.
    let digests = regex::Regex::new("[0-9a-f]{64}").unwrap();
    insta::assert_snapshot!(digests.replace_all(&shown, "[digest]"));
}

/// One that cannot be updated does not keep the others back, and scripts notice.
#[tokio::test]
async fn an_update_that_fails_is_a_failure_of_the_command() {
    let (shelf, home) = (Shelf::start().await, Folder::new("home").unwrap());
    let weir = Weir::default().with_env("HOME", home.path().to_str().unwrap());
    let weir = weir.with_env("FLUXCD_PLUGIN_CATALOG", &shelf.address());
    for name in ["first", "second"] {
        shelf.offer(name, &format!("flux-{name}"), &[("1.0.0", &script(name))]);
        weir.transcript(&[&format!("plugin install {name}")]).await;
    }
    shelf.put("first.yaml", "apiVersion: cli.fluxcd.io/v2\n");
    let transcript = weir.transcript(&["plugin update"]).await;
    let end = "2> ✔ second already up to date (v1.0.0)\n2> ✗ 1 of the plugins could not be updated\n[exit status: 1]\n\n";
    assert!(transcript.contains("✗ error checking first: ") && transcript.ends_with(end), "{transcript}");
}

#[tokio::test]
async fn a_catalogue_that_does_not_answer_is_given_up() {
    let nobody = FaultProxy::silent().await.unwrap();
    let weir = Weir::default().with_env("FLUXCD_PLUGIN_CATALOG", &format!("http://{}/", nobody.address()));
    let transcript = weir.transcript(&["plugin search --timeout 1s"]).await;
    assert_eq!(nobody.requests().len(), 1);
    let end = "\n2> ✗ context deadline exceeded\n[exit status: 1]\n\n";
    assert!(transcript.ends_with(end), "{transcript}");
}
