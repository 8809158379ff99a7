//! Promises of ARCHITECTURE.md and CONTRIBUTING.md about the source itself that no lint can check.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use weir_testkit::repo_path;

/// Crates that do an algorithm: no cluster, no network, no runtime.
const PURE: [&str; 15] = [
    "envsubst",
    "expression",
    "ignore",
    "image",
    "kstatus",
    "kustomize",
    "label",
    "policy",
    "replay",
    "setters",
    "sops",
    "template",
    "verify",
    "yaml",
    "proto",
];
/// Crates that pure ones may not depend on. Generated code has the types of tonic, and no transport.
const IMPURE: [&str; 8] = ["kube", "tokio", "reqwest", "hyper", "axum", "k8s-openapi", "git2", "hyper-util"];
/// The layers of protocols and of the cluster, which know nothing of reconciling and of each kind's types.
const CLIENTS: [&str; 10] =
    ["artifact", "auth", "bucket", "git", "helm", "http", "kms", "oci", "remote-bases", "ssa"];

/// Files that write statuses: the runtime's report, and that of ExternalArtifacts, which source makes for others.
const WRITES_STATUSES: [&str; 2] =
    ["crates/runtime/src/controller/report.rs", "services/source/src/external_artifact.rs"];
/// Files that know messages of Protobuf, beside `rpc.rs` and what registers it: the clients of peers, and what follows them.
const KNOWS_MESSAGES: [&str; 3] = [
    "services/kustomize/src/fetch.rs",
    "services/image-automation/src/resolution.rs",
    "services/image-reflector/src/feed.rs",
];

/// Files that read Secrets beside `crates/access`: the runtime's own certificate authority, variables that come from a
/// ConfigMap or a Secret, and the command, which acts as its user. The watches that wake Receivers and Kustomizations see
/// metadata alone.
const READS_SECRETS: [&str; 6] = [
    "cli/src/command/create/secret/draft.rs",
    "cli/src/command/debug/values.rs",
    "cli/src/command/export.rs",
    "cli/src/command/tree/release.rs",
    "crates/runtime/src/issuer.rs",
    "services/kustomize/src/variables.rs",
];

/// Lines of a file; generated ones have more.
const MAX_LINES: usize = 600;
/// Names that say nothing.
const SAYS_NOTHING: [&str; 7] = ["util", "utils", "common", "helper", "helpers", "manager", "misc"];

/// The crates below a folder of the repository, by name.
fn crates(group: &str) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(repo_path(group)).unwrap().map(|entry| entry.unwrap().path());
    let with_manifest = entries.filter(|path| path.join("Cargo.toml").exists());
    with_manifest.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path)).collect()
}

/// Returns the crates that a crate needs at run time; those that only its tests need do not count.
fn dependencies(folder: &Path) -> BTreeSet<String> {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let names = lines.take_while(|line| !line.starts_with('[')).filter_map(|line| {
        let name = line.split(['.', ' ', '=']).next()?;
        (!name.is_empty() && !name.starts_with('#')).then(|| name.to_owned())
    });
    names.collect()
}

/// All files of Rust below a folder of the repository, by their paths in it.
fn sources(folder: &str) -> Vec<(String, String)> {
    let (root, mut pending, mut found) = (repo_path("."), vec![repo_path(folder)], Vec::new());
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned(), text));
            }
        }
    }
    assert!(!found.is_empty(), "no sources in {folder}");
    found
}

/// The part of a file before its tests, when they are in it.
fn before_tests(text: &str) -> &str {
    text.split("mod tests {").next().unwrap_or_default()
}

/// The tests in a file, which may be all of it.
fn tests_of<'a>(path: &str, text: &'a str) -> &'a str {
    if path.contains("/tests/") || path.ends_with("/tests.rs") {
        return text;
    }
    text.split_once("mod tests {").map_or("", |(_, tests)| tests)
}

fn sleeps(text: &str) -> bool {
    ["sleep(", "sleep_until("].iter().any(|call| text.contains(call))
}

#[test]
fn dependencies_point_down() {
    let known: BTreeSet<String> = crates("crates").into_iter().map(|(name, _)| name).collect();
    for name in PURE.iter().chain(&CLIENTS) {
        assert!(known.contains(*name), "there is no crate {name}");
    }
    for (name, folder) in crates("crates") {
        let needs = dependencies(&folder);
        let forbidden = |names: &[&str]| names.iter().any(|name| needs.contains(*name));
        assert!(!needs.iter().any(|need| need.ends_with("-controller")), "{name} needs a service: {needs:?}");
        assert!(
            name == "testkit" || !needs.contains("weir-testkit"),
            "{name} needs the test kit at run time"
        );
        assert!(!needs.contains("weir-replay"), "{name} needs replays at run time");
        if PURE.contains(&name.as_str()) {
            assert!(!forbidden(&IMPURE), "{name} is not pure: {needs:?}");
            let protocols: Vec<String> = CLIENTS.iter().map(|client| format!("weir-{client}")).collect();
            assert!(protocols.iter().all(|client| !needs.contains(client)), "{name} is not pure: {needs:?}");
        }
        assert!(!needs.contains("weir-access"), "{name} is below weir-access: {needs:?}");
        if PURE.contains(&name.as_str()) || CLIENTS.contains(&name.as_str()) {
            assert!(!forbidden(&["weir-runtime", "weir-api"]), "{name} knows of reconciling: {needs:?}");
        }
    }
    for (name, folder) in crates("services") {
        let needs = dependencies(&folder);
        assert!(
            !needs.iter().any(|need| need.ends_with("-controller")),
            "{name} imports a service: {needs:?}"
        );
        assert!(!needs.contains("weir-testkit"), "{name} needs the test kit at run time");
    }
}

/// A limit of time is the caller's: pure crates get it as a function.
#[test]
fn pure_crates_read_no_clock() {
    for name in PURE {
        for (path, text) in sources(&format!("crates/{name}/src")) {
            let read = ["Instant", "SystemTime", "::now()"].map(|clock| before_tests(&text).contains(clock));
            assert!(path.ends_with("/tests.rs") || !read.contains(&true), "{path} reads a clock");
        }
    }
}

#[test]
fn only_reports_write_statuses() {
    let all = ["crates", "services", "cli"].iter().flat_map(|group| sources(group));
    let own = all.filter(|(path, _)| path.contains("/src/") && !path.starts_with("crates/testkit"));
    let writes = |text: &str| text.contains("patch_status(") || text.contains("replace_status(");
    let writers: BTreeSet<String> =
        own.filter(|(_, text)| writes(before_tests(text))).map(|(path, _)| path).collect();
    assert_eq!(writers, WRITES_STATUSES.map(str::to_owned).into());
}

#[test]
fn secrets_are_read_in_one_place() {
    let all = ["crates", "services", "cli"].iter().flat_map(|group| sources(group));
    let own = all.filter(|(path, _)| path.contains("/src/") && !path.starts_with("crates/testkit"));
    let reads =
        |text: &str| ["Api<Secret>", "Api::<Secret>", "Cache<Secret>"].iter().any(|api| text.contains(api));
    let readers: BTreeSet<String> =
        own.filter(|(_, text)| reads(before_tests(text))).map(|(path, _)| path).collect();
    assert_eq!(readers, READS_SECRETS.map(str::to_owned).into());
}

#[test]
fn protobuf_stops_at_rpc() {
    for (path, text) in sources("services") {
        // The tests of a file know what it knows.
        let tested = path.replace("/tests.rs", ".rs");
        let is_edge =
            path.ends_with("/rpc.rs") || path.contains("/rpc/") || KNOWS_MESSAGES.contains(&tested.as_str());
        if !path.contains("/src/") || is_edge {
            continue;
        }
        let known = before_tests(&text).lines().filter(|line| line.contains("weir_proto::"));
        let messages: Vec<&str> = known.filter(|line| !line.contains("_server::")).collect();
        assert_eq!(messages, Vec::<&str>::new(), "{path} knows generated messages");
    }
}

#[test]
fn files_are_short_and_say_what_is_in_them() {
    for group in ["crates", "services", "cli", "e2e"] {
        for (path, text) in sources(group) {
            let lines = text.lines().count();
            assert!(lines <= MAX_LINES || path.contains("/proto/src/gen/"), "{path} has {lines} lines");
            let names = path.split(['/', '.']).any(|part| SAYS_NOTHING.contains(&part));
            assert!(!names, "{path}: a name that says nothing");
        }
    }
}

/// Returns 0 for an import of std, 1 for one of another crate, and 2 for one of our own.
fn group_of(import: &str) -> u8 {
    match import.split("::").next().unwrap_or_default() {
        "std" | "core" | "alloc" => 0,
        "crate" | "self" | "super" => 2,
        _ => 1,
    }
}

/// The imports at the head of a file are those of std, of other crates and our own, in this order.
#[test]
fn imports_stand_in_their_groups() {
    for group in ["crates", "services", "cli", "e2e"] {
        for (path, text) in sources(group).into_iter().filter(|(path, _)| !path.contains("/proto/src/gen/")) {
            let imports = text.lines().filter_map(|line| line.strip_prefix("use ")).map(group_of);
            assert!(imports.is_sorted(), "{path}: imports of std come first, our own last");
        }
    }
}

/// A test whose time is paused takes none by sleeping.
#[test]
fn no_test_sleeps() {
    for group in ["crates", "services", "cli", "e2e"] {
        for (path, text) in sources(group) {
            let may_sleep =
                path.ends_with("tests/it/architecture.rs") || text.contains("start_paused = true");
            assert!(
                may_sleep || !sleeps(tests_of(&path, &text)),
                "{path}: wait on a condition with a deadline"
            );
        }
    }
}

/// A table test is beside the decision or in it.
#[test]
fn decisions_are_pure_and_tested() {
    let all = sources("services");
    let decisions: Vec<_> = all.iter().filter(|(path, _)| path.ends_with("/decide.rs")).collect();
    assert!(decisions.len() > 8, "{} decisions were found", decisions.len());
    for (path, text) in decisions {
        for impure in [".await", "async fn", "kube::Client", "std::fs", "::now()", ".elapsed("] {
            assert!(!before_tests(text).contains(impure), "{path} is not pure: {impure}");
        }
        let beside = path.replace("decide.rs", "decide/tests.rs");
        let is_tested = text.contains("#[case")
            || all.iter().any(|(path, text)| *path == beside && text.contains("#[case"));
        assert!(is_tested, "{path} has no table test");
    }
}

#[test]
fn versions_are_in_the_root_manifest_only() {
    let mut folders: Vec<PathBuf> =
        ["crates", "services"].into_iter().flat_map(crates).map(|(_, folder)| folder).collect();
    folders.extend(["cli", "e2e"].map(repo_path));
    for folder in folders {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let mut is_list = false;
        for line in manifest.lines() {
            if line.starts_with('[') {
                is_list = line.ends_with("dependencies]");
            } else if is_list && !line.is_empty() && !line.starts_with('#') {
                assert!(line.contains("workspace = true"), "{}: {line}", folder.display());
            }
        }
    }
}

/// Waits between two tries of one request, or for something that no watch tells of, unless it says otherwise.
const SLEEPS: [&str; 24] = [
    "cli/src/command/bootstrap/work_tree.rs",
    "cli/src/command/demo/process.rs",
    "cli/src/command/trigger.rs",
    "cli/src/command/watch/feed.rs",
    "cli/src/global/throttle.rs",
    "crates/bucket/src/send.rs",
    // Within the time for one key, which is 10 s.
    "crates/kms/src/vault/retry.rs",
    "crates/oci/src/registry/send.rs",
    "crates/runtime/src/cache/watch.rs",
    // As long as the API server asks for: 10 s at most, ten times.
    "crates/runtime/src/client/busy.rs",
    "crates/runtime/src/connections.rs",
    "crates/runtime/src/controller/progress.rs",
    "crates/runtime/src/controller/report.rs",
    "crates/runtime/src/event/deliver.rs",
    // Between two Events, for 0.1 s at most, which no run waits for.
    "crates/runtime/src/event/kubernetes.rs",
    "crates/runtime/src/grpc/connection.rs",
    "crates/runtime/src/issuer.rs",
    "crates/runtime/src/leader.rs",
    // Within one apply, for 5 s at most, and ended by a cancellation.
    "crates/ssa/src/apply.rs",
    "crates/ssa/src/watch.rs",
    "services/image-automation/src/resolution.rs",
    "services/image-reflector/src/service.rs",
    "services/notification/src/delivery.rs",
    "services/source/src/standby.rs",
];

/// A run never sleeps: whoever adds a pause adds it here, and says what waits.
#[test]
fn nobody_else_sleeps() {
    let all = ["crates", "services", "cli"].iter().flat_map(|group| sources(group));
    let own = all.filter(|(path, _)| path.contains("/src/") && !path.starts_with("crates/testkit"));
    let sleeping: BTreeSet<String> = own
        .filter(|(path, text)| !path.ends_with("/tests.rs") && sleeps(before_tests(text)))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(sleeping, SLEEPS.map(str::to_owned).into());
}
