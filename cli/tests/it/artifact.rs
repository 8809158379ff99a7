//! Artifacts in a real registry: pushed, tagged, listed, pulled, compared; by this command and by Flux's (CLI-ART).

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::json;
use weir_testkit::{Controller, Registry, storage_flags, wait_ready};

use crate::build::write;
use crate::weir::{DEADLINE, Weir};
use crate::world::World;

/// A folder with manifests, a program, a link, and what is left out by default.
fn manifests() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("app/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\n"),
        ("app/hooks/run.sh", "#!/bin/sh\n"),
        ("app/logo.png", "not YAML"),
        ("app/.git/HEAD", "ref: refs/heads/main\n"),
    ];
    write(folder.path(), &files);
    let modes =
        [("app", 0o755), ("app/hooks", 0o755), ("app/hooks/run.sh", 0o755), ("app/config.yaml", 0o640)];
    for (name, mode) in modes {
        std::fs::set_permissions(folder.path().join(name), PermissionsExt::from_mode(mode)).unwrap();
    }
    symlink("config.yaml", folder.path().join("app/link.yaml")).unwrap();
    folder
}

fn weir(folder: &Path) -> Weir {
    Weir::default().in_folder(folder).with_env("DOCKER_CONFIG", folder.to_str().unwrap())
}

/// Replaces what differs from run to run, and from one compressor to another.
fn shown(transcript: &str, registry: &Registry) -> String {
    let digests = regex::Regex::new("sha256:[0-9a-f]{64}").unwrap();
    let text =
        digests.replace_all(&transcript.replace(registry.address(), "[registry]"), "[digest]").into_owned();
    // The address decides about the width of the column.
    regex::Regex::new("ARTIFACT *→").unwrap().replace_all(&text, "ARTIFACT→").into_owned()
}

/// The entries of a tarball: name, permission bits, and the content of files.
fn entries(archive: &Path) -> Vec<String> {
    let listed = Command::new("tar").args(["-tvzf", archive.to_str().unwrap()]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let words = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        [words[0], words[1], words[3], words[5]].join(" ")
    };
    listed.lines().map(words).collect()
}

#[tokio::test]
async fn artifacts_are_pushed_listed_tagged_pulled_and_compared() {
    let registry = Registry::start().await.unwrap();
    let (folder, url) = (manifests(), registry.url("org/app"));
    std::fs::create_dir(folder.path().join("pulled")).unwrap();
    let push = format!(
        "push artifact {url}:v1.0.0 --path app --source https://example.com/r --revision main@sha1:1"
    );
    let commands = [
        push.clone(),
        format!("{push} -o json").replace("v1.0.0", "v1.1.0"),
        format!("{push} -o yaml -a k=v=w --reproducible").replace("v1.0.0", "latest"),
        format!("tag artifact {url}:v1.0.0 --tag stable,v1 --tag old.sig"),
        format!("list artifacts {url}"),
        format!("list artifacts {url} --filter-semver '>= 1.1.0'"),
        format!("list artifacts {url} --filter-regex '^st'"),
        format!("pull artifact {url}:v1.0.0 -o pulled"),
        format!("diff artifact {url}:v1.0.0 --path app"),
        format!("diff artifact {url}:v1.0.0 --path pulled"),
        format!("diff artifact {url}:v1.0.0 --path app --add-ignore-paths /hooks"),
        format!("diff artifact {url}:v1.0.0 --path app/config.yaml"),
    ];
    let commands: Vec<_> = commands.iter().map(String::as_str).collect();
    let transcript = weir(folder.path()).transcript(&commands).await;
    insta::assert_snapshot!(shown(&transcript, &registry));
    let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode("pulled/config.yaml"), mode("pulled/hooks/run.sh")], [0o640, 0o755]);
}

#[tokio::test]
async fn artifacts_that_cannot_be_are_refused_as_by_flux() {
    let registry = Registry::start().await.unwrap();
    let (folder, url) = (manifests(), registry.url("org/app"));
    let push = "--path app --source s --revision r";
    let commands = [
        "push artifact".to_owned(),
        format!("push artifact {url}:v1"),
        format!("push artifact {url}:v1 --source s"),
        format!("push artifact {url}:v1 --source s --revision r"),
        format!("push artifact {url}:v1 --source s --revision r --path nope"),
        format!("push artifact {url}:v1 {push} -a novalue"),
        format!("push artifact {url}:v1 {push} -a org.opencontainers.image.created=soon"),
        format!("push artifact ghcr.io/org/app:v1 {push}"),
        format!("push artifact oci://ghcr.io/org/App:v1 {push}"),
        "pull artifact".to_owned(),
        format!("pull artifact {url}:v1"),
        format!("pull artifact {url}:v1 -o nope"),
        format!("pull artifact {url}:v1 -o app"),
        "tag artifact".to_owned(),
        format!("tag artifact {url}:v1"),
        format!("tag artifact {url}:v1 --tag v2"),
        "list artifacts".to_owned(),
        format!("list artifacts {url}:v1"),
        format!("list artifacts {url}"),
        "diff artifact".to_owned(),
        format!("diff artifact {url}:v1"),
        format!("diff artifact {url}:v1 --path nope"),
        format!("diff artifact {url}:v1 --path app"),
        "build artifact".to_owned(),
        "build artifact -p nope".to_owned(),
    ];
    let commands: Vec<_> = commands.iter().map(String::as_str).collect();
    let weir = weir(folder.path());
    insta::assert_snapshot!(shown(&weir.transcript(&commands).await, &registry));
    let Some(flux) = weir.as_flux() else { return };
    for command in commands {
        let printed = |weir: Weir| async move {
            let transcript = weir.transcript(&[command]).await;
            transcript.replace("no such file or directory", "").replace(": <nil>", "")
        };
        // Of a directory, Flux says that there is no reason.
        let (ours, theirs) = (printed(weir.clone()).await, printed(flux.clone()).await);
        assert_eq!(ours, theirs);
    }
}

/// CLI-ART03: the digest that a line names would be another one than that of the artifact. Flux pushes, and then refuses it.
#[tokio::test]
async fn an_artifact_is_not_pushed_to_a_digest() {
    let registry = Registry::start().await.unwrap();
    let (folder, url) = (manifests(), registry.url("org/app"));
    let weir = weir(folder.path());
    for place in [format!("{url}@sha256:{}", "a".repeat(64)), format!("{url}:v1@sha256:{}", "a".repeat(64))] {
        let push = format!("push artifact {place} --path app --source s --revision r");
        let refused = weir.transcript(&[&push]).await;
        assert!(refused.contains("2> ✗ artifact tag parsing failed: "), "{refused}");
    }
    let listed = weir.transcript(&[&format!("list artifacts {url}")]).await;
    assert!(listed.contains("[exit status: 1]"), "nothing was pushed: {listed}");
}

#[tokio::test]
async fn files_are_packed_as_flux_packs_them() {
    let folder = manifests();
    let weir = weir(folder.path());
    let commands = [
        "build artifact -p app -o app.tgz",
        "build artifact -p app/config.yaml -o file.tgz",
        "build artifact -p app --ignore-paths !/config.yaml,*.yaml -o ignored.tgz",
        "build artifact -p app --add-ignore-paths /hooks,*.sh -o added.tgz",
        "build artifact -p . --ignore-paths *.tgz -o ./all.tgz",
    ];
    let transcript = weir.transcript(&commands).await;
    let names =
        ["app", "file", "ignored", "added", "all"].map(|name| folder.path().join(format!("{name}.tgz")));
    let ours = names.each_ref().map(|name| entries(name));
    insta::assert_snapshot!(format!(
        "{transcript}{}",
        ours.clone().map(|lines| lines.join("\n")).join("\n\n")
    ));
    let mode = std::fs::metadata(&names[0]).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let nowhere = weir.start("build artifact -p app -o nowhere/app.tgz").end().await;
    assert!(nowhere.contains("failed, error: stat nowhere: no such file or directory"), "{nowhere}");

    let resolved = weir.start("build artifact -p app --resolve-symlinks -o resolved.tgz").end().await;
    assert!(resolved.contains("2> ✔ artifact created at resolved.tgz"), "{resolved}");
    let resolved = entries(&folder.path().join("resolved.tgz"));
    assert!(resolved.iter().any(|line| line.ends_with(" link.yaml")), "{resolved:?}");
    assert!(resolved[0].starts_with("drwx------ "), "{resolved:?}");
    for name in ["dangling", "later", "so-is-this"] {
        std::os::unix::fs::symlink("gone", folder.path().join("app/hooks").join(name)).unwrap();
    }
    let dangling = weir.start("build artifact -p app --resolve-symlinks -o dangling.tgz").end().await;
    let hooks = folder.path().join("app/hooks");
    let hooks = hooks.display();
    let reason = format!("resolving symlink {hooks}/dangling: lstat {hooks}/gone: no such file or directory");
    assert!(dangling.contains(&format!("resolving symlinks failed: {reason}")), "{dangling}");
    for name in ["dangling", "later", "so-is-this"] {
        std::fs::remove_file(folder.path().join("app/hooks").join(name)).unwrap();
    }
    let Some(flux) = weir.as_flux() else { return };
    // The released Flux has no flag that adds paths.
    for index in [0, 1, 2, 4] {
        std::fs::remove_file(&names[index]).unwrap();
        let (theirs, command) = (flux.transcript(&[commands[index]]).await, commands[index]);
        assert_eq!(theirs, weir_alone(&transcript, command));
        assert_eq!(entries(&names[index]), ours[index]);
    }
}

/// The part of a transcript that is about one command.
fn weir_alone(transcript: &str, command: &str) -> String {
    let start = transcript.find(&format!("$ weir {command}\n")).unwrap();
    let rest = &transcript[start..];
    rest[..rest.find("\n\n").unwrap() + 2].to_owned()
}

/// The descriptor of an artifact's configuration, which has its digest.
async fn config(registry: &Registry, tag: &str) -> serde_json::Value {
    let url = format!("http://{}/v2/org/app/manifests/{tag}", registry.address());
    let request =
        reqwest::Client::new().get(url).header("accept", "application/vnd.oci.image.manifest.v1+json");
    let answer = request.send().await.unwrap().error_for_status().unwrap();
    let manifest = weir_http::read_capped(answer, 1 << 20).await.unwrap();
    serde_json::from_slice::<serde_json::Value>(&manifest).unwrap()["config"].clone()
}

/// CLI-ART03: Flux's libraries leave the configuration alone that is not one of images; this is the digest that its command writes.
#[tokio::test]
async fn the_configuration_is_that_of_flux() {
    let registry = Registry::start().await.unwrap();
    let (folder, url) = (manifests(), registry.url("org/app"));
    for path in ["app", "app/config.yaml"] {
        let push = format!("push artifact {url}:v1 --path {path} --source s --revision r");
        weir(folder.path()).transcript(&[&push]).await;
        let expected = json!({
            "mediaType": "application/vnd.cncf.flux.config.v1+json",
            "size": 115,
            "digest": "sha256:5b943e2b943f6c81dbbd4e2eca5121f4fcc39139e3d1219d6d89bd925b77d9fe",
        });
        assert_eq!(config(&registry, "v1").await, expected);
    }
}

#[tokio::test]
async fn artifacts_of_flux_are_read_and_flux_reads_ours() {
    let registry = Registry::start().await.unwrap();
    let (folder, url) = (manifests(), registry.url("org/app"));
    let weir = weir(folder.path());
    let Some(flux) = weir.as_flux() else { return };
    for name in ["weir", "flux"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    for format in ["", "-o json", "-o yaml", "--reproducible -a a=b"] {
        let push =
            |tag| format!("push artifact {url}:{tag} --path app --source s --revision main@sha1:1 {format}");
        let (ours, theirs) = (weir.transcript(&[&push("w")]).await, flux.transcript(&[&push("f")]).await);
        let ours =
            shown(&ours, &registry).replace(":w", ":f").replace("\"w\"", "\"f\"").replace("tag: w", "tag: f");
        assert_eq!(ours, shown(&theirs, &registry));
        let configs = [config(&registry, "w").await, config(&registry, "f").await];
        assert_eq!(configs[0], configs[1], "CLI-ART03");
    }
    weir.agrees_with_flux(&[
        &format!("list artifacts {url}"),
        &format!("list artifacts {url} --filter-regex w"),
    ])
    .await;
    for tag in ["w", "f"] {
        let commands = [
            format!("pull artifact {url}:{tag} -o weir"),
            format!("diff artifact {url}:{tag} --path app"),
            format!("diff artifact {url}:{tag} --path app/config.yaml"),
            format!("tag artifact {url}:{tag} --tag also-{tag}"),
        ];
        for (index, command) in commands.iter().enumerate() {
            let (ours, theirs) = (weir.transcript(&[command]).await, flux.transcript(&[command]).await);
            // Flux compares compressed bytes: what another compressor wrote is never the same.
            if (index, tag) != (1, "w") {
                assert_eq!(ours, theirs);
            } else {
                assert!(ours.contains("no changes detected"), "{ours}");
            }
        }
    }
}

#[tokio::test]
async fn credentials_come_from_flags_docker_and_helpers() {
    let registry = Registry::start_with_basic_auth().await.unwrap();
    let (folder, url) = (manifests(), registry.url("org/app"));
    let (weir, config) = (weir(folder.path()), folder.path().join("config.json"));
    let push = format!("push artifact {url}:v1 --path app --source s --revision r");
    let mut transcript = weir.transcript(&[&push, &format!("{push} --creds user:pass")]).await;
    std::fs::write(&config, registry.docker_config()).unwrap();
    transcript.push_str(&weir.transcript(&[&format!("diff artifact {url}:v1 --path app")]).await);

    let helper = folder.path().join("docker-credential-test");
    let script = "#!/bin/sh\nread -r server\necho \"$1 $server\" > \"$0.log\"\n\
                  echo '{\"ServerURL\":\"\",\"Username\":\"user\",\"Secret\":\"pass\"}'\n";
    std::fs::write(&helper, script).unwrap();
    std::fs::set_permissions(&helper, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(&config, json!({ "auths": {}, "credsStore": "test" }).to_string()).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let with_helper = weir.clone().with_env("PATH", &path);
    transcript.push_str(&with_helper.transcript(&[&format!("list artifacts {url}")]).await);
    let asked = std::fs::read_to_string(folder.path().join("docker-credential-test.log")).unwrap();
    assert_eq!(asked, format!("get {}\n", registry.address()));
    insta::assert_snapshot!(shown(&transcript, &registry));
}

/// Scenario D: what the command pushes is what an OCIRepository fetches.
#[tokio::test]
async fn the_source_service_takes_what_was_pushed() {
    let world = World::new("artifact-source").await;
    let registry = Registry::start().await.unwrap();
    let (folder, url) = (manifests(), registry.url("org/app"));
    let program = folder.path().join("source-controller");
    symlink(env!("CARGO_BIN_EXE_weir"), &program).unwrap();
    let mut flags = storage_flags().unwrap();
    flags.extend(["--grpc-addr=127.0.0.1:0".into(), "--watch-all-namespaces=false".into()]);
    let _source =
        Controller::start(Command::new(&program), world.plane, &world.namespace, &flags).await.unwrap();
    let push = format!("push artifact {url}:v1 --path app --source s --revision main@sha1:1");
    let pushed = weir(folder.path()).start(&push).end().await;
    assert!(pushed.contains("2> ✔ artifact successfully pushed to "), "{pushed}");
    let spec = json!({ "interval": "1m", "url": url, "insecure": true, "ref": { "tag": "v1" } });
    world.object_with("OCIRepository", "app", spec).await;
    let ready = wait_ready(&world.api("OCIRepository").await, "app", DEADLINE).await.unwrap();
    let status = serde_json::to_value(ready).unwrap()["status"]["artifact"].clone();
    assert_eq!(status["metadata"]["org.opencontainers.image.revision"], "main@sha1:1");
    let digest = status["revision"].as_str().unwrap().split('@').nth(1).unwrap().to_owned();
    assert!(pushed.contains(&digest), "{pushed} {status}");
}
