//! Trusted certificates: those of the system's authorities and, beside them, those of the object's (SRC-TLS-1, A2).

use std::net::SocketAddr;

use serde_json::{Value, json};
use weir_testkit::{Folder, GitServer, Identity, Registry, TlsFront};

use crate::bucket::stand_in::StandIn;
use crate::chart_server::ChartServer;
use crate::world::{Setup, World};

/// A source of each kind, behind TLS, and how it names the Secret of its authority.
async fn sources(front: &Fronts) -> [(&'static str, Value, &'static str); 4] {
    let url = |scheme: &str, address: SocketAddr, path: &str| {
        format!("{scheme}://localhost:{}/{path}", address.port())
    };
    let bucket = format!("localhost:{}", front.bucket.address.port());
    [
        (
            "GitRepository",
            json!({"url": url("https", front.git.address(), "app.git"), "ref": {"branch": "main"}}),
            "secretRef",
        ),
        ("OCIRepository", json!({"url": url("oci", front.registry.address(), "app")}), "certSecretRef"),
        ("Bucket", json!({"endpoint": bucket, "bucketName": "apps"}), "certSecretRef"),
        ("HelmRepository", json!({"url": url("https", front.charts.address(), "charts")}), "certSecretRef"),
    ]
}

struct Fronts {
    git: TlsFront,
    registry: TlsFront,
    charts: TlsFront,
    bucket: StandIn,
}

/// The plain servers behind.
struct Servers {
    git: GitServer,
    registry: Registry,
    charts: ChartServer,
}

impl Servers {
    async fn start() -> Self {
        let (git, registry) = (GitServer::start().await.unwrap(), Registry::start().await.unwrap());
        git.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
        registry.push_artifact("app", "latest", &[("a.yaml", "a")]).await.unwrap();
        let charts = ChartServer::start().await;
        charts.publish("/charts", &["1.0.0"]);
        Self { git, registry, charts }
    }

    async fn behind(&self, identity: &Identity) -> Fronts {
        let git = self.git.url("").trim_start_matches("http://").split('/').next().unwrap().parse().unwrap();
        let bucket = StandIn::start_with(None, Some(identity)).await;
        bucket.put("a.yaml", "a");
        Fronts {
            git: TlsFront::start(identity, git).await.unwrap(),
            registry: TlsFront::start(identity, self.registry.address().parse().unwrap()).await.unwrap(),
            charts: TlsFront::start(identity, self.charts.address()).await.unwrap(),
            bucket,
        }
    }
}

/// With the authority of an object, those of the system count as before; that of one object is no other's.
#[tokio::test]
async fn an_authority_of_the_object_is_added_to_those_of_the_system() {
    let (system, own) = (Identity::for_names(&[]).unwrap(), Identity::for_names(&[]).unwrap());
    let folder = Folder::new("authorities").unwrap();
    let file = folder.write("system.pem", &system.ca_pem).unwrap();
    let environment = vec![("SSL_CERT_FILE", file.display().to_string())];
    let world = World::start_as(Setup { environment, ..Setup::default() }).await;
    let servers = Servers::start().await;
    let (of_system, of_object) = (servers.behind(&system).await, servers.behind(&own).await);
    world.secret("own", "Opaque", json!({"ca.crt": own.ca_pem})).await;
    let (system, object) = (sources(&of_system).await, sources(&of_object).await);
    let apply = async |name: &str, (kind, spec, field): &(&str, Value, &str), secret: Option<&str>| {
        let mut spec = spec.clone();
        spec["interval"] = json!("1h");
        if let Some(secret) = secret {
            spec[*field] = json!({"name": secret});
        }
        world.apply(kind, name, spec).await;
    };
    for source in &system {
        apply("system", source, None).await;
        apply("both", source, Some("own")).await;
    }
    for source in &object {
        apply("own", source, Some("own")).await;
        apply("stranger", source, None).await;
    }
    for (kind, ..) in &system {
        for name in ["system", "both", "own"] {
            world.ready(kind, name).await;
        }
        world.failure_of(kind, "stranger", "x509: certificate signed by unknown authority").await;
    }
}
