//! The version of a chart that a text means, by Helm's rules (SRC-CHT-4…6, SRC-CHT-14).

use std::cmp::Reverse;

use jiff::Timestamp;
use weir_policy::semver::{Constraint, SemverError, Version};

use crate::index::Release;

/// The range of everything stable.
const ANY: &str = "*";

/// Errors that leave a chart without a version. The texts are Helm's and Flux's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// The repository has no such chart.
    #[error("no chart name found")]
    NoChart,
    /// The chart is there, without any version.
    #[error("no chart version found")]
    NoVersion,
    /// The wanted version is neither a version nor a range.
    #[error(transparent)]
    Range(#[from] SemverError),
    /// No version of an index is in the range.
    #[error("no '{chart}' chart with version matching '{wanted}' found")]
    NoMatch {
        /// The chart.
        chart: String,
        /// The range.
        wanted: String,
    },
    /// No tag of a registry is a version.
    #[error("unable to locate any tags in provided repository")]
    NoTags,
    /// No tag of a registry is in the range.
    #[error("could not locate a version matching provided version string {wanted}")]
    NoTag {
        /// The range.
        wanted: String,
    },
}

/// Errors for which a version cannot carry metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionMetadataError {
    /// The chart's version is none.
    #[error("failed to parse version from chart metadata as SemVer: {source}")]
    Version {
        /// Cause.
        #[source]
        source: SemverError,
    },
    /// Build metadata are letters, digits, hyphens and dots.
    #[error("failed to set SemVer metadata on chart version: invalid metadata '{metadata}'")]
    Metadata {
        /// Metadata to set.
        metadata: String,
    },
}

/// Returns true when a chart's name is one (SRC-CHT-4).
#[must_use]
pub fn is_chart_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '/' | '.');
    // A slash or a dot stands after something, and at most `/.` stand together.
    let starts_well = name.starts_with(|c: char| !matches!(c, '/' | '.'));
    let bad_pairs = ["//", "..", "./"];
    starts_well && name.chars().all(is_allowed) && !bad_pairs.iter().any(|pair| name.contains(pair))
}

/// Returns true when Helm takes a text for a version.
pub(crate) fn is_valid(version: &str) -> bool {
    Version::parse(version).is_ok()
}

/// The release that is meant: the one that is named exactly, otherwise the highest of a range; of equal ones the
/// newest, and of those the last.
///
/// # Errors
/// When nothing matches or `wanted` is no range.
pub fn select<'a>(chart: &str, releases: &'a [Release], wanted: &str) -> Result<&'a Release, SelectError> {
    if releases.is_empty() {
        return Err(SelectError::NoVersion);
    }
    if let Some(exact) = releases.iter().find(|release| !wanted.is_empty() && release.version == wanted) {
        return Ok(exact);
    }
    let range = Constraint::parse(if wanted.is_empty() { ANY } else { wanted })?;
    let versions =
        releases.iter().filter_map(|release| Some((Version::parse_tag(&release.version).ok()?, release)));
    let matching = versions.filter(|(version, _)| range.matches(version));
    // Of equals the last one, as Flux's sort leaves them.
    let best =
        matching.max_by(|(a, left), (b, right)| a.cmp(b).then_with(|| created(left).cmp(&created(right))));
    best.map(|(_, release)| release)
        .ok_or_else(|| SelectError::NoMatch { chart: chart.to_owned(), wanted: wanted.to_owned() })
}

fn created(release: &Release) -> Option<Timestamp> {
    release.created.parse().ok()
}

/// Returns true when `wanted` is one version, which a registry need not be asked for (SRC-CHT-6).
#[must_use]
pub fn is_exact(wanted: &str) -> bool {
    Version::parse_tag(wanted).is_ok()
}

/// The version that is meant among the tags of a registry, with `+` for the `_` of tags (SRC-CHT-6).
///
/// # Errors
/// When nothing matches or `wanted` is no range.
pub fn select_tag(tags: &[String], wanted: &str) -> Result<String, SelectError> {
    let mut versions: Vec<(Version, String)> = tags
        .iter()
        .map(|tag| tag.replace('_', "+"))
        .filter_map(|text| Some((Version::parse_tag(&text).ok()?, text)))
        .collect();
    if versions.is_empty() {
        return Err(SelectError::NoTags);
    }
    // Equal versions, which differ in their metadata only, in a fixed order.
    versions.sort_by(|a, b| (&b.0, Reverse(&b.1)).cmp(&(&a.0, Reverse(&a.1))));
    if let Some((_, exact)) = versions.iter().find(|(_, text)| text == wanted) {
        return Ok(exact.clone());
    }
    let range = Constraint::parse(if wanted.is_empty() { ANY } else { wanted })?;
    let best = versions.into_iter().find(|(version, _)| range.matches(version));
    best.map(|(_, text)| text).ok_or_else(|| SelectError::NoTag { wanted: wanted.to_owned() })
}

/// The tag of a version: registries do not know `+`.
#[must_use]
pub fn tag_of(version: &str) -> String {
    version.replace('+', "_")
}

/// The version with other build metadata, in full: three numbers, no `v` (SRC-CHT-14).
///
/// # Errors
/// When the version is none, or the metadata has characters that none has.
pub fn with_metadata(version: &str, metadata: &str) -> Result<String, VersionMetadataError> {
    let parsed = Version::parse(version).map_err(|source| VersionMetadataError::Version { source })?;
    let is_identifier =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if !metadata.split('.').all(is_identifier) {
        return Err(VersionMetadataError::Metadata { metadata: metadata.to_owned() });
    }
    Ok(format!("{}+{metadata}", *parsed))
}

/// Returns true when a chart's version is in the range that a dependency asks for.
///
/// # Errors
/// When range or version are none.
pub(crate) fn is_in_range(version: &str, range: &str) -> Result<bool, SemverError> {
    Ok(Constraint::parse(range)?.matches(&Version::parse(version)?))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn releases(versions: &[(&str, &str)]) -> Vec<Release> {
        let release = |(version, created): &(&str, &str)| Release {
            version: (*version).to_owned(),
            created: (*created).to_owned(),
            ..Release::default()
        };
        versions.iter().map(release).collect()
    }

    #[rstest]
    #[case("", "2.0.0+b")]
    #[case("*", "2.0.0+b")]
    #[case("2.0.0", "2.0.0")]
    #[case("v1.0.0", "1.0.0")]
    #[case("1.x", "1.1.0")]
    #[case(">=1.0.0-0 <2.0.0", "1.2.0-rc.1")]
    #[case(">=3.0.0-0", "3.0.0-alpha")]
    fn selected(#[case] wanted: &str, #[case] expected: &str) {
        let releases = releases(&[
            ("3.0.0-alpha", ""),
            ("2.0.0", "2026-01-01T00:00:00Z"),
            ("2.0.0+b", "2026-01-02T00:00:00Z"),
            ("1.2.0-rc.1", ""),
            ("1.1.0", ""),
            ("1.0.0", ""),
            ("junk", ""),
        ]);
        assert_eq!(select("app", &releases, wanted).unwrap().version, expected);
    }

    #[rstest]
    #[case(">3", "no 'app' chart with version matching '>3' found")]
    #[case("not a range", "improper constraint: \"not a range\"")]
    fn not_selected(#[case] wanted: &str, #[case] expected: &str) {
        let error = select("app", &releases(&[("1.0.0", "")]), wanted).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn the_last_of_equals_wins() {
        let releases = releases(&[("1.0.0+a", ""), ("1.0.0+b", "")]);
        assert_eq!(select("app", &releases, "*").unwrap().version, "1.0.0+b");
    }

    #[rstest]
    #[case("", "1.2.0+b1")]
    #[case("1.x", "1.2.0+b1")]
    #[case("1.0.0", "1.0.0")]
    #[case(">=2.0.0-0", "2.0.0-rc.1")]
    fn tags(#[case] wanted: &str, #[case] expected: &str) {
        let tags = ["latest", "1.0.0", "1.2.0_b1", "2.0.0-rc.1", "1.1.0"].map(str::to_owned);
        assert_eq!(select_tag(&tags, wanted).unwrap(), expected);
    }

    #[test]
    fn tags_that_are_no_versions() {
        let tags = ["latest".to_owned()];
        assert_eq!(select_tag(&tags, "1.x"), Err(SelectError::NoTags));
        assert_eq!(
            select_tag(&["1.0.0".to_owned()], "2.x"),
            Err(SelectError::NoTag { wanted: "2.x".into() })
        );
    }

    #[rstest]
    #[case("1.0.0", "abc.2", "1.0.0+abc.2")]
    #[case("v1.2", "1", "1.2.0+1")]
    #[case("1.0.0-rc.1+old", "1", "1.0.0-rc.1+1")]
    fn versions_with_metadata(#[case] version: &str, #[case] build: &str, #[case] expected: &str) {
        assert_eq!(with_metadata(version, build).unwrap(), expected);
    }

    #[rstest]
    #[case("app", true)]
    #[case("team/app-1.x", true)]
    #[case("App", false)]
    #[case("../app", false)]
    #[case("/app", false)]
    #[case("a//b", false)]
    #[case("a/../b", false)]
    #[case("", false)]
    fn chart_names(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(is_chart_name(name), expected);
    }
}
