//! Names of signers, compared with those that a policy trusts.

use rcgen::DnType;
use rstest::rstest;
use serde_json::json;
use weir_testkit::NotationCertificate::Good;
use weir_testkit::{NotationAuthority, NotationSigner};

use super::{DIGEST, good, judge, policy, strict};

/// Attributes of subjects; the test kit's library has each of its own kinds only once.
const NAME: &[u64] = &[2, 5, 4, 3];
const UNIT: &[u64] = &[2, 5, 4, 11];
const TWICE: &str = "error while parsing the certificate subject from the digital signature. error : \"distinguished name (DN) \
                     \\\"CN=signer,ST=WA,OU=guests+OU=release,O=weir,C=US\\\" has multi-valued RDN attributes, remove \
                     multi-valued RDN attributes as they are not supported\"";
const NUMBER: &str = "error while parsing the certificate subject from the digital signature. error : \"unsupported distinguished name \
                      (DN) \\\"CN=signer,ST=WA,O=weir,C=US,1.2.840.113549.1.9.1=#0c0d61406578616d706c652e636f6d\\\": notation does \
                      not support x509.subject identities containing \\\"=#\\\"\"";
const EMAIL: &[u64] = &[1, 2, 840, 113549, 1, 9, 1];

#[rstest]
#[case(&["x509.subject: C=US, ST=WA, O=weir"], true)]
#[case(&["x509.subject: C=US, S=WA, O=weir, CN=signer"], true)]
#[case(&["x509.subject: C=DE, ST=BE, O=weir", "x509.subject: O=weir,ST=WA,C=US"], true)]
#[case(&["x509.subject: C=US, ST=WA, O=weir\\, inc"], false)]
#[case(&["x509.subject: C=US, ST=WA, O=weir, CN=other"], false)]
#[case(&["x509.subject: C=US, ST=WA, O=weir", "my-plugin:foo"], true)]
#[case(&["my-plugin:foo", "x509.subject: C=US, ST=WA, O=other"], false)]
#[case(&["x509.subject: C=US, ST=WA, O=weir, OU="], true)]
#[case(&["x509.subject: C=US; ST=WA; O=\\77eir"], true)]
#[case(&["x509.subject: C=US, ST=WA, O=weir, CN="], false)]
fn identities(#[case] trusted: &[&str], #[case] is_good: bool) {
    let signer = NotationSigner::create(Good).unwrap();
    let signature = signer.sign(DIGEST, &json!({})).unwrap();
    let found = judge(&policy(json!({"level": "strict"}), trusted), &signer.trusted_pem(), signature);
    assert_eq!(found.is_ok(), is_good, "{found:?}");
}

/// A subject that could be read in two ways, or that has what nobody can name in a policy, is no identity.
#[rstest]
#[case::once(&[(UNIT, "release")], "OU=release", Ok(()))]
#[case::twice(&[(UNIT, "guests"), (UNIT, "release")], "OU=release", Err(TWICE))]
#[case::twice_unasked(&[(UNIT, "guests"), (UNIT, "release")], "CN=signer", Err(TWICE))]
#[case::unknown(&[(EMAIL, "a@example.com")], "CN=signer", Err(NUMBER))]
#[case::last_name(&[(NAME, "release")], "CN=release", Ok(()))]
#[case::first_name(&[(NAME, "release")], "CN=signer", Err("signing certificate from the digital signature does not match \
    the X.509 trusted identities [map[\"C\":\"US\" \"CN\":\"signer\" \"O\":\"weir\" \"ST\":\"WA\"]] defined in the trust policy \"test\""))]
fn subjects(#[case] more: &[(&[u64], &str)], #[case] wanted: &str, #[case] expected: Result<(), &str>) {
    let authority = NotationAuthority::create(|_| {}).unwrap();
    let signer = authority.signer(|params| {
        for (at, (kind, value)) in more.iter().enumerate() {
            let kind = match (at, *kind) {
                (0, UNIT) => DnType::OrganizationalUnitName,
                (_, kind) => DnType::CustomDnType(kind.to_vec()),
            };
            params.distinguished_name.push(kind, *value);
        }
    });
    let signer = signer.unwrap();
    let signature = signer.sign(DIGEST, &json!({})).unwrap();
    let identity = format!("x509.subject: C=US, ST=WA, O=weir, {wanted}");
    let found =
        judge(&policy(json!({"level": "strict"}), &[&identity]), &signer.trusted_pem(), signature.clone());
    match (found, expected) {
        (Ok(outcome), Ok(())) => assert_eq!(outcome, good()),
        (Err(error), Err(expected)) => assert_eq!(error, expected),
        (found, _) => panic!("{found:?} instead of {expected:?}"),
    }
    assert_eq!(judge(&strict(), &signer.trusted_pem(), signature), Ok(good()), "anybody of the authority");
}

#[test]
fn identities_for_plugins_alone_trust_nobody() {
    let signer = NotationSigner::create(Good).unwrap();
    let signature = signer.sign(DIGEST, &json!({})).unwrap();
    let policy = policy(json!({"level": "strict"}), &["my-plugin:foo"]);
    let error = judge(&policy, &signer.trusted_pem(), signature).unwrap_err();
    assert_eq!(error, "no x509 trusted identities are configured in the trust policy \"test\"");
}
