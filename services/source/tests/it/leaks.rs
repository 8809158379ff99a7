//! Credentials are planted wherever an object may have them, everything is made to fail or to succeed, and then nothing
//! that the run produced may show any of them (SRC-SCK-11), and nobody else's server may have got them (SRC-SCK-7).

mod clouds;
mod produced;
mod stand_ins;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use serde_json::{Value, json};
use weir_testkit::{
    Fault, FaultProxy, Folder, GitServer, Identity, Registry, SshGitServer, WebhookSink, eventually,
    wait_not_ready,
};

use self::clouds::Clouds;
use self::produced::{EXTERNAL, GENERATOR, GENERATORS, produced};
use self::stand_ins::StandIns;
use crate::chart_server::{ChartServer, chart};
use crate::world::{DEADLINE, Setup, World};

const GIT: &str = "GitRepository";
const OCI: &str = "OCIRepository";
const BUCKET: &str = "Bucket";
const HELM: &str = "HelmRepository";
const CHART: &str = "HelmChart";

/// Events of the objects that are planted, at least.
const EVENTS: usize = 40;

/// Prefix of every planted secret, so that each place is searched for all of them at once.
const PLANTED: &str = "planted-";

fn planted(what: &str) -> String {
    format!("{PLANTED}{what}")
}

/// The mark of a secret in the clear and, at each place it may have among others, in base64.
fn marks() -> Vec<String> {
    let encoded = (0..3).map(|before| {
        let text = STANDARD.encode(format!("{}{PLANTED}", "-".repeat(before)));
        // The characters at both ends depend on the neighbours.
        let (start, end) = ((before * 8).div_ceil(6), (before + PLANTED.len()) * 8 / 6);
        text[start..end].to_owned()
    });
    encoded.chain([PLANTED.to_owned()]).collect()
}

#[test]
fn marks_are_found_wherever_a_secret_stands() {
    for user in ["", "u:", "us:", "user:"] {
        let header = STANDARD.encode(format!("{user}{}", planted("password")));
        assert!(marks().iter().any(|mark| header.contains(mark)), "{header}");
    }
    assert!(!marks().iter().any(|mark| STANDARD.encode("user:innocent password").contains(mark)));
}

async fn plant_git(world: &World, server: &GitServer, ssh: &SshGitServer, dead: &str) {
    let (private, app) = (server.url("private/app"), server.url("app"));
    let password = json!({"username": "user", "password": planted("git-password")});
    world.secret("password", "Opaque", password).await;
    world.secret("bearer", "Opaque", json!({"bearerToken": planted("bearer-token")})).await;
    let proxy = json!({"address": format!("http://{dead}"), "username": planted("user"), "password": planted("proxy")});
    world.secret("proxy", "Opaque", proxy).await;
    let inline = format!("http://user:{}@{dead}", planted("inline"));
    world.secret("proxy-inline", "Opaque", json!({"address": inline})).await;
    let key = json!({
        "identity": ssh.identity(), "known_hosts": ssh.other_known_hosts(), "password": planted("passphrase"),
    });
    world.secret("ssh", "Opaque", key).await;
    world.git("password", &private, json!({"secretRef": {"name": "password"}})).await;
    world.git("bearer", &private, json!({"secretRef": {"name": "bearer"}})).await;
    world.git("proxy", &app, json!({"proxySecretRef": {"name": "proxy"}})).await;
    world.git("proxy-inline", &app, json!({"proxySecretRef": {"name": "proxy-inline"}})).await;
    world.git("ssh", &ssh.url("app"), json!({"secretRef": {"name": "ssh"}})).await;
    let in_url = private.replace("http://", &format!("http://user:{}@", planted("url")));
    world.git("in-url", &in_url, json!({})).await;
    let dead_url = format!("http://user:{}@{dead}/app?sig={}", planted("url"), planted("signature"));
    world.git("dead", &dead_url, json!({})).await;
    // These are fetched and kept: the server lets everyone in.
    let in_url = app.replace("http://", &format!("http://user:{}@", planted("url")));
    world.git("kept", &in_url, json!({})).await;
    world.git("kept-password", &app, json!({"secretRef": {"name": "password"}})).await;
    world.git("odd", &format!("http://user:{}@127.0.0.1:port/x", planted("url")), json!({})).await;
}

async fn plant_oci(world: &World, registry: &Registry, dead: &str) {
    let auth = STANDARD.encode(format!("user:{}", planted("oci-password")));
    for (name, host) in [("oci", registry.address()), ("oci-dead", dead)] {
        let config =
            json!({"auths": {host: {"auth": auth, "username": "user", "password": planted("oci-password")}}});
        let data = json!({".dockerconfigjson": config.to_string()});
        world.secret(name, "kubernetes.io/dockerconfigjson", data).await;
        world.oci(name, &format!("oci://{host}/app"), json!({"secretRef": {"name": name}})).await;
    }
    let proxied = json!({"proxySecretRef": {"name": "proxy"}});
    world.oci("oci-proxy", "oci://registry.invalid/app", proxied).await;
}

/// Buckets whose servers refuse, are away, or are reached by a proxy that is.
async fn plant_buckets(world: &World, refusing: &str, dead: &str) {
    let account_key = STANDARD.encode(planted("account-key"));
    for (name, data) in [
        ("s3", json!({"accesskey": "AKID", "secretkey": planted("secret-key")})),
        ("account", json!({"accountKey": account_key})),
        ("sas", json!({"sasKey": format!("?sv=2021-12-02&sig={}", planted("sas"))})),
        (
            "google",
            json!({"serviceaccount": json!({
            "type": "service_account", "client_email": "a@b", "private_key": planted("google-key"),
        }).to_string()}),
        ),
        (
            "application",
            json!({
                "tenantId": "tenant", "clientId": "client", "clientSecret": planted("client-secret"),
                "authorityHost": format!("http://{refusing}"),
            }),
        ),
    ] {
        world.secret(name, "Opaque", data).await;
    }
    for (name, provider, endpoint) in [
        ("s3", "generic", refusing.to_owned()),
        ("account", "azure", format!("http://{refusing}/account")),
        ("sas", "azure", format!("http://{refusing}/account")),
        ("google", "gcp", "storage.googleapis.com".to_owned()),
        ("application", "azure", format!("http://{refusing}/account")),
    ] {
        let spec = json!({"provider": provider, "secretRef": {"name": name}});
        world.bucket(name, &endpoint, "apps", spec.clone()).await;
        let endpoint = endpoint.replace(refusing, dead);
        world.bucket(&format!("{name}-dead"), &endpoint, "apps", spec).await;
    }
    let proxied = json!({"secretRef": {"name": "s3"}, "proxySecretRef": {"name": "proxy"}});
    world.bucket("proxied", "minio.invalid", "apps", proxied).await;
    let sts = json!({"provider": "ldap", "endpoint": format!("http://{refusing}/sts"), "secretRef": {"name": "sts"}});
    world.secret("sts", "Opaque", json!({"username": "user", "password": planted("sts-password")})).await;
    world.bucket("sts", refusing, "apps", json!({"sts": sts})).await;
}

/// Repositories of charts; one whose packages lie on somebody else's server.
async fn plant_helm(world: &World, server: &ChartServer, elsewhere: &ChartServer, dead: &str) {
    let identity = Identity::for_names(&[]).unwrap();
    let basic = json!({"username": planted("user"), "password": planted("helm-password")});
    world.secret("basic", "Opaque", basic).await;
    let key = format!("{}{}", identity.key_pem, planted("tls-key"));
    let tls = json!({"ca.crt": identity.ca_pem, "tls.crt": identity.certificate_pem, "tls.key": key});
    world.secret("tls", "Opaque", tls).await;
    let broken = json!({"tls.crt": identity.certificate_pem, "tls.key": planted("broken-key")});
    world.secret("broken", "Opaque", broken).await;
    elsewhere.put("/app-1.0.0.tgz", chart("app", "1.0.0", &[]));
    let index = json!({"apiVersion": "v1", "entries": {"app": [{
        "apiVersion": "v2", "name": "app", "version": "1.0.0", "urls": [elsewhere.url("/app-1.0.0.tgz")],
    }]}});
    server.put("/charts/index.yaml", index.to_string());
    let with = |url: String, more: Value| {
        let mut spec = json!({"url": url, "interval": "1h"});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let basic = json!({"secretRef": {"name": "basic"}});
    world.apply(HELM, "basic", with(server.url("/charts"), basic.clone())).await;
    world.apply(HELM, "private", with(server.url("/private"), basic.clone())).await;
    let in_url = format!("http://user:{}@{dead}/charts?sig={}", planted("url"), planted("signature"));
    world.apply(HELM, "in-url", with(in_url, basic)).await;
    for secret in ["tls", "broken"] {
        let spec = with(format!("https://{dead}"), json!({"certSecretRef": {"name": secret}}));
        world.apply(HELM, secret, spec).await;
    }
    let source = json!({"kind": HELM, "name": "basic"});
    let spec = json!({"interval": "1h", "chart": "app", "version": "1.0.0", "sourceRef": source});
    world.apply(CHART, "elsewhere", spec).await;
}

/// Artifacts from a source whose URL holds a password; one of them cannot be made.
async fn plant_generators(world: &World) {
    for (name, from) in [("made", "@kept/**"), ("not-made", "@kept/missing.yaml")] {
        let spec = json!({
            "sources": [{"alias": "kept", "kind": GIT, "name": "kept"}],
            "artifacts": [{"name": name, "copy": [{"from": from, "to": "@artifact/"}]}],
        });
        let object =
            json!({"apiVersion": GENERATORS, "kind": GENERATOR, "metadata": {"name": name}, "spec": spec});
        world.plane.apply(&world.namespace, object).await.unwrap();
    }
}

/// Waits until every object that was planted has a condition of success or failure.
async fn settled(world: &World, sink: &WebhookSink) {
    world.ready(HELM, "basic").await;
    world.ready(CHART, "elsewhere").await;
    for name in ["kept", "kept-password"] {
        world.ready(GIT, name).await;
    }
    world.until(EXTERNAL, "made", "made", |object| object.data["status"]["artifact"].is_object()).await;
    let generators = world.plane.api(GENERATORS, GENERATOR, &world.namespace).await.unwrap();
    wait_not_ready(&generators, "not-made", "", DEADLINE).await.unwrap();
    for (kind, names) in [
        (
            GIT,
            &["password", "bearer", "proxy", "proxy-inline", "ssh", "in-url", "dead", "odd", "app-key"][..],
        ),
        (OCI, &["oci", "oci-dead", "oci-proxy", "token"]),
        (BUCKET, &["s3", "account", "sas", "google", "application", "sts", "proxied", "s3-dead", "sas-dead"]),
        (HELM, &["private", "in-url", "tls", "broken"]),
    ]
    .into_iter()
    .chain(stand_ins::FAILING)
    {
        for name in names {
            world.failure(kind, name).await;
        }
    }
    // Events are sent after the status.
    eventually("events", DEADLINE, async || {
        let events: Api<Event> = Api::namespaced(world.plane.client().unwrap(), &world.namespace);
        let events = events.list(&Default::default()).await.ok()?.items;
        (events.len() >= EVENTS && sink.requests().len() >= EVENTS).then_some(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn no_credential_reaches_logs_events_statuses_metrics_or_strangers() {
    let (sink, scratch) = (WebhookSink::start().await.unwrap(), Folder::new("leaks").unwrap());
    let arguments = vec![
        "--log-level=trace".into(),
        "--feature-gates=ObjectLevelWorkloadIdentity=true".into(),
        format!("--events-addr={}", sink.url("/")),
    ];
    let clouds = Clouds::start().await;
    let environment =
        vec![("TMPDIR", scratch.path().display().to_string()), ("SSL_CERT_FILE", clouds.authority())];
    let world = World::start_as(Setup { arguments, environment, ..Setup::default() }).await;
    let server = GitServer::start().await.unwrap();
    let ssh = SshGitServer::start().await.unwrap();
    let registry = Registry::start_with_basic_auth().await.unwrap();
    let (charts, elsewhere) = (ChartServer::start().await, ChartServer::start().await);
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    server.repo("private/app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    ssh.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    let dead = FaultProxy::tcp("127.0.0.1:1").await.unwrap();
    dead.set(Fault::Away);
    let refusing = FaultProxy::http("127.0.0.1:1").await.unwrap();
    refusing.set(Fault::Status(403, None));
    plant_git(&world, &server, &ssh, &dead.address()).await;
    plant_oci(&world, &registry, &dead.address()).await;
    plant_buckets(&world, &refusing.address(), &dead.address()).await;
    plant_helm(&world, &charts, &elsewhere, &dead.address()).await;
    clouds.plant(&world).await;
    let stand_ins = StandIns::start().await;
    stand_ins.plant(&world).await;
    plant_generators(&world).await;
    settled(&world, &sink).await;
    stand_ins.assert_told();
    let mut marks = marks();
    marks.extend(clouds.secrets());
    let found = produced(&world, &sink, [world.folder.path(), scratch.path()]).await;
    let files = ["/log", "/data/gitrepository/", "/data/externalartifact/", "/data/.git-stores/"];
    let kinds = [GIT, OCI, BUCKET, HELM, CHART, EXTERNAL, GENERATOR];
    for part in files.into_iter().chain(kinds).chain(["events", "events to the sink", "metrics"]) {
        assert!(found.iter().any(|(place, text)| place.contains(part) && !text.is_empty()), "{part}");
    }
    for (place, text) in found {
        for mark in &marks {
            let shown = text.find(mark).map(|at| text.get(at.saturating_sub(300)..at).unwrap_or_default());
            assert!(shown.is_none(), "{mark} is in the {place}, after: {shown:?}");
        }
    }
    let strangers = elsewhere.requests();
    assert!(!strangers.is_empty() && strangers.iter().all(|(_, sent)| sent.is_none()), "{strangers:?}");
}
