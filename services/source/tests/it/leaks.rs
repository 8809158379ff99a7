//! Credentials are planted wherever an object may have them, everything is made to fail or to succeed, and then nothing
//! that the run produced may show any of them (SRC-SCK-11).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use serde_json::json;
use weir_testkit::{Fault, FaultProxy, GitServer, Registry, SshGitServer, eventually};

use crate::world::{DEADLINE, Setup, World};

const GIT: &str = "GitRepository";
const OCI: &str = "OCIRepository";

/// What must not be seen, in the clear or in base64 as headers and Secrets have it.
const PLANTED: [&str; 7] = [
    "planted-git-password",
    "planted-url-password",
    "planted-bearer-token",
    "planted-oci-password",
    "planted-proxy-password",
    "planted-ssh-passphrase",
    "planted-query-signature",
];

/// Everything that a run has produced, by where it was found.
async fn produced(world: &World) -> Vec<(&'static str, String)> {
    let log = std::fs::read_to_string(world.controller.log_path()).unwrap();
    let events: Api<Event> = Api::namespaced(world.plane.client().unwrap(), &world.namespace);
    let events = events.list(&Default::default()).await.unwrap();
    let mut statuses = String::new();
    for kind in [GIT, OCI, "Bucket", "HelmRepository", "HelmChart"] {
        for object in world.api(kind).await.list(&Default::default()).await.unwrap() {
            statuses.push_str(&object.data["status"].to_string());
        }
    }
    let metrics = reqwest::get(format!("http://127.0.0.1:{}/metrics", world.metrics)).await.unwrap();
    vec![
        ("log", log),
        ("events", serde_json::to_string(&events.items).unwrap()),
        ("statuses", statuses),
        ("metrics", metrics.text().await.unwrap()),
    ]
}

async fn plant_git(world: &World, server: &GitServer, ssh: &SshGitServer, dead: &str) {
    let (private, app) = (server.url("private/app"), server.url("app"));
    let password = json!({"username": "user", "password": PLANTED[0]});
    world.secret("password", "Opaque", password).await;
    world.secret("bearer", "Opaque", json!({"bearerToken": PLANTED[2]})).await;
    let proxy = json!({"address": format!("http://{dead}"), "username": "user", "password": PLANTED[4]});
    world.secret("proxy", "Opaque", proxy).await;
    let key =
        json!({"identity": ssh.identity(), "known_hosts": ssh.other_known_hosts(), "password": PLANTED[5]});
    world.secret("ssh", "Opaque", key).await;
    world.git("password", &private, json!({"secretRef": {"name": "password"}})).await;
    world.git("bearer", &private, json!({"secretRef": {"name": "bearer"}})).await;
    world.git("proxy", &app, json!({"proxySecretRef": {"name": "proxy"}})).await;
    world.git("ssh", &ssh.url("app"), json!({"secretRef": {"name": "ssh"}})).await;
    let in_url = private.replace("http://", &format!("http://user:{}@", PLANTED[1]));
    world.git("in-url", &in_url, json!({})).await;
    let dead_url = format!("http://user:{}@{dead}/app?sig={}", PLANTED[1], PLANTED[6]);
    world.git("dead", &dead_url, json!({})).await;
    world.git("odd", &format!("http://user:{}@127.0.0.1:port/x", PLANTED[1]), json!({})).await;
}

async fn plant_oci(world: &World, registry: &Registry, dead: &str) {
    let auth = STANDARD.encode(format!("user:{}", PLANTED[3]));
    for (name, host) in [("oci", registry.address()), ("oci-dead", dead)] {
        let config = json!({"auths": {host: {"auth": auth, "username": "user", "password": PLANTED[3]}}});
        let data = json!({".dockerconfigjson": config.to_string()});
        world.secret(name, "kubernetes.io/dockerconfigjson", data).await;
        world.oci(name, &format!("oci://{host}/app"), json!({"secretRef": {"name": name}})).await;
    }
    let proxied = json!({"proxySecretRef": {"name": "proxy"}});
    world.oci("oci-proxy", "oci://registry.invalid/app", proxied).await;
}

#[tokio::test]
async fn no_credential_reaches_logs_events_statuses_or_metrics() {
    let setup = Setup { arguments: vec!["--log-level=trace".into()], ..Setup::default() };
    let world = World::start_as(setup).await;
    let server = GitServer::start().await.unwrap();
    let ssh = SshGitServer::start().await.unwrap();
    let registry = Registry::start_with_basic_auth().await.unwrap();
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    server.repo("private/app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    ssh.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    let dead = FaultProxy::tcp("127.0.0.1:1").await.unwrap();
    dead.set(Fault::Away);
    plant_git(&world, &server, &ssh, &dead.address()).await;
    plant_oci(&world, &registry, &dead.address()).await;
    for name in ["password", "bearer", "proxy", "ssh", "in-url", "dead", "odd"] {
        world.failure(GIT, name).await;
    }
    for name in ["oci", "oci-dead", "oci-proxy"] {
        world.failure(OCI, name).await;
    }
    // Events are sent after the status.
    eventually("events", DEADLINE, async || {
        let events: Api<Event> = Api::namespaced(world.plane.client().unwrap(), &world.namespace);
        (events.list(&Default::default()).await.ok()?.items.len() >= 10).then_some(())
    })
    .await
    .unwrap();
    for (place, text) in produced(&world).await {
        assert!(!text.is_empty(), "{place}");
        for planted in PLANTED {
            let encoded = STANDARD.encode(planted);
            for hidden in [planted, encoded.trim_end_matches('=')] {
                let found = text.find(hidden);
                let shown = found.map(|at| text.get(at.saturating_sub(300)..at).unwrap_or_default());
                assert!(shown.is_none(), "{planted} is in the {place}, after: {shown:?}");
            }
        }
    }
}
