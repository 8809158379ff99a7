//! `weir build kustomization` (CLI-BLD01 to CLI-BLD03): whose spec counts, what is printed, and what is refused.

use std::path::Path;

use serde_json::json;
use tokio::net::TcpListener;

use crate::build::write;
use crate::weir::Weir;
use crate::world::World;

const CONFIG: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  annotations:
    region: ${region}
data:
  color: ${color:=blue}
  region: ${region}
";

const SECRET: &str = "apiVersion: v1
kind: Secret
metadata:
  name: token
data:
  token: RU5DW0FFUzI1Nl9HQ00sZGF0YTp4XQ==
sops:
  mac: ENC[AES256_GCM,data:y]
  version: 3.8.1
";

/// Kustomizations as a fleet keeps them: the parent, and a child that comes out of the parent's build.
const FLEET: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: other
  namespace: flux-system
spec:
  interval: 10m
  prune: true
  sourceRef: {kind: GitRepository, name: fleet}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: apps
  namespace: flux-system
spec:
  interval: 10m
  path: ./elsewhere
  prune: true
  sourceRef: {kind: GitRepository, name: fleet}
  targetNamespace: prod
  namePrefix: my-
  commonMetadata:
    labels: {team: a}
  patches:
  - target: {kind: ConfigMap}
    patch: |
      - op: add
        path: /data/patched
        value: \"yes\"
  decryption: {provider: sops}
  postBuild:
    substitute: {color: green}
    substituteFrom:
    - {kind: ConfigMap, name: region}
";

const CHILD: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: child
  namespace: flux-system
spec:
  interval: 10m
  path: ./child
  prune: true
  nameSuffix: -of-file
  sourceRef: {kind: GitRepository, name: fleet}
";

fn fleet() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let parent =
        FLEET.replace("targetNamespace: prod", "suspend: false").replace("namePrefix: my-", "wait: true");
    write(
        folder.path(),
        &[
            ("fleet.yaml", FLEET),
            ("parent.yaml", &parent),
            ("apps/config.yaml", CONFIG),
            ("apps/inner/secret.yml", SECRET),
            ("clusters/child.yaml", CHILD),
            ("clusters/config.yaml", CONFIG),
            ("clusters/broken.yaml", "kind: Nothing\n"),
            ("child/kustomization.yaml", "resources: [map.yaml, more]\n"),
            ("child/more/kustomization.yaml", "resources: [../../apps/inner/secret.yml]\n"),
            ("child/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: inner}\n"),
        ],
    );
    folder
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// Builds of files alone.
const DRY_RUNS: [&str; 2] = [
    "build kustomization apps --path ./apps --kustomization-file fleet.yaml --dry-run",
    "build ks other --path clusters/..//apps/inner --kustomization-file fleet.yaml --dry-run --in-memory-build",
];
/// Command lines that are refused.
const REFUSED: [&str; 9] = [
    "build kustomization",
    "build kustomization apps",
    "build kustomization apps --path nowhere",
    "build kustomization apps --path fleet.yaml",
    "build kustomization apps --path apps --dry-run",
    "build kustomization apps --path apps --dry-run --kustomization-file nowhere.yaml",
    "build kustomization nope --path apps --dry-run --kustomization-file fleet.yaml",
    "build kustomization apps -n apps --path apps --dry-run --kustomization-file fleet.yaml",
    "build kustomization apps --path apps --dry-run --kustomization-file fleet.yaml --strict-substitute",
];

#[tokio::test]
async fn a_dry_run_needs_files_only() {
    let folder = fleet();
    let weir = Weir::default().in_folder(folder.path());
    let before = files(folder.path());
    insta::assert_snapshot!(weir.transcript(&DRY_RUNS).await);
    assert_eq!(files(folder.path()), before, "nothing is written into the directory");
}

/// CLI-BLD01: `--kustomization-file <(…)` is a pipe.
#[tokio::test]
async fn the_file_of_a_kustomization_may_be_a_pipe() {
    let folder = fleet();
    let weir = Weir::default().in_folder(folder.path());
    let text = std::fs::read(folder.path().join("fleet.yaml")).unwrap();
    let command = weir.command(&DRY_RUNS[0].replace("fleet.yaml", "/dev/stdin"));
    let piped = crate::envsubst::run(command, &text).await;
    assert!(piped.status.success(), "{piped:?}");
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), weir.stdout(DRY_RUNS[0]).await);
}

#[tokio::test]
async fn flux_builds_the_same() {
    let folder = fleet();
    let weir = Weir::default().in_folder(folder.path());
    let parents = [
        "build kustomization apps --path clusters --kustomization-file parent.yaml --dry-run --ignore-paths broken.yaml,more/",
        "build kustomization apps --path clusters --kustomization-file parent.yaml --dry-run",
    ];
    weir.agrees_with_flux(&[&DRY_RUNS[..], &parents, &REFUSED].concat()).await;
}

#[tokio::test]
async fn kustomizations_that_come_out_of_a_build_are_built() {
    let folder = fleet();
    let weir = Weir::default().in_folder(folder.path());
    let build = "build kustomization apps --path clusters --kustomization-file parent.yaml --dry-run";
    let commands = [
        format!(
            "{build} --ignore-paths broken.yaml,more/ -r --local-sources GitRepository/flux-system/fleet=."
        ),
        format!(
            "{build} --ignore-paths broken.yaml,config.yaml -r --local-sources GitRepository/apps/fleet=."
        ),
        format!("{build} -r"),
    ];
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let transcript = weir.transcript(&commands).await;
    let root = folder.path().canonicalize().unwrap();
    insta::assert_snapshot!(transcript.replace(root.to_str().unwrap(), "[folder]"));
}

#[tokio::test]
async fn what_stays_out_of_artifacts_is_not_built() {
    let folder = fleet();
    let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
    let no_manifest = "creation_rules: []\n";
    write(
        folder.path(),
        &[
            ("plain/.sops.yaml", no_manifest),
            ("plain/kept.yaml", &map("kept")),
            ("ruled/.sourceignore", "/values.yaml\n"),
            ("ruled/values.yaml", no_manifest),
            ("ruled/inner/.sourceignore", "draft.yaml\n!wanted.yaml\n"),
            ("ruled/inner/draft.yaml", no_manifest),
            ("ruled/inner/kept.yaml", &map("kept")),
            ("ruled/inner/wanted.yaml", &map("wanted")),
            ("ruled/inner/other.yaml", &map("other")),
        ],
    );
    let weir = Weir::default().in_folder(folder.path());
    let names = async |path: &str, flags: &str| {
        let build = "build kustomization other --kustomization-file fleet.yaml --dry-run";
        let text = weir.stdout(&format!("{build} --path {path} {flags}")).await;
        let names = text.lines().filter_map(|line| line.strip_prefix("  name: "));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names("plain", "").await, ["kept"], "by default");
    assert_eq!(names("ruled", "").await, ["kept", "other", "wanted"], "by the files");
    let flags = "--ignore-paths other.yaml,wanted.yaml";
    assert_eq!(names("ruled", flags).await, ["kept"], "the flag counts last");
}

/// As kustomize does, also where the build fails; on stderr, so that stdout stays YAML.
#[tokio::test]
async fn old_fields_of_kustomization_files_are_told() {
    let folder = fleet();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\n";
    let files = [
        ("old/kustomization.yaml", "bases: [base]\ncommonLabels: {a: b}\n"),
        ("old/base/kustomization.yaml", "resources: [map.yaml]\ncommonLabels: {c: d}\n"),
        ("old/base/map.yaml", map),
        ("failing/kustomization.yaml", "commonLabels: {a: b}\nresources: [missing]\n"),
    ];
    write(folder.path(), &files);
    let weir = Weir::default().in_folder(folder.path());
    let build = |path: &str| {
        format!("build kustomization other --kustomization-file fleet.yaml --dry-run --path {path}")
    };
    let commands = [build("old"), build("failing"), "build failing".to_owned()];
    let [old, failing, directory] = [0, 1, 2].map(|command: usize| commands[command].as_str());
    let told = weir.transcript(&[old]).await;
    let warnings: Vec<_> = told.lines().filter(|line| line.contains("deprecated")).collect();
    assert_eq!(warnings.len(), 3, "{told}");
    assert!(warnings.iter().all(|line| line.starts_with("2> # Warning: '")), "{told}");
    for failing in [failing, directory] {
        let told = weir.transcript(&[failing]).await;
        assert!(told.contains("2> # Warning: 'commonLabels' is deprecated."), "{told}");
    }
    weir.agrees_wholly_with_flux(&[old]).await;
}

/// The service leaves the labels of such an object out, as Flux's does; the command shows what comes out of the files, as Flux's does.
#[tokio::test]
async fn labels_that_are_no_text_are_shown() {
    let folder = fleet();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map, labels: {version: 1.2, tier: web}}\n";
    write(folder.path(), &[("numbers/map.yaml", map)]);
    let weir = Weir::default().in_folder(folder.path());
    let build = "build kustomization other --path numbers --kustomization-file fleet.yaml --dry-run";
    let shown = weir.stdout(build).await;
    for label in ["version: 1.2", "tier: web", "kustomize.toolkit.fluxcd.io/name: other"] {
        assert!(shown.contains(&format!("\n    {label}\n")), "{shown}");
    }
    weir.agrees_with_flux(&[build]).await;
}

#[tokio::test]
async fn a_ring_of_kustomizations_ends() {
    let folder = tempfile::tempdir().unwrap();
    let named = |name: &str| {
        let child = CHILD.replace("name: child", &format!("name: {name}")).replace("./child", name);
        child.replace("  nameSuffix: -of-file\n", "")
    };
    write(folder.path(), &[("root.yaml", &named("a")), ("a/b.yaml", &named("b")), ("b/a.yaml", &named("a"))]);
    let weir = Weir::default().in_folder(folder.path());
    let build = "build kustomization a --path a --kustomization-file root.yaml --dry-run -r \
                 --local-sources GitRepository/flux-system/fleet=.";
    let text = weir.stdout(build).await;
    assert_eq!(text.matches("kind: Kustomization\n").count(), 2, "{text}");
}

/// A base may leave to its overlays what the API server asks for.
#[tokio::test]
async fn a_part_of_a_kustomization_is_enough() {
    let folder = fleet();
    let whole = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n";
    let bare = format!("{whole}metadata: {{name: base, namespace: flux-system}}\n");
    write(
        folder.path(),
        &[("bare.yaml", &bare), ("part.yaml", &format!("{bare}spec: {{namePrefix: my-, interval: 1m}}\n"))],
    );
    let weir = Weir::default().in_folder(folder.path());
    let commands = ["bare", "part"].map(|file| {
        format!("build kustomization base --path apps --kustomization-file {file}.yaml --dry-run")
    });
    assert!(weir.stdout(&commands[0]).await.contains("\n  name: settings\n"));
    assert!(weir.stdout(&commands[1]).await.contains("\n  name: my-settings\n"));
    weir.agrees_with_flux(&commands.each_ref().map(String::as_str)).await;
}

/// The folder of a cluster has the Kustomization that applies it.
#[tokio::test]
async fn a_kustomization_in_its_own_folder_needs_no_local_source() {
    let folder = fleet();
    write(folder.path(), &[("own/sync.yaml", &CHILD.replace("name: child", "name: apps"))]);
    let weir = Weir::default().in_folder(folder.path());
    let build = "build kustomization apps --path own --kustomization-file parent.yaml --dry-run -r";
    assert!(weir.stdout(build).await.contains("\n  name: apps\n"));
    weir.agrees_with_flux(&[build]).await;
}

#[tokio::test]
async fn a_secret_that_no_api_server_takes_is_refused() {
    let folder = fleet();
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: plain}\ndata: {token: secret}\n";
    write(folder.path(), &[("plain/secret.yaml", secret)]);
    let weir = Weir::default().in_folder(folder.path());
    let line = "build kustomization other --path plain --kustomization-file fleet.yaml --dry-run";
    let transcript = weir.transcript(&[line]).await;
    assert!(
        transcript.contains("failed to mask secret plain sops data: illegal base64 data at input byte 4"),
        "{transcript}"
    );
    weir.agrees_wholly_with_flux(&[line]).await;
}

#[tokio::test]
async fn what_lacks_a_path_a_file_or_an_object_is_refused() {
    let folder = fleet();
    let weir = Weir::default().in_folder(folder.path());
    let ours = ["build kustomization apps --path apps --local-sources fleet=."];
    insta::assert_snapshot!(weir.transcript(&[&REFUSED[..], &ours].concat()).await);
}

#[tokio::test]
async fn the_object_of_the_cluster_counts_unless_there_is_a_file() {
    let world = World::new("build-live").await;
    let folder = fleet();
    let weir = world.weir().in_folder(folder.path());
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "region"}, "data": {"region": "eu"}});
    world.plane.apply(&world.namespace, map).await.unwrap();
    let live = json!({
        "interval": "10m",
        "prune": true,
        "sourceRef": { "kind": "GitRepository", "name": "fleet" },
        "nameSuffix": "-live",
        "postBuild": { "substituteFrom": [{ "kind": "ConfigMap", "name": "region" }] },
    });
    world.object_with("Kustomization", "apps", live).await;
    let file = FLEET.replace("namespace: flux-system", "namespace: build-live");
    write(
        folder.path(),
        &[("here.yaml", &file), ("nested/child.yaml", &CHILD.replace("flux-system", "build-live"))],
    );
    let nested = "build kustomization apps --path nested -r --local-sources GitRepository/build-live/fleet=.";
    let commands = [
        "build kustomization apps --path apps",
        "build kustomization apps --path apps --kustomization-file here.yaml",
        "build kustomization missing --path apps --kustomization-file here.yaml",
        nested,
    ];
    insta::assert_snapshot!(weir.transcript(&commands).await);
    // The value in the cluster counts for a nested one, too.
    let child = json!({
        "interval": "10m",
        "prune": true,
        "sourceRef": { "kind": "GitRepository", "name": "fleet" },
        "nameSuffix": "-of-cluster",
    });
    world.object_with("Kustomization", "child-live", child).await;
    assert!(weir.stdout(nested).await.contains("name: inner-of-cluster\n"));
    let nowhere =
        CHILD.replace("  namespace: flux-system\n", "").replace("fleet}", "fleet, namespace: build-live}");
    write(folder.path(), &[("nested/child.yaml", &nowhere)]);
    let refused = weir.transcript(&[nested]).await;
    let reason = "failed to get kustomization object: an empty namespace may not be set when a resource name is provided";
    assert!(refused.contains(reason), "{refused}");
    weir.agrees_wholly_with_flux(&[nested]).await;
}

#[tokio::test]
async fn an_interrupt_ends_the_build() {
    let folder = fleet();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("http://{}", silent.local_addr().unwrap());
    let weir = Weir::default().in_folder(folder.path());
    let running = weir.start(&format!("build kustomization apps --path apps --server {server}"));
    let _asked = silent.accept().await.unwrap();
    let pid = running.child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ended = running.end().await;
    assert!(ended.ends_with("\nBuild cancelled... exiting.\n"), "{ended}");
}
