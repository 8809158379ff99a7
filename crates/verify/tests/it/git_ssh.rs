//! Signatures of `ssh-keygen -Y sign`.

use jiff::Timestamp;
use rstest::rstest;
use weir_testkit::SshKey;
use weir_verify::git::{GitError, GitKeys, Object};

use crate::secret;

const PAYLOAD: &[u8] = b"tree 0\n\nmessage\n";

fn verify(entries: &[(&str, &str)], signature: &str) -> Result<String, GitError> {
    let keys = GitKeys::from_secret(&secret(entries));
    keys.verify(Object::Commit, PAYLOAD, Some(signature.as_bytes()), Timestamp::now())
}

#[rstest]
#[case("ed25519", &[])]
#[case("ecdsa", &[])]
#[case("rsa", &[])]
#[case("ed25519", &["-O", "hashalg=sha256"])]
fn what_a_key_signed_verifies_with_it(#[case] kind: &str, #[case] arguments: &[&str]) {
    let key = SshKey::generate(kind).unwrap();
    let signature = key.sign("git", PAYLOAD, arguments).unwrap();
    let name = verify(&[("a.sshpub", &key.public().unwrap())], &signature).unwrap();
    assert_eq!(name, key.fingerprint().unwrap());
}

#[test]
fn any_key_of_any_entry_is_enough() {
    let (key, other) = (SshKey::generate("ed25519").unwrap(), SshKey::generate("ecdsa").unwrap());
    let signature = key.sign("git", PAYLOAD, &[]).unwrap();
    let two = format!("# people\n\n{}{}", other.public().unwrap(), key.public().unwrap());
    verify(&[("a.sshpub", &two)], &signature).unwrap();
    verify(&[("a.sshpub", "junk"), ("b.sshpub", &key.public().unwrap())], &signature).unwrap();
    let broken = format!("{}junk\n", key.public().unwrap());
    let error = verify(&[("a.sshpub", &broken)], &signature).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unable to verify Git commit SSH signature: unable to parse authorized keys: unable to parse authorized key: \
         ssh: no key found"
    );
}

/// As files of authorized keys and of allowed signers have them.
#[rstest]
#[case::owner("me@example.com {}", true)]
#[case::option("no-pty {}", true)]
#[case::options("namespaces=\"git\",valid-after=\"20200101\" {}", true)]
#[case::quoted_blanks("command=\"say \\\"a b\\\", c\",no-pty {}", true)]
#[case::tabs("me@example.com\t {} the key of\tmine", true)]
#[case::comment("{} the key of mine", true)]
#[case::two_names("me@example.com you@example.com {}", false)]
#[case::unclosed("command=\"say {}", false)]
#[case::no_blank("me@example.com,{}", false)]
fn lines_of_keys(#[case] line: &str, #[case] is_good: bool) {
    let key = SshKey::generate("ed25519").unwrap();
    let signature = key.sign("git", PAYLOAD, &[]).unwrap();
    let public = key.public().unwrap();
    let fields: Vec<_> = public.split_ascii_whitespace().take(2).collect();
    let line = line.replace("{}", &fields.join(" "));
    assert_eq!(verify(&[("a.sshpub", &line)], &signature).is_ok(), is_good, "{line}");
    let wide = line.replace("ssh-ed25519 ", "ssh-ed25519 \t ");
    assert_eq!(verify(&[("a.sshpub", &wide)], &signature).is_ok(), is_good, "{wide}");
    let other = line.replace("ssh-ed25519 ", "ssh-rsa ");
    verify(&[("a.sshpub", &other)], &signature).unwrap_err();
}

#[test]
fn what_stands_behind_a_signature_does_not_count() {
    let key = SshKey::generate("ed25519").unwrap();
    let signature = key.sign("git", PAYLOAD, &[]).unwrap();
    verify(&[("a.sshpub", &key.public().unwrap())], &format!("{signature}\nmore")).unwrap();
}

#[test]
fn what_does_not_verify_says_why() {
    let (key, other) = (SshKey::generate("ed25519").unwrap(), SshKey::generate("ed25519").unwrap());
    let (public, stranger) = (key.public().unwrap(), other.public().unwrap());
    let good = key.sign("git", PAYLOAD, &[]).unwrap();
    let file = key.sign("file", PAYLOAD, &[]).unwrap();
    let elsewhere = key.sign("git", b"another payload", &[]).unwrap();
    let no_match = "unable to verify Git commit SSH signature: unable to verify payload with any of the given \
                    authorized keys: no matching key";
    let cases = [
        (&stranger, &good, format!("{no_match}\npublic key does not match")),
        (&public, &file, format!("{no_match}\nnamespace does not match")),
        (&public, &elsewhere, format!("{no_match}\nssh: signature did not verify")),
    ];
    for (trusted, signature, message) in cases {
        assert_eq!(verify(&[("a.sshpub", trusted)], signature).unwrap_err().to_string(), message);
    }
    let both = format!("{public}{stranger}{stranger}");
    let message = format!("{no_match}\nssh: signature did not verify\npublic key does not match");
    assert_eq!(verify(&[("a.sshpub", &both)], &elsewhere).unwrap_err().to_string(), message);
}

#[rstest]
#[case(&[("a.asc", "x")], "-----BEGIN SSH SIGNATURE-----", "SSH signature detected but no SSH public keys found in secret (keys with .sshpub suffix)")]
#[case(&[("a.sshpub", "x")], "-----BEGIN PGP SIGNATURE-----", "PGP signature detected but no PGP public keys found in secret (keys with .asc suffix)")]
#[case(&[], "-----BEGIN SIGNED MESSAGE-----", "unsupported signature type: x509")]
#[case(&[], "-----BEGIN PGP MESSAGE-----", "unsupported signature type: unknown")]
#[case(&[], "", "unsupported signature type: empty")]
fn refused_unread(#[case] entries: &[(&str, &str)], #[case] signature: &str, #[case] message: &str) {
    assert_eq!(verify(entries, signature).unwrap_err().to_string(), message);
}

#[test]
fn a_damaged_signature_is_refused() {
    let key = SshKey::generate("ed25519").unwrap();
    let good = key.sign("git", PAYLOAD, &[]).unwrap();
    let public = key.public().unwrap();
    for at in (0..good.len()).step_by(7) {
        let mut damaged = good.clone().into_bytes();
        damaged[at] ^= 1;
        let damaged = String::from_utf8(damaged).unwrap();
        assert!(verify(&[("a.sshpub", &public)], &damaged).is_err(), "byte {at}");
    }
}
