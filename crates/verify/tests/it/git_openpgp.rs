//! Signatures of `gpg`.

use jiff::{Timestamp, ToSpan};
use rstest::rstest;
use weir_testkit::GpgHome;
use weir_verify::git::{GitError, GitKeys, Object};

use crate::secret;

const PAYLOAD: &[u8] = b"tree 0\n\nmessage\n";
const DEV: &str = "dev@example.com";

fn verify(entries: &[(&str, &str)], signature: &str, at: Timestamp) -> Result<String, GitError> {
    let keys = GitKeys::from_secret(&secret(entries));
    keys.verify(Object::Tag, PAYLOAD, Some(signature.as_bytes()), at)
}

fn refused(ring: &str, signature: &str, at: Timestamp) -> bool {
    let error = verify(&[("a.asc", ring)], signature, at).map_err(|error| error.to_string());
    error
        == Err("unable to verify Git tag: unable to verify payload with any of the given key rings: no matching key"
            .to_owned())
}

fn days(days: i64) -> Timestamp {
    Timestamp::now() + (24 * days).hours()
}

#[rstest]
#[case("ed25519")]
#[case("rsa2048")]
#[case("nistp256")]
fn what_a_key_signed_verifies_with_it(#[case] algorithm: &str) {
    let home = GpgHome::create().unwrap();
    let fingerprint = home.generate(DEV, algorithm, "0").unwrap();
    let signature = home.sign(DEV, PAYLOAD, &[]).unwrap();
    let ring = home.public(DEV).unwrap();
    let name = verify(&[("a.asc", &ring)], &signature, days(0)).unwrap();
    assert_eq!(name, fingerprint[fingerprint.len() - 16..]);
    assert!(refused(&ring, &home.sign(DEV, b"another payload", &[]).unwrap(), days(0)));
}

#[test]
fn any_key_of_any_ring_is_enough() {
    let home = GpgHome::create().unwrap();
    home.generate(DEV, "ed25519", "0").unwrap();
    home.generate("ops@example.com", "ed25519", "0").unwrap();
    let signature = home.sign(DEV, PAYLOAD, &[]).unwrap();
    let (dev, ops) = (home.public(DEV).unwrap(), home.public("ops@example.com").unwrap());
    let all = home.gpg(&["--armor", "--export"], b"").unwrap();
    let below = format!("{ops}\n{dev}");
    for ring in [&dev, &all, &below] {
        verify(&[("a.asc", ring)], &signature, days(0)).unwrap();
    }
    verify(&[("a.asc", "junk"), ("b.asc", &ops), ("c", &dev)], &signature, days(0)).unwrap();
    assert!(refused(&ops, &signature, days(0)));
}

#[test]
fn no_key_ring_at_all() {
    let home = GpgHome::create().unwrap();
    home.generate(DEV, "ed25519", "0").unwrap();
    let signature = home.sign(DEV, PAYLOAD, &[]).unwrap();
    let error = verify(&[("a.asc", "junk")], &signature, days(0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unable to verify Git tag: unable to read armored key ring: openpgp: invalid argument: no armored data found"
    );
}

#[test]
fn a_key_counts_until_it_expires() {
    let home = GpgHome::create().unwrap();
    home.generate(DEV, "ed25519", "2d").unwrap();
    let signature = home.sign(DEV, PAYLOAD, &[]).unwrap();
    let ring = home.public(DEV).unwrap();
    verify(&[("a.asc", &ring)], &signature, days(1)).unwrap();
    assert!(refused(&ring, &signature, days(3)));
    assert!(refused(&ring, &signature, days(-1)), "a signature of the future");
}

#[test]
fn a_signature_counts_until_it_expires() {
    let home = GpgHome::create().unwrap();
    home.generate(DEV, "ed25519", "0").unwrap();
    let signature = home.sign(DEV, PAYLOAD, &["--default-sig-expire", "2d"]).unwrap();
    let ring = home.public(DEV).unwrap();
    verify(&[("a.asc", &ring)], &signature, days(1)).unwrap();
    assert!(refused(&ring, &signature, days(3)));
}

#[test]
fn a_revoked_key_is_no_key() {
    let home = GpgHome::create().unwrap();
    let fingerprint = home.generate(DEV, "ed25519", "0").unwrap();
    let signature = home.sign(DEV, PAYLOAD, &[]).unwrap();
    home.revoke(&fingerprint).unwrap();
    assert!(refused(&home.public(DEV).unwrap(), &signature, days(0)));
}

#[test]
fn a_signing_subkey_signs_for_its_primary_key() {
    let home = GpgHome::create().unwrap();
    let fingerprint = home.generate(DEV, "ed25519", "0").unwrap();
    let before = home.public(DEV).unwrap();
    home.gpg(&["--quick-add-key", &fingerprint, "ed25519", "sign", "2d"], b"").unwrap();
    let ring = home.public(DEV).unwrap();
    let signature = home.sign(DEV, PAYLOAD, &[]).unwrap();
    let name = verify(&[("a.asc", &ring)], &signature, days(0)).unwrap();
    assert_eq!(name, fingerprint[fingerprint.len() - 16..]);
    assert!(refused(&before, &signature, days(0)), "the ring does not know the subkey");
    assert!(refused(&ring, &signature, days(3)), "the subkey is expired");
    let revoke = b"key 1\nrevkey\ny\n0\n\ny\nsave\n";
    home.gpg(&["--command-fd", "0", "--edit-key", &fingerprint], revoke).unwrap();
    assert!(refused(&home.public(DEV).unwrap(), &signature, days(0)), "the subkey is revoked");
}

#[test]
fn weak_digests_and_certifications_are_refused() {
    let home = GpgHome::create().unwrap();
    home.generate(DEV, "rsa2048", "0").unwrap();
    let ring = home.public(DEV).unwrap();
    let weak = ["--digest-algo", "SHA1", "--allow-weak-digest-algos"];
    assert!(refused(&ring, &home.sign(DEV, PAYLOAD, &weak).unwrap(), days(0)));
}
