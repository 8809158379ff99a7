//! The way to a Git server: certificates of both sides, and proxies of the object and of the environment.

use std::net::SocketAddr;

use serde_json::json;
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
    // A server that wants no certificate gets none.
    world.ready(GIT, "plain-client").await;
    world.ready(GIT, "plain-stranger").await;
    // Half of one is none, as for Flux.
    world.ready(GIT, "plain-half").await;
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    for (name, reason, part) in [
        ("stranger", "GitOperationFailed", "remote error: tls: "),
        ("none", "GitOperationFailed", "remote error: tls: "),
        ("unknown", "GitOperationFailed", unknown),
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
    world.logs_without("hunter2");
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

/// SRC-GIT-27, A2: a token, which counts more than a password, and user info of the URL, which counts less.
#[tokio::test]
async fn tokens_and_user_info() {
    let (world, server) = (World::start().await, git_server().await);
    server.repo("token/app").unwrap().commit("main", "first", &[("t.yaml", "t")]).unwrap();
    let (token, private) = (server.url("token/app"), server.url("private/app"));
    let by = |user_info: &str| private.replace("http://", &format!("http://{user_info}@"));
    for (name, data) in [
        ("token", json!({"bearerToken": "token", "username": "user", "password": "hunter2"})),
        ("half", json!({"password": "pass"})),
        ("whole", json!({"username": "user", "password": "pass"})),
        ("old", json!({"bearerToken": "hunter2"})),
    ] {
        world.secret(name, "Opaque", data).await;
    }
    for (name, url, secret) in [
        ("bearer", token.clone(), Some("token")),
        ("info", by("user:pass"), None),
        ("filled", by("user"), Some("half")),
        ("outdone", by("user:hunter2"), Some("whole")),
        ("nobody", token.clone(), None),
        ("expired", token, Some("old")),
        ("wrong", by("user:hunter2"), None),
    ] {
        let spec = secret.map_or(json!({}), |secret| json!({"secretRef": {"name": secret}}));
        world.git(name, &url, spec).await;
    }
    for (name, expected) in
        [("bearer", "t.yaml"), ("info", "p.yaml"), ("filled", "p.yaml"), ("outdone", "p.yaml")]
    {
        assert_eq!(paths(&world.ready(GIT, name).await).await, [expected], "{name}");
    }
    for name in ["nobody", "expired", "wrong"] {
        let (reason, message) = world.failure_of(GIT, name, "authentication required").await;
        assert_eq!(reason, "GitOperationFailed", "{name}");
        assert!(!message.contains("hunter2"), "{message}");
    }
    let log = world.controller.log();
    assert!(!log.contains("hunter2"));
    // SRC-GIT-28.
    let is_warned_of = |name: &str| {
        let object = format!("{}/{name}", world.namespace);
        log.lines()
            .any(|line| line.contains("credentials are sent over plain HTTP") && line.contains(&object))
    };
    assert!(is_warned_of("bearer") && is_warned_of("info") && !is_warned_of("nobody"));
}

/// DEV 19: the way to the parent is the way to its submodules, be they where it is or elsewhere.
#[tokio::test]
async fn submodules_are_reached_as_their_parent_is() {
    const OTHER: &str = "other.example.com";
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let own = Identity::for_names(&[HOST, OTHER]).unwrap();
    let front = TlsFront::start(&own, address(&server.url("app"))).await.unwrap();
    let routes = [("git.example.com:443", front.address()), ("other.example.com:443", front.address())];
    let proxy = Proxy::start(&routes).await.unwrap();
    let lib = server.repo("lib").unwrap().commit("main", "lib", &[("lib.yaml", "lib")]).unwrap();
    let modules = format!(
        "[submodule \"near\"]\n\tpath = near\n\turl = ../lib.git\n\
         [submodule \"far\"]\n\tpath = far\n\turl = https://{OTHER}/lib.git\n"
    );
    let repository = server.repo("app").unwrap();
    let change = repository.change("main").file(".gitmodules", modules);
    change.submodule("near", &lib).submodule("far", &lib).commit().unwrap();
    world.secret("authority", "Opaque", json!({"ca.crt": own.ca_pem})).await;
    world.secret("proxy", "Opaque", json!({"address": format!("http://{}", proxy.address())})).await;
    let spec = json!({
        "recurseSubmodules": true, "secretRef": {"name": "authority"}, "proxySecretRef": {"name": "proxy"},
    });
    world.git("app", &format!("https://{HOST}/app.git"), spec).await;
    assert_eq!(paths(&world.ready(GIT, "app").await).await, ["far/lib.yaml", "near/lib.yaml"]);
    let asked: Vec<String> = proxy.requests().into_iter().map(|request| request.target).collect();
    for (host, _) in routes {
        assert!(asked.iter().any(|target| target == host), "{host}: {asked:?}");
    }
}
