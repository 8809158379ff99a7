use rstest::rstest;

use super::*;

fn id(digit: char) -> ObjectId {
    digit.to_string().repeat(40).parse().unwrap()
}

/// A remote with two branches, a light tag, an annotated tag (object 4, commit 1), a pull request and versions.
fn refs() -> Vec<RemoteRef> {
    let list = [
        ("HEAD", '1'),
        ("refs/heads/main", '1'),
        ("refs/heads/feature/x", '2'),
        ("refs/pull/7/head", '3'),
        ("refs/tags/light", '2'),
        ("refs/tags/ann", '4'),
        ("refs/tags/ann^{}", '1'),
        ("refs/tags/v1.0.0", '5'),
        ("refs/tags/v1.1.0", '6'),
        ("refs/tags/v1.1.0^{}", '7'),
        ("refs/tags/2.0.0-rc.1", '8'),
        ("refs/tags/v3", '9'),
        ("refs/tags/v1.0.1+a", 'a'),
        ("refs/tags/v1.0.1+b", 'b'),
    ];
    list.iter().map(|(name, digit)| RemoteRef { name: (*name).to_owned(), id: id(*digit) }).collect()
}

fn commit(digit: char, branch: Option<&str>, name: Option<&str>) -> Reference {
    Reference::Commit {
        id: id(digit).to_string(),
        branch: branch.map(str::to_owned),
        name: name.map(str::to_owned),
    }
}

#[rstest]
#[case(Reference::Branch("main".into()), "main", '1')]
#[case(Reference::Branch("feature/x".into()), "feature/x", '2')]
#[case(Reference::Tag("light".into()), "light", '2')]
#[case(Reference::Tag("ann".into()), "ann", '1')]
#[case(Reference::Name("refs/heads/main".into()), "refs/heads/main", '1')]
#[case(Reference::Name("refs/pull/7/head".into()), "refs/pull/7/head", '3')]
#[case(Reference::Name("refs/tags/ann^{}".into()), "refs/tags/ann^{}", '1')]
#[case(Reference::Short("HEAD".into()), "HEAD", '1')]
#[case(Reference::Short("feature/x".into()), "feature/x", '2')]
#[case(Reference::Short("heads/main".into()), "heads/main", '1')]
#[case(Reference::Short("refs/pull/7/head".into()), "refs/pull/7/head", '3')]
#[case(Reference::Short("pull/7/head".into()), "pull/7/head", '3')]
#[case(Reference::Short("ann".into()), "ann", '1')]
#[case(Reference::Semver("1.x".into()), "v1.1.0", '7')]
#[case(Reference::Semver(">=1.0.0-0".into()), "2.0.0-rc.1", '8')]
fn revisions(#[case] reference: Reference, #[case] pointer: &str, #[case] digit: char) {
    let plan = reference.resolve(&refs()).unwrap();
    assert_eq!(plan.revision().unwrap(), format!("{pointer}@sha1:{}", id(digit)));
    assert_eq!(plan.depth, Depth::Shallow);
}

#[rstest]
#[case(Reference::Branch("nope".into()), "couldn't find remote ref \"refs/heads/nope\"")]
#[case(Reference::Tag("nope".into()), "couldn't find remote ref \"refs/tags/nope\"")]
#[case(Reference::Short("nope".into()), "couldn't find remote ref \"nope\"")]
#[case(Reference::Name("refs/nope".into()), "unable to resolve ref 'refs/nope' to a specific commit")]
#[case(Reference::Name("/refs/x".into()), "ref /refs/x is invalid; Git refs cannot begin or end with a slash '/'")]
#[case(Reference::Semver("^3".into()), "no match found for semver: ^3")]
#[case(Reference::Semver("not a range".into()), "semver parse error: improper constraint: \"not a range\"")]
#[case(commit('1', Some("nope"), None), "couldn't find remote ref \"refs/heads/nope\"")]
#[case(
    Reference::Commit { id: "abc".into(), branch: None, name: None },
    "unable to resolve commit object for 'abc': object not found"
)]
fn refused(#[case] reference: Reference, #[case] message: &str) {
    assert_eq!(reference.resolve(&refs()).unwrap_err().to_string(), message);
}

#[test]
fn equal_versions_are_left_to_their_dates() {
    let plan = Reference::Semver("~1.0".into()).resolve(&refs()).unwrap();
    let mut pointers: Vec<_> = plan.candidates.iter().map(|one| one.pointer.clone().unwrap()).collect();
    pointers.sort();
    assert_eq!(pointers, ["v1.0.1+a", "v1.0.1+b"]);
    assert_eq!(plan.revision(), None);
}

/// The newest of them may be any.
#[rstest]
#[case(1000, None)]
#[case(1001, Some("number of tags of one version exceeds 1000"))]
fn no_equal_version_is_left_out(#[case] count: usize, #[case] message: Option<&str>) {
    let tag = |build| RemoteRef { name: format!("refs/tags/v1.0.0+{build}"), id: id('1') };
    let refs: Vec<_> = (0..count).map(tag).collect();
    let plan = Reference::Semver("1.x".into()).resolve(&refs).map_err(|error| error.to_string());
    assert_eq!(
        plan.map(|plan| plan.candidates.len()),
        message.map_or(Ok(count), |text| Err(text.to_owned()))
    );
}

fn history(tips: &str, within: Option<char>) -> Depth {
    Depth::History { tips: tips.chars().map(id).collect(), within: within.map(id) }
}

#[rstest]
#[case::tip(commit('1', None, None), Depth::Shallow, "")]
#[case::tip_of_its_branch(commit('1', Some("main"), None), Depth::Shallow, "main@")]
#[case::tip_of_another_branch(commit('2', Some("main"), None), history("1", Some('1')), "main@")]
#[case::name_is_the_pointer(
    commit('1', Some("main"), Some("refs/heads/main")),
    Depth::Shallow,
    "refs/heads/main@"
)]
#[case::anywhere(commit('f', None, None), history("12", None), "")]
fn commits(#[case] reference: Reference, #[case] depth: Depth, #[case] pointer: &str) {
    let plan = reference.resolve(&refs()).unwrap();
    assert_eq!(plan.depth, depth);
    let Reference::Commit { id, .. } = &reference else { panic!("a commit") };
    assert_eq!(plan.revision().unwrap(), format!("{pointer}sha1:{id}"));
    assert_eq!(reference.fixed_revision(), plan.revision());
}
