//! Keys that a real `ssh-agent` holds, at a real `sshd`.

use std::path::Path;

use rstest::rstest;
use weir_git::{Credentials, Error, Remote, SshAgent as Agent, SshError};
use weir_testkit::{SshAgent, SshGitServer, SshKey};

use crate::ssh::server_of;
use crate::{branch, failure, fetched};

/// The remote with the keys of an agent instead of one of its own.
fn with_agent(remote: &Remote, server: &SshGitServer, socket: &Path) -> Remote {
    let mut remote = remote.clone();
    let agent = Agent { socket: socket.to_owned(), known_hosts: server.known_hosts() };
    remote.credentials = Credentials::SshAgent(agent);
    remote
}

/// The second key is the right one, so that the first one is seen not to end it all.
#[rstest]
#[case::ed25519("ed25519")]
#[case::p384("ecdsa -b 384")]
#[case::rsa("rsa -b 3072")]
#[tokio::test]
async fn a_key_of_the_agent_opens_the_door(#[case] kind: &str) {
    let (server, remote, id) = server_of(SshGitServer::start().await.unwrap());
    let (agent, other) = (SshAgent::start().await.unwrap(), SshKey::generate("ed25519").unwrap());
    let arguments: Vec<&str> = ["-N", "", "-t"].into_iter().chain(kind.split(' ')).collect();
    let key = SshKey::generate_with(&arguments).unwrap();
    server.let_in(&key.public().unwrap()).unwrap();
    agent.add(&other.private().unwrap(), &[]).unwrap();
    agent.add(&key.private().unwrap(), &[]).unwrap();
    let checkout = fetched(&with_agent(&remote, &server, &agent.socket()), &branch("main")).await;
    assert_eq!(checkout.revision(), format!("main@sha1:{id}"));
}

#[tokio::test]
async fn agents_without_the_key() {
    let (server, remote, _) = server_of(SshGitServer::start().await.unwrap());
    let agent = SshAgent::start().await.unwrap();
    let remote_of = |socket: &Path| with_agent(&remote, &server, socket);
    let error = failure(&remote_of(&agent.socket()), &branch("main")).await;
    assert!(error.to_string().ends_with("socket: it holds no key; ssh-add gives it one"), "{error}");
    // More keys than the server looks at.
    for _ in 0..8 {
        agent.add(&SshKey::generate("ed25519").unwrap().private().unwrap(), &[]).unwrap();
    }
    let error = failure(&remote_of(&agent.socket()), &branch("main")).await;
    assert!(matches!(error, Error::Ssh(SshError::NotAuthenticated)), "{error}");
    let error = failure(&remote_of(Path::new("/nonexistent")), &branch("main")).await;
    assert!(error.to_string().contains("SSH agent at /nonexistent: "), "{error}");
}
