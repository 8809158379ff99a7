//! The part of a commit's tree that can be in the artifact. Where the server offers it, nothing else is fetched.
//! Pure.

use weir_api::source::GitRepositorySpec;
use weir_artifact::RelPath;
use weir_git::Part;
use weir_ignore::{IGNORE_FILE, Rules};

use super::decide::SparsePath;

/// Begin of a `spec.ignore` that leaves everything out but what it then names.
const EVERYTHING: [&str; 4] = ["*", "/*", "**", "/**"];

/// The part of the tree that is needed; nothing for all of it, and where so little stays out that to ask for blobs one by
/// one is not worth a second request.
pub(super) fn part(spec: &GitRepositorySpec, sparse: &[SparsePath]) -> Option<Part> {
    let ignore = spec.ignore.as_deref().filter(|ignore| leaves_most_out(ignore)).unwrap_or_default();
    if sparse.is_empty() && ignore.is_empty() {
        return None;
    }
    let shown: Vec<RelPath> = sparse.iter().filter_map(|sparse| sparse.path.clone()).collect();
    let shows_all = sparse.is_empty();
    let mut rules = Rules::default();
    rules.read(ignore, &[]);
    let matcher = rules.into_plain_matcher();
    Some(Part::new(move |text, is_directory| {
        let Ok(path) = RelPath::parse(text) else { return false };
        let leads_there = |shown: &RelPath| is_directory && shown.is_below(&path);
        let is_shown = shows_all || shown.iter().any(|shown| path.is_below(shown) || leads_there(shown));
        // The object's rules are the last and the last one decides, so what they leave out stays out, whatever the ignore
        // files of the tree say. Those are read, and a rule may bring back what is in a directory that it leaves out.
        let is_kept = is_directory || path.file_name() == IGNORE_FILE || !matcher.excludes(text, false);
        is_shown && is_kept
    }))
}

fn leaves_most_out(ignore: &str) -> bool {
    let mut patterns =
        ignore.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    patterns.next().is_some_and(|first| EVERYTHING.contains(&first))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn wanted(ignore: Option<&str>, sparse: &[&str]) -> Option<Vec<&'static str>> {
        let spec = serde_json::json!({"url": "https://host/app", "interval": "1h", "ignore": ignore});
        let sparse = sparse
            .iter()
            .map(|path| SparsePath { written: (*path).to_owned(), path: RelPath::parse(path).ok() });
        let part = part(&serde_json::from_value(spec).unwrap(), &sparse.collect::<Vec<_>>())?;
        let files = ["README.md", "deploy/app.yaml", "deploy/docs/a.md", "src/.sourceignore", "src/main.rs"];
        Some(files.into_iter().filter(|path| part.wants(path, false)).collect())
    }

    #[rstest]
    #[case::nothing_said(None, &[])]
    #[case::some_files(Some("*.md\n/src\n"), &[])]
    fn all(#[case] ignore: Option<&str>, #[case] sparse: &[&str]) {
        assert_eq!(wanted(ignore, sparse), None);
    }

    #[rstest]
    #[case::a_folder(None, &["deploy"], &["deploy/app.yaml", "deploy/docs/a.md"])]
    #[case::a_file(None, &["deploy/app.yaml"], &["deploy/app.yaml"])]
    #[case::outside(None, &["../x"], &[])]
    #[case::both(Some("# all\n/*\n!/deploy\n*.md\n"), &["deploy"], &["deploy/app.yaml"])]
    #[case::few_files(Some("*.md"), &["deploy"], &["deploy/app.yaml", "deploy/docs/a.md"])]
    #[case::all_but(Some("/*\n!/deploy\n"), &[], &["deploy/app.yaml", "deploy/docs/a.md", "src/.sourceignore"])]
    fn a_part(#[case] ignore: Option<&str>, #[case] sparse: &[&str], #[case] expected: &[&str]) {
        assert_eq!(wanted(ignore, sparse).unwrap(), expected);
    }

    #[test]
    fn directories_on_the_way_are_entered() {
        let spec = serde_json::json!({"url": "https://host/app", "interval": "1h"});
        let sparse = [SparsePath { written: "a/b".to_owned(), path: RelPath::parse("a/b").ok() }];
        let part = part(&serde_json::from_value(spec).unwrap(), &sparse).unwrap();
        let entered = ["a", "a/b", "a/b/c", "a/c", "b"].map(|path| part.wants(path, true));
        assert_eq!(entered, [true, true, true, false, false]);
    }
}
