//! Messages of decryption that fails, as Flux's own kustomize-controller has them (KS-DEC-28). `FLUX_KUSTOMIZE_CONTROLLER`
//! names it.

use std::process::Command;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use weir_testkit::{Controller, flux_program};

use crate::world::World;

fn data(name: &str) -> String {
    std::fs::read_to_string(weir_testkit::repo_path(&format!("crates/sops/tests/data/{name}"))).unwrap()
}

/// A Kustomization whose decryption fails: its name, the entries of its Secret, its files, and the text by which the messages
/// of both begin; docs/flux-differences.md has the rest.
struct Case {
    name: &'static str,
    begin: &'static str,
    keys: Option<Vec<(&'static str, String)>>,
    files: Vec<(&'static str, String)>,
}

fn cases() -> Vec<Case> {
    let secret = || vec![("secret.yaml", data("cases/secret.yaml"))];
    let age = || vec![("age.agekey", data("keys/age.agekey"))];
    let case = |name, begin, keys, files| Case { name, begin, keys, files };
    let object = "decryption failed for 'Secret.v1.[noGrp]/db': failed to decrypt and format 'NAMESPACE/db' Secret data: ";
    let import = "failed to import '";
    let generated = "secretGenerator:\n- name: made\n  files: [values.yaml=v]\n".to_owned();
    let plain_value = {
        let text = data("cases/secret.yaml");
        let line =
            text.lines().find(|line| line.contains("ENC[") && line.contains("password")).unwrap().to_owned();
        let key = line.split(':').next().unwrap();
        vec![("secret.yaml", text.replacen(&line, &format!("{key}: hunter2"), 1))]
    };
    vec![
        case("no-secret", "secrets \"no-secret\" not found", None, secret()),
        case("no-keys", object, Some(vec![("readme", "none".to_owned())]), secret()),
        case("other-kind", object, Some(vec![("pgp.asc", data("keys/pgp.asc"))]), secret()),
        case("no-age-key", import, Some(vec![("a.agekey", "hunter2".to_owned())]), secret()),
        case("plain-value", object, Some(age()), plain_value),
        case(
            "source",
            "error decrypting sources: ",
            Some(vec![]),
            vec![("kustomization.yaml", generated.clone()), ("v", data("cases/age.yaml"))],
        ),
        case(
            "groups",
            "error decrypting sources: ",
            Some(age()),
            vec![("kustomization.yaml", generated), ("v", data("cases/groups.yaml"))],
        ),
        case("aws", import, Some(vec![("sops.aws-kms", "hunter2".to_owned())]), secret()),
        case("azure", import, Some(vec![("sops.azure-kv", "tenantId: t".to_owned())]), secret()),
        case("gcp", import, Some(vec![("sops.gcp-kms", "hunter2".to_owned())]), secret()),
    ]
}

/// The messages of all cases, with the namespace taken out.
async fn messages(world: &World) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for Case { name, keys, files, .. } in cases() {
        if let Some(keys) = keys {
            let entries: serde_json::Map<_, _> =
                keys.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect();
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": entries});
            let params = PatchParams::apply("test").force();
            world.api("v1", "Secret").await.patch(name, &params, &Patch::Apply(secret)).await.unwrap();
        }
        let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        world.source(name, 1, &files).await;
        let decryption = json!({"provider": "sops", "secretRef": {"name": name}});
        let source = json!({"kind": "GitRepository", "name": name});
        world.kustomization(name, json!({"decryption": decryption, "sourceRef": source})).await;
        let failed = world.not_ready(name, "BuildFailed").await;
        let message = weir_testkit::condition(&failed, "Ready").unwrap().message;
        found.push((name, message.replace(&world.ns, "NAMESPACE")));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_those_of_flux() {
    let Some(program) = flux_program("FLUX_KUSTOMIZE_CONTROLLER").unwrap() else { return };
    let flux = World::without_service().await;
    let flags = ["--watch-all-namespaces=false".to_owned()];
    let _controller = Controller::start(Command::new(program), flux.plane(), &flux.ns, &flags).await.unwrap();
    let (theirs, ours) = (messages(&flux).await, messages(&World::new().await).await);
    for (case, ((name, theirs), (_, ours))) in cases().iter().zip(theirs.into_iter().zip(ours)) {
        for message in [&theirs, &ours] {
            assert!(message.starts_with(case.begin), "{name}\n{theirs}\n\n{ours}");
        }
        // The places of keys, and the paragraph at the end.
        let known =
            |line: &&str| line.contains("FAILED") || line.contains("SUCCESS") || !line.starts_with(' ');
        let lines = |text: &str| text.lines().skip(1).filter(known).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(lines(&theirs), lines(&ours), "{name}");
        if ["no-secret", "azure"].contains(&name) {
            assert_eq!(theirs, ours);
        }
    }
}
