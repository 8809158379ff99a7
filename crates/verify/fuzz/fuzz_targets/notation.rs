//! Trust policies, certificates and envelopes from anybody: no panic.
#![no_main]

use std::collections::BTreeMap;

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use weir_verify::notation::{Answers, COSE_TYPE, Certificates, JWS_TYPE, SignatureEnvelope, TrustPolicy};

const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const POLICY: &str = r#"{"version":"1.0","trustPolicies":[{"name":"a","registryScopes":["*"],
    "signatureVerification":{"level":"strict"},"trustStores":["ca:a"],"trustedIdentities":["*"]}]}"#;

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(3, |byte| *byte == 0x1f);
    let [policy, certificate, content] = std::array::from_fn(|_| parts.next().unwrap_or_default().to_vec());
    let _ = TrustPolicy::parse(&policy);
    let certificates = Certificates::from_secret(&BTreeMap::from([("a.crt".to_owned(), certificate)]));
    let (Ok(policy), Ok(Some(certificates))) = (TrustPolicy::parse(POLICY.as_bytes()), certificates) else {
        return;
    };
    let Ok(statement) = policy.statement("r/a", "r/a") else { return };
    for kind in [JWS_TYPE, COSE_TYPE] {
        let signature = SignatureEnvelope { media_type: kind.to_owned(), content: content.clone() };
        let _ =
            statement.verify(&certificates, &signature, DIGEST, Timestamp::UNIX_EPOCH, &Answers::default());
    }
});
