//! The lines of manifests that name old API versions.

use std::collections::BTreeMap;

use crate::kind::KINDS;

/// Starts of the two lines that name a kind.
const API_VERSION: &str = "apiVersion: ";
const KIND: &str = "kind: ";

/// Minor versions of Flux whose API versions are known, the newest first.
const RELEASES: [&str; 4] = ["2.9", "2.8", "2.7", OLDEST];
/// The release in which the image API was not stable yet, and there were no ArtifactGenerators.
const OLDEST: &str = "2.6";
const IMAGE_GROUP: &str = "image.toolkit.fluxcd.io";
const IMAGE_VERSION: &str = "v1beta2";
const NOT_YET: &str = "ArtifactGenerator";

/// The newest version of each kind, by group and kind.
pub(super) struct Versions(BTreeMap<(&'static str, &'static str), &'static str>);

/// A line that is to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    /// Number of the line; the first is 1.
    pub(super) line: usize,
    /// Kind of the object.
    pub(super) kind: String,
    /// Version that stands there.
    pub(super) old: String,
    /// Version that is written.
    pub(super) new: &'static str,
}

impl Versions {
    /// Returns the versions of a release.
    pub(super) fn of(release: Option<&str>) -> Result<Self, String> {
        if let Some(unknown) = release.filter(|release| !RELEASES.contains(release)) {
            let known = RELEASES.join(", ");
            return Err(format!("version {unknown} is not supported, supported versions are: {known}"));
        }
        let is_oldest = release == Some(OLDEST);
        let kinds = KINDS.iter().filter(|kind| !is_oldest || kind.name != NOT_YET);
        let versions = kinds.map(|kind| {
            let version = if is_oldest && kind.group == IMAGE_GROUP { IMAGE_VERSION } else { kind.version };
            ((kind.group, kind.name), version)
        });
        Ok(Self(versions.collect()))
    }

    /// Returns the newest version of a kind, if it is newer than this one.
    fn newer(&self, group: &str, kind: &str, version: &str) -> Option<&'static str> {
        let newest = *self.0.get(&(group, kind))?;
        (rank(version)? < rank(newest)?).then_some(newest)
    }
}

/// Returns numbers by which versions are ordered as Kubernetes does it: `v1alpha1`, `v1beta1`, `v1`, `v2`.
fn rank(version: &str) -> Option<(u8, u32, u32)> {
    let text = version.strip_prefix('v')?;
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (major, rest) = text.split_at_checked(digits)?;
    let major = major.parse().ok()?;
    let pre = |name: &str, stage: u8| Some((stage, major, rest.strip_prefix(name)?.parse().ok()?));
    if rest.is_empty() { Some((2, major, 0)) } else { pre("beta", 1).or_else(|| pre("alpha", 0)) }
}

/// Finds the lines `apiVersion: …` with an old version whose next line is `kind: …`, and the lines whose value is none, each with
/// its number.
pub(super) fn edits(text: &str, versions: &Versions) -> (Vec<Edit>, Vec<(usize, String)>) {
    let (mut edits, mut problems) = (Vec::new(), Vec::new());
    let mut lines = text.split('\n').zip(1..).peekable();
    while let Some((line, number)) = lines.next() {
        let Some(api_version) = value(line, API_VERSION) else { continue };
        let mut parts = api_version.split('/');
        let (group, version) = match (parts.next(), parts.next(), parts.next()) {
            (Some(group), Some(version), None) => (group, version),
            (_, _, Some(_)) => {
                problems.push((number, format!("unexpected GroupVersion string: {api_version}")));
                continue;
            }
            _ => continue,
        };
        let Some(kind) = lines.peek().and_then(|(line, _)| value(line, KIND)) else { continue };
        if let Some(new) = versions.newer(group, kind, version) {
            edits.push(Edit { line: number, kind: kind.to_owned(), old: version.to_owned(), new });
        }
    }
    (edits, problems)
}

/// Returns the value behind a key, up to a space.
fn value<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    let (_, value) = line.split_once(key)?;
    value.trim().split(' ').next()
}

/// Returns the text with the new versions. The edits are in the order of their lines.
pub(super) fn rewritten(text: &str, edits: &[Edit]) -> String {
    let mut edits = edits.iter().peekable();
    let lines = text.split('\n').zip(1..).map(|(line, number)| {
        let edit = edits.next_if(|edit| edit.line == number);
        let changed = edit.and_then(|Edit { old, new, .. }| {
            let (before, value) = line.split_once(API_VERSION)?;
            // The group may contain what the version is.
            let (group, version) = value.split_once('/')?;
            Some(format!("{before}{API_VERSION}{group}/{}", version.replacen(old.as_str(), new, 1)))
        });
        changed.unwrap_or_else(|| line.to_owned())
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migrated(text: &str, release: Option<&str>) -> String {
        rewritten(text, &edits(text, &Versions::of(release).unwrap()).0)
    }

    #[rstest::rstest]
    #[case::plain(
        "kustomize.toolkit.fluxcd.io/v1beta2\nkind: Kustomization",
        "kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization"
    )]
    #[case::comment(
        "image.toolkit.fluxcd.io/v1beta1 # v1beta1\r\nkind: ImagePolicy # it",
        "image.toolkit.fluxcd.io/v1 # v1beta1\r\nkind: ImagePolicy # it"
    )]
    #[case::other_beta(
        "notification.toolkit.fluxcd.io/v1beta2\nkind: Alert",
        "notification.toolkit.fluxcd.io/v1beta3\nkind: Alert"
    )]
    #[case::helm(
        "helm.toolkit.fluxcd.io/v2beta1\nkind: HelmRelease\n",
        "helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
    )]
    #[case::newest("source.toolkit.fluxcd.io/v1\nkind: Bucket", "source.toolkit.fluxcd.io/v1\nkind: Bucket")]
    #[case::newer_than_known(
        "source.toolkit.fluxcd.io/v2\nkind: Bucket",
        "source.toolkit.fluxcd.io/v2\nkind: Bucket"
    )]
    #[case::kind_elsewhere(
        "source.toolkit.fluxcd.io/v1beta2\n\nkind: Bucket",
        "source.toolkit.fluxcd.io/v1beta2\n\nkind: Bucket"
    )]
    #[case::other_kind("apps/v1beta2\nkind: Deployment", "apps/v1beta2\nkind: Deployment")]
    #[case::no_group("v1\nkind: Secret", "v1\nkind: Secret")]
    fn only_the_version_changes(#[case] old: &str, #[case] new: &str) {
        for before in ["apiVersion: ", "- apiVersion: "] {
            assert_eq!(migrated(&format!("{before}{old}"), None), format!("{before}{new}"));
        }
    }

    /// A release never brings an older version.
    #[rstest::rstest]
    #[case("v1beta1", "v1beta2")]
    #[case("v1beta2", "v1beta2")]
    #[case("v1", "v1")]
    fn the_image_api_of_2_6(#[case] old: &str, #[case] new: &str) {
        let text = |version| format!("apiVersion: image.toolkit.fluxcd.io/{version}\nkind: ImagePolicy");
        assert_eq!(migrated(&text(old), Some("2.6")), text(new));
    }
}
