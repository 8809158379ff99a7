//! The same over a real `sshd`: the host proves itself, then we do.

use rstest::rstest;
use weir_git::{
    Credentials, Error, Fetched, Git, GitConfig, Proxy, Remote, SshAlgorithms, SshAuth, SshError,
};
use weir_testkit::{Proxy as ProxyServer, SshGitServer};

use crate::large::noise;
use crate::{branch, failure, fetched, files, git, remote};

async fn server() -> (SshGitServer, Remote, String) {
    server_of(SshGitServer::start().await.unwrap())
}

/// The server with a repository, and the commit in it.
pub(crate) fn server_of(server: SshGitServer) -> (SshGitServer, Remote, String) {
    let id = server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a: 1\n")]).unwrap();
    let mut remote = remote(&server.url("app"));
    remote.credentials = Credentials::Ssh(SshAuth {
        identity: server.identity().to_string().into(),
        passphrase: None,
        known_hosts: server.known_hosts().to_string(),
    });
    (server, remote, id)
}

pub(crate) fn with(remote: &Remote, change: impl FnOnce(&mut SshAuth)) -> Remote {
    let mut remote = remote.clone();
    let Credentials::Ssh(auth) = &mut remote.credentials else { panic!("SSH") };
    change(auth);
    remote
}

/// Runs `ssh-keygen` in a directory of its own and returns what `file` holds then.
fn keygen(file: &str, before: &str, arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    if !before.is_empty() {
        std::fs::write(directory.path().join(file), before).unwrap();
    }
    let run =
        std::process::Command::new("ssh-keygen").current_dir(&directory).args(arguments).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    std::fs::read_to_string(directory.path().join(file)).unwrap()
}

#[tokio::test]
async fn fetch_and_no_fetch() {
    let (_server, remote, id) = server().await;
    let checkout = fetched(&remote, &branch("main")).await;
    assert_eq!(checkout.revision(), format!("main@sha1:{id}"));
    assert_eq!(files(&checkout), [("a.yaml".to_owned(), "a: 1\n".to_owned())]);
    let known = format!("main@sha1:{id}");
    let again = git().fetch(&remote, &branch("main"), Some(&known)).await.unwrap();
    assert!(matches!(again, Fetched::Unchanged { .. }));
}

#[tokio::test]
async fn hosts_that_are_not_there_are_told_as_go_does() {
    let (_server, mut remote, _) = server().await;
    remote.url.set_host(Some("127.0.0.1")).unwrap();
    remote.url.set_port(Some(1)).unwrap();
    let error = failure(&remote, &branch("main")).await;
    assert_eq!(error.to_string(), "dial tcp 127.0.0.1:1: connect: connection refused");
    remote.url.set_host(Some("nowhere.invalid")).unwrap();
    let error = failure(&remote, &branch("main")).await;
    assert_eq!(error.to_string(), "dial tcp: lookup nowhere.invalid: no such host");
}

#[tokio::test]
async fn hashed_known_hosts() {
    let (server, remote, _) = server().await;
    let hashed = keygen("known", &server.known_hosts().to_string(), &["-q", "-H", "-f", "known"]);
    assert!(hashed.starts_with("|1|"), "{hashed}");
    fetched(&with(&remote, |auth| auth.known_hosts = hashed), &branch("main")).await;
}

/// SRC-SCK-3, SRC-GIT-29.
#[tokio::test]
async fn hosts_that_are_not_who_they_should_be() {
    let (server, remote, _) = server().await;
    let other = with(&remote, |auth| auth.known_hosts = server.other_known_hosts().to_string());
    let error = failure(&other, &branch("main")).await;
    assert!(matches!(error, Error::Ssh(SshError::HostKeyMismatch)), "{error}");
    assert_eq!(error.to_string(), "ssh: handshake failed: knownhosts: key mismatch");
    let elsewhere =
        with(&remote, |auth| auth.known_hosts = auth.known_hosts.replace("127.0.0.1", "127.0.0.2"));
    let error = failure(&elsewhere, &branch("main")).await;
    assert_eq!(error.to_string(), "ssh: handshake failed: knownhosts: key is unknown");
    let junk = with(&remote, |auth| auth.known_hosts = "junk".into());
    let error = failure(&junk, &branch("main")).await;
    let expected =
        "unable to construct auth method with options: knownhosts: knownhosts: missing host pattern";
    assert_eq!(error.clone_message("u"), expected);
}

#[tokio::test]
async fn keys_that_do_not_open_the_door() {
    let (_server, remote, _) = server().await;
    let stranger = keygen("key", "", &["-q", "-t", "ed25519", "-N", "", "-f", "key"]);
    let error = failure(&with(&remote, |auth| auth.identity = stranger.into()), &branch("main")).await;
    let expected = "ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey], no \
                    supported methods remain";
    assert_eq!(error.to_string(), expected);
    let error = failure(&with(&remote, |auth| auth.identity = "junk".into()), &branch("main")).await;
    assert_eq!(error.to_string(), "unable to construct auth method with options: ssh: no key found");
}

#[tokio::test]
async fn encrypted_keys() {
    let locked = keygen("key", "", &["-q", "-t", "ed25519", "-N", "secret", "-f", "key"]);
    assert!(weir_git::identity_is_encrypted(&locked));
    let (server, remote, _) = server().await;
    assert!(!weir_git::identity_is_encrypted(server.identity()));
    let identity = server.identity().to_string();
    let arguments = ["-q", "-p", "-P", "", "-N", "secret", "-f", "key"];
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    std::fs::write(&path, identity).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let run =
        std::process::Command::new("ssh-keygen").current_dir(&directory).args(arguments).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    let locked = std::fs::read_to_string(&path).unwrap();
    let open = with(&remote, |auth| {
        auth.identity = locked.clone().into();
        auth.passphrase = Some("secret".into());
    });
    fetched(&open, &branch("main")).await;
    let wrong = with(&remote, |auth| {
        auth.identity = locked.into();
        auth.passphrase = Some("no".into());
    });
    let error = failure(&wrong, &branch("main")).await;
    let expected = "unable to construct auth method with options: x509: decryption password incorrect";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn a_repository_that_is_not_there() {
    let (server, mut remote, _) = server().await;
    remote.url = server.url("nothing").parse().unwrap();
    let error = failure(&remote, &branch("main")).await;
    let url = remote.url.as_str();
    assert_eq!(
        error.clone_message(url),
        format!("unable to clone: repository not found: git repository: '{url}'")
    );
}

/// The path of a URL has escapes, that of a command has not: Git and Flux take them away.
#[tokio::test]
async fn names_with_blanks() {
    let (server, mut remote, _) = server().await;
    let id = server.repo("My Project/l'app 100%").unwrap();
    let id = id.commit("main", "first", &[("a.yaml", "a: 1\n")]).unwrap();
    remote.url = server.url("My%20Project/l'app%20100%25").parse().unwrap();
    let checkout = fetched(&remote, &branch("main")).await;
    assert_eq!(checkout.revision(), format!("main@sha1:{id}"));
}

#[tokio::test]
async fn through_proxies_that_resolve_the_name() {
    let (server, remote, id) = server().await;
    let place = (remote.url.host_str().unwrap(), remote.url.port().unwrap());
    let address = format!("{}:{}", place.0, place.1).parse().unwrap();
    let routes = [("git.example.com:22", address)];
    let proxy = ProxyServer::start_with_password(&routes, "user", "planted").await.unwrap();
    let named = format!("git.example.com {}", server.known_hosts().split_once(' ').unwrap().1);
    let mut remote = with(&remote, |auth| auth.known_hosts = named);
    remote.url.set_host(Some("git.example.com")).unwrap();
    remote.url.set_port(None).unwrap();
    let way = |scheme: &str, password: Option<&str>| Proxy {
        address: format!("{scheme}://{}", proxy.address()).parse().unwrap(),
        credentials: password.map(|password| ("user".to_owned(), password.to_owned().into())),
    };
    for scheme in ["socks5", "http"] {
        remote.http.proxy = Some(way(scheme, Some("planted")));
        let checkout = fetched(&remote, &branch("main")).await;
        assert_eq!(checkout.commit().id.to_string(), id, "{scheme}");
    }
    for (wrong, expected) in [
        (way("socks5", Some("wrong")), "username/password authentication failed"),
        (way("socks5", None), "the proxy wants a user and a password"),
        (way("http", Some("wrong")), "proxy: HTTP/1.1 407 Proxy Authentication Required"),
        (way("https", Some("planted")), "proxy: unknown scheme: https"),
    ] {
        remote.http.proxy = Some(wrong);
        let error = failure(&remote, &branch("main")).await.to_string();
        assert!(error.contains(expected) && !error.contains("planted"), "{error}");
    }
    remote.url.set_host(Some("other.example.com")).unwrap();
    for scheme in ["socks5", "http"] {
        remote.http.proxy = Some(way(scheme, Some("planted")));
        let error = failure(&remote, &branch("main")).await;
        assert!(matches!(error, Error::Ssh(SshError::Connect { .. })), "{error}");
    }
}

/// Servers that offer one algorithm of a kind, each of which Flux's client knows.
#[rstest]
#[case::curve_of_fips(&["KexAlgorithms ecdh-sha2-nistp256"])]
#[case::larger_curve(&["KexAlgorithms ecdh-sha2-nistp384"])]
#[case::largest_curve(&["KexAlgorithms ecdh-sha2-nistp521"])]
#[case::group(&["KexAlgorithms diffie-hellman-group14-sha256"])]
#[case::old_group(&["KexAlgorithms diffie-hellman-group14-sha1"])]
#[case::short_gcm(&["Ciphers aes128-gcm@openssh.com"])]
#[case::old_checksum(&["Ciphers aes128-ctr", "MACs hmac-sha1"])]
#[tokio::test]
async fn servers_with_few_algorithms(#[case] lines: &[&str]) {
    let server = SshGitServer::start_configured(lines).await.unwrap();
    let (server, remote, _) = server_of(server);
    fetched(&remote, &branch("main")).await;
    let port = remote.url.port();
    let keys = weir_git::scan_host_keys("127.0.0.1", port).await.unwrap();
    assert_eq!(keys, server.known_hosts());
}

/// Servers renew the keys of a connection after some amount of data, such as a gigabyte.
#[tokio::test]
async fn keys_that_are_renewed_on_the_way() {
    let server = SshGitServer::start_configured(&["RekeyLimit 256K"]).await.unwrap();
    let (server, mut remote, _) = server_of(server);
    let text = noise(4 << 20);
    server.repo("large").unwrap().commit("main", "large", &[("large", &text)]).unwrap();
    remote.url = server.url("large").parse().unwrap();
    assert!(files(&fetched(&remote, &branch("main")).await) == [("large".to_owned(), text)]);
}

#[tokio::test]
async fn algorithms_of_the_service() {
    let (_server, remote, _) = server().await;
    let git_with = |kex: &str, keys: &str| {
        let list = |text: &str| if text.is_empty() { Vec::new() } else { vec![text.to_owned()] };
        let ssh = SshAlgorithms::parse(&list(kex), &list(keys)).unwrap();
        Git::new(GitConfig { ssh, ..GitConfig::default() }).unwrap()
    };
    git_with("curve25519-sha256", "ssh-ed25519").clone_branch(&remote, "main").await.unwrap();
    for git in [git_with("diffie-hellman-group1-sha1", ""), git_with("", "ecdsa-sha2-nistp521")] {
        let Err(error) = git.clone_branch(&remote, "main").await else { panic!("nothing in common") };
        assert!(matches!(error, Error::Ssh(SshError::Protocol { .. })), "{error}");
    }
}
