//! Signatures of the layout before cosign 3 that no transparency log has promised to keep: a time from somewhere else
//! does not make up for that.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::ExtendedKeyUsagePurpose;
use rstest::rstest;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sigstore_verify::trust_root::TrustedRoot;
use sigstore_verify::types::Bundle;
use sigstore_verify::{VerificationPolicy, Verifier};
use weir_testkit::{CosignSignature, NotationAuthority, NotationSigner, Sigstore};
use weir_verify::cosign::{Keyless, SimpleSigning, Trust};

use super::{DEV, DIGEST, ISSUER, keyless, simple, verify};
use crate::notation::token::Token;

const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
const LOG: &str = "dev.sigstore.cosign/bundle";
const TIMESTAMP: &str = "dev.sigstore.cosign/rfc3161timestamp";

/// A timestamping authority with its certificates.
fn clock() -> NotationSigner {
    let authority = NotationAuthority::create(|_| {}).unwrap();
    let signer = authority.signer(|params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::TimeStamping];
    });
    signer.unwrap()
}

/// The root of an instance with a timestamping authority, as the public instance has one.
fn root(sigstore: &Sigstore, clock: &NotationSigner) -> String {
    let chain = clock.chain().iter().map(|one| json!({"rawBytes": STANDARD.encode(one.der())}));
    let mut root = sigstore.trusted_root();
    root["timestampAuthorities"] = json!([{
        "subject": {"organization": "test", "commonName": "clock"}, "uri": "https://clock.test",
        "certChain": {"certificates": chain.collect::<Vec<_>>()},
        "validFor": {"start": "2020-01-01T00:00:00Z"},
    }]);
    root.to_string()
}

fn trusts_clock(sigstore: &Sigstore, clock: &NotationSigner) -> Trust {
    let keyless = Keyless::new(Some(root(sigstore, clock).as_bytes()), &[]).unwrap();
    Trust::Keyless(Box::new(keyless))
}

/// A signature with a timestamp for it.
fn stamped(sigstore: &Sigstore, clock: &NotationSigner) -> CosignSignature {
    let mut signature = sigstore.sign(DIGEST, DEV, ISSUER).unwrap();
    let bytes = STANDARD.decode(&signature.annotations[SIGNATURE]).unwrap();
    let token = STANDARD.encode(Token::default().encode(&bytes, clock));
    let stamp = json!({"SignedRFC3161Timestamp": token});
    signature.annotations.insert(TIMESTAMP.to_owned(), stamp.to_string());
    signature
}

/// The body of an entry of the log's second version about a signature: entries of that kind have no promise.
fn second_version(signature: &CosignSignature) -> Value {
    let certificate = CertificateDer::from_pem_slice(signature.annotations[CERTIFICATE].as_bytes()).unwrap();
    json!({"apiVersion": "0.0.2", "kind": "hashedrekord", "spec": {"hashedRekordV002": {
        "data": {"algorithm": "SHA2_256", "digest": STANDARD.encode(Sha256::digest(&signature.payload))},
        "signature": {
            "content": signature.annotations[SIGNATURE],
            "verifier": {
                "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                "x509Certificate": {"rawBytes": STANDARD.encode(certificate)},
            },
        },
    }}})
}

/// The body of an entry as the log has it.
fn first_version(signature: &CosignSignature) -> Value {
    let log: Value = serde_json::from_str(&signature.annotations[LOG]).unwrap();
    serde_json::from_slice(&STANDARD.decode(log["Payload"]["body"].as_str().unwrap()).unwrap()).unwrap()
}

/// The library verifies no promise of such entries: if it did, the next test would show nothing.
#[rstest]
#[case(second_version)]
#[case(first_version)]
fn entries_of_their_own_making_are_good_to_the_library(#[case] body: fn(&CosignSignature) -> Value) {
    let (sigstore, clock) = (Sigstore::create().unwrap(), clock());
    let signature = stamped(&sigstore, &clock);
    let body = body(&signature);
    let CosignSignature { payload, annotations } = signature;
    let certificate = CertificateDer::from_pem_slice(annotations[CERTIFICATE].as_bytes()).unwrap();
    let stamp: Value = serde_json::from_str(&annotations[TIMESTAMP]).unwrap();
    let bundle = json!({
        "mediaType": "application/vnd.dev.sigstore.bundle+json;version=0.1",
        "verificationMaterial": {
            "x509CertificateChain": {"certificates": [{"rawBytes": STANDARD.encode(certificate)}]},
            "tlogEntries": [{
                "logIndex": "0", "logId": {"keyId": STANDARD.encode([0xab; 32])},
                "kindVersion": {"kind": body["kind"], "version": body["apiVersion"]},
                "inclusionPromise": {"signedEntryTimestamp": "AAAA"},
                "canonicalizedBody": STANDARD.encode(body.to_string()),
            }],
            "timestampVerificationData": {
                "rfc3161Timestamps": [{"signedTimestamp": stamp["SignedRFC3161Timestamp"]}],
            },
        },
        "messageSignature": {
            "messageDigest": {"algorithm": "SHA2_256", "digest": STANDARD.encode(Sha256::digest(&payload))},
            "signature": annotations[SIGNATURE],
        },
    });
    let bundle = Bundle::from_json(&bundle.to_string()).unwrap();
    let verifier = Verifier::new(&TrustedRoot::from_json(&root(&sigstore, &clock)).unwrap()).unwrap();
    let anyone = VerificationPolicy::any_identity().skip_tlog_unsafe();
    verifier.verify(payload.as_slice(), &bundle, &anyone).unwrap();
}

#[rstest]
#[case(second_version, "is of the kind hashedrekord 0.0.2, not hashedrekord 0.0.1")]
#[case(first_version, "has no time of integration")]
fn entries_of_their_own_making(#[case] body: fn(&CosignSignature) -> Value, #[case] part: &str) {
    let (sigstore, clock) = (Sigstore::create().unwrap(), clock());
    let trust = trusts_clock(&sigstore, &clock);
    let mut signature = stamped(&sigstore, &clock);
    verify(&trust, &simple(signature.clone())).unwrap();
    let forged = json!({
        "SignedEntryTimestamp": "AAAA",
        "Payload": {
            "logIndex": 0, "logID": "ab".repeat(32), "body": STANDARD.encode(body(&signature).to_string()),
        },
    });
    signature.annotations.insert(LOG.to_owned(), forged.to_string());
    let error = verify(&trust, &simple(signature)).unwrap_err().to_string();
    assert!(error.contains(part), "{error}");
}

#[test]
fn a_timestamp_alone_is_not_enough() {
    let (sigstore, clock) = (Sigstore::create().unwrap(), clock());
    let mut signature = stamped(&sigstore, &clock);
    signature.annotations.remove(LOG);
    verify(&trusts_clock(&sigstore, &clock), &simple(signature.clone())).unwrap_err();
    let CosignSignature { payload, annotations } = signature;
    assert!(SimpleSigning { payload, annotations }.log_query().is_some(), "the log is asked");
}

#[test]
fn timestamps_of_strangers_do_no_harm() {
    let (sigstore, stranger) = (Sigstore::create().unwrap(), clock());
    let mut signature = stamped(&sigstore, &stranger);
    verify(&keyless(&sigstore, &[]), &simple(signature.clone())).unwrap();
    verify(&trusts_clock(&sigstore, &clock()), &simple(signature.clone())).unwrap();
    signature.annotations.insert(TIMESTAMP.to_owned(), "junk".to_owned());
    verify(&keyless(&sigstore, &[]), &simple(signature)).unwrap();
}
