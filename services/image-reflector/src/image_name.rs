//! Names of images as users write them (IR-3 to IR-6).

use weir_oci::{Reference, Repository};

/// Errors in a name that keep it from being scanned. Texts are Flux's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ImageNameError {
    /// `https://…`.
    #[error("image '{image}' should not include URL scheme; remove '{scheme}://'")]
    Scheme { image: String, scheme: String },
    /// `…:tag` or `…@digest`.
    #[error("image '{image}' should not include a tag; remove ':{rest}'")]
    Tag { image: String, rest: String },
    /// No name at all.
    #[error("could not parse reference: {0}")]
    Unparseable(String),
}

/// Parses a name without scheme, tag and digest.
pub(crate) fn parse(image: &str) -> Result<Repository, ImageNameError> {
    if let Some((scheme, _)) = image.split_once("://") {
        return Err(ImageNameError::Scheme { image: image.to_owned(), scheme: scheme.to_owned() });
    }
    if let Ok(repository) = Repository::parse(image) {
        return Ok(repository);
    }
    let reference = Reference::from_url(&format!("oci://{image}"));
    let reference = reference.map_err(|_| ImageNameError::Unparseable(image.to_owned()))?;
    // Up to the next colon, which may be that of the digest, as Flux has it.
    let rest = image.strip_prefix(reference.repository().host()).unwrap_or(image).split(':').nth(1);
    Err(ImageNameError::Tag { image: image.to_owned(), rest: rest.unwrap_or_default().to_owned() })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::parse;

    #[rstest]
    #[case("alpine", "index.docker.io/library/alpine")]
    #[case("docker.io/org/app", "index.docker.io/org/app")]
    #[case("ghcr.io/org/app", "ghcr.io/org/app")]
    #[case("example.com:9999/foo/bar", "example.com:9999/foo/bar")]
    #[case("localhost/app", "localhost/app")]
    fn names_have_a_canonical_form(#[case] image: &str, #[case] canonical: &str) {
        assert_eq!(parse(image).unwrap().to_string(), canonical);
    }

    #[rstest]
    #[case(
        "https://ghcr.io/a/b",
        "image 'https://ghcr.io/a/b' should not include URL scheme; remove 'https://'"
    )]
    #[case("oci://ghcr.io/a/b", "image 'oci://ghcr.io/a/b' should not include URL scheme; remove 'oci://'")]
    #[case("ghcr.io/a/b:1.0", "image 'ghcr.io/a/b:1.0' should not include a tag; remove ':1.0'")]
    #[case("h:5000/app:1", "image 'h:5000/app:1' should not include a tag; remove ':1'")]
    #[case("ghcr.io/A/b", "could not parse reference: ghcr.io/A/b")]
    #[case("ghcr.io/a b", "could not parse reference: ghcr.io/a b")]
    #[case("ghcr.io/a/b:", "could not parse reference: ghcr.io/a/b:")]
    #[case("ghcr.io/a//b", "could not parse reference: ghcr.io/a//b")]
    #[case("", "could not parse reference: ")]
    #[case("127.0.0.1:5000/", "could not parse reference: 127.0.0.1:5000/")]
    #[case("ghcr.io:x/a", "could not parse reference: ghcr.io:x/a")]
    #[case("ghcr.io/a/b@sha256:dd", "could not parse reference: ghcr.io/a/b@sha256:dd")]
    fn other_texts_are_refused(#[case] image: &str, #[case] text: &str) {
        assert_eq!(parse(image).unwrap_err().to_string(), text);
    }

    #[test]
    fn a_digest_is_named_as_flux_names_it() {
        let digest = "d".repeat(64);
        let image = format!("ghcr.io/a/b@sha256:{digest}");
        let text = format!("image '{image}' should not include a tag; remove ':{digest}'");
        assert_eq!(parse(&image).unwrap_err().to_string(), text);
        let image = format!("localhost:5000/app:1.0@sha256:{digest}");
        let text = format!("image '{image}' should not include a tag; remove ':1.0@sha256'");
        assert_eq!(parse(&image).unwrap_err().to_string(), text);
    }
}
