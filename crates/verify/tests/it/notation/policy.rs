//! Trust policies and the certificates beside them in a Secret.

use rstest::rstest;
use serde_json::{Value, json};
use weir_testkit::NotationCertificate::Good;
use weir_testkit::NotationSigner;
use weir_verify::notation::{Answers, Certificates, JWS_TYPE, Judgement, SignatureEnvelope, TrustPolicy};

use super::{DIGEST, NOW, REPOSITORY, UNTRUSTED};
use crate::secret;

fn statement(more: Value) -> Value {
    let mut statement = json!({
        "name": "a", "registryScopes": ["*"], "signatureVerification": {"level": "strict"},
        "trustStores": ["ca:x"], "trustedIdentities": ["*"],
    });
    statement.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    statement
}

fn one_trusting(identities: &[&str]) -> Value {
    json!({"version": "1.0", "trustPolicies": [statement(json!({"trustedIdentities": identities}))]})
}

#[rstest]
#[case(json!({}), "trust policy document has empty version, version must be specified")]
#[case(json!({"version": "2.0"}), "trust policy document uses unsupported version \"2.0\"")]
#[case(json!({"version": "1.0"}), "trust policy document can not have zero trust policy statements")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"name": ""}))]}),
    "trust policy: a trust policy statement is missing a name, every statement requires a name")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({})), statement(json!({"registryScopes": ["r/a"]}))]}),
    "multiple trust policy statements use the same name \"a\", statement names must be unique")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({})), statement(json!({"name": "b"}))]}),
    "registry scope \"*\" is present in multiple trust policy statements, one registry scope value can only be associated \
     with one statement")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"registryScopes": []}))]}),
    "trust policy statement \"a\" has zero registry scopes, it must specify registry scopes with at least one value")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"registryScopes": ["*", "r/a"]}))]}),
    "trust policy statement \"a\" uses wildcard registry scope '*', a wildcard scope cannot be used in conjunction with \
     other scope values")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"signatureVerification": {"level": "lax"}}))]}),
    "trust policy: trust policy statement \"a\" has invalid signatureVerification: invalid signature verification level \"lax\"")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"trustStores": []}))]}),
    "trust policy: trust policy statement \"a\" is either missing trust stores or trusted identities, both must be specified")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"trustStores": ["x:y"]}))]}),
    "trust policy: trust policy statement \"a\" uses an unsupported trust store type \"x\" in trust store value \"x:y\"")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"trustStores": ["ca:a b"]}))]}),
    "trust policy: trust policy statement \"a\" uses an unsupported trust store name \"a b\" in trust store value \"ca:a b\". \
     Named store name needs to follow [a-zA-Z0-9_.-]+ format")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"trustStores": ["x"]}))]}),
    "trust policy: trust policy statement \"a\" has malformed trust store value \"x\". The required format is \
     <TrustStoreType>:<TrustStoreName>")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"signatureVerification":
    {"level": "strict", "override": {"authenticity": "skip"}}}))]}),
    "trust policy: trust policy statement \"a\" has invalid signatureVerification: \"authenticity\" verification can not be skipped in \
     custom signature verification")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"signatureVerification":
    {"level": "strict", "override": {"integrity": "log"}}}))]}),
    "trust policy: trust policy statement \"a\" has invalid signatureVerification: \"integrity\" verification can not be overridden in \
     custom signature verification")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"signatureVerification":
    {"level": "strict", "override": {"name": "log"}}}))]}),
    "trust policy: trust policy statement \"a\" has invalid signatureVerification: verification type \"name\" in custom signature \
     verification is not supported, supported values are [\"integrity\" \"authenticity\" \"authenticTimestamp\" \"expiry\" \
     \"revocation\"]")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"signatureVerification":
    {"level": "strict", "override": {"expiry": "Log"}}}))]}),
    "trust policy: trust policy statement \"a\" has invalid signatureVerification: verification action \"Log\" in custom signature \
     verification is not supported, supported values are [\"enforce\" \"log\" \"skip\"]")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"signatureVerification":
    {"level": "strict", "verifyTimestamp": "never"}}))]}),
    "trust policy: trust policy statement \"a\" has invalid signatureVerification: verifyTimestamp must be \"always\" or \
     \"afterCertExpiry\", but got \"never\"")]
#[case(one_trusting(&["*", "x509.subject: C=US, ST=WA, O=acme"]),
    "trust policy: trust policy statement \"a\" uses a wildcard trusted identity '*', a wildcard identity cannot be used in \
     conjunction with other values")]
#[case(one_trusting(&["x509.subject: C=US, ST=WA, O=acme, OU=ops", "x509.subject: C=US, O=acme, S=WA"]),
    "trust policy: trust policy statement \"a\" has overlapping x509 trustedIdentities, \"x509.subject: C=US, O=acme, S=WA\" \
     overlaps with \"x509.subject: C=US, ST=WA, O=acme, OU=ops\"")]
#[case(one_trusting(&[""]), "trust policy: trust policy statement \"a\" has an empty trusted identity")]
#[case(one_trusting(&["acme"]), "trust policy: trust policy statement \"a\" has trusted identity \"acme\" missing separator")]
#[case(one_trusting(&["x509.subject:"]),
    "trust policy: trust policy statement \"a\" has trusted identity \"x509.subject:\" without an identity value")]
fn policies_that_break_a_rule(#[case] policy: Value, #[case] message: &str) {
    assert_eq!(TrustPolicy::parse(policy.to_string().as_bytes()).unwrap_err().to_string(), message);
}

const AT_LEAST: &str = "'C', 'ST' or 'S', and 'O' RDN attributes at a minimum";

/// Names that could be read in two ways, or in none.
#[rstest]
#[case(
    " C=US",
    "distinguished name (DN) \" C=US\" has no mandatory RDN attribute for \"ST\", it must contain {}"
)]
#[case(
    "C=US, ST=WA, O=",
    "distinguished name (DN) \"C=US, ST=WA, O=\" has no mandatory RDN attribute for \"O\", it must contain {}"
)]
#[case(
    "c=US,ST=WA,O=a",
    "distinguished name (DN) \"c=US,ST=WA,O=a\" has no mandatory RDN attribute for \"C\", it must contain {}"
)]
#[case(
    "C=US,ST=WA,O=a,OU=a,OU=b",
    "distinguished name (DN) \"C=US,ST=WA,O=a,OU=a,OU=b\" has duplicate RDN attribute for \"OU\", \
    DN can only have unique RDN attributes"
)]
#[case(
    "C=US,S=WA,ST=WA,O=a",
    "distinguished name (DN) \"C=US,S=WA,ST=WA,O=a\" has duplicate RDN attribute for \"ST\", \
    DN can only have unique RDN attributes"
)]
#[case(
    "C=US+ST=WA,O=a",
    "distinguished name (DN) \"C=US+ST=WA,O=a\" has multi-valued RDN attributes, remove multi-valued RDN \
    attributes as they are not supported"
)]
#[case(
    "C=US,ST=WA,O=#0c",
    "unsupported distinguished name (DN) \"C=US,ST=WA,O=#0c\": notation does not support x509.subject \
    identities containing \"=#\""
)]
#[case(
    "C=US,WA,O=a",
    "parsing distinguished name (DN) \"C=US,WA,O=a\" failed with err: incomplete type, value pair. \
    A valid DN must contain {}, and follow RFC 4514 standard"
)]
#[case(
    "C=US;ST=WA;a",
    "parsing distinguished name (DN) \"C=US;ST=WA;a\" failed with err: DN ended with incomplete type, value \
    pair. A valid DN must contain {}, and follow RFC 4514 standard"
)]
#[case(
    "C=US,O=a,ST=\\",
    "parsing distinguished name (DN) \"C=US,O=a,ST=\\\\\" failed with err: got corrupted escaped \
    character: '\\'. A valid DN must contain {}, and follow RFC 4514 standard"
)]
#[case(
    "C=US,O=a,ST=\\z0",
    "parsing distinguished name (DN) \"C=US,O=a,ST=\\\\z0\" failed with err: failed to decode escaped \
    character: encoding/hex: invalid byte: z0. A valid DN must contain {}, and follow RFC 4514 standard"
)]
fn identities_that_are_no_names(#[case] name: &str, #[case] fault: &str) {
    let policy = one_trusting(&[&format!("x509.subject:{name}")]);
    assert_eq!(
        TrustPolicy::parse(policy.to_string().as_bytes()).unwrap_err().to_string(),
        format!(
            "trust policy: trust policy statement \"a\" has trusted identity \"x509.subject:{}\" with invalid identity \
             value: {}",
            name,
            fault.replace("{}", AT_LEAST)
        )
    );
}

#[rstest]
#[case("", "unexpected end of JSON input")]
#[case("{\"version\": ", "unexpected end of JSON input")]
#[case("junk", "invalid character 'j' looking for beginning of value")]
#[case("{\n  \"version\": '1.0'}", "invalid character '\\'' looking for beginning of value")]
#[case("{\"version\": \"1.0\n\"}", "invalid character '\\n' in string literal")]
#[case("{\"version\": \"\\d\"}", "invalid character 'd' in string escape code")]
#[case("{\"version\": \"1.0\"\n\"trustPolicies\": []}", "invalid character '\"' after object key:value pair")]
#[case("{\"version\" \"1.0\"}", "invalid character '\"' after object key")]
#[case("{version: 1}", "invalid character 'v' looking for beginning of object key string")]
#[case("{\"version\": \"1.0\",\n}", "invalid character '}' looking for beginning of object key string")]
#[case("{\"trustPolicies\": [1 2]}", "invalid character '2' after array element")]
#[case("{\"trustPolicies\": [1,]}", "invalid character ']' looking for beginning of value")]
#[case("{} {}", "invalid character '{' after top-level value")]
fn policies_that_are_no_json(#[case] policy: &str, #[case] fault: &str) {
    let expected = format!("error occurred while parsing trustpolicy.json: {fault}");
    assert_eq!(TrustPolicy::parse(policy.as_bytes()).unwrap_err().to_string(), expected);
}

/// A strict statement whose scope is mistyped must not leave its repository to the statement for all others.
#[rstest]
#[case("ghcr.io/acme/*", " with wild card(s)")]
#[case("*.io/acme/app", " with wild card(s)")]
#[case("https://ghcr.io/acme/app", "")]
#[case("oci://ghcr.io/acme/app", "")]
#[case("ghcr.io/acme/app:v1", "")]
#[case("ghcr.io/acme/app@sha256:aa", "")]
#[case("ghcr.io/Acme/app", "")]
#[case("ghcr.io/acme/", "")]
#[case("ghcr.io//app", "")]
#[case("ghcr.io/acme/app-", "")]
#[case("ghcr.io/acme/a..b", "")]
#[case("ghcr.io/acme/a___b", "")]
#[case("ghcr.io/acme/a.-b", "")]
#[case("ghcr.io/acme app", "")]
#[case("ghcr.io", "")]
#[case("/app", "")]
#[case("-ghcr.io/app", "")]
#[case("ghcr..io/app", "")]
#[case("ghcr.io:/app", "")]
#[case("ghcr.io:port/app", "")]
#[case("ghcr.io:443:443/app", "")]
#[case("gh_cr.io/app", "")]
fn scopes_that_are_no_repositories(#[case] scope: &str, #[case] why: &str) {
    let policy = json!({"version": "1.0", "trustPolicies": [
        statement(json!({"registryScopes": [scope]})),
        statement(json!({"name": "rest", "signatureVerification": {"level": "skip"}})),
    ]});
    assert_eq!(
        TrustPolicy::parse(policy.to_string().as_bytes()).unwrap_err().to_string(),
        format!(
            "registry scope \"{scope}\"{why} is not valid, make sure it is a fully qualified repository without the scheme, \
             protocol or tag. For example domain.com/my/repository or a local scope like local/myOCILayout"
        )
    );
}

#[rstest]
#[case("localhost:5000/a")]
#[case("local/app")]
#[case("10.0.0.1/a/b/c")]
#[case("REGISTRY.example-1.com:443/a.b/c_d/e__f/g---h/0")]
fn scopes_that_are_repositories(#[case] scope: &str) {
    let policy = json!({"version": "1.0", "trustPolicies": [statement(json!({"registryScopes": [scope]}))]});
    let policy = TrustPolicy::parse(policy.to_string().as_bytes()).unwrap();
    policy.statement(scope, "").unwrap();
}

#[test]
fn statements_are_found_by_repository() {
    let policy = json!({"version": "1.0", "trustPolicies": [
        statement(json!({"registryScopes": [REPOSITORY]})),
        statement(json!({"name": "b", "registryScopes": ["r/other"], "signatureVerification": {"level": "skip"}})),
    ]});
    let policy = TrustPolicy::parse(policy.to_string().as_bytes()).unwrap();
    assert_eq!(policy.warnings.len(), 1, "{:?}", policy.warnings);
    assert!(!policy.statement(REPOSITORY, "").unwrap().skips());
    assert!(policy.statement("r/other", "").unwrap().skips());
    let error = policy.statement("r/unknown", "r/unknown@sha256:a").unwrap_err().to_string();
    assert!(error.starts_with("artifact \"r/unknown@sha256:a\" has no applicable trust policy statement."));
}

#[test]
fn certificates_of_secrets() {
    assert_eq!(Certificates::from_secret(&secret(&[("trustpolicy.json", "{}")])), Ok(None));
    let error = Certificates::from_secret(&secret(&[("a.pem", "junk")])).unwrap_err();
    assert_eq!(error, "failed to parse certificate 'a.pem': x509: malformed certificate");
}

/// As with Flux, whose store reads the first block of each value: what stands behind it may be there for other programs.
#[test]
fn only_the_first_certificate_of_a_value_is_trusted() {
    let [first, second] = [(); 2].map(|()| NotationSigner::create(Good).unwrap());
    let bundle = first.trusted_pem() + &second.trusted_pem();
    let policy = super::strict();
    let statement = policy.statement(REPOSITORY, "").unwrap();
    let judged = |signer: &NotationSigner, data: &[(&str, &str)]| {
        let certificates = Certificates::from_secret(&secret(data)).unwrap().unwrap();
        let content = signer.sign(DIGEST, &json!({})).unwrap();
        let signature = SignatureEnvelope { media_type: JWS_TYPE.into(), content };
        statement.verify(&certificates, &signature, DIGEST, NOW.parse().unwrap(), &Answers::default())
    };
    let known = Ok(Judgement::Decided(super::good()));
    assert_eq!(judged(&first, &[("ca.crt", &bundle)]), known);
    assert_eq!(judged(&second, &[("ca.crt", &bundle)]), Err(UNTRUSTED.to_owned()));
    assert_eq!(judged(&second, &[("a.crt", &first.trusted_pem()), ("b.pem", &second.trusted_pem())]), known);
    let behind_a_key = first.key_pem() + &first.trusted_pem();
    let error = Certificates::from_secret(&secret(&[("ca.crt", &behind_a_key)])).unwrap_err();
    assert!(error.starts_with("failed to parse certificate 'ca.crt': "), "{error}");
}
