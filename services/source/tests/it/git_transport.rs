//! The way to a Git server: certificates of both sides, and proxies of the object and of the environment.

use serde_json::json;
use std::net::SocketAddr;
use weir_testkit::{GitServer, Identity, Proxy, SshGitServer, TlsFront};

use crate::world::{Setup, World, paths};

const GIT: &str = "GitRepository";
const HOST: &str = "git.example.com";

fn address(url: &str) -> SocketAddr {
    let url: reqwest::Url = url.parse().unwrap();
    format!("{}:{}", url.host_str().unwrap(), url.port().unwrap()).parse().unwrap()
}

async fn git_server() -> GitServer {
    let server = GitServer::start().await.unwrap();
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    server.repo("private/app").unwrap().commit("main", "first", &[("p.yaml", "p")]).unwrap();
    server
}

/// SRC-GIT-27, SRC-TLS-1, A2, B7: an authority of the Secret, and a certificate of ours beside user and password.
#[tokio::test]
async fn certificates_of_both_sides() {
    let (world, server) = (World::start().await, git_server().await);
    let (own, client, stranger) = (
        Identity::for_names(&[]).unwrap(),
        Identity::for_names(&[]).unwrap(),
        Identity::for_names(&[]).unwrap(),
    );
    let target = address(&server.url("app"));
    let mutual = TlsFront::start_for(&own, target, &client.ca_pem).await.unwrap();
    let url =
        |front: &TlsFront, name: &str| format!("https://localhost:{}/{name}.git", front.address().port());
    for (name, identity) in [("client", Some(&client)), ("stranger", Some(&stranger)), ("none", None)] {
        let mut data = json!({"ca.crt": own.ca_pem, "username": "user", "password": "pass"});
        if let Some(identity) = identity {
            data["tls.crt"] = json!(identity.certificate_pem);
            data["tls.key"] = json!(identity.key_pem);
        }
        world.secret(name, "Opaque", data).await;
        world.git(name, &url(&mutual, "private/app"), json!({"secretRef": {"name": name}})).await;
    }
    let half = json!({"ca.crt": own.ca_pem, "tls.crt": client.certificate_pem});
    world.secret("half", "Opaque", half).await;
    let plain = TlsFront::start(&own, target).await.unwrap();
    for name in ["half", "client", "stranger"] {
        let spec = json!({"secretRef": {"name": name}});
        world.git(&format!("plain-{name}"), &url(&plain, "app"), spec).await;
    }
    world.git("unknown", &url(&plain, "app"), json!({})).await;

    assert_eq!(paths(&world.ready(GIT, "client").await).await, ["p.yaml"]);
    // A server that asks for no certificate is told none.
    world.ready(GIT, "plain-client").await;
    world.ready(GIT, "plain-stranger").await;
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    for (name, reason, part) in [
        ("stranger", "GitOperationFailed", "remote error: tls: "),
        ("none", "GitOperationFailed", "remote error: tls: "),
        ("unknown", "GitOperationFailed", unknown),
        ("plain-half", "AuthenticationFailed", "contains 'tls.crt' but missing 'tls.key'"),
    ] {
        // A server that refuses a certificate may be faster than the request, and then the first try only finds it gone.
        let (found, message) = world.failure_of(GIT, name, part).await;
        assert_eq!(found, reason, "{name}: {message}");
    }
}

/// SRC-PRX-1, SRC-GIT-30, B6: each kind of proxy of an object, over HTTP and over SSH.
#[tokio::test]
async fn proxies_of_the_object() {
    let (world, server, ssh) =
        (World::start().await, git_server().await, SshGitServer::start().await.unwrap());
    ssh.repo("app").unwrap().commit("main", "first", &[("s.yaml", "s")]).unwrap();
    let routes = [
        ("git.example.com:80", address(&server.url("app"))),
        ("git.example.com:22", address(&ssh.url("app"))),
    ];
    let proxy = Proxy::start_with_password(&routes, "user", "hunter2").await.unwrap();
    let own = Identity::for_names(&[]).unwrap();
    let front = TlsFront::start(&own, proxy.address()).await.unwrap();
    // The authority of the object's Secret counts for the proxy too.
    world.secret("authority", "Opaque", json!({"ca.crt": own.ca_pem})).await;
    let known = ssh.known_hosts().to_string();
    let known = format!("{HOST} {}", known.split_once(' ').unwrap().1);
    world.secret("ssh", "Opaque", json!({"identity": ssh.identity(), "known_hosts": known})).await;
    let ssh_url = ssh.url("app").replace(&address(&ssh.url("app")).to_string(), HOST);
    let http_url = format!("http://{HOST}/app.git");
    for (name, place, url, secret) in [
        ("http", format!("http://{}", proxy.address()), &http_url, "authority"),
        ("https", format!("https://localhost:{}", front.address().port()), &http_url, "authority"),
        ("socks", format!("socks5://{}", proxy.address()), &http_url, "authority"),
        ("ssh-socks", format!("socks5://{}", proxy.address()), &ssh_url, "ssh"),
        ("ssh-http", format!("http://{}", proxy.address()), &ssh_url, "ssh"),
    ] {
        let data = json!({"address": place, "username": "user", "password": "hunter2"});
        world.secret(&format!("proxy-{name}"), "Opaque", data).await;
        let spec =
            json!({"proxySecretRef": {"name": format!("proxy-{name}")}, "secretRef": {"name": secret}});
        world.git(name, url, spec).await;
    }
    for name in ["http", "https", "socks"] {
        assert_eq!(paths(&world.ready(GIT, name).await).await, ["a.yaml"], "{name}");
    }
    for name in ["ssh-socks", "ssh-http"] {
        assert_eq!(paths(&world.ready(GIT, name).await).await, ["s.yaml"], "{name}");
    }
    assert!(!world.controller.log_tail().contains("hunter2"));
}

/// SRC-PRX-1, B6: the proxies of the environment count where the object has none.
#[tokio::test]
async fn proxies_of_the_environment() {
    let (server, ssh) = (git_server().await, SshGitServer::start().await.unwrap());
    ssh.repo("app").unwrap().commit("main", "first", &[("s.yaml", "s")]).unwrap();
    let web = Proxy::start(&[("git.example.com:80", address(&server.url("app")))]).await.unwrap();
    let other = Proxy::start(&[("git.example.com:22", address(&ssh.url("app")))]).await.unwrap();
    let environment = vec![
        ("HTTP_PROXY", format!("http://{}", web.address())),
        ("ALL_PROXY", format!("socks5://{}", other.address())),
        ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
    ];
    let world = World::start_as(Setup { environment, ..Setup::default() }).await;
    let known = ssh.known_hosts().to_string();
    let known = format!("{HOST} {}", known.split_once(' ').unwrap().1);
    world.secret("ssh", "Opaque", json!({"identity": ssh.identity(), "known_hosts": known})).await;
    let ssh_url = ssh.url("app").replace(&address(&ssh.url("app")).to_string(), HOST);
    world.git("ssh", &ssh_url, json!({"secretRef": {"name": "ssh"}})).await;
    world.git("http", &format!("http://{HOST}/app.git"), json!({})).await;
    world.git("direct", &server.url("app"), json!({})).await;
    for (name, expected) in [("ssh", "s.yaml"), ("http", "a.yaml"), ("direct", "a.yaml")] {
        assert_eq!(paths(&world.ready(GIT, name).await).await, [expected], "{name}");
    }
    let targets = |proxy: &Proxy| -> Vec<String> {
        proxy.requests().into_iter().map(|request| request.target).collect()
    };
    assert!(targets(&web).iter().all(|target| target == "git.example.com:80"), "{:?}", targets(&web));
    assert!(targets(&other).iter().all(|target| target == "git.example.com:22"), "{:?}", targets(&other));
}
