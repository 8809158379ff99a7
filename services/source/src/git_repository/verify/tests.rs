use rstest::rstest;
use weir_runtime::Next;

use super::*;

fn trust(mode: Mode) -> Trust {
    Trust { mode, keys: GitKeys::default(), secret: evidence([]) }
}

fn signed(signature: Option<&str>) -> Signed {
    Signed {
        id: "1111111111111111111111111111111111111111".parse().unwrap(),
        payload: b"payload".to_vec(),
        signature: signature.map(|text| text.as_bytes().to_vec()),
    }
}

fn objects(asked: Option<&str>, tag: Option<Option<&str>>) -> Objects {
    let tag = tag.map(|signature| TagObject {
        name: "v1".into(),
        target: "1111111111111111111111111111111111111111".parse().unwrap(),
        signed: signed(signature),
    });
    Objects { tag_name: asked.map(str::to_owned), tag, commit: signed(None) }
}

#[rstest]
#[case::branch(
    Mode::Tag,
    objects(None, None),
    "InvalidVerificationMode",
    Next::Stop,
    "cannot verify tag object's signature if a tag reference is not specified"
)]
#[case::lightweight(
    Mode::Tag,
    objects(Some("v1"), None),
    "InvalidGitObject",
    Next::Backoff,
    "cannot verify signature of tag 'v1' since it is not signed"
)]
#[case::not_signed(
    Mode::TagAndHead,
    objects(Some("v1"), Some(None)),
    "InvalidGitObject",
    Next::Backoff,
    "cannot verify signature of tag 'v1@1111111111111111111111111111111111111111' since it is not signed"
)]
#[case::smime(
    Mode::Tag,
    objects(Some("v1"), Some(Some("-----BEGIN SIGNED MESSAGE-----"))),
    "InvalidTagSignature",
    Next::Backoff,
    "signature verification of tag 'v1@1111111111111111111111111111111111111111' failed: unsupported signature type: x509"
)]
#[case::unsigned_commit(
    Mode::Head,
    objects(Some("v1"), Some(Some("x"))),
    "InvalidCommitSignature",
    Next::Backoff,
    "signature verification of commit '1111111111111111111111111111111111111111' failed: unsupported signature type: empty"
)]
fn failures(
    #[case] mode: Mode,
    #[case] objects: Objects,
    #[case] reason: &str,
    #[case] next: Next,
    #[case] message: &str,
) {
    let failure = trust(mode).judge(&objects, Timestamp::UNIX_EPOCH).unwrap_err();
    assert_eq!(
        (failure.cause.reason, failure.cause.next, failure.cause.message.as_str()),
        (reason, next, message)
    );
    assert_eq!(failure.condition, SOURCE_VERIFIED);
}

#[rstest]
#[case(None, "HEAD")]
#[case(Some("head"), "HEAD")]
#[case(Some("HEAD"), "HEAD")]
#[case(Some("Tag"), "Tag")]
#[case(Some("TagAndHEAD"), "TagAndHEAD")]
fn canonical_modes(#[case] written: Option<&str>, #[case] name: &str) {
    assert_eq!(Mode::parse(written).name(), name);
}

#[rstest]
#[case(Reference::Tag("v1".into()), Some("v1"))]
#[case(Reference::Semver("1.x".into()), Some("v1.2.3"))]
#[case(Reference::Name("refs/tags/v1".into()), Some("v1"))]
#[case(Reference::Name("refs/tags/v1^{}".into()), Some("v1"))]
#[case(Reference::Name("refs/heads/main".into()), None)]
#[case(Reference::Branch("main".into()), None)]
#[case(Reference::Commit { id: "c".into(), branch: None, name: Some("refs/tags/v1".into()) }, Some("v1"))]
#[case(Reference::Commit { id: "c".into(), branch: Some("main".into()), name: Some("refs/tags/v1".into()) }, Some("v1"))]
#[case(Reference::Commit { id: "c".into(), branch: None, name: None }, None)]
fn references_to_tags(#[case] reference: Reference, #[case] expected: Option<&str>) {
    assert_eq!(tag_name(&reference, "v1.2.3@sha1:abc").as_deref(), expected);
}

#[test]
fn evidence_is_revision_mode_and_keys() {
    let all =
        [trust(Mode::Head).evidence("a"), trust(Mode::Tag).evidence("a"), trust(Mode::Head).evidence("b")];
    let rotated = Trust { secret: evidence([b"new key".as_slice()]), ..trust(Mode::Head) }.evidence("a");
    assert!(!all.contains(&rotated));
    assert_ne!(all[0], all[1]);
    assert_ne!(all[0], all[2]);
    assert_eq!(all[0], trust(Mode::Head).evidence("a"));
}
