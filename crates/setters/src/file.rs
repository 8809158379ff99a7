//! The files that can hold markers (ST-1).

use std::path::Path;

/// Returns true when a file of this name is read: `*.yaml`, `*.yml` or exactly `Kustomization`, case-sensitive.
pub fn is_candidate(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // As in Go, a name may be an extension alone.
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    matches!(extension, Some("yaml" | "yml")) || name == "Kustomization"
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rstest::rstest;

    use super::is_candidate;

    #[rstest]
    #[case("a/b.yaml", true)]
    #[case("a..b.yml", true)]
    #[case("x/Kustomization", true)]
    #[case("kustomization", false)]
    #[case("a.YAML", false)]
    #[case("a.json", false)]
    #[case("a.yaml.tpl", false)]
    #[case(".yaml", true)]
    #[case("yaml", false)]
    fn only_yaml_files_are_read(#[case] path: &str, #[case] is_read: bool) {
        assert_eq!(is_candidate(Path::new(path)), is_read);
    }
}
