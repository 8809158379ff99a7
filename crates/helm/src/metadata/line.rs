//! The texts of a chart's metadata as one line each, as Helm keeps them (SRC-CHT-17, SRC-HRP-5).

use super::{Dependency, Metadata};

/// Makes lines of the texts that Helm makes lines of. Versions of charts, maintainers and annotations stay as they are.
pub(super) fn of_metadata(metadata: &mut Metadata) {
    let Metadata { name, description, home, icon, condition, tags, app_version, kube_version, .. } = metadata;
    for text in [name, description, home, icon, condition, tags, app_version, kube_version] {
        make_line(text);
    }
    metadata.sources.iter_mut().chain(&mut metadata.keywords).for_each(make_line);
    metadata.dependencies.iter_mut().flatten().for_each(of_dependency);
}

fn of_dependency(dependency: &mut Dependency) {
    let Dependency { name, version, repository, condition, tags, .. } = dependency;
    for text in [name, version, repository, condition] {
        make_line(text);
    }
    tags.iter_mut().for_each(make_line);
}

/// Replaces blanks of any kind by spaces and removes characters that cannot be seen.
fn make_line(text: &mut String) {
    if text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
        return;
    }
    let line = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    *text = line.filter(|c| is_visible(*c)).collect();
}

fn is_visible(character: char) -> bool {
    if character.is_ascii() {
        return character == ' ' || character.is_ascii_graphic();
    }
    // A text's debug form has what cannot be seen as a number, and marks only at its beginning.
    let text: String = ['a', character].iter().collect();
    text.escape_debug().nth(1) != Some('\\')
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("A chart\n  of two lines\n", "A chart   of two lines ")]
    #[case("tab\tand\u{a0}blank\u{2028}line", "tab and blank line")]
    #[case("bell\u{7}, joiner\u{200d}, override\u{202e}, mark\u{feff}", "bell, joiner, override, mark")]
    #[case("grün, 数, e\u{301}, \u{1f680}, \"\\'", "grün, 数, e\u{301}, \u{1f680}, \"\\'")]
    fn lines(#[case] text: &str, #[case] expected: &str) {
        let mut line = text.to_owned();
        make_line(&mut line);
        assert_eq!(line, expected);
    }

    #[test]
    fn texts_of_metadata_and_dependencies() {
        let two = || "a\nb".to_owned();
        let dependency = Dependency { repository: two(), tags: vec![two()], ..Dependency::default() };
        let mut metadata = Metadata {
            description: two(),
            keywords: vec![two()],
            version: two(),
            dependencies: vec![Some(dependency), None],
            ..Metadata::default()
        };
        of_metadata(&mut metadata);
        assert_eq!(metadata.description, "a b");
        assert_eq!(metadata.keywords, ["a b"]);
        assert_eq!(metadata.version, two());
        let dependency = metadata.dependencies().next().unwrap();
        assert_eq!((dependency.repository.as_str(), dependency.tags[0].as_str()), ("a b", "a b"));
    }
}
