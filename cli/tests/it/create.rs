//! `weir create`: the manifests it prints, byte for byte Flux's, and what it does to a cluster (cli.md 5 and 6).

use kube::api::{Api, DynamicObject};
use serde_json::json;
use weir_testkit::{Folder, Identity, SshGitServer, found_or_skipped, wait_for};

use crate::weir::{DEADLINE, Weir};
use crate::world::{World, artifact, ready, with};

/// Command lines of `create … --export`, one a line.
const OBJECTS: &str = include_str!("create/objects.txt");
const SECRETS: &str = include_str!("create/secrets.txt");

fn lines(text: &'static str) -> Vec<&'static str> {
    text.lines().collect()
}

/// The files that the command lines name.
pub(crate) fn files() -> Folder {
    let folder = Folder::new("create").unwrap();
    let pair = Identity::for_names(&["client"]).unwrap();
    let other = Identity::for_names(&["other"]).unwrap();
    let policy = json!({ "version": "1.0", "trustPolicies": [{
        "name": "fluxcd.io",
        "registryScopes": ["*"],
        "signatureVerification": { "level": "strict" },
        "trustStores": ["ca:fluxcd.io"],
        "trustedIdentities": ["*"],
    }] });
    let long = "a long text that goes on and on past the eighty columns of a usual terminal, with blanks";
    for (name, content) in [
        ("ca.crt", pair.ca_pem.as_str()),
        ("other.pem", &other.ca_pem),
        ("tls.crt", &pair.certificate_pem),
        ("tls.key", &pair.key_pem),
        ("key.pem", &other.key_pem),
        ("policy.json", &policy.to_string()),
        ("bad.json", "{"),
        ("empty.yaml", ""),
        ("invalid.json", r#"{"version":"1.0","trustPolicies":[]}"#),
        ("values-a.yaml", "a: 1\nb:\n  c: x\n  l: [1, 2]\n"),
        (
            "values-b.yaml",
            &format!("b:\n  d: \"true\"\n  l: [3]\ne: 1.50\nz: {{}}\nlong: \"{long}\"\nm: |\n  1\n  2\n"),
        ),
    ] {
        folder.write(name, content).unwrap();
    }
    // As `>` writes it in a PowerShell of Windows.
    let utf16 = "\u{feff}a: 1\r\nb: é\r\n".encode_utf16().flat_map(u16::to_le_bytes);
    std::fs::write(folder.path().join("values-16.yaml"), utf16.collect::<Vec<_>>()).unwrap();
    folder
}

/// Leaves out the lines inside of PEM blocks: they are new in each run.
fn without_pem(transcript: &str) -> String {
    let mut is_inside = false;
    let mut kept = String::new();
    for line in transcript.lines() {
        is_inside &= !line.contains("-----END ");
        if !is_inside {
            kept.push_str(line);
            kept.push('\n');
        }
        is_inside |= line.contains("-----BEGIN ");
    }
    kept
}

#[tokio::test]
async fn objects_are_printed_or_refused() {
    let files = files();
    let weir = Weir::default().in_folder(files.path());
    insta::assert_snapshot!(weir.transcript(&lines(OBJECTS)).await);
}

#[tokio::test]
async fn secrets_are_printed_or_refused() {
    let files = files();
    let weir = Weir::default().in_folder(files.path());
    insta::assert_snapshot!(without_pem(&weir.transcript(&lines(SECRETS)).await));
}

#[tokio::test]
async fn flux_prints_and_refuses_the_same() {
    let files = files();
    let weir = Weir::default().in_folder(files.path());
    weir.agrees_with_flux(&[lines(OBJECTS), lines(SECRETS)].concat()).await;
}

#[tokio::test]
async fn a_source_is_made_then_changed_and_waited_for() {
    let world = World::new("create").await;
    let api = world.api("GitRepository").await;
    let line = "create source git podinfo --url https://x/y --interval 5m --label team=a";
    let mut transcript = String::new();
    for (generation, branch) in [(1, "main"), (2, "next")] {
        let running = world.weir().start(&format!("{line} --branch {branch}"));
        let is_written = |object: Option<&DynamicObject>| {
            object.is_some_and(|object| object.data.pointer("/spec/ref/branch") == Some(&json!(branch)))
        };
        wait_for(&api, "podinfo", "the spec", DEADLINE, is_written).await.unwrap();
        let status =
            with(ready(generation, "True", "Succeeded", "stored"), artifact(&format!("{branch}@sha1:0")));
        world.status("GitRepository", "podinfo", status).await;
        transcript.push_str(&running.end().await);
    }
    transcript.push_str(&world.weir().start("export source git podinfo").end().await);
    insta::assert_snapshot!(transcript);
}

/// CLI-CRE11: of images, a change is told where there is one.
#[tokio::test]
async fn an_automation_that_is_as_it_should_be_is_left_alone() {
    let world = World::new("create-same").await;
    let line = |branch: &str| {
        format!(
            "create image update apps --git-repo-ref apps --git-repo-path ./apps --checkout-branch {branch} \
             --author-name bot --author-email bot@example.com"
        )
    };
    let mut lines = Vec::new();
    for (generation, branch) in [(1, "main"), (1, "main"), (2, "next")] {
        let running = world.weir().start(&line(branch));
        let is_written = |object: Option<&DynamicObject>| {
            object.is_some_and(|it| it.data.pointer("/spec/git/checkout/ref/branch") == Some(&json!(branch)))
        };
        let api = world.api("ImageUpdateAutomation").await;
        wait_for(&api, "apps", "the spec", DEADLINE, is_written).await.unwrap();
        world.status("ImageUpdateAutomation", "apps", ready(generation, "True", "Succeeded", "done")).await;
        let printed = running.end().await;
        let told = printed.lines().filter(|line| line.ends_with("ated")).map(str::to_owned);
        lines.push(told.collect::<Vec<_>>());
    }
    let expected = ["2> ✔ ImageUpdateAutomation created", "2> ✔ ImageUpdateAutomation updated"];
    assert_eq!(lines, [vec![expected[0]], vec![], vec![expected[1]]]);
    world.weir().agrees_wholly_with_flux(&[&line("next")]).await;
}

#[tokio::test]
async fn a_source_that_does_not_get_ready_tells_why_in_the_end() {
    let world = World::new("create-late").await;
    let line = "create source git podinfo --url https://x/y --branch main --timeout 4s";
    let running = world.weir().start(line);
    let api = world.api("GitRepository").await;
    wait_for(&api, "podinfo", "to be made", DEADLINE, |object| object.is_some()).await.unwrap();
    let status = ready(1, "False", "GitOperationFailed", "failed to checkout: authentication required");
    world.status("GitRepository", "podinfo", status).await;
    insta::assert_snapshot!(running.end().await);
}

#[tokio::test]
async fn credentials_of_a_source_become_a_secret() {
    let world = World::new("create-login").await;
    let line = "create source git podinfo --url https://x/y --branch main -u me -p secret --timeout 4s";
    let helm = "create source helm podinfo --url https://x/y -u me -p secret --pass-credentials --timeout 4s";
    let commands = [
        line,
        "export source git podinfo --with-credentials",
        helm,
        "export source helm podinfo --with-credentials",
        "create source git half --url https://x/y --branch main -u me --timeout 4s",
        "create source helm half --url https://x/y -p secret --timeout 4s",
        "create source bucket keys --bucket-name b --endpoint e --access-key a --secret-key s --label a=b --timeout 4s",
        "export source git half",
    ];
    let transcript = world.weir().transcript(&commands).await;
    insta::assert_snapshot!(transcript);
}

#[tokio::test]
async fn a_secret_keeps_the_entries_that_are_not_given() {
    let world = World::new("create-secret").await;
    let commands = [
        "create secret git auth --url https://x/y -u me -p one --label a=b",
        "create secret git auth --url https://x/y --bearer-token two --label c=d",
    ];
    let transcript = world.weir().transcript(&commands).await;
    let api: Api<k8s_openapi::api::core::v1::Secret> =
        Api::namespaced(world.plane.client().unwrap(), &world.namespace);
    let secret = api.get("auth").await.unwrap();
    let keys: Vec<_> = secret.data.unwrap().into_keys().collect();
    let labels: Vec<_> = secret.metadata.labels.unwrap().into_keys().collect();
    insta::assert_snapshot!(format!("{transcript}{keys:?} {labels:?}"));
}

/// The flag of the receiver's token has the name of the one with the user's.
#[tokio::test]
async fn the_token_of_a_receiver_is_not_shown_to_the_api_server() {
    let world = World::new("create-hook").await;
    let line = "create secret receiver hook --type github --hostname h.io --token secret";
    let transcript = world.weir().transcript(&[line]).await;
    assert!(
        transcript.ends_with("2> ► receiver secret 'hook' created in 'create-hook' namespace\n\n"),
        "{transcript}"
    );
    let api: Api<k8s_openapi::api::core::v1::Secret> =
        Api::namespaced(world.plane.client().unwrap(), &world.namespace);
    assert_eq!(api.get("hook").await.unwrap().data.unwrap()["token"].0, b"secret");
}

#[tokio::test]
async fn a_tenant_is_set_up_and_its_role_changed() {
    let world = World::new("create-tenant").await;
    let commands = [
        "create tenant dev-team --with-namespace tenant-apps --cluster-role edit",
        "create tenant dev-team --with-namespace tenant-apps --cluster-role view",
    ];
    let transcript = world.weir().transcript(&commands).await;
    let api = world.plane.api("rbac.authorization.k8s.io/v1", "RoleBinding", "tenant-apps").await.unwrap();
    let binding = api.get("dev-team-reconciler").await.unwrap();
    assert_eq!(binding.data.pointer("/roleRef/name"), Some(&json!("view")));
    insta::assert_snapshot!(transcript);
}

/// CLI-SEC01, CLI-SEC02: the key pair is new, or that of a file, and the server's keys are asked for.
#[tokio::test]
async fn a_secret_for_git_over_ssh_has_a_key_pair_and_the_keys_of_the_server() {
    let Some(server) = found_or_skipped("an SSH server", SshGitServer::start().await).unwrap() else {
        return;
    };
    let folder = Folder::new("create-ssh").unwrap();
    let url = server.url("app");
    let host = server.known_hosts().trim().to_owned();
    for (kind, start) in [("ed25519", "ssh-ed25519 "), ("ecdsa", "ecdsa-sha2-nistp384 ")] {
        let weir = Weir::default().in_folder(folder.path());
        let line = format!("create secret git auth --url {url} --ssh-key-algorithm {kind} --export");
        let made = secret(&weir.stdout(&line).await);
        assert!(made["identity.pub"].starts_with(start), "{}", made["identity.pub"]);
        assert_eq!(made["known_hosts"].trim(), host);
        folder.write("key", &made["identity"]).unwrap();
        let line = format!("create secret git auth --url {url} --private-key-file key --export");
        assert_eq!(secret(&weir.stdout(&line).await), made);
    }
}

/// The entries of a Secret as YAML.
fn secret(yaml: &str) -> std::collections::BTreeMap<String, String> {
    let mut entries = std::collections::BTreeMap::new();
    let mut key = String::new();
    for line in yaml.lines().skip_while(|line| *line != "stringData:").skip(1) {
        match (line.strip_prefix("    "), line.trim().split_once(": ")) {
            (Some(text), _) => {
                entries.entry(key.clone()).or_insert_with(String::new).push_str(&format!("{text}\n"))
            }
            (None, Some((name, value))) => {
                key = name.to_owned();
                if !value.starts_with('|') {
                    entries.insert(key.clone(), format!("{value}\n"));
                }
            }
            _ => {}
        }
    }
    entries
}
