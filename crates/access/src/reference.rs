//! The reference that a GitRepository or an automation stands for.

use weir_api::source::GitRepositoryRef;
use weir_git::Reference;

/// Branch without a reference, whatever the remote's own default is (SRC-GIT-1).
const DEFAULT_BRANCH: &str = "master";

/// Returns the reference to fetch, by the precedence of Flux's code: commit, name, tag, semver, branch. Empty parts are
/// absent (SRC-GIT-1, IU-9).
#[must_use]
pub fn reference(wanted: Option<&GitRepositoryRef>) -> Reference {
    let given = |field: fn(&GitRepositoryRef) -> Option<&String>| {
        wanted.and_then(field).filter(|text| !text.is_empty()).cloned()
    };
    let (branch, name) = (given(|it| it.branch.as_ref()), given(|it| it.name.as_ref()));
    if let Some(id) = given(|it| it.commit.as_ref()) {
        return Reference::Commit { id, branch, name };
    }
    name.map(Reference::Name)
        .or_else(|| given(|it| it.tag.as_ref()).map(Reference::Tag))
        .or_else(|| given(|it| it.semver.as_ref()).map(Reference::Semver))
        .unwrap_or_else(|| Reference::Branch(branch.unwrap_or_else(|| DEFAULT_BRANCH.to_owned())))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};
    use weir_git::Reference;

    #[rstest]
    #[case(json!(null), Reference::Branch("master".into()))]
    #[case(json!({}), Reference::Branch("master".into()))]
    #[case(json!({ "branch": "" }), Reference::Branch("master".into()))]
    #[case(json!({ "branch": "main" }), Reference::Branch("main".into()))]
    #[case(json!({ "branch": "main", "semver": "1.x" }), Reference::Semver("1.x".into()))]
    #[case(json!({ "semver": "1.x", "tag": "v1" }), Reference::Tag("v1".into()))]
    #[case(json!({ "tag": "v1", "name": "refs/pull/1/head" }), Reference::Name("refs/pull/1/head".into()))]
    #[case(
        json!({ "name": "refs/heads/x", "commit": "c", "branch": "main" }),
        Reference::Commit { id: "c".into(), branch: Some("main".into()), name: Some("refs/heads/x".into()) }
    )]
    fn precedence(#[case] wanted: Value, #[case] expected: Reference) {
        let wanted: Option<_> = serde_json::from_value(wanted).unwrap();
        assert_eq!(super::reference(wanted.as_ref()), expected);
    }
}
