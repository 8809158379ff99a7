//! Kinds of keys and host certificates over a real `sshd` (SRC-GIT-29, SRC-SCK-3).

use std::process::Command;

use rstest::rstest;
use weir_git::{Error, SshError};
use weir_testkit::{SshCertificate, SshGitServer};

use crate::ssh::{server_of, with};
use crate::{branch, failure, fetched, git};

const ED25519: &str = "ed25519";
/// Options of a good certificate.
const GOOD: &str = "-h -n 127.0.0.1";

/// Makes a pair of keys; gives the private and the public one.
fn pair(kind: &str, format: &str, passphrase: &str) -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    let mut keygen = Command::new("ssh-keygen");
    keygen.current_dir(&directory).args(["-q", "-f", "key", "-N", passphrase, "-m", format, "-t"]);
    let run = keygen.args(kind.split(' ')).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    (read("key"), read("key.pub"))
}

/// Clones with a key that the server lets in.
async fn open_the_door(kind: &str, format: &str, passphrase: &str) -> Result<(), Error> {
    let (server, remote, _) = server_of(SshGitServer::start().await.unwrap());
    let (private, public) = pair(kind, format, passphrase);
    assert_eq!(weir_git::identity_is_encrypted(&private), !passphrase.is_empty());
    server.let_in(&public).unwrap();
    let remote = with(&remote, |auth| {
        auth.identity = private.into();
        auth.passphrase = (!passphrase.is_empty()).then(|| passphrase.into());
    });
    git().clone_branch(&remote, "main").await.map(drop)
}

/// Forges have keys that may only read, and say so on the error stream.
#[tokio::test]
async fn a_key_that_may_not_do_this_is_told_in_the_words_of_the_server() {
    let (server, remote, _) = server_of(SshGitServer::start().await.unwrap());
    let (private, public) = pair(ED25519, "RFC4716", "");
    server.let_in(&format!("command=\"echo 'ERROR: the key is read only' >&2; false\" {public}")).unwrap();
    let error = failure(&with(&remote, |auth| auth.identity = private.into()), &branch("main")).await;
    assert_eq!(error.to_string(), "unknown error: ERROR: the key is read only");
    let listed = error.list_message("ssh://git@h/a");
    assert_eq!(
        listed,
        "unable to list remote for 'ssh://git@h/a': unknown error: ERROR: the key is read only"
    );
}

#[rstest]
#[case::rsa("rsa -b 3072")]
#[case::p256("ecdsa -b 256")]
#[case::p384("ecdsa -b 384")]
#[case::p521("ecdsa -b 521")]
#[case::ed25519(ED25519)]
#[tokio::test]
async fn keys_that_open_the_door(#[case] kind: &str, #[values("", "secret")] passphrase: &str) {
    open_the_door(kind, "RFC4716", passphrase).await.unwrap();
}

#[rstest]
#[case::rsa_in_pkcs8("rsa -b 3072", "PKCS8", "")]
#[case::rsa_in_locked_pkcs8("rsa -b 3072", "PKCS8", "secret")]
#[case::rsa_in_pem("rsa -b 3072", "PEM", "")]
#[case::rsa_in_locked_pem("rsa -b 3072", "PEM", "secret")]
#[case::p384_in_pkcs8("ecdsa -b 384", "PKCS8", "")]
#[case::p384_in_locked_pkcs8("ecdsa -b 384", "PKCS8", "secret")]
#[case::p256_in_pem("ecdsa -b 256", "PEM", "")]
#[tokio::test]
async fn other_formats_of_keys(#[case] kind: &str, #[case] format: &str, #[case] passphrase: &str) {
    open_the_door(kind, format, passphrase).await.unwrap();
}

/// As Flux reads them: keys that went through an editor of Windows or have blanks at their ends, and keys without a lock beside a
/// password, which may be there for HTTPS.
#[rstest]
#[case::openssh("RFC4716")]
#[case::pkcs8("PKCS8")]
#[case::pem("PEM")]
#[tokio::test]
async fn keys_and_what_stands_around_them(#[case] format: &str) {
    let (server, remote, _) = server_of(SshGitServer::start().await.unwrap());
    let (private, public) = pair("rsa -b 3072", format, "");
    server.let_in(&public).unwrap();
    let texts = [private.clone(), private.replace('\n', "\r\n"), private.replace('\n', " \t\n")];
    for (text, passphrase) in texts.into_iter().zip([Some("of HTTPS"), None, None]) {
        let remote = with(&remote, |auth| {
            auth.identity = text.into();
            auth.passphrase = passphrase.map(Into::into);
        });
        fetched(&remote, &branch("main")).await;
    }
}

/// A passphrase that is right is not called wrong.
#[tokio::test]
async fn a_way_to_lock_keys_that_is_not_known() {
    let error = open_the_door("ecdsa -b 256", "PEM", "secret").await.unwrap_err();
    assert!(error.to_string().contains("`ssh-keygen -p` writes it as one that is"), "{error}");
}

/// The host's own key is of any kind, whatever kind the authority has and other hosts have.
#[rstest]
#[case::ed25519(ED25519, ED25519)]
#[case::p256("ecdsa", ED25519)]
#[case::p521("ecdsa -b 521", "ecdsa -b 384")]
#[case::rsa("rsa -b 3072", "rsa -b 3072")]
#[tokio::test]
async fn certificates_that_are_believed(#[case] host: &str, #[case] authority: &str) {
    let server = SshGitServer::start_certified(SshCertificate { host, authority, says: GOOD }).await.unwrap();
    let (server, remote, _) = server_of(server);
    let known = server.known_authority();
    let other = server.other_known_hosts().replace("127.0.0.1", "127.0.0.2");
    for known_hosts in
        [known.clone(), format!("{other}{known}"), format!("{}{known}", server.other_known_hosts())]
    {
        fetched(&with(&remote, |auth| auth.known_hosts = known_hosts), &branch("main")).await;
    }
}

#[rstest]
#[case::expired("-h -n 127.0.0.1 -V -2d:-1d")]
#[case::not_yet("-h -n 127.0.0.1 -V +1d:+2d")]
#[case::other_principal("-h -n 127.0.0.2")]
#[case::part_of_principal("-h -n 127.0.0.10,127.0.0")]
// Go takes it for any host's.
#[case::no_principal("-h")]
#[case::unknown_option("-h -n 127.0.0.1 -O critical:weir-test=x")]
#[case::of_a_user("-n 127.0.0.1")]
#[tokio::test]
async fn certificates_that_are_refused(#[case] says: &str) {
    let certificate = SshCertificate { host: ED25519, authority: ED25519, says };
    let (server, remote, _) = server_of(SshGitServer::start_certified(certificate).await.unwrap());
    let remote = with(&remote, |auth| auth.known_hosts = server.known_authority());
    let error = failure(&remote, &branch("main")).await;
    assert!(matches!(error, Error::Ssh(SshError::HostKeyMismatch)), "{error}");
}

#[tokio::test]
async fn certificates_by_who_signed_them() {
    let certificate = SshCertificate { host: ED25519, authority: ED25519, says: GOOD };
    let (server, remote, _) = server_of(SshGitServer::start_certified(certificate).await.unwrap());
    let (known, host) = (server.known_authority(), server.known_hosts());
    let stranger = format!("@cert-authority {}", server.other_known_hosts());
    let elsewhere = known.replace("127.0.0.1", "127.0.0.2");
    let revoked_authority = format!("{known}{}", known.replace("@cert-authority", "@revoked"));
    for (known_hosts, expected) in [
        (stranger, SshError::HostKeyMismatch),
        // An authority of other hosts does not count for this one, and a key that is not marked as an authority is
        // none.
        (elsewhere, SshError::HostKeyUnknown),
        (known.replace("@cert-authority ", ""), SshError::HostKeyMismatch),
        (format!("{known}@revoked {host}"), SshError::HostKeyRevoked),
        (format!("{known}@revoked * {}", host.split_once(' ').unwrap().1), SshError::HostKeyRevoked),
        (revoked_authority, SshError::HostKeyRevoked),
        (format!("{host}@revoked {host}"), SshError::HostKeyRevoked),
    ] {
        let error =
            failure(&with(&remote, |auth| auth.known_hosts = known_hosts.clone()), &branch("main")).await;
        let Error::Ssh(found) = error else { panic!("{known_hosts}: {error}") };
        assert_eq!(found, expected, "{known_hosts}");
    }
    // The key itself is known, and so the certificate is not needed.
    fetched(&with(&remote, |auth| auth.known_hosts = host), &branch("main")).await;
}
