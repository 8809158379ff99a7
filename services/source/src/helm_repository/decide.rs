//! The plan of a run, and its messages. Pure.

use url::Url;
use weir_api::{Artifact, HelmRepository};
use weir_artifact::{Algorithm, Digest};
use weir_helm::FetchError;
use weir_http::go_url;

use crate::source::{Failure, Success};

/// Steps between the units of sizes.
const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
const UNIT: f64 = 1000.0;
/// Digits of a size that are shown.
const DIGITS: usize = 4;

/// The plan of a run whose index is fetched.
#[derive(Debug, PartialEq)]
pub(super) enum Plan {
    /// The artifact that is there has this index.
    Keep(Artifact),
    /// The index becomes the artifact of this revision.
    Store { revision: Digest },
}

/// Returns the end of a run that finds the index of the artifact that is there (SRC-HRP-4).
pub(super) fn kept(known: Artifact, url: &str) -> Success {
    let message = stored_event(&known, url);
    Success::up_to_date(known, message)
}

/// Returns the algorithms of the digests that are compared with the stored revision, and that a new revision has.
pub(super) fn algorithms(known: Option<&Artifact>, canonical: Algorithm) -> [Algorithm; 2] {
    let stored = known.and_then(|known| Digest::parse(&known.revision).ok());
    [stored.map_or(canonical, |stored| stored.algorithm()), canonical]
}

/// Decides what becomes of an index; `known` is the artifact that is whole in the store. The digests are those of
/// [`algorithms`].
pub(super) fn decide(known: Option<&Artifact>, compared: &Digest, new: Digest) -> Plan {
    match known.filter(|known| known.revision == compared.to_string()) {
        Some(known) => Plan::Keep(known.clone()),
        None => Plan::Store { revision: new },
    }
}

/// Returns true when an object stands for a part of a registry and not for an index (SRC-HRP-10).
pub(crate) fn is_oci(object: &HelmRepository) -> bool {
    object.spec.type_.as_deref() == Some("oci")
}

/// The address of an index, or why it is none (SRC-HRP-1). Nothing else than a change of the object can help.
pub(super) fn address(url: &str) -> Result<Url, Failure> {
    let invalid =
        |why: &str| Failure::fetch("URLInvalid", format!("invalid Helm repository URL: {why}")).stalled();
    if url.starts_with("oci://") {
        return Err(invalid("'oci' URL scheme cannot be used with 'default' HelmRepository type"));
    }
    go_url::parse(&go_url::without_user_info(url)).map_err(|why| invalid(&why))?;
    let parsed = go_url::parse(url).map_err(|_| invalid("user info cannot be read"))?;
    match parsed.scheme() {
        "http" | "https" => Ok(parsed),
        scheme => {
            let message = format!("failed to construct Helm client: scheme \"{scheme}\" not supported");
            Err(Failure::fetch("Failed", message).stalled())
        }
    }
}

/// An index that was not fetched (SRC-HRP-3).
pub(super) fn fetch_failure(error: &FetchError) -> Failure {
    let message =
        format!("failed to fetch Helm repository index: failed to cache index to temporary file: {error}");
    if error.is_of_disk() {
        return Failure::disk(message);
    }
    Failure::fetch("Failed", message).after(error.retry_after())
}

/// Returns the message about a stored index.
pub(super) fn stored_event(artifact: &Artifact, url: &str) -> String {
    let size =
        artifact.size.map_or_else(|| "unknown size".to_owned(), |size| format!("size {}", human_size(size)));
    format!("stored fetched index of {size} from '{}'", go_url::without_user_info(url))
}

/// A size as Docker's tools write it: four digits, decimal units.
fn human_size(bytes: i64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "four digits are shown")]
    let mut size = bytes as f64;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    while size >= UNIT {
        let Some(larger) = units.next() else { break };
        size /= UNIT;
        unit = Some(larger);
    }
    let before_point = format!("{size:.0}").len();
    let mut text = format!("{size:.*}", DIGITS.saturating_sub(before_point));
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    text + unit.copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// The stored revision keeps its algorithm as long as the index is the same.
    #[rstest]
    #[case::nothing_stored(None, false)]
    #[case::the_same(Some(Digest::of(Algorithm::Sha256, b"a").to_string()), true)]
    #[case::the_same_by_another_algorithm(Some(Digest::of(Algorithm::Sha384, b"a").to_string()), true)]
    #[case::another(Some(Digest::of(Algorithm::Sha256, b"b").to_string()), false)]
    #[case::no_digest(Some("1.0.0".to_owned()), false)]
    fn an_index_that_is_there_is_kept(#[case] revision: Option<String>, #[case] is_kept: bool) {
        let known = revision.map(|revision| Artifact { revision, ..Artifact::default() });
        let digests =
            algorithms(known.as_ref(), Algorithm::Sha512).map(|algorithm| Digest::of(algorithm, b"a"));
        let [compared, new] = digests;
        let store = Plan::Store { revision: Digest::of(Algorithm::Sha512, b"a") };
        let expected = known.clone().filter(|_| is_kept).map_or(store, Plan::Keep);
        assert_eq!(decide(known.as_ref(), &compared, new), expected);
    }

    #[rstest]
    #[case(0, "0B")]
    #[case(954, "954B")]
    #[case(2124, "2.124kB")]
    #[case(30_880, "30.88kB")]
    #[case(1_000_000, "1MB")]
    #[case(52_428_800, "52.43MB")]
    fn sizes(#[case] bytes: i64, #[case] expected: &str) {
        assert_eq!(human_size(bytes), expected);
    }

    #[rstest]
    #[case(
        "oci://r/charts",
        "invalid Helm repository URL: 'oci' URL scheme cannot be used with 'default' HelmRepository type"
    )]
    #[case("ftp://h/charts", "failed to construct Helm client: scheme \"ftp\" not supported")]
    #[case(
        "http://u:hunter2@h:port/",
        "invalid Helm repository URL: parse \"http://h:port/\": invalid port \":port\" after host"
    )]
    fn no_address(#[case] url: &str, #[case] expected: &str) {
        let failure = address(url).unwrap_err();
        assert_eq!(failure.cause.message, expected);
        assert!(failure.cause.is_stalled());
    }
}
