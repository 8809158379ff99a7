//! Paths inside a tree.

/// Confines a path to the tree: `.` and empty parts go, `..` stops at the root, a leading slash means the root (ST-5).
pub(super) fn confined(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The path as results show it: from the base, or the base name if the base is the file itself (ST-19).
pub(super) fn relative<'p>(base: &str, path: &'p str) -> &'p str {
    match path.strip_prefix(base) {
        Some("") => path.rsplit('/').next().unwrap_or(path),
        Some(rest) => rest.trim_start_matches('/'),
        None => path,
    }
}

/// Where a symbolic link leads; nowhere if that is outside of the tree.
pub(super) fn target_of(link: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let folder = link.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("", "")]
    #[case("./b", "b")]
    #[case("b/x.yaml", "b/x.yaml")]
    #[case("../../b", "b")]
    #[case("/a", "a")]
    #[case("a/./../b//c/", "b/c")]
    fn paths_stay_inside(#[case] path: &str, #[case] confined: &str) {
        assert_eq!(super::confined(path), confined);
    }

    #[rstest]
    #[case("", "a/b.yaml", "a/b.yaml")]
    #[case("a", "a/b.yaml", "b.yaml")]
    #[case("a/b.yaml", "a/b.yaml", "b.yaml")]
    fn results_are_relative(#[case] base: &str, #[case] path: &str, #[case] relative: &str) {
        assert_eq!(super::relative(base, path), relative);
    }

    #[rstest]
    #[case("a/l.yaml", "b.yaml", Some("a/b.yaml"))]
    #[case("a/l.yaml", "../b.yaml", Some("b.yaml"))]
    #[case("a/l.yaml", "../../b.yaml", None)]
    #[case("l.yaml", "/etc/passwd", None)]
    fn links_lead_inside_or_nowhere(#[case] link: &str, #[case] target: &str, #[case] real: Option<&str>) {
        assert_eq!(super::target_of(link, target).as_deref(), real);
    }
}
