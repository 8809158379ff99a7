//! Genuine and forged calls of each type.

use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, HeaderName, HeaderValue};
use rstest::rstest;
use sha1::Sha1;
use sha2::{Sha256, Sha512};

use super::*;

const TOKEN: &str = "test-token";
const BODY: &str = r#"{"action": "push"}"#;
const CDEVENT: &str = r#"{
    "context": {"version": "0.4.1", "id": "1", "source": "/x", "timestamp": "2026-01-02T03:04:05Z",
        "type": "dev.cdevents.artifact.published.0.1.0"},
    "subject": {"id": "pkg:oci/x"}
}"#;

fn hex_mac<M: Mac + KeyInit>(key: &str, body: &str) -> String {
    let mut mac = <M as KeyInit>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

fn sha256(body: &str) -> String {
    format!("sha256={}", hex_mac::<Hmac<Sha256>>(TOKEN, body))
}

fn verdict(kind: &str, body: &str, headers: &[(&str, &str)], events: &[&str]) -> Result<(), Refusal> {
    let headers: HeaderMap = headers
        .iter()
        .map(|(k, v)| (HeaderName::from_bytes(k.as_bytes()).unwrap(), HeaderValue::from_str(v).unwrap()))
        .collect();
    let events: Vec<String> = events.iter().map(|event| event.to_string()).collect();
    let call = Call { headers: &headers, body: body.as_bytes() };
    verify(kind, call, Rules { token: TOKEN.as_bytes(), events: &events })
}

fn text(verdict: Result<(), Refusal>) -> String {
    verdict.map_or_else(|refusal| refusal.to_string(), |()| "ok".to_owned())
}

#[rstest]
#[case::sha256(&sha256(BODY), "ok")]
#[case::sha1(&format!("sha1={}", hex_mac::<Hmac<Sha1>>(TOKEN, BODY)), "ok")]
#[case::sha512(&format!("sha512={}", hex_mac::<Hmac<Sha512>>(TOKEN, BODY)), "ok")]
#[case::upper_case(&format!("sha256={}", hex_mac::<Hmac<Sha256>>(TOKEN, BODY).to_uppercase()), "ok")]
#[case::missing("", "missing signature")]
#[case::no_prefix("abcdef", "error parsing signature \"abcdef\"")]
#[case::unknown("md5=00", "unknown hash type prefix: \"md5\"")]
#[case::no_hex("sha256=zz", "error decoding signature \"zz\"")]
#[case::short("sha256=00", "payload signature check failed")]
#[case::other_body(&sha256("other"), "payload signature check failed")]
fn generic_hmac_signatures(#[case] signature: &str, #[case] expected: &str) {
    let expected = if expected == "ok" {
        "ok".to_owned()
    } else {
        format!("unable to validate HMAC signature: {expected}")
    };
    assert_eq!(text(verdict("generic-hmac", BODY, &[("X-Signature", signature)], &[])), expected);
}

#[rstest]
#[case::json("application/json", "push", "ok")]
#[case::charset("application/json; charset=utf-8", "push", "ok")]
#[case::form("application/x-www-form-urlencoded", "push", "ok")]
#[case::other_case("application/json", "PUSH", "ok")]
#[case::text("text/plain", "push", "webhook request has unsupported Content-Type \"text/plain\"")]
#[case::other_event("application/json", "issues", "the GitHub event \"issues\" is not authorised")]
#[case::no_event("application/json", "", "the GitHub event \"\" is not authorised")]
fn github_events_and_content_types(#[case] content_type: &str, #[case] event: &str, #[case] expected: &str) {
    let headers = [
        ("X-Hub-Signature-256", sha256(BODY)),
        ("X-GitHub-Event", event.to_owned()),
        ("Content-Type", content_type.to_owned()),
    ];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(k, v)| (*k, v.as_str())).collect();
    assert_eq!(text(verdict("github", BODY, &headers, &["push", "ping"])), expected);
}

#[test]
fn github_prefers_the_stronger_signature() {
    let good = sha256(BODY);
    let json = ("Content-Type", "application/json");
    let both = [("X-Hub-Signature-256", good.as_str()), ("X-Hub-Signature", "sha1=00"), json];
    assert_eq!(text(verdict("github", BODY, &both, &[])), "ok");
    let old = format!("sha1={}", hex_mac::<Hmac<Sha1>>(TOKEN, BODY));
    assert_eq!(text(verdict("github", BODY, &[("X-Hub-Signature", &old), json], &[])), "ok");
    let none = verdict("github", BODY, &[json], &[]);
    assert_eq!(text(none), "the GitHub signature header is invalid, err: missing signature");
}

#[test]
fn tokens_and_bare_signatures_are_checked() {
    assert_eq!(text(verdict("gitlab", "", &[("X-Gitlab-Token", TOKEN)], &[])), "ok");
    assert_eq!(
        text(verdict("gitlab", "", &[("X-Gitlab-Token", "test-toke")], &[])),
        "the X-Gitlab-Token header value does not match the receiver token"
    );
    assert_eq!(text(verdict("harbor", "", &[("Authorization", TOKEN)], &[])), "ok");
    assert_eq!(
        text(verdict("harbor", "", &[("Authorization", "Bearer test-token")], &[])),
        "the Harbor Authorization header value does not match the receiver token"
    );
    let mac = hex_mac::<Hmac<Sha1>>(TOKEN, BODY);
    assert_eq!(text(verdict("nexus", BODY, &[("X-Nexus-Webhook-Signature", &mac)], &[])), "ok");
    assert_eq!(text(verdict("nexus", BODY, &[], &[])), "the Nexus signature is missing from header");
    assert_eq!(
        text(verdict("nexus", BODY, &[("X-Nexus-Webhook-Signature", "00")], &[])),
        "invalid Nexus signature"
    );
    // Nexus writes lower case, and Flux compares the text.
    assert!(verdict("nexus", BODY, &[("X-Nexus-Webhook-Signature", &mac.to_uppercase())], &[]).is_err());
}

/// NTF-97.
#[rstest]
#[case("gitlab", "X-Gitlab-Token", TOKEN, "X-Gitlab-Event", "GitLab event")]
#[case("bitbucket", "X-Hub-Signature", &sha256(CDEVENT), "X-Event-Key", "Bitbucket server event")]
#[case("cdevents", "X-None", "", "Ce-Type", "CDEvent")]
fn events_that_are_not_admitted(
    #[case] kind: &str,
    #[case] proof: &str,
    #[case] value: &str,
    #[case] header: &str,
    #[case] service: &str,
) {
    let verdict = |event| {
        let headers = [(proof, value), (header, event), ("Content-Type", "application/json")];
        text(verdict(kind, CDEVENT, &headers, &["wanted"]))
    };
    assert_eq!(verdict("wanted"), "ok");
    assert_eq!(verdict("other"), format!("the {service} \"other\" is not authorised"));
}

#[test]
fn tokens_need_not_be_text() {
    let token = b"t\xf6ken";
    let value = HeaderValue::from_bytes(token).unwrap();
    let headers = HeaderMap::from_iter([(HeaderName::from_static("x-gitlab-token"), value)]);
    let rules = Rules { token, events: &[] };
    assert_eq!(verify("gitlab", Call { headers: &headers, body: b"" }, rules), Ok(()));
    assert!(verify("gitlab", Call { headers: &HeaderMap::new(), body: b"" }, rules).is_err());
}

#[rstest]
#[case("payload=%7B%22a%22%3A1%7D", true)]
#[case("payload=%7", false)]
#[case("payload=%zz", false)]
#[case("a=1;b=2", false)]
fn forms_of_github_must_be_well_formed(#[case] body: &str, #[case] good: bool) {
    let signature = sha256(body);
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    assert_eq!(verdict("github", body, &[("X-Hub-Signature-256", &signature), form], &[]).is_ok(), good);
}

#[rstest]
#[case("dockerhub", r#"{"push_data":{"tag":"1"},"repository":{"repo_url":"https://x/r/a/b"}}"#, true)]
#[case("dockerhub", "{}", true)]
#[case("dockerhub", r#"{"push_data":{"tag":1}}"#, false)]
#[case("dockerhub", "", false)]
#[case("quay", r#"{"docker_url":"quay.io/a/b","updated_tags":["1"]}"#, true)]
#[case("quay", r#"{"updated_tags":{"a":"b"}}"#, false)]
#[case("quay", r#"{"updated_tags":[null,"1"]}"#, true)]
#[case("quay", r#"{"updated_tags":[1]}"#, false)]
#[case("acr", r#"{"action":"push","target":{"repository":"a","tag":"1"}}"#, true)]
#[case("acr", r#"{"action":1}"#, false)]
#[case("acr", "x", false)]
#[case("acr", "null", true)]
#[case("quay", "{} and more", true)]
#[case("dockerhub", "{\"a\"", false)]
#[case("gcr", "{}", false)]
#[case("svn", "{}", false)]
fn bodies_must_decode(#[case] kind: &str, #[case] body: &str, #[case] good: bool) {
    assert_eq!(verdict(kind, body, &[], &[]).is_ok(), good);
}

#[rstest]
#[case("dev.cdevents.artifact.published.0.1.0", true)]
#[case("dev.cdeventsx.tool-subject.done.0.1.0", true)]
#[case("dev.cdeventsx.tool-subject.done.9.9.9", true)]
#[case("dev.cdeventsx.tool-subject.done.x", false)]
#[case("dev.cdeventsx.tool.subject.done.0.1.0", false)]
#[case("dev.cdeventsx.subject.done.0.1.0", false)]
#[case("dev.cdevents.artifact.0.1.0", false)]
#[case("org.other.artifact.published.0.1.0", false)]
#[case("dev.cdevents.change.merged.0.2.0", true)]
#[case("dev.cdevents.testcaserun.skipped.0.1.0", true)]
#[case("dev.cdevents.change.merged.1.0.0", false)]
#[case("dev.cdevents.change.blessed.0.2.0", false)]
#[case("dev.cdevents.nothing.merged.0.2.0", false)]
#[case("dev.cdevents.a.change.merged.0.2.0", false)]
fn cdevents_have_a_context_and_a_known_type(#[case] kind: &str, #[case] good: bool) {
    let body = serde_json::json!({
        "context": {"version": "0.4.1", "id": "1", "source": "/x", "type": kind, "timestamp": "2026-01-02T03:04:05Z"},
        "subject": {"id": "pkg:oci/x"},
    });
    assert_eq!(verdict("cdevents", &body.to_string(), &[], &[]).is_ok(), good);
    assert!(verdict("cdevents", "{}", &[], &[]).is_err());
}

#[rstest]
#[case("2023-03-20T14:27:05.315384Z", true)]
#[case("2023-03-20T14:27:05+02:00", true)]
#[case("2023-03-20 14:27:05Z", false)]
#[case("2023-03-20t14:27:05z", false)]
#[case("2023-03-20T14:27:60Z", false)]
#[case("yesterday", false)]
fn cdevents_have_the_time_at_which_they_happened(#[case] time: &str, #[case] good: bool) {
    let body = CDEVENT.replace("2026-01-02T03:04:05Z", time);
    assert_eq!(verdict("cdevents", &body, &[], &[]).is_ok(), good);
}
