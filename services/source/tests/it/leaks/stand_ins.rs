//! Servers that repeat their input, and a registry whose layers lie at presigned places; both as they are met in
//! practice, where pages for debugging and stores of objects stand behind a registry's name.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use weir_artifact::{Algorithm, Digest};
use weir_testkit::{EchoServer, Fault, FaultProxy, SinkAnswer, SinkRequest, WebhookSink};

use super::{CHART, GIT, HELM, OCI, planted};
use crate::chart_server::package;
use crate::world::World;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Byte of a layer at which the way from the store spoils it.
const SPOILT: u64 = 10;

/// Their objects, all of which fail.
pub const FAILING: [(&str, &[&str]); 4] = [
    (GIT, &["echo-200", "echo-401", "echo-403", "echo-404"]),
    (OCI, &["echo", "echo-tokens", "cut", "corrupt"]),
    (HELM, &["echo"]),
    (CHART, &["echo"]),
];

pub struct StandIns {
    echo: EchoServer,
    tokens: EchoServer,
    registries: [(&'static str, Presigned); 2],
}

impl StandIns {
    pub async fn start() -> Self {
        let cut = Presigned::start(Fault::CutAfter(SPOILT)).await;
        let corrupt = Presigned::start(Fault::CorruptAt(SPOILT)).await;
        Self {
            echo: EchoServer::start().await.unwrap(),
            tokens: EchoServer::start_with_tokens().await.unwrap(),
            registries: [("cut", cut), ("corrupt", corrupt)],
        }
    }

    /// Objects of all of them; the Secrets `password` and `bearer` are there.
    pub async fn plant(&self, world: &World) {
        for (status, secret) in [(200, "password"), (401, "bearer"), (403, "password"), (404, "bearer")] {
            let credentials = json!({"secretRef": {"name": secret}});
            world.git(&format!("echo-{status}"), &self.echo.git_url(status), credentials).await;
        }
        for (name, echo) in [("echo", &self.echo), ("echo-tokens", &self.tokens)] {
            let login = json!({"username": "user", "password": planted("echo-password")});
            let config = json!({"auths": {echo.address(): login}});
            let data = json!({".dockerconfigjson": config.to_string()});
            world.secret(name, "kubernetes.io/dockerconfigjson", data).await;
            let url = format!("oci://{}/app", echo.address());
            world.oci(name, &url, json!({"secretRef": {"name": name}})).await;
        }
        for (name, registry) in &self.registries {
            world.oci(name, &format!("oci://{}/app", address(&registry.registry)), json!({})).await;
        }
        let charts = json!({"url": self.echo.git_url(403), "interval": "1h", "secretRef": {"name": "basic"}});
        world.apply(HELM, "echo", charts).await;
        let charts = json!({
            "type": "oci", "url": format!("oci://{}/charts", self.echo.address()), "insecure": true,
            "secretRef": {"name": "echo"},
        });
        world.apply(HELM, "echo-charts", charts).await;
        let source = json!({"kind": HELM, "name": "echo-charts"});
        let spec = json!({"interval": "1h", "chart": "app", "version": "1.0.0", "sourceRef": source});
        world.apply(CHART, "echo", spec).await;
    }

    /// Asserts that all of them received secrets that they could repeat, and that the stores were requested by
    /// signature.
    pub fn assert_told(&self) {
        for echo in [&self.echo, &self.tokens] {
            let told = echo.requests();
            assert!(told.iter().any(|request| !request.header("authorization").is_empty()), "{told:?}");
        }
        for (name, registry) in &self.registries {
            let asked = registry.way.requests();
            assert!(asked.iter().any(|line| line.contains(&planted("signature"))), "{name}: {asked:?}");
        }
    }
}

/// A registry that has one artifact and sends everyone who asks for its layer to a presigned place.
struct Presigned {
    registry: WebhookSink,
    way: FaultProxy,
    _store: WebhookSink,
}

impl Presigned {
    async fn start(fault: Fault) -> Self {
        let layer = package(&[("a.yaml".to_owned(), b"a: 1\n".as_slice())]);
        let (registry, store) = (WebhookSink::start().await.unwrap(), WebhookSink::start().await.unwrap());
        let way = FaultProxy::http(&address(&store)).await.unwrap();
        way.set(fault);
        let path = planted("path");
        let place = format!("http://{}/{path}/layer?X-Amz-Signature={}", way.address(), planted("signature"));
        let manifest = manifest(&layer);
        registry.answer_with(move |request| registered(request, &manifest, &place));
        store.answer_with(move |_| SinkAnswer { body: layer.clone().into(), ..SinkAnswer::default() });
        Self { registry, way, _store: store }
    }
}

fn address(sink: &WebhookSink) -> String {
    sink.url("").replace("http://", "")
}

fn manifest(layer: &[u8]) -> Value {
    let digest = |content: &[u8]| Digest::of(Algorithm::Sha256, content).to_string();
    json!({
        "schemaVersion": 2, "mediaType": MANIFEST,
        "config": {"mediaType": "application/vnd.cncf.flux.config.v1+json", "digest": digest(b"{}"), "size": 2},
        "layers": [{
            "mediaType": "application/vnd.cncf.flux.content.v1.tar+gzip", "digest": digest(layer), "size": layer.len(),
        }],
    })
}

fn registered(request: &SinkRequest, manifest: &Value, place: &str) -> SinkAnswer {
    let with = |status, name, value: &str, body: String| {
        let headers = HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())]);
        SinkAnswer { status, headers, body: body.into() }
    };
    match request.path.split('/').nth(3) {
        Some("manifests") => with(StatusCode::OK, header::CONTENT_TYPE, MANIFEST, manifest.to_string()),
        Some("blobs") => with(StatusCode::TEMPORARY_REDIRECT, header::LOCATION, place, String::new()),
        _ => SinkAnswer::default(),
    }
}
