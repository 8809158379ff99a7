//! Cosign's signatures, made by the test kit from the documented formats.

mod unlogged;

use std::collections::BTreeMap;

use rstest::rstest;
use serde_json::json;
use weir_testkit::{CosignAlgorithm, CosignKey, CosignSignature, Sigstore};
use weir_verify::cosign::{
    CosignError, Identity, Keyless, PublicKeys, Signature, SimpleSigning, Trust, TrustError,
};

use crate::secret;

const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const OTHER: &str = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const DEV: &str = "dev@example.com";
const ISSUER: &str = "https://accounts.example.com";
const WORKFLOW: &str = "https://github.com/org/app/.github/workflows/release.yaml@refs/heads/main";

fn simple(signature: CosignSignature) -> Signature {
    let CosignSignature { payload, annotations } = signature;
    Signature::Simple(SimpleSigning { payload, annotations })
}

fn both(key: &CosignKey, digest: &str) -> [Signature; 2] {
    [simple(key.sign(digest).unwrap()), Signature::Bundle(key.bundle(digest).unwrap().into_bytes())]
}

fn trust(keys: &[(&str, &CosignKey)]) -> Trust {
    let keys: Vec<_> = keys.iter().map(|(name, key)| (*name, key.public_pem())).collect();
    let entries: Vec<_> = keys.iter().map(|(name, pem)| (*name, pem.as_str())).collect();
    Trust::Keys(PublicKeys::from_secret(&secret(&entries)).unwrap())
}

fn verify(trust: &Trust, signature: &Signature) -> Result<(), CosignError> {
    trust.verify(DIGEST, std::slice::from_ref(signature))
}

#[rstest]
#[case(CosignAlgorithm::P256)]
#[case(CosignAlgorithm::P384)]
#[case(CosignAlgorithm::P521)]
#[case(CosignAlgorithm::Ed25519)]
#[case(CosignAlgorithm::Rsa)]
fn keys_of_all_kinds_in_both_layouts(#[case] algorithm: CosignAlgorithm) {
    let (key, stranger) =
        (CosignKey::generate(algorithm).unwrap(), CosignKey::generate(CosignAlgorithm::P256).unwrap());
    for signature in both(&key, DIGEST) {
        verify(&trust(&[("a.pub", &key)]), &signature).unwrap();
        verify(&trust(&[("a.pub", &stranger), ("z.pub", &key)]), &signature).unwrap();
        let error = verify(&trust(&[("a.pub", &stranger)]), &signature).unwrap_err();
        assert!(error.to_string().starts_with("no matching signatures: invalid signature"), "{error}");
    }
}

#[test]
fn a_signature_over_another_digest_proves_nothing() {
    let key = CosignKey::generate(CosignAlgorithm::P256).unwrap();
    let trust = trust(&[("a.pub", &key)]);
    let errors = both(&key, OTHER).map(|signature| verify(&trust, &signature).unwrap_err().to_string());
    assert_eq!(
        errors,
        [
            format!("no matching signatures: signature is for '{OTHER}', not for '{DIGEST}'"),
            format!("no matching signatures: bundle is not about '{DIGEST}'"),
        ]
    );
    let mut moved = key.sign(OTHER).unwrap();
    moved.payload = key.sign(DIGEST).unwrap().payload;
    let moved = refusal(&trust, &simple(moved));
    assert!(moved.starts_with("invalid signature"), "{moved}");
}

#[test]
fn one_good_signature_among_others_is_enough() {
    let (key, stranger) = (
        CosignKey::generate(CosignAlgorithm::P256).unwrap(),
        CosignKey::generate(CosignAlgorithm::P256).unwrap(),
    );
    let trust = trust(&[("a.pub", &key)]);
    let [good, _] = both(&key, DIGEST);
    let [bad, _] = both(&stranger, DIGEST);
    let junk = Signature::Bundle(b"junk".to_vec());
    trust.verify(DIGEST, &[bad.clone(), junk.clone(), good]).unwrap();
    assert_eq!(trust.verify(DIGEST, &[]).unwrap_err(), CosignError::NoSignatures);
    let CosignError::NoMatch { causes } = trust.verify(DIGEST, &[bad.clone(), junk, bad]).unwrap_err() else {
        panic!("no causes")
    };
    assert_eq!(causes.len(), 2, "{causes:?}");
}

#[test]
fn secrets_without_keys() {
    let none = PublicKeys::from_secret(&secret(&[("a.asc", "x")]));
    assert_eq!(none, Err(TrustError::NoKeys));
    let junk = PublicKeys::from_secret(&secret(&[("a.pub", "junk")])).unwrap_err();
    assert!(junk.to_string().starts_with("key 'a.pub' is no public key: "), "{junk}");
}

fn keyless(sigstore: &Sigstore, identities: &[(&str, &str)]) -> Trust {
    let identities: Vec<_> = identities
        .iter()
        .map(|(issuer, subject)| Identity { issuer: (*issuer).into(), subject: (*subject).into() })
        .collect();
    let root = sigstore.trusted_root().to_string();
    Trust::Keyless(Box::new(Keyless::new(Some(root.as_bytes()), &identities).unwrap()))
}

fn both_keyless(sigstore: &Sigstore, digest: &str, subject: &str) -> [Signature; 2] {
    let bundle = sigstore.bundle(digest, subject, ISSUER).unwrap().to_string();
    [simple(sigstore.sign(digest, subject, ISSUER).unwrap()), Signature::Bundle(bundle.into_bytes())]
}

#[rstest]
#[case(DEV, &[], true)]
#[case(DEV, &[("^https://accounts.example.com$", "^dev@example.com$")], true)]
#[case(DEV, &[("nobody", ".*"), (".*", "@example.com$")], true)]
#[case(DEV, &[("^https://accounts.example.com$", "^ops@")], false)]
#[case(DEV, &[("^https://token", "^dev@")], false)]
#[case(WORKFLOW, &[(".*", "^https://github.com/org/.*$")], true)]
#[case(WORKFLOW, &[(".*", "^https://github.com/other/.*$")], false)]
fn identities(#[case] subject: &str, #[case] wanted: &[(&str, &str)], #[case] is_good: bool) {
    let sigstore = Sigstore::create().unwrap();
    let trust = keyless(&sigstore, wanted);
    for signature in both_keyless(&sigstore, DIGEST, subject) {
        let verified = verify(&trust, &signature);
        assert_eq!(verified.is_ok(), is_good, "{verified:?}");
        if let Err(error) = verified {
            let part = format!("got subjects [{subject}] with issuer {ISSUER}");
            assert!(error.to_string().contains(&part), "{error}");
        }
    }
}

/// Returns the reason for which one signature is refused.
fn refusal(trust: &Trust, signature: &Signature) -> String {
    match verify(trust, signature) {
        Err(CosignError::NoMatch { causes }) => causes.join("\n"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_instance_an_expired_certificate_and_another_digest_are_refused() {
    let (ours, theirs) = (Sigstore::create().unwrap(), Sigstore::create().unwrap());
    let expired = Sigstore::create_expired().unwrap();
    let public = Trust::Keyless(Box::new(Keyless::new(None, &[]).unwrap()));
    let other_digest = [
        format!("signature is for '{OTHER}', not for '{DIGEST}'"),
        "artifact hash does not match".to_owned(),
    ];
    let no_key = ["No log key valid", "No log key valid"].map(str::to_owned);
    for (trust, signatures, reasons) in [
        (keyless(&ours, &[]), both_keyless(&theirs, DIGEST, DEV), no_key.clone()),
        (keyless(&expired, &[]), both_keyless(&expired, DIGEST, DEV), ["CertExpired"; 2].map(str::to_owned)),
        (keyless(&ours, &[]), both_keyless(&ours, OTHER, DEV), other_digest),
        (public, both_keyless(&ours, DIGEST, DEV), no_key),
    ] {
        for (signature, reason) in signatures.iter().zip(reasons) {
            let refusal = refusal(&trust, signature);
            assert!(refusal.contains(&reason), "{refusal}");
        }
    }
}

#[test]
fn what_a_log_or_a_certificate_log_did_not_see_is_refused() {
    let sigstore = Sigstore::create().unwrap();
    let trust = keyless(&sigstore, &[]);
    let good = sigstore.bundle(DIGEST, DEV, ISSUER).unwrap();
    let entry = "/verificationMaterial/tlogEntries/0";
    for (pointer, value, reason) in [
        ("/verificationMaterial/tlogEntries", json!([]), "bundle must have an inclusion proof"),
        (&format!("{entry}/integratedTime"), json!("1"), "No log key valid at integrated time 1970-01-01"),
        (
            &format!("{entry}/inclusionProof/rootHash"),
            json!("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
            "root hash does not match checkpoint",
        ),
        (&format!("{entry}/canonicalizedBody"), json!("e30="), "SET verification failed"),
    ] {
        let mut bundle = good.clone();
        *bundle.pointer_mut(pointer).unwrap() = value;
        let refusal = refusal(&trust, &Signature::Bundle(bundle.to_string().into_bytes()));
        assert!(refusal.contains(reason), "{pointer}: {refusal}");
    }
    let mut unseen = sigstore.sign(DIGEST, DEV, ISSUER).unwrap();
    unseen.annotations.remove("dev.sigstore.cosign/bundle");
    let unseen = refusal(&trust, &simple(unseen));
    assert!(unseen.contains("must have an inclusion promise"), "{unseen}");
    let mut root = sigstore.trusted_root();
    root["ctlogs"] = json!([]);
    let no_ct = Keyless::new(Some(root.to_string().as_bytes()), &[]).unwrap();
    let good = Signature::Bundle(good.to_string().into_bytes());
    let no_ct = refusal(&Trust::Keyless(Box::new(no_ct)), &good);
    assert!(no_ct.contains("no CT log keys in trusted root"), "{no_ct}");
    verify(&trust, &good).unwrap();
}

#[test]
fn a_log_entry_of_another_signature_is_refused() {
    let sigstore = Sigstore::create().unwrap();
    let trust = keyless(&sigstore, &[]);
    let (one, other) =
        (sigstore.sign(DIGEST, DEV, ISSUER).unwrap(), sigstore.sign(OTHER, DEV, ISSUER).unwrap());
    let mut mixed = one.annotations.clone();
    let key = "dev.sigstore.cosign/bundle".to_owned();
    mixed.insert(key.clone(), other.annotations[&key].clone());
    let mixed = refusal(&trust, &simple(CosignSignature { payload: one.payload, annotations: mixed }));
    assert!(mixed.contains("artifact hash mismatch"), "{mixed}");
}

#[rstest]
#[case("junk", "unable to parse trusted root: ")]
#[case(
    r#"{"mediaType":"x","tlogs":[]}"#,
    "unable to extract Rekor URL from trusted root: no transparency log entries found in trusted root"
)]
fn roots_that_are_none(#[case] root: &str, #[case] message: &str) {
    let error = Keyless::new(Some(root.as_bytes()), &[]).err().unwrap().to_string();
    assert!(error.starts_with(message), "{error}");
}

#[test]
fn a_root_whose_log_has_no_address_and_identities_that_are_no_patterns() {
    let sigstore = Sigstore::create().unwrap();
    let mut root = sigstore.trusted_root();
    root["tlogs"][0]["baseUrl"] = json!("");
    assert_eq!(Keyless::new(Some(root.to_string().as_bytes()), &[]).err(), Some(TrustError::NoLogUrl));
    let identity = Identity { issuer: "(".into(), subject: ".*".into() };
    let error = Keyless::new(None, &[identity]).err().unwrap();
    assert_eq!(
        error.to_string(),
        "malformed issuer of an identity '(': error parsing regexp: missing closing ): `(`"
    );
}

#[test]
fn damaged_signatures_never_pass() {
    let key = CosignKey::generate(CosignAlgorithm::P256).unwrap();
    let trust = trust(&[("a.pub", &key)]);
    let good = key.sign(DIGEST).unwrap();
    for at in 0..good.payload.len() {
        let mut damaged = good.clone();
        damaged.payload[at] ^= 1;
        verify(&trust, &simple(damaged)).unwrap_err();
    }
    let nothing = CosignSignature { annotations: BTreeMap::new(), ..good };
    verify(&trust, &simple(nothing)).unwrap_err();
}
