//! The plan of a run, made from the facts observed. Pure.

use weir_api::condition_type::ARTIFACT_IN_STORAGE;
use weir_api::source::{OciLayerSelector, OciRepositoryRef};
use weir_api::{Artifact, OciRepository};
use weir_artifact::Digest;
use weir_oci::{Descriptor, Manifest};
use weir_policy::go_regex;
use weir_policy::semver::{self, Constraint};
use weir_runtime::condition;

use crate::source::Failure;

/// Tag without a reference.
const DEFAULT_TAG: &str = "latest";
/// Helm charts, whose tags write `_` for the `+` of their versions (SRC-OCI-3).
const HELM_LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
/// Annotations that events repeat.
const ORIGIN_SOURCE: &str = "org.opencontainers.image.source";
const ORIGIN_REVISION: &str = "org.opencontainers.image.revision";
const LAYER_FAILED: &str = "OCIArtifactLayerOperationFailed";

/// The reference that an object wants, by precedence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Exactly this content.
    Digest(String),
    /// The highest tag of a range, of those that a filter lets through.
    Range { range: String, filter: Option<String> },
    /// A tag.
    Tag(String),
}

/// The operation on an object's layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// The files in it, packed anew by the ignore rules.
    Extract,
    /// The layer, byte for byte.
    Copy,
}

/// Returns the wanted reference (precedence digest, range, tag).
pub(super) fn wanted(reference: Option<&OciRepositoryRef>) -> Wanted {
    let given = |field: fn(&OciRepositoryRef) -> Option<&String>| {
        reference.and_then(field).filter(|text| !text.is_empty()).cloned()
    };
    if let Some(digest) = given(|it| it.digest.as_ref()) {
        return Wanted::Digest(digest);
    }
    match given(|it| it.semver.as_ref()) {
        Some(range) => Wanted::Range { range, filter: given(|it| it.semver_filter.as_ref()) },
        None => Wanted::Tag(given(|it| it.tag.as_ref()).unwrap_or_else(|| DEFAULT_TAG.to_owned())),
    }
}

/// Reads `spec.ref.digest`.
///
/// # Errors
/// The words of Flux's library about a text that is none.
pub(super) fn digest(text: &str) -> Result<Digest, String> {
    let (algorithm, hex) = text
        .split_once(':')
        .filter(|(algorithm, hex)| !algorithm.is_empty() && !hex.is_empty())
        .ok_or_else(|| format!("cannot parse hash: {text:?}"))?;
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if let Some(stranger) = hex.bytes().find(|byte| !is_hex(byte)) {
        return Err(format!("found non-hex character in hash: {}", char::from(stranger)));
    }
    if algorithm != "sha256" {
        return Err(format!("unsupported hash: {algorithm:?}"));
    }
    Digest::parse(text).map_err(|_| format!("wrong number of hex digits for {algorithm}: {hex}"))
}

/// The tag of a range among those of a registry.
pub(super) fn choose(
    tags: &[String],
    range: &str,
    filter: Option<&str>,
    selector: Option<&OciLayerSelector>,
) -> Result<String, String> {
    let filter = filter.map(go_regex::compile).transpose().map_err(|error| error.to_string())?;
    let constraint =
        Constraint::parse(range).map_err(|error| format!("semver '{range}' parse error: {error}"))?;
    let kept = tags.iter().filter(|tag| filter.as_ref().is_none_or(|filter| filter.is_match(tag)));
    let is_chart = selector.and_then(|selector| selector.media_type.as_deref()) == Some(HELM_LAYER);
    let versions: Vec<(String, &String)> =
        kept.map(|tag| (if is_chart { tag.replace('_', "+") } else { tag.clone() }, tag)).collect();
    let latest = semver::latest(&constraint, versions.iter().map(|(version, _)| version.as_str()));
    let chosen = latest.and_then(|latest| versions.iter().find(|(version, _)| version == latest));
    chosen.map(|(_, tag)| (*tag).clone()).ok_or_else(|| format!("no match found for semver: {range}"))
}

/// The artifact that is there, if it is of this revision and was made with the same settings (SRC-OCI-6).
pub(super) fn reusable<'a>(
    object: &OciRepository,
    known: Option<&'a Artifact>,
    revision: &str,
) -> Option<&'a Artifact> {
    let status = object.status.as_ref()?;
    let same_settings = object.spec.ignore == status.observed_ignore
        && object.spec.layer_selector == status.observed_layer_selector
        && condition::is_true(&status.conditions, ARTIFACT_IN_STORAGE);
    known.filter(|known| same_settings && known.revision == revision)
}

/// The layer that becomes the artifact.
pub(super) fn layer<'a>(
    manifest: &'a Manifest,
    selector: Option<&OciLayerSelector>,
) -> Result<&'a Descriptor, Failure> {
    let media_type =
        selector.and_then(|selector| selector.media_type.as_deref()).filter(|text| !text.is_empty());
    let found = match media_type {
        None => manifest.layers.first(),
        Some(wanted) => manifest.layers.iter().find(|layer| layer.media_type == wanted),
    };
    found.ok_or_else(|| match (media_type, manifest.layers.is_empty()) {
        (Some(wanted), false) => {
            layer_failure(format!("failed to find layer with media type '{wanted}' in artifact"))
        }
        _ => layer_failure("no layers found in artifact"),
    })
}

/// Returns the operation on the layer.
pub(super) fn operation(selector: Option<&OciLayerSelector>) -> Result<Operation, Failure> {
    match selector.and_then(|selector| selector.operation.as_deref()) {
        None | Some("" | "extract") => Ok(Operation::Extract),
        Some("copy") => Ok(Operation::Copy),
        Some(other) => Err(layer_failure(format!("unsupported layer operation: {other}"))),
    }
}

/// A layer that cannot be used.
pub(super) fn layer_failure(message: impl Into<String>) -> Failure {
    Failure::fetch(LAYER_FAILED, message)
}

/// Returns the message about a stored artifact.
pub(super) fn stored_event(artifact: &Artifact, url: &str) -> String {
    let message = format!("stored artifact with revision '{}' from '{url}'", artifact.revision);
    match (artifact.metadata.get(ORIGIN_SOURCE), artifact.metadata.get(ORIGIN_REVISION)) {
        (Some(source), Some(revision)) if !source.is_empty() && !revision.is_empty() => {
            format!("{message}, origin source '{source}', origin revision '{revision}'")
        }
        _ => message,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn reference(value: Value) -> OciRepositoryRef {
        serde_json::from_value(value).unwrap()
    }

    #[rstest]
    #[case(json!({}), Wanted::Tag("latest".into()))]
    #[case(json!({ "tag": "v1" }), Wanted::Tag("v1".into()))]
    #[case(json!({ "tag": "v1", "semverFilter": ".*" }), Wanted::Tag("v1".into()))]
    #[case(json!({ "tag": "v1", "semver": "1.x" }), Wanted::Range { range: "1.x".into(), filter: None })]
    #[case(json!({ "semver": "1.x", "digest": "sha256:a" }), Wanted::Digest("sha256:a".into()))]
    fn precedence(#[case] value: Value, #[case] expected: Wanted) {
        assert_eq!(wanted(Some(&reference(value))), expected);
    }

    #[rstest]
    #[case("foo", "cannot parse hash: \"foo\"")]
    #[case("sha256:", "cannot parse hash: \"sha256:\"")]
    #[case("sha512:ab", "unsupported hash: \"sha512\"")]
    #[case("sha256:abz", "found non-hex character in hash: z")]
    #[case("sha256:AB", "found non-hex character in hash: A")]
    #[case("sha256:abc", "wrong number of hex digits for sha256: abc")]
    fn no_digests(#[case] text: &str, #[case] message: &str) {
        assert_eq!(digest(text).unwrap_err(), message);
    }

    #[test]
    fn digests() {
        let text = format!("sha256:{}", "0a".repeat(32));
        assert_eq!(digest(&text).unwrap().to_string(), text);
    }

    fn tags() -> Vec<String> {
        let tags = ["1.0.0", "1.1.0", "v1.2.0", "1.3.0-rc.1", "2.0.0", "latest", "1.5.0_build"];
        tags.map(str::to_owned).to_vec()
    }

    #[rstest]
    #[case("*", None, "2.0.0")]
    #[case("1.x", None, "v1.2.0")]
    #[case(">=1.0.0-0", Some(".*-rc.*"), "1.3.0-rc.1")]
    fn chosen(#[case] range: &str, #[case] filter: Option<&str>, #[case] expected: &str) {
        assert_eq!(choose(&tags(), range, filter, None).unwrap(), expected);
    }

    #[rstest]
    #[case(">3", None, "no match found for semver: >3")]
    #[case("*", Some("nothing"), "no match found for semver: *")]
    #[case("*", Some("("), "error parsing regexp: missing closing ): `(`")]
    #[case("not a range", None, "semver 'not a range' parse error: improper constraint: \"not a range\"")]
    fn not_chosen(#[case] range: &str, #[case] filter: Option<&str>, #[case] message: &str) {
        assert_eq!(choose(&tags(), range, filter, None).unwrap_err(), message);
    }

    #[test]
    fn tags_of_charts_write_underscores_for_plus() {
        let selector = OciLayerSelector { media_type: Some(HELM_LAYER.into()), operation: None };
        assert_eq!(choose(&tags(), "1.x", None, Some(&selector)).unwrap(), "1.5.0_build");
    }

    #[rstest]
    #[case("https://h/r", "main@sha1:1", ", origin source 'https://h/r', origin revision 'main@sha1:1'")]
    #[case("https://h/r", "", "")]
    #[case("", "main@sha1:1", "")]
    fn the_origin_of_an_artifact_is_told_whole_or_not(
        #[case] source: &str,
        #[case] revision: &str,
        #[case] expected: &str,
    ) {
        let annotations = [(ORIGIN_SOURCE, source), (ORIGIN_REVISION, revision)];
        let metadata = annotations.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let artifact = Artifact { revision: "v1@sha256:a".into(), metadata, ..Artifact::default() };
        let told = format!("stored artifact with revision 'v1@sha256:a' from 'oci://h/r'{expected}");
        assert_eq!(stored_event(&artifact, "oci://h/r"), told);
    }

    fn object(spec: Value, status: Value) -> OciRepository {
        let mut full = json!({ "url": "oci://h/r", "interval": "1m" });
        full.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let mut state = json!({ "conditions": [{
            "type": "ArtifactInStorage", "status": "True", "reason": "Succeeded", "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]});
        state.as_object_mut().unwrap().extend(status.as_object().unwrap().clone());
        serde_json::from_value(json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository",
            "metadata": { "name": "a", "namespace": "b" }, "spec": full, "status": state,
        }))
        .unwrap()
    }

    /// SRC-OCI-11.
    #[rstest]
    #[case::first(&["a/x", "b/x"], json!({}), Ok("a/x"))]
    #[case::by_media_type(&["a/x", "b/x"], json!({ "mediaType": "b/x" }), Ok("b/x"))]
    #[case::any_media_type(&["a/x", "b/x"], json!({ "mediaType": "" }), Ok("a/x"))]
    #[case::other_media_type(&["a/x"], json!({ "mediaType": "c/x" }), Err("failed to find layer with media type 'c/x' in artifact"))]
    #[case::none(&[], json!({}), Err("no layers found in artifact"))]
    #[case::none_of_a_media_type(&[], json!({ "mediaType": "c/x" }), Err("no layers found in artifact"))]
    fn layers(#[case] types: &[&str], #[case] selector: Value, #[case] expected: Result<&str, &str>) {
        let text = format!("sha256:{}", "0a".repeat(32));
        let layer = |of: &&str| json!({ "mediaType": of, "digest": text, "size": 1 });
        let layers: Vec<Value> = types.iter().map(layer).collect();
        let config = layer(&"application/json");
        let bytes = json!({ "schemaVersion": 2, "config": config, "layers": layers }).to_string();
        let manifest = Manifest::parse(digest(&text).unwrap(), bytes.as_bytes(), "u").unwrap();
        let selector: OciLayerSelector = serde_json::from_value(selector).unwrap();
        let found = super::layer(&manifest, Some(&selector));
        let found = found.map(|layer| layer.media_type.as_str());
        assert_eq!(found.map_err(|failure| failure.cause.message), expected.map_err(str::to_owned));
    }

    #[rstest]
    #[case(json!({}), Ok(Operation::Extract))]
    #[case(json!({ "operation": "extract" }), Ok(Operation::Extract))]
    #[case(json!({ "operation": "copy" }), Ok(Operation::Copy))]
    #[case(json!({ "operation": "move" }), Err("unsupported layer operation: move"))]
    fn operations(#[case] selector: Value, #[case] expected: Result<Operation, &str>) {
        let selector: OciLayerSelector = serde_json::from_value(selector).unwrap();
        let found = operation(Some(&selector)).map_err(|failure| failure.cause.message);
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[rstest]
    #[case::same(json!({}), json!({}), "v1@sha256:a", true)]
    #[case::moved(json!({}), json!({}), "v1@sha256:b", false)]
    #[case::ignore(json!({ "ignore": "x" }), json!({}), "v1@sha256:a", false)]
    #[case::same_ignore(json!({ "ignore": "x" }), json!({ "observedIgnore": "x" }), "v1@sha256:a", true)]
    #[case::layer(json!({ "layerSelector": { "operation": "copy" } }), json!({}), "v1@sha256:a", false)]
    #[case::not_stored(json!({}), json!({ "conditions": [] }), "v1@sha256:a", false)]
    fn reuse(#[case] spec: Value, #[case] status: Value, #[case] revision: &str, #[case] expected: bool) {
        let known = Artifact { revision: "v1@sha256:a".into(), ..Artifact::default() };
        assert_eq!(reusable(&object(spec, status), Some(&known), revision).is_some(), expected);
    }
}
