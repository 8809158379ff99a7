//! The kinds that Alerts and Receivers may name: where the API has them (NTF-106).

/// Plural name of a kind; kinds that are not known follow the rule for most.
pub fn plural(kind: &str) -> String {
    let lower = kind.to_lowercase();
    match lower.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{lower}s"),
    }
}

/// The apiVersion of a kind where a Receiver gives none; some kinds have no default.
pub fn default_api_version(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "Bucket" | "HelmChart" | "HelmRepository" | "GitRepository" | "OCIRepository" => {
            "source.toolkit.fluxcd.io/v1"
        }
        "ImageRepository" => "image.toolkit.fluxcd.io/v1",
        "ArtifactGenerator" => "source.extensions.fluxcd.io/v1beta1",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("GitRepository", "gitrepositories")]
    #[case("ImagePolicy", "imagepolicies")]
    #[case("Kustomization", "kustomizations")]
    #[case("ImageUpdateAutomation", "imageupdateautomations")]
    #[case("ExternalArtifact", "externalartifacts")]
    fn plurals(#[case] kind: &str, #[case] expected: &str) {
        assert_eq!(plural(kind), expected);
    }
}
