//! Reasons for which a chart of a registry is not pulled, in the words of Helm's library for registries, which Flux's
//! users know.

use std::time::Duration;

use weir_helm::version::{SelectError, tag_of};
use weir_oci::{Error, Manifest};

use super::build::{Step, pull_failure};
use super::registry::CHART_LAYERS;
use crate::source::Failure;

const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// Media type of a chart's description.
const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";

/// A version of a chart in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChartReference {
    /// Host and path.
    pub(super) place: String,
    pub(super) version: String,
}

/// Reasons for which a chart is not pulled.
#[derive(Debug)]
pub(super) enum Unpulled {
    /// The registry cannot be asked as the repository is configured.
    Repository(Failure),
    /// The registry does not list its tags.
    Tags { chart: String, place: String, error: Error },
    /// No tag is the version that is meant.
    Version { chart: String, place: String, error: SelectError },
    /// The version is not to be had.
    Download(ChartReference, PullError),
}

/// Errors of a download.
#[derive(Debug)]
pub(super) enum PullError {
    Manifest(Error),
    Layer {
        digest: String,
        error: Error,
    },
    /// The artifact is there and is no chart.
    NoChart(String),
    TooLarge {
        limit: u64,
    },
}

impl ChartReference {
    /// The tag of the version.
    pub(super) fn tag(&self) -> String {
        tag_of(&self.version)
    }

    /// The address of the version.
    pub(super) fn url(&self) -> String {
        format!("oci://{}:{}", self.place, self.version)
    }
}

impl Unpulled {
    /// Makes the failure of the chart that an object asks for.
    pub(super) fn failure(self) -> Failure {
        let words = self.words();
        let in_step = match &self {
            Self::Repository(_) => words,
            Self::Tags { .. } | Self::Version { .. } => {
                format!("failed to get chart version for remote reference: {words}")
            }
            Self::Download(..) => format!("failed to download chart for remote reference: {words}"),
        };
        match self {
            Self::Repository(failure) => failure,
            Self::Tags { error, .. }
            | Self::Download(_, PullError::Manifest(error) | PullError::Layer { error, .. }) => {
                pull_failure(&said(&error), in_step).after(error.retry_after())
            }
            Self::Version { .. } | Self::Download(..) => Step::Pull.failed(in_step),
        }
    }

    /// Returns the error of a chart that another one needs; its repository is `url`.
    pub(super) fn of_dependency(&self, name: &str, version: &str, url: &str) -> String {
        let words = self.words();
        match self {
            Self::Repository(_) => format!("failed to get chart repository for URL '{url}': {words}"),
            Self::Tags { .. } | Self::Version { .. } => {
                format!("failed to get chart '{name}' version '{version}' from '{url}': {words}")
            }
            Self::Download(reference, _) => {
                format!("chart download of version '{}' failed: {words}", reference.version)
            }
        }
    }

    /// Returns the time for which the registry wants to be left alone, if it has named one.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Tags { error, .. }
            | Self::Download(_, PullError::Manifest(error) | PullError::Layer { error, .. }) => {
                error.retry_after()
            }
            Self::Repository(_) | Self::Version { .. } | Self::Download(..) => None,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Repository(failure) => failure.cause.message.clone(),
            Self::Tags { chart, place, error } => {
                format!(
                    "could not get tags for {chart:?}: could not fetch tags for \"oci://{place}\": {}",
                    asked(error, place, "tags/list")
                )
            }
            Self::Version { chart, place, error: SelectError::NoTags } => {
                format!("could not get tags for {chart:?}: {}: oci://{place}", SelectError::NoTags)
            }
            Self::Version { error, .. } => error.to_string(),
            Self::Download(reference, error) => {
                format!("failed to get '{}': {}", reference.url(), error.words(reference))
            }
        }
    }
}

impl PullError {
    /// A manifest without the layer of a chart. The library counts what is of use to it before it looks for the parts.
    pub(super) fn no_chart(manifest: &Manifest) -> Self {
        let has_config = manifest.config_media_type == CONFIG;
        let is_index = manifest.media_type == OCI_INDEX;
        let found = u8::from(manifest.media_type == OCI_MANIFEST) + u8::from(has_config);
        Self::NoChart(if has_config && found > 1 {
            format!("manifest does not contain a layer with mediatype {}", CHART_LAYERS[0])
        } else if is_index {
            // The images that it lists count, too.
            format!("could not load config with mediatype {CONFIG}")
        } else {
            format!("manifest does not contain minimum number of descriptors (2), descriptors found: {found}")
        })
    }

    fn words(&self, reference: &ChartReference) -> String {
        let at = |step: &str, words: String| format!("failed to perform \"{step}\" on source: {words}");
        match self {
            Self::Manifest(error) if error.is_not_found() => {
                at("FetchReference", format!("{}:{}: not found", reference.place, reference.tag()))
            }
            Self::Manifest(error) => {
                let manifest = format!("manifests/{}", reference.tag());
                at("FetchReference", asked(error, &reference.place, &manifest))
            }
            Self::Layer { digest, error } if error.is_not_found() => {
                at("Fetch", format!("{digest}: not found"))
            }
            Self::Layer { error, .. } => at("Fetch", oras(error)),
            Self::NoChart(words) => words.clone(),
            Self::TooLarge { limit } => format!("size of chart exceeds '{limit}' bytes limit"),
        }
    }
}

/// Returns a registry's message, without addresses, which may contain anything.
fn said(error: &Error) -> String {
    match last(error) {
        Error::Refused { words, status, .. } => format!("{} {words}", status.as_u16()),
        Error::Transport { cause, .. } => cause.reason.clone(),
        other => other.to_string(),
    }
}

/// Returns what Helm's library has met: plain HTTP is our last way, and where it may be used, the library's only one.
fn last(error: &Error) -> &Error {
    match error {
        Error::Unreachable { causes } => causes.last().unwrap_or(error),
        other => other,
    }
}

/// Returns the error of a request below a repository, as Helm's library says it: the library does not ask for the way in
/// first.
fn asked(error: &Error, place: &str, request: &str) -> String {
    let Error::Transport { cause, .. } = last(error) else { return oras(error) };
    let url = match cause.url.strip_suffix("/v2/").zip(place.split_once('/')) {
        Some((server, (_, repository))) => format!("{server}/v2/{repository}/{request}"),
        None => without_pages(&cause.url).to_owned(),
    };
    weir_http::Unanswered { url, ..cause.clone() }.to_string()
}

/// Returns an error as Helm's library says it.
fn oras(error: &Error) -> String {
    let Error::Refused { method, url, words, status, .. } = last(error) else { return error.to_string() };
    let refusals = refusals(words);
    let refusals = match refusals.as_str() {
        "" => status.canonical_reason().unwrap_or_default(),
        refusals => refusals,
    };
    let url = without_pages(url);
    format!("{method} {url:?}: response status code {}: {refusals}", status.as_u16())
}

/// Returns the URL of a request as the library has it, which does not ask for pages of tags.
fn without_pages(url: &str) -> &str {
    url.split_once('?').filter(|(path, _)| path.ends_with("/tags/list")).map_or(url, |(path, _)| path)
}

/// Returns the structured errors of an answer, each as `unauthorized: authentication required: <detail>`; none when the
/// answer had a page instead.
fn refusals(words: &str) -> String {
    let is_code = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let words = words.strip_prefix("multiple errors returned: ").unwrap_or(words);
    let mut refusals: Vec<String> = Vec::new();
    for part in words.split("; ") {
        match (part.split_once(": "), refusals.last_mut()) {
            (Some((code, message)), _) if is_code(code) => {
                let code = code.to_lowercase().replace('_', " ");
                refusals.push(if message.is_empty() { code } else { format!("{code}: {message}") });
            }
            (_, Some(refusal)) => *refusal = format!("{refusal}: {part}"),
            (_, None) => return String::new(),
        }
    }
    refusals.join("; ")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn refused(url: &str, status: u16, words: &str) -> Error {
        let (url, words) = (url.to_owned(), words.to_owned());
        let status = reqwest::StatusCode::from_u16(status).unwrap();
        Error::Refused { method: reqwest::Method::GET, url, words, status, retry_after: None }
    }

    #[rstest]
    #[case(401, "UNAUTHORIZED: authentication required", "401: unauthorized: authentication required")]
    #[case(
        401,
        "UNAUTHORIZED: authentication required; [map[Action:pull]]",
        "401: unauthorized: authentication required: [map[Action:pull]]"
    )]
    #[case(
        400,
        "multiple errors returned: NAME_INVALID: a; TAG_INVALID: b; x",
        "400: name invalid: a; tag invalid: b: x"
    )]
    #[case(502, "unexpected status code 502 Bad Gateway: <html>", "502: Bad Gateway")]
    #[case(403, "DENIED: ", "403: denied")]
    fn refusals_in_the_words_of_the_library(
        #[case] status: u16,
        #[case] words: &str,
        #[case] expected: &str,
    ) {
        let error = refused("https://r/v2/a/manifests/1.0.0", status, words);
        assert_eq!(
            oras(&error),
            format!("GET \"https://r/v2/a/manifests/1.0.0\": response status code {expected}")
        );
    }

    /// Plain HTTP is the library's only way, where it may be used.
    #[test]
    fn refusals_over_plain_http() {
        let refused = refused("http://r/v2/", 403, "DENIED: ");
        let error = Error::Unreachable { causes: vec![unanswered("https://r/v2/"), refused] };
        let expected = "GET \"http://r/v2/\": response status code 403: denied";
        assert_eq!(
            (oras(&error), asked(&error, "r/a", "tags/list")),
            (expected.to_owned(), expected.to_owned())
        );
    }

    fn unanswered(url: &str) -> Error {
        let reason = "dial tcp 127.0.0.1:1: connect: connection refused".to_owned();
        let cause = weir_http::Unanswered { method: "Get", url: url.to_owned(), reason };
        Error::Transport { cause, is_transient: false }
    }

    /// The library asks for what it wants, and not for the way in first.
    #[rstest]
    #[case(unanswered("https://r/v2/"), "https://r/v2/hx/nope/tags/list")]
    #[case(Error::Unreachable { causes: vec![unanswered("https://r/v2/"), unanswered("http://r/v2/")] },
        "http://r/v2/hx/nope/tags/list")]
    #[case(unanswered("https://r/v2/hx/nope/tags/list?n=1000"), "https://r/v2/hx/nope/tags/list")]
    #[case(unanswered("https://r/token"), "https://r/token")]
    fn registries_that_do_not_answer(#[case] error: Error, #[case] url: &str) {
        let expected = format!("Get {url:?}: dial tcp 127.0.0.1:1: connect: connection refused");
        assert_eq!(asked(&error, "r/hx/nope", "tags/list"), expected);
        assert_eq!(said(&error), "dial tcp 127.0.0.1:1: connect: connection refused");
    }

    #[test]
    fn texts_of_charts_and_of_dependencies() {
        let (chart, place) = ("nope".to_owned(), "r/hx/nope".to_owned());
        let error = refused("https://r/v2/hx/nope/tags/list?n=1000", 404, "NAME_UNKNOWN: unknown");
        let tags = Unpulled::Tags { chart: chart.clone(), place: place.clone(), error };
        let words = "could not get tags for \"nope\": could not fetch tags for \"oci://r/hx/nope\": GET \"https://r/v2/hx/nope/tags/list\": \
                     response status code 404: name unknown: unknown";
        assert_eq!(
            tags.of_dependency("nope", "1.x", "oci://r/hx"),
            format!("failed to get chart 'nope' version '1.x' from 'oci://r/hx': {words}")
        );
        assert_eq!(
            tags.failure().cause.message,
            format!("chart pull error: failed to get chart version for remote reference: {words}")
        );
        let none = Unpulled::Version { chart, place: place.clone(), error: SelectError::NoTags };
        let words = "could not get tags for \"nope\": unable to locate any tags in provided repository: oci://r/hx/nope";
        assert!(none.failure().cause.message.ends_with(words));

        let reference = ChartReference { place, version: "1.0.0+b".to_owned() };
        let missing = refused("https://r/v2/hx/nope/manifests/1.0.0_b", 404, "MANIFEST_UNKNOWN: x");
        let missing = Unpulled::Download(reference.clone(), PullError::Manifest(missing));
        assert_eq!(
            missing.of_dependency("nope", "1.x", "oci://r/hx"),
            "chart download of version '1.0.0+b' failed: failed to get 'oci://r/hx/nope:1.0.0+b': failed to perform \
             \"FetchReference\" on source: r/hx/nope:1.0.0_b: not found"
        );
        let refused = refused("https://r/v2/hx/nope/blobs/sha256:a", 401, "UNAUTHORIZED: no");
        let layer = PullError::Layer { digest: "sha256:a".to_owned(), error: refused };
        let failure = Unpulled::Download(reference, layer).failure();
        assert_eq!(
            (failure.cause.reason, failure.cause.message.as_str()),
            (
                "AuthenticationFailed",
                "failed to authenticate with the Helm repository: chart pull error: failed to download chart for remote \
                 reference: failed to get 'oci://r/hx/nope:1.0.0+b': failed to perform \"Fetch\" on source: GET \
                 \"https://r/v2/hx/nope/blobs/sha256:a\": response status code 401: unauthorized: no"
            )
        );
    }

    #[rstest]
    #[case::artifact(
        "oci",
        "cncf.flux",
        "manifest does not contain minimum number of descriptors (2), descriptors found: 1"
    )]
    #[case::image(
        "docker",
        "docker",
        "manifest does not contain minimum number of descriptors (2), descriptors found: 0"
    )]
    #[case::provenance_alone(
        "oci",
        "cncf.helm",
        "manifest does not contain a layer with mediatype application/vnd.cncf.helm.chart.content.v1.tar+gzip"
    )]
    #[case::images(
        "index",
        "",
        "could not load config with mediatype application/vnd.cncf.helm.config.v1+json"
    )]
    fn what_is_no_chart(#[case] form: &str, #[case] config: &str, #[case] expected: &str) {
        let media_type = match form {
            "docker" => "application/vnd.docker.distribution.manifest.v2+json",
            "index" => OCI_INDEX,
            _ => OCI_MANIFEST,
        };
        let digest = format!("sha256:{:064}", 1);
        let part = |media_type: String| json!({"mediaType": media_type, "digest": digest, "size": 1});
        let manifest = if form == "index" {
            json!({"schemaVersion": 2, "mediaType": media_type, "manifests": [part(OCI_MANIFEST.to_owned())]})
        } else {
            json!({"schemaVersion": 2, "mediaType": media_type,
                "config": part(format!("application/vnd.{config}.config.v1+json")),
                "layers": [part("application/vnd.oci.image.layer.v1.tar+gzip".to_owned())]})
        };
        let own = weir_artifact::Digest::parse(&digest).unwrap();
        let manifest = Manifest::parse(own, manifest.to_string().as_bytes(), "u").unwrap();
        let place = ChartReference { place: "r/a".to_owned(), version: "1".to_owned() };
        assert_eq!(PullError::no_chart(&manifest).words(&place), expected);
    }

    /// The address of a registry may contain the words that mean that it does not let us in.
    #[rstest]
    #[case(
        refused("https://r/v2/tls/manifests/1", 404, "MANIFEST_UNKNOWN: unknown"),
        "404 MANIFEST_UNKNOWN: unknown"
    )]
    #[case(Error::Deadline, "context deadline exceeded")]
    fn words_without_addresses(#[case] error: Error, #[case] expected: &str) {
        assert_eq!(said(&error), expected);
    }
}
