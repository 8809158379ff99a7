//! Ways to registries and chart repositories: proxies of objects and of the environment, of every scheme (SRC-PRX-1, B6).

use std::path::PathBuf;

use rstest::rstest;
use serde_json::json;
use weir_testkit::{Folder, Identity, Proxy, Registry, TlsFront};

use crate::chart_server::ChartServer;
use crate::world::{Setup, World};

const HELM: &str = "HelmRepository";
const OCI: &str = "OCIRepository";
/// A host that only the proxy knows.
const HOST: &str = "sources.example.com";

/// A registry and a chart repository behind TLS, and a proxy, itself with and without TLS, that leads to them.
struct Behind {
    proxy: Proxy,
    secure: TlsFront,
    /// PEM of the authorities of both certificates.
    authorities: String,
    _registry: Registry,
    _charts: ChartServer,
    _fronts: [TlsFront; 2],
}

impl Behind {
    async fn start() -> Self {
        let registry = Registry::start().await.unwrap();
        registry.push_artifact("app", "latest", &[("a.yaml", "a")]).await.unwrap();
        let charts = ChartServer::start().await;
        charts.publish("/charts", &["1.0.0"]);
        let (server, own) = (Identity::for_names(&[HOST]).unwrap(), Identity::for_names(&[]).unwrap());
        let fronts = [
            TlsFront::start(&server, registry.address().parse().unwrap()).await.unwrap(),
            TlsFront::start(&server, charts.address()).await.unwrap(),
        ];
        let ports = [443, 8443, 80, 8080].map(|port: u16| format!("{HOST}:{port}"));
        let plain = [registry.address().parse().unwrap(), charts.address()];
        let targets = fronts.iter().map(TlsFront::address).chain(plain);
        let routes: Vec<_> = ports.iter().map(String::as_str).zip(targets).collect();
        let proxy = Proxy::start_with_password(&routes, "user", "hunter2").await.unwrap();
        let secure = TlsFront::start(&own, proxy.address()).await.unwrap();
        let authorities = format!("{}{}", server.ca_pem, own.ca_pem);
        Self { proxy, secure, authorities, _registry: registry, _charts: charts, _fronts: fronts }
    }

    /// The address of the proxy for a scheme, with what is in front of the host.
    fn address(&self, scheme: &str, user_info: &str) -> String {
        let address = if scheme == "https" { self.secure.address() } else { self.proxy.address() };
        format!("{scheme}://{user_info}{address}")
    }
}

#[tokio::test]
async fn proxies_of_objects() {
    let (world, behind) = (World::start().await, Behind::start().await);
    world.secret("ca", "Opaque", json!({"ca.crt": behind.authorities})).await;
    for (name, scheme, password) in [
        ("http", "http", "hunter2"),
        ("https", "https", "hunter2"),
        ("socks", "socks5", "hunter2"),
        ("wrong", "http", "hunter3"),
        ("wrong-tls", "https", "hunter3"),
    ] {
        let data = json!({"address": behind.address(scheme, ""), "username": "user", "password": password});
        world.secret(name, "Opaque", data).await;
        let proxied =
            json!({"insecure": false, "proxySecretRef": {"name": name}, "certSecretRef": {"name": "ca"}});
        world.oci(name, &format!("oci://{HOST}/app"), proxied).await;
        // In plain to the server, through the same proxy.
        let plain = json!({"proxySecretRef": {"name": name}, "certSecretRef": {"name": "ca"}});
        world.oci(&format!("{name}-plain"), &format!("oci://{HOST}:80/app"), plain).await;
    }
    for name in ["http", "https", "socks"] {
        world.ready(OCI, name).await;
        world.ready(OCI, &format!("{name}-plain")).await;
    }
    for name in ["wrong", "wrong-tls"] {
        let (reason, message) = world.failure(OCI, name).await;
        assert_eq!(reason, "OCIArtifactPullFailed", "{name}: {message}");
        assert!(!message.contains("hunter"), "{message}");
    }
    // The certificate of the proxy is checked too.
    let data = json!({"address": behind.address("https", ""), "username": "user", "password": "hunter2"});
    world.secret("stranger", "Opaque", data).await;
    let untrusted = json!({"insecure": false, "proxySecretRef": {"name": "stranger"}});
    world.oci("stranger", &format!("oci://{HOST}/app"), untrusted).await;
    let (_, message) = world.failure(OCI, "stranger").await;
    assert!(message.contains("certificate signed by unknown authority"), "{message}");
    world.logs_without("hunter");
}

/// The environment's proxies are those of objects that have none; `NO_PROXY` keeps the API server out of it.
#[rstest]
#[case::http("HTTPS_PROXY", "http")]
#[case::https("HTTPS_PROXY", "https")]
#[case::socks("HTTPS_PROXY", "socks5")]
#[case::plain("HTTP_PROXY", "http")]
#[case::all("ALL_PROXY", "http")]
#[tokio::test]
async fn proxies_of_the_environment(#[case] variable: &'static str, #[case] scheme: &str) {
    let (behind, folder) = (Behind::start().await, Folder::new("proxies").unwrap());
    let authorities: PathBuf = folder.write("ca.pem", &behind.authorities).unwrap();
    let environment = vec![
        (variable, behind.address(scheme, "user:hunter2@")),
        ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
        ("SSL_CERT_FILE", authorities.display().to_string()),
    ];
    let world = World::start_as(Setup { environment, ..Setup::default() }).await;
    let (registry, charts) = match variable {
        "HTTP_PROXY" => (format!("oci://{HOST}:80/app"), format!("http://{HOST}:8080/charts")),
        _ => (format!("oci://{HOST}/app"), format!("https://{HOST}:8443/charts")),
    };
    world.oci("app", &registry, json!({"insecure": variable == "HTTP_PROXY"})).await;
    world.apply(HELM, "app", json!({"url": charts, "interval": "1h"})).await;
    // An object's own proxy wins: this one leads nowhere.
    world.secret("own", "Opaque", json!({"address": "http://127.0.0.1:1"})).await;
    let own = json!({"insecure": false, "proxySecretRef": {"name": "own"}});
    world.oci("own", &format!("oci://{HOST}/app"), own).await;
    world.ready(OCI, "app").await;
    world.ready(HELM, "app").await;
    let asked = behind.proxy.requests();
    assert!(asked.iter().all(|request| request.target.starts_with(HOST)), "{asked:?}");
    let (_, message) = world.failure(OCI, "own").await;
    assert!(message.contains("connection refused"), "{message}");
    world.logs_without("hunter");
}
