//! Answers, lists and tokens of another hand: OpenSSL makes them here and now.

use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use rcgen::{
    CertificateParams, CrlDistributionPoint, CustomExtension, KeyPair, KeyUsagePurpose, RsaKeySize,
    date_time_ymd,
};
use rstest::rstest;
use serde_json::{Value, json};
use weir_testkit::{Folder, NotationAuthority, NotationSigner, ocsp_servers};
use weir_verify::notation::{JWS_TYPE, Outcome, SignatureEnvelope, TrustPolicy};

use super::token::{signature_of, stamped};
use super::{DIGEST, good, judge_asking, strict};

const SERVER: &str = "http://ocsp.test";
const LIST: &str = "http://crl.test/list";

/// Record of an authority in the syntax of `openssl ca`: the signer with the serial number 7.
const VALID: &str = "V\t391231235959Z\t\t07\tunknown\t/CN=signer\n";
const REVOKED: &str = "R\t391231235959Z\t220101000000Z,keyCompromise\t07\tunknown\t/CN=signer\n";
const HOLD: &str = "R\t391231235959Z\t220101000000Z,certificateHold\t07\tunknown\t/CN=signer\n";
const LOST: &str = "R\t391231235959Z\t220101000000Z,keyTime,20210501000000Z\t07\tunknown\t/CN=signer\n";
const NOTHING: &str = "V\t391231235959Z\t\t08\tunknown\t/CN=other\n";

const CONFIGURATION: &str = "
[ca]
default_ca = authority
[authority]
database = index.txt
crlnumber = number.txt
default_md = sha256
default_crl_days = 1
[tsa]
default_tsa = clock
[clock]
serial = serial.txt
digests = sha256, sha512
default_policy = 1.2.3.4
signer_digest = sha512
accuracy = secs:1, millisecs:500, microsecs:100
clock_precision_digits = 3
ordering = yes
tsa_name = yes
ess_cert_id_chain = no
ess_cert_id_alg = sha256
crypto_device = builtin
";

fn openssl(folder: &Folder, arguments: &[&str]) {
    let output = Command::new("openssl").current_dir(folder.path()).args(arguments).output();
    let output = output.expect("openssl is missing: apt-get install openssl");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn folder(authority: &NotationAuthority, index: &str) -> Folder {
    let folder = Folder::new("openssl").unwrap();
    for (name, content) in [
        ("openssl.cnf", CONFIGURATION),
        ("ca.pem", &authority.certificate().pem()),
        ("ca.key", &authority.key_pem()),
        ("index.txt", index),
        ("index.txt.attr", "unique_subject = no\n"),
        ("number.txt", "01\n"),
        ("serial.txt", "01\n"),
    ] {
        folder.write(name, content).unwrap();
    }
    folder
}

fn judge(
    policy: &TrustPolicy,
    trusted: &str,
    content: Vec<u8>,
    server: impl Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Outcome, String> {
    let signature = SignatureEnvelope { media_type: JWS_TYPE.into(), content };
    judge_asking(policy, trusted, &signature, Timestamp::now(), server)
}

fn ends(found: Result<Outcome, String>, expected: Option<&str>) {
    match (found, expected) {
        (Ok(outcome), None) => assert_eq!(outcome, good()),
        (Err(error), Some(part)) => assert!(error.contains(part), "{error}"),
        (found, _) => panic!("{found:?} instead of {expected:?}"),
    }
}

#[rstest]
#[case(VALID, None)]
#[case(REVOKED, Some("is revoked"))]
#[case(HOLD, Some("is revoked"))]
#[case(LOST, Some("is revoked"))]
#[case(NOTHING, Some("certificate has unknown status"))]
fn its_responder(#[case] index: &str, #[case] expected: Option<&str>) {
    let authority = NotationAuthority::create(|_| {}).unwrap();
    let signer = authority.signer(|params| params.custom_extensions.push(ocsp_servers(&[SERVER]))).unwrap();
    let folder = folder(&authority, index);
    let found = judge(&strict(), &signer.trusted_pem(), signer.sign(DIGEST, &json!({})).unwrap(), |url| {
        let request = percent_decode_str(url.strip_prefix("http://ocsp.test/").unwrap());
        let request = STANDARD.decode(request.decode_utf8().unwrap().as_bytes()).unwrap();
        folder.write("request", request).unwrap();
        let files = ["-index", "index.txt", "-CA", "ca.pem", "-rsigner", "ca.pem", "-rkey", "ca.key"];
        let more = ["-ndays", "1", "-reqin", "request", "-respout", "response"];
        openssl(&folder, &[&["ocsp"][..], &files, &more].concat());
        Ok(std::fs::read(folder.join("response")).unwrap())
    });
    ends(found, expected);
}

#[rstest]
#[case(VALID, None)]
#[case(REVOKED, Some("is revoked"))]
#[case(HOLD, Some("is revoked"))]
#[case(LOST, Some("is revoked"))]
#[case(NOTHING, None)]
fn its_lists(#[case] index: &str, #[case] expected: Option<&str>) {
    let authority = NotationAuthority::create(|_| {}).unwrap();
    let signer = authority.signer(|params| {
        params.crl_distribution_points = vec![CrlDistributionPoint { uris: vec![LIST.into()] }];
    });
    let signer = signer.unwrap();
    let folder = folder(&authority, index);
    let files = ["-config", "openssl.cnf", "-cert", "ca.pem", "-keyfile", "ca.key", "-out", "list.pem"];
    openssl(&folder, &[&["ca", "-gencrl"][..], &files].concat());
    openssl(&folder, &["crl", "-in", "list.pem", "-outform", "DER", "-out", "list"]);
    let list = std::fs::read(folder.join("list")).unwrap();
    let content = signer.sign(DIGEST, &json!({})).unwrap();
    ends(judge(&strict(), &signer.trusted_pem(), content, |_| Ok(list.clone())), expected);
}

/// Each size of a key has its algorithm.
#[rstest]
#[case(RsaKeySize::_2048, "PS256", "-sha256", true)]
#[case(RsaKeySize::_2048, "PS512", "-sha512", false)]
#[case(RsaKeySize::_3072, "PS384", "-sha384", true)]
#[case(RsaKeySize::_3072, "PS256", "-sha256", false)]
#[case(RsaKeySize::_4096, "PS512", "-sha512", true)]
fn its_signatures_with_rsa(
    #[case] size: RsaKeySize,
    #[case] algorithm: &str,
    #[case] hash: &str,
    #[case] is_good: bool,
) {
    let authority = NotationAuthority::create(|_| {}).unwrap();
    let key = KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size).unwrap();
    let mut params = CertificateParams::default();
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2040, 1, 1));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let certificate = params.signed_by(&key, authority.issuer()).unwrap();
    let signer = NotationSigner::new(key, vec![certificate, authority.certificate().clone()]);
    let mut envelope: Value =
        serde_json::from_slice(&signer.sign(DIGEST, &json!({"alg": algorithm})).unwrap()).unwrap();
    let part = |name: &str| envelope[name].as_str().unwrap().to_owned();
    let folder = folder(&authority, VALID);
    folder.write("rsa.key", signer.key_pem()).unwrap();
    folder.write("message", format!("{}.{}", part("protected"), part("payload"))).unwrap();
    let padding = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"];
    let files = ["-sign", "rsa.key", "-out", "signature", "message"];
    openssl(&folder, &[&["dgst", hash][..], &padding, &files].concat());
    envelope["signature"] = URL_SAFE_NO_PAD.encode(std::fs::read(folder.join("signature")).unwrap()).into();
    let nobody = |url: &str| panic!("{url} is asked");
    let found = judge(&strict(), &signer.trusted_pem(), envelope.to_string().into_bytes(), nobody);
    ends(found, (!is_good).then_some("does not go with the key of the signing certificate"));
}

#[test]
fn its_timestamps() {
    let authority = NotationAuthority::create(|_| {}).unwrap();
    let signer = authority.signer(|_| {}).unwrap();
    let clock = authority.signer(|params| {
        params.extended_key_usages.clear();
        let time_only = vec![0x30, 10, 0x06, 8, 0x2b, 6, 1, 5, 5, 7, 3, 8];
        let mut usage = CustomExtension::from_oid_content(&[2, 5, 29, 37], time_only);
        usage.set_criticality(true);
        params.custom_extensions.push(usage);
    });
    let clock = clock.unwrap();
    let folder = folder(&authority, VALID);
    let envelope = signer.sign(DIGEST, &json!({})).unwrap();
    folder.write("clock.pem", clock.own_pem()).unwrap();
    folder.write("clock.key", clock.key_pem()).unwrap();
    folder.write("message", signature_of(&envelope)).unwrap();
    openssl(&folder, &["ts", "-query", "-data", "message", "-sha512", "-cert", "-out", "query"]);
    let files =
        ["-config", "openssl.cnf", "-queryfile", "query", "-signer", "clock.pem", "-inkey", "clock.key"];
    openssl(&folder, &[&["ts", "-reply"][..], &files, &["-token_out", "-out", "token"]].concat());
    let token = std::fs::read(folder.join("token")).unwrap();
    let policy = json!({"version": "1.0", "trustPolicies": [{
        "name": "test", "registryScopes": ["*"], "signatureVerification": {"level": "strict"},
        "trustStores": ["ca:test", "tsa:clocks"], "trustedIdentities": ["*"],
    }]});
    let policy = TrustPolicy::parse(policy.to_string().as_bytes()).unwrap();
    let nobody = |url: &str| panic!("{url} is asked");
    let judged =
        |envelope: &[u8]| judge(&policy, &authority.certificate().pem(), stamped(envelope, &token), nobody);
    assert_eq!(judged(&envelope), Ok(good()));
    let another = signer.sign(&DIGEST.replace('a', "b"), &json!({})).unwrap();
    assert_eq!(judged(&another).unwrap_err(), "content descriptor mismatch");
    let again = signer.sign(DIGEST, &json!({"io.cncf.notary.signingTime": "2021-07-01T00:00:00Z"})).unwrap();
    ends(judged(&again), Some("mismatched message"));
}
