//! Servers that break off, spoil what they send, lie, or lead elsewhere: an error, and the next fetch is whole.

use std::time::Duration;

use rstest::rstest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use weir_git::{Credentials, Error, Fetched, Part, Remote, SshAuth, Stores};
use weir_testkit::{Fault, FaultProxy, Folder, GitServer, Identity, SshGitServer, TlsFront};

use crate::{branch, failure, fetched, files, git, remote};

/// Bytes that no compression makes small.
const NOISE_BYTES: u64 = 100_000;

fn noise() -> String {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b' ' + (state >> 58) as u8)
    };
    (0..NOISE_BYTES).map(|_| next()).collect()
}

fn upstream(url: &str) -> String {
    let url: url::Url = url.parse().unwrap();
    format!("{}:{}", url.host_str().unwrap(), url.port().unwrap())
}

/// A server behind a proxy, with a repository that is kept.
async fn spoiled() -> (GitServer, FaultProxy, Folder, Remote) {
    spoiled_as("sha1").await
}

async fn spoiled_as(format: &str) -> (GitServer, FaultProxy, Folder, Remote) {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo_as("app", format).unwrap();
    repository.commit("main", "m", &[("noise", &noise()), ("a.yaml", "a")]).unwrap();
    let proxy = FaultProxy::http(&upstream(&server.url("app"))).await.unwrap();
    let folder = Folder::new("faults").unwrap();
    let mut remote = remote(&proxy.url(&server.url("app")));
    remote.store = Stores::new(folder.path().to_owned()).of("owner");
    (server, proxy, folder, remote)
}

/// Of a part, the trees are cut first and then the blobs.
#[rstest]
#[case::whole(None)]
#[case::in_parts(Some(Part::new(|_, _| true)))]
#[tokio::test]
async fn a_download_that_is_cut_at_every_tenth(
    #[case] part: Option<Part>,
    #[values("sha1", "sha256")] format: &str,
) {
    let (_server, proxy, _folder, mut remote) = spoiled_as(format).await;
    remote.part = part;
    // Six of eight bits of noise are noise.
    let bytes = NOISE_BYTES * 3 / 4;
    for tenth in 0..10 {
        proxy.set_for("POST", 10, Fault::CutAfter(200 + bytes * tenth / 10));
        let error = failure(&remote, &branch("main")).await;
        assert!(!matches!(error, Error::CommitNotFound { .. }), "half a commit was used: {error}");
    }
    proxy.set(Fault::None);
    let checkout = fetched(&remote, &branch("main")).await;
    assert_eq!(files(&checkout)[1].1, noise());
}

#[rstest]
#[tokio::test]
async fn a_download_that_is_spoiled_at_every_tenth(#[values("sha1", "sha256")] format: &str) {
    let (_server, proxy, folder, mut remote) = spoiled_as(format).await;
    let mut refused = 0;
    for tenth in 0..10 {
        // A repository for each, so that what one has is no help for the next.
        remote.store = Stores::new(folder.path().to_owned()).of(&format!("owner-{tenth}"));
        proxy.set_for("POST", 10, Fault::CorruptAt(200 + NOISE_BYTES * 3 / 4 * tenth / 10));
        match git().fetch(&remote, &branch("main"), None).await {
            Err(_) => refused += 1,
            // Between the objects there is also talk, in which a wrong letter does no harm.
            Ok(Fetched::New(checkout)) => assert_eq!(files(&checkout)[1].1, noise()),
            Ok(Fetched::Unchanged { .. }) => panic!("nothing was known"),
        }
        proxy.set(Fault::None);
        assert_eq!(files(&fetched(&remote, &branch("main")).await)[1].1, noise());
    }
    assert!(refused >= 8, "{refused}");
}

#[tokio::test]
async fn a_list_that_breaks_anywhere() {
    let (_server, proxy, _folder, remote) = spoiled().await;
    let cuts = [0, 1, 4, 20, 40, 80, 120].map(Fault::CutAfter);
    let others =
        [Fault::Status(503, Some(1)), Fault::Status(429, None), Fault::ContentLength(-50), Fault::Away];
    for fault in cuts.into_iter().chain(others) {
        proxy.set(fault);
        let result = git().fetch(&remote, &branch("main"), None).await;
        assert!(result.is_err(), "{fault:?}");
    }
    proxy.set(Fault::None);
    assert_eq!(files(&fetched(&remote, &branch("main")).await).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_server_meets_the_deadline() {
    let (_server, proxy, _folder, mut remote) = spoiled().await;
    remote.timeout = Duration::from_millis(300);
    for fault in [Fault::Silent, Fault::Delay(Duration::from_secs(60))] {
        proxy.set(fault);
        let error = failure(&remote, &branch("main")).await;
        assert!(matches!(error, Error::Late { .. }), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ssh_that_breaks_off() {
    let server = SshGitServer::start().await.unwrap();
    server.repo("app").unwrap().commit("main", "m", &[("noise", &noise())]).unwrap();
    let place = upstream(&server.url("app"));
    let proxy = FaultProxy::tcp(&place).await.unwrap();
    let (_, port) = place.split_once(':').unwrap();
    let known_hosts = server.known_hosts().replace(port, proxy.address().split_once(':').unwrap().1);
    let mut remote = remote(&proxy.url(&server.url("app")));
    let identity = server.identity().to_owned().into();
    remote.credentials = Credentials::Ssh(SshAuth { identity, passphrase: None, known_hosts });
    for offset in [0, 10, 1_000, 3_000, 20_000, 60_000] {
        proxy.set(Fault::CutAfter(offset));
        failure(&remote, &branch("main")).await;
        proxy.set(Fault::CorruptAt(offset));
        failure(&remote, &branch("main")).await;
    }
    proxy.set(Fault::None);
    assert_eq!(files(&fetched(&remote, &branch("main")).await).len(), 1);
}

/// A server that gives every request the same answer and remembers the requests.
async fn says(answer: String) -> (String, tokio::sync::mpsc::Receiver<String>, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/a.git", listener.local_addr().unwrap());
    let (sender, requests) = tokio::sync::mpsc::channel(16);
    let mut task = JoinSet::new();
    task.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = vec![0; 16 * 1024];
            let count = stream.read(&mut head).await.unwrap_or(0);
            let _ = sender.try_send(String::from_utf8_lossy(&head[..count]).into_owned());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (url, requests, task)
}

/// SRC-SCK-7.
#[tokio::test]
async fn credentials_do_not_follow_a_redirect_to_another_host() {
    let server = GitServer::start().await.unwrap();
    server.repo("private/app").unwrap().commit("main", "m", &[("a", "a")]).unwrap();
    let (elsewhere, mut requests, _task) =
        says("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".into()).await;
    let (url, mut first, _task) = says(leads_to(&elsewhere)).await;
    for credentials in [
        Credentials::Basic { username: "user".into(), password: "planted-secret".into() },
        Credentials::Bearer("planted-secret".into()),
    ] {
        let mut remote = remote(&url);
        remote.credentials = credentials;
        let error = failure(&remote, &branch("main")).await;
        assert!(matches!(error, Error::AuthenticationRequired { .. }), "{error}");
        assert!(!error.clone_message(&url).contains("planted"));
        assert!(first.recv().await.unwrap().to_lowercase().contains("authorization:"));
        let seen = requests.recv().await.unwrap();
        assert!(!seen.to_lowercase().contains("authorization:"), "{seen}");
    }
}

/// SRC-SCK-7: on the way to https of the same host credentials go along, also with the requests behind the list.
#[tokio::test]
async fn credentials_follow_a_redirect_to_https() {
    let server = GitServer::start().await.unwrap();
    server.repo("private/app").unwrap().commit("main", "m", &[("a", "a")]).unwrap();
    let identity = Identity::for_names(&[]).unwrap();
    let front =
        TlsFront::start(&identity, upstream(&server.url("private/app")).parse().unwrap()).await.unwrap();
    let (url, mut first, _task) =
        says(leads_to(&format!("https://{}/private/app.git", front.address()))).await;
    let mut remote = remote(&url);
    remote.credentials = Credentials::Basic { username: "user".into(), password: "pass".into() };
    remote.http.ca = Some(identity.ca_pem.clone().into_bytes());
    assert_eq!(files(&fetched(&remote, &branch("main")).await).len(), 1);
    assert!(first.recv().await.unwrap().to_lowercase().contains("authorization:"));
    assert!(first.try_recv().is_err(), "all that follows the list goes to the address that it came from");
}

/// The answer of a server whose repository has moved.
fn leads_to(repository: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nLocation: {repository}/info/refs?service=git-upload-pack\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
}

/// A list of references as a smart server writes it.
fn advertised(lines: &[&str]) -> String {
    let packet = |line: &str| format!("{:04x}{line}", line.len() + 4);
    let lines: String = lines.iter().map(|line| packet(&format!("{line}\n"))).collect();
    let body = format!("{}0000{lines}0000", packet("# service=git-upload-pack\n"));
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[rstest]
#[case::no_list(&[])]
#[case::capabilities_that_do_not_exist(&["1111111111111111111111111111111111111111 refs/heads/main\0made-up side-band-64k shallow"])]
#[case::no_capabilities(&["1111111111111111111111111111111111111111 refs/heads/main"])]
#[case::no_object_id(&["not-an-id refs/heads/main\0shallow"])]
#[case::another_object_format(&["1111111111111111111111111111111111111111111111111111111111111111 refs/heads/main\0shallow object-format=sha256"])]
#[case::a_name_that_leads_out(&["1111111111111111111111111111111111111111 refs/heads/../../config\0shallow"])]
#[tokio::test]
async fn lists_that_lie(#[case] lines: &[&str]) {
    let (url, _requests, _task) = says(advertised(lines)).await;
    let mut remote = remote(&url);
    remote.timeout = Duration::from_secs(10);
    let folder = Folder::new("lies").unwrap();
    remote.store = Stores::new(folder.path().to_owned()).of("owner");
    let error = failure(&remote, &branch("main")).await;
    assert!(!matches!(error, Error::Deadline | Error::Late { .. }), "{error}");
}

/// SRC-GIT-8, B11: the capabilities that Azure DevOps and CodeCommit insist on are requested where they are offered.
#[tokio::test]
async fn servers_that_insist_on_multi_ack() {
    let id = "1".repeat(40);
    let offered = "multi_ack multi_ack_detailed side-band-64k thin-pack ofs-delta shallow no-progress";
    let list = advertised(&[&format!("{id} refs/heads/main\0{offered}")]);
    let (url, mut requests, _task) = says(list).await;
    // The stand-in has no pack to give; what it is asked is what matters.
    failure(&remote(&url), &branch("main")).await;
    let mut asked = String::new();
    while let Ok(request) = requests.try_recv() {
        asked.push_str(&request);
    }
    let want =
        asked.split_once(&format!("want {id} ")).map(|(_, rest)| rest.lines().next().unwrap_or_default());
    let want = want.unwrap_or_default();
    for capability in ["multi_ack_detailed", "side-band-64k", "ofs-delta"] {
        assert!(want.split(' ').any(|word| word == capability), "{asked}");
    }
}

#[tokio::test]
async fn a_server_without_shallow_fetches() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    repository.commit("main", "one", &[("a", "1")]).unwrap();
    let id = repository.commit("main", "two", &[("a", "2")]).unwrap();
    // Git has no setting for it: the word is taken out of its list.
    let proxy = FaultProxy::http(&upstream(&server.url("app"))).await.unwrap();
    let list = reqwest_list(&server.url("app")).await;
    let offset = list.find(" shallow").unwrap() as u64 + 1;
    proxy.set_for("GET", 2, Fault::CorruptAt(offset));
    let checkout = git().clone_branch(&remote(&proxy.url(&server.url("app"))), "main").await.unwrap();
    assert_eq!(checkout.commit().id.to_string(), id);
    assert_eq!(files(&checkout)[0].1, "2");
}

async fn reqwest_list(url: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(upstream(url)).await.unwrap();
    let request = "GET /app.git/info/refs?service=git-upload-pack HTTP/1.1\r\n\
                   Host: h\r\nUser-Agent: git/1.0\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}
