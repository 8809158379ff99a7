//! Bundles, simple signing payloads with their annotations, public keys and trusted roots from anybody: no panic, and
//! the public Sigstore instance never vouches for what it did not see.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use weir_verify::cosign::{Keyless, PublicKeys, Signature, SimpleSigning, Trust};

const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const ANNOTATIONS: [&str; 5] = [
    "dev.cosignproject.cosign/signature",
    "dev.sigstore.cosign/certificate",
    "dev.sigstore.cosign/chain",
    "dev.sigstore.cosign/bundle",
    "dev.sigstore.cosign/rfc3161timestamp",
];

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(2 + ANNOTATIONS.len(), |byte| *byte == 0x1f);
    let mut next = || parts.next().unwrap_or_default().to_vec();
    let (content, trust) = (next(), next());
    let annotations = ANNOTATIONS.map(|_| String::from_utf8_lossy(&next()).into_owned());
    let payload =
        format!(r#"{{"critical":{{"image":{{"docker-manifest-digest":"{DIGEST}"}}}}}}"#).into_bytes();
    let annotations: BTreeMap<_, _> = ANNOTATIONS.map(str::to_owned).into_iter().zip(annotations).collect();
    let signatures = [Signature::Bundle(content), Signature::Simple(SimpleSigning { payload, annotations })];
    let keys =
        PublicKeys::from_secret(&BTreeMap::from([("a.pub".to_owned(), trust.clone())])).map(Trust::Keys);
    let own = Keyless::new(Some(&trust), &[]).map(|root| Trust::Keyless(Box::new(root)));
    let public = Keyless::new(None, &[]).map(|root| Trust::Keyless(Box::new(root)));
    for trust in [keys, own].into_iter().flatten() {
        let _ = trust.verify(DIGEST, &signatures);
    }
    assert!(public.is_ok_and(|public| public.verify(DIGEST, &signatures).is_err()));
});
