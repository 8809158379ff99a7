//! Paths inside a tree.

/// The path as results show it: from the base, or the base name if the base is the file itself (ST-19).
pub(super) fn relative<'p>(base: &str, path: &'p str) -> &'p str {
    match path.strip_prefix(base) {
        Some("") => path.rsplit('/').next().unwrap_or(path),
        Some(rest) if base.is_empty() || rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("", "a/b.yaml", "a/b.yaml")]
    #[case("a", "a/b.yaml", "b.yaml")]
    #[case("a/b.yaml", "a/b.yaml", "b.yaml")]
    #[case::behind_a_link("a", "ab/c.yaml", "ab/c.yaml")]
    fn results_are_relative(#[case] base: &str, #[case] path: &str, #[case] relative: &str) {
        assert_eq!(super::relative(base, path), relative);
    }
}
