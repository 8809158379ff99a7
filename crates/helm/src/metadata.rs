//! The metadata of a chart: `Chart.yaml`, and the same fields of each version in an index.

mod line;

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_saphyr::Error;

use crate::version;

/// Format of charts before Helm 3; also that of charts that name none.
pub const V1: &str = "v1";
/// Format of charts since Helm 3.
pub const V2: &str = "v2";
/// Dependencies of one chart; far more than any real one has.
const MAX_DEPENDENCIES: usize = 1000;

/// Errors in a chart's metadata. The texts are Helm's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// It is not YAML of the right shape.
    #[error("cannot load {}: {problem}", named(file))]
    Syntax {
        /// The file.
        file: &'static str,
        /// The parser's message.
        problem: String,
    },
    /// A field that every chart needs.
    #[error("validation: chart.metadata.{field} is required")]
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A name that is a path, or a version that is none.
    #[error("validation: chart.metadata.{field} {value:?} is invalid")]
    Invalid {
        /// The field.
        field: &'static str,
        /// The field's value.
        value: String,
    },
    /// A name that is a directory's.
    #[error("validation: chart.metadata.name {name:?} is not allowed")]
    NotAllowed {
        /// The name.
        name: String,
    },
    /// Neither an application nor a library.
    #[error("validation: chart.metadata.type must be application or library")]
    Type,
    /// Neither `v1` nor `v2`.
    #[error("validation: chart.metadata.apiVersion {value:?} is not supported: it must be \"v1\" or \"v2\"")]
    ApiVersion {
        /// The field's value.
        value: String,
    },
    /// A dependency or maintainer that is null.
    #[error("validation: {list} must not contain empty or null nodes")]
    NullNode {
        /// The list.
        list: &'static str,
    },
    /// An alias with characters that no chart name has.
    #[error("validation: dependency {name:?} has disallowed characters in the alias")]
    Alias {
        /// The dependency.
        name: String,
    },
    /// Two dependencies that would lie in the same place.
    #[error("validation: more than one dependency with name or alias {name:?}")]
    DuplicateDependency {
        /// The name.
        name: String,
    },
    /// More dependencies than a chart may have.
    #[error("validation: more than {MAX_DEPENDENCIES} dependencies")]
    TooManyDependencies,
}

/// The description of a chart. The last four fields stand in indexes only. Helm reads names of fields in any case; of the others those
/// are known that people write.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are those of Helm's chart format")]
pub struct Metadata {
    #[serde(alias = "Name", deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub home: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    #[serde(alias = "Version", deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub version: String,
    #[serde(
        alias = "Description",
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub description: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub maintainers: Vec<Option<Maintainer>>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub icon: String,
    #[serde(
        alias = "apiversion",
        alias = "ApiVersion",
        alias = "APIVersion",
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub api_version: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub condition: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub tags: String,
    #[serde(
        alias = "appversion",
        alias = "AppVersion",
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub app_version: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub deprecated: bool,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, Option<String>>,
    #[serde(
        alias = "kubeversion",
        alias = "KubeVersion",
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub kube_version: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Option<Dependency>>,
    #[serde(rename = "type", deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub created: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub removed: bool,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub digest: String,
}

/// A maintainer of a chart.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the fields are those of Helm's chart format")]
pub struct Maintainer {
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub email: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub url: String,
}

/// A chart that a chart needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the fields are those of Helm's chart format")]
pub struct Dependency {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Always written, as Helm does; empty for a chart below `charts/`.
    #[serde(deserialize_with = "or_default")]
    pub repository: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub condition: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub enabled: bool,
    #[serde(
        rename = "import-values",
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub import_values: Vec<serde_json::Value>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub alias: String,
}

/// The `dependencies` of `requirements.yaml`, `Chart.lock` and `requirements.lock`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Requirements {
    #[serde(deserialize_with = "or_default")]
    dependencies: Vec<Option<Dependency>>,
}

impl Metadata {
    /// Reads a `Chart.yaml`. A chart that names no format is one of `v1`.
    ///
    /// # Errors
    /// Fails when it is not YAML of that shape; its values are not checked yet.
    pub fn parse(bytes: &[u8]) -> Result<Self, MetadataError> {
        let mut metadata: Self = parse("Chart.yaml", bytes)?;
        if metadata.api_version.is_empty() {
            V1.clone_into(&mut metadata.api_version);
        }
        Ok(metadata)
    }

    /// Makes plain lines of the texts, and checks what Helm checks (SRC-CHT-18).
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&mut self) -> Result<(), MetadataError> {
        self.validate_for_index()?;
        if ![V1, V2].contains(&self.api_version.as_str()) {
            return Err(MetadataError::ApiVersion { value: self.api_version.clone() });
        }
        let mut names = BTreeSet::new();
        for dependency in self.dependencies() {
            if !names.insert(dependency.place()) {
                return Err(MetadataError::DuplicateDependency { name: dependency.place().to_owned() });
            }
        }
        Ok(())
    }

    /// The same for a version in an index, where dependencies may stand twice: such charts are out in the world
    /// (SRC-HRP-5).
    pub(crate) fn validate_for_index(&mut self) -> Result<(), MetadataError> {
        line::of_metadata(self);
        let required = [("apiVersion", &self.api_version), ("name", &self.name), ("version", &self.version)];
        if let Some((field, _)) = required.iter().find(|(_, value)| value.is_empty()) {
            return Err(MetadataError::Missing { field });
        }
        if matches!(self.name.as_str(), "." | "..") {
            return Err(MetadataError::NotAllowed { name: self.name.clone() });
        }
        if self.name.contains(['/', '\\']) {
            return Err(MetadataError::Invalid { field: "name", value: self.name.clone() });
        }
        if !version::is_valid(&self.version) {
            return Err(MetadataError::Invalid { field: "version", value: self.version.clone() });
        }
        if !matches!(self.kind.as_str(), "" | "application" | "library") {
            return Err(MetadataError::Type);
        }
        if self.maintainers.iter().any(Option::is_none) {
            return Err(MetadataError::NullNode { list: "maintainers" });
        }
        if self.dependencies.iter().any(Option::is_none) {
            return Err(MetadataError::NullNode { list: "dependencies" });
        }
        if self.dependencies.len() > MAX_DEPENDENCIES {
            return Err(MetadataError::TooManyDependencies);
        }
        let bad = self.dependencies().find(|dependency| !dependency.alias.chars().all(is_alias_character));
        bad.map_or(Ok(()), |bad| Err(MetadataError::Alias { name: bad.name.clone() }))
    }

    /// Returns the chart's dependencies.
    pub fn dependencies(&self) -> impl Iterator<Item = &Dependency> {
        self.dependencies.iter().flatten()
    }
}

impl Dependency {
    /// The name under which the chart lies in `charts/`.
    #[must_use]
    pub fn place(&self) -> &str {
        if self.alias.is_empty() { &self.name } else { &self.alias }
    }
}

/// Reads the dependencies of `requirements.yaml` or of a lock file.
pub(crate) fn dependencies(
    file: &'static str,
    bytes: &[u8],
) -> Result<Vec<Option<Dependency>>, MetadataError> {
    parse::<Requirements>(file, bytes).map(|requirements| requirements.dependencies)
}

fn parse<T: DeserializeOwned>(file: &'static str, bytes: &[u8]) -> Result<T, MetadataError> {
    // Charts with keys that stand twice are out in the world, and Helm takes the last.
    let options = || {
        serde_saphyr::options! {
            with_snippet: false,
            duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
        }
    };
    let parsed = serde_saphyr::from_slice_with_options(bytes, options());
    let parsed = parsed.or_else(|error| match error {
        // Helm's parser reads the first document and no further.
        Error::MultipleDocuments { .. } => {
            let mut rest = bytes;
            serde_saphyr::read_with_options(&mut rest, options()).next().unwrap_or(Err(error))
        }
        error => Err(error),
    });
    parsed.map_err(|error| MetadataError::Syntax { file, problem: problem(file, bytes, &error) })
}

/// The name of a file in messages: Flux reads descriptions itself, and leaves the locks to Helm, which uses no quotes.
fn named(file: &str) -> String {
    if file.ends_with(".lock") { file.to_owned() } else { format!("'{file}'") }
}

/// Returns the fault in a file. Faults of YAML are told in the words of Go's parser, as everywhere; faults of a
/// field's shape in those of the reader of fields.
fn problem(file: &str, bytes: &[u8], error: &Error) -> String {
    match weir_yaml::read_first_document(file, bytes.to_vec()) {
        Ok(_) => format!("error unmarshaling JSON: while decoding JSON: {error}"),
        Err(error) => format!("error converting YAML to JSON: {error}"),
    }
}

fn is_alias_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

/// A null is what is not there.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn of_keys_that_stand_twice_the_last_counts() {
        let metadata =
            Metadata::parse(b"name: a\nname: b\nversion: 1.0.0\nannotations: {x: y, x: z}\n").unwrap();
        assert_eq!((metadata.name.as_str(), metadata.annotations["x"].as_deref()), ("b", Some("z")));
    }

    #[rstest]
    #[case("name: a\nversion: 1.0.0", None)]
    #[case("apiVersion: v2\nname: a\nversion: 1.0.0\nappVersion: 1.10\ntype: library", None)]
    #[case("apiversion: v2\nName: a\nVersion: 1.0.0\nappversion: x", None)]
    #[case("name: a", Some("validation: chart.metadata.version is required"))]
    #[case("version: 1.0.0", Some("validation: chart.metadata.name is required"))]
    #[case("name: ../a\nversion: 1.0.0", Some("validation: chart.metadata.name \"../a\" is invalid"))]
    #[case("name: ..\nversion: 1.0.0", Some("validation: chart.metadata.name \"..\" is not allowed"))]
    #[case("name: a\nversion: one", Some("validation: chart.metadata.version \"one\" is invalid"))]
    #[case(
        "name: a\nversion: 1.0.0\ntype: x",
        Some("validation: chart.metadata.type must be application or library")
    )]
    #[case(
        "name: a\nversion: 1.0.0\ndependencies: [null]",
        Some("validation: dependencies must not contain empty or null nodes")
    )]
    #[case(
        "name: a\nversion: 1.0.0\ndependencies: [{name: b, alias: c/d}]",
        Some("validation: dependency \"b\" has disallowed characters in the alias")
    )]
    #[case(
        "name: a\nversion: 1.0.0\ndependencies: [{name: b}, {name: b}]",
        Some("validation: more than one dependency with name or alias \"b\"")
    )]
    fn validation(#[case] yaml: &str, #[case] expected: Option<&str>) {
        let result = Metadata::parse(yaml.as_bytes()).unwrap().validate();
        assert_eq!(result.err().map(|error| error.to_string()).as_deref(), expected);
    }

    #[test]
    fn names_of_fields_may_have_another_case() {
        let metadata =
            Metadata::parse(b"apiversion: v2\nName: a\nVersion: 1.0.0\nappversion: '2'\n").unwrap();
        let (format, app) = (metadata.api_version.as_str(), metadata.app_version.as_str());
        assert_eq!((format, metadata.name.as_str(), app), ("v2", "a", "2"));
    }

    #[test]
    fn scalars_keep_their_text() {
        let metadata = Metadata::parse(b"name: a\nversion: 1.10\nappVersion: 1.10\nicon: null\n").unwrap();
        assert_eq!((metadata.version.as_str(), metadata.app_version.as_str()), ("1.10", "1.10"));
        let written = serde_saphyr::to_string(&metadata).unwrap();
        assert_eq!(Metadata::parse(written.as_bytes()).unwrap(), metadata);
    }

    #[rstest]
    #[case("name: [a]\n", "error unmarshaling JSON: while decoding JSON: ")]
    #[case("- a\n", "error unmarshaling JSON: while decoding JSON: ")]
    #[case(
        "name: a\nversion: b: c\n",
        "error converting YAML to JSON: yaml: line 2: mapping values are not allowed in this context"
    )]
    fn what_is_no_chart_yaml_is_refused(#[case] yaml: &str, #[case] expected: &str) {
        let refused = Metadata::parse(yaml.as_bytes()).unwrap_err().to_string();
        assert!(refused.starts_with(&format!("cannot load 'Chart.yaml': {expected}")), "{refused}");
    }

    /// As Go's parser, which reads the first document and no further.
    #[rstest]
    #[case("---\nname: a\nversion: 1.0.0\n---\n")]
    #[case("name: a\nversion: 1.0.0\n---\nname: b\n")]
    fn the_first_document_counts(#[case] yaml: &str) {
        assert_eq!(Metadata::parse(yaml.as_bytes()).unwrap().name, "a");
    }
}
