//! Chains: all of their certificates are checked for revocation, and those that are not whole are no chains, whatever
//! a policy says.

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CrlDistributionPoint, ExtendedKeyUsagePurpose, IsCa,
    KeyUsagePurpose,
};
use rstest::rstest;
use serde_json::json;
use weir_testkit::{NotationAuthority, NotationSigner};
use weir_verify::notation::{JWS_TYPE, Outcome, SignatureEnvelope, TrustPolicy};

use super::{DIGEST, NOW, good, judge_asking, policy, strict};

const OF_ROOT: &str = "http://root.test/list";
const OF_BELOW: &str = "http://below.test/list";

fn names(list: &'static str) -> impl Fn(&mut CertificateParams) {
    move |params| params.crl_distribution_points = vec![CrlDistributionPoint { uris: vec![list.to_owned()] }]
}

fn judge(
    policy: &TrustPolicy,
    signer: &NotationSigner,
    server: impl Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Outcome, String> {
    let content = signer.sign(DIGEST, &json!({})).unwrap();
    let signature = SignatureEnvelope { media_type: JWS_TYPE.into(), content };
    // All of them are trusted: what is asked about is another question.
    let trusted: String = signer.chain().iter().skip(1).map(Certificate::pem).collect();
    judge_asking(policy, &trusted, &signature, NOW.parse().unwrap(), server)
}

#[rstest]
#[case(&[], &[], None)]
#[case(&[5], &[], Some("signing certificate with subject \"CN=authority below\" is revoked"))]
#[case(&[], &[7], Some("signing certificate with subject \"CN=signer,ST=WA,O=weir,C=US\" is revoked"))]
#[case(&[7], &[5], None)]
fn authorities_are_asked_after_too(
    #[case] of_root: &[u8],
    #[case] of_below: &[u8],
    #[case] expected: Option<&str>,
) {
    let root = NotationAuthority::create(|_| {}).unwrap();
    let below = root.below(names(OF_ROOT)).unwrap();
    let signer = below.signer(names(OF_BELOW)).unwrap();
    let found = judge(&strict(), &signer, |url| match url {
        OF_ROOT => Ok(super::crl::list(&root, of_root)),
        OF_BELOW => Ok(super::crl::list(&below, of_below)),
        other => panic!("{other} is asked"),
    });
    assert_eq!(found.err().as_deref(), expected);
}

type Change = fn(&mut CertificateParams);
type Chain = fn(&mut Vec<Certificate>);

/// Faults of the authority below the root, of the signer, or of the signature's content.
const BROKEN: [(&str, Change, Change, Chain); 9] = [
    ("must end with a root", |_| {}, |_| {}, |chain| chain.truncate(2)),
    ("has a root \"CN=notation authority\" before", |_| {}, |_| {}, |chain| chain.push(chain[2].clone())),
    (
        "certificate with subject \"CN=authority below\" is not issued by \"CN=notation authority\"",
        |_| {},
        |_| {},
        |chain| chain[2] = NotationAuthority::create(|_| {}).unwrap().certificate().clone(),
    ),
    (
        "the key usage of certificate with subject \"CN=authority below\"",
        |params| params.key_usages = vec![KeyUsagePurpose::CrlSign],
        |_| {},
        |_| {},
    ),
    (
        "signs certificates and is no certificate authority",
        |params| params.is_ca = IsCa::NoCa,
        |_| {},
        |_| {},
    ),
    ("has no key usage", |_| {}, |params| params.key_usages.clear(), |_| {}),
    (
        "the key usage of certificate with subject \"CN=signer,ST=WA,O=weir,C=US\"",
        |_| {},
        |params| params.key_usages.push(KeyUsagePurpose::KeyAgreement),
        |_| {},
    ),
    (
        "the extended key usage of",
        |_| {},
        |params| params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth),
        |_| {},
    ),
    (
        "certificate with subject \"CN=signer,ST=WA,O=weir,C=US\" is not issued by",
        |_| {},
        |_| {},
        |chain| {
            chain.swap(1, 2);
        },
    ),
];

#[test]
fn chains_that_are_not_whole() {
    let nobody = |url: &str| panic!("{url} is asked");
    let policy =
        |revocation| policy(json!({"level": "audit", "override": {"revocation": revocation}}), &["*"]);
    for (part, authority, signer, chain) in BROKEN {
        let below = NotationAuthority::create(|_| {}).unwrap().below(authority).unwrap();
        let signer = below.signer(signer).unwrap().with_chain(chain);
        for revocation in ["enforce", "log", "skip"] {
            let error = judge(&policy(revocation), &signer, nobody).unwrap_err();
            assert!(error.contains(part), "{error} instead of {part}");
        }
    }
}

#[test]
fn a_root_that_wants_nobody_below_it() {
    let root = NotationAuthority::create(|params| params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0)))
        .unwrap();
    let nobody = |url: &str| panic!("{url} is asked");
    assert_eq!(judge(&strict(), &root.signer(|_| {}).unwrap(), nobody), Ok(good()));
    // The one below is trusted itself.
    let signer = root.below(|_| {}).unwrap().signer(|_| {}).unwrap();
    let error = judge(&strict(), &signer, nobody).unwrap_err();
    assert!(error.contains("is too far from the leaf for its path length"), "{error}");
}
