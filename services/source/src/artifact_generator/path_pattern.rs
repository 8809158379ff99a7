//! One set of artifacts for every directory that a pattern matches (SRC-AGN-19).

use std::collections::BTreeMap;

use regex::Regex;
use weir_api::source::{CopyOperation, OutputArtifact};

use super::name;
use super::placeholder::{self, Part, Parts, PlaceholderError};
use super::stage::Sources;

/// Artifacts of one generator. Each is an object and a file, and all of them stand in one status, which the API server
/// takes up to 1.5 MiB.
const MAX_REQUESTS: usize = 4000;

/// An artifact to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// As in the spec, with the captures filled in.
    pub(super) artifact: OutputArtifact,
    /// Further labels of the object: the captures.
    pub(super) labels: BTreeMap<String, String>,
}

/// Errors in a pattern that keep it from making artifacts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum PatternError {
    /// Not `@alias/pattern`.
    #[error("invalid pathPattern format: {0}")]
    Format(String),
    /// No source has the alias.
    #[error("pathPattern {pattern:?}: source alias {alias} not found in local sources")]
    Alias { pattern: String, alias: String },
    /// A brace is opened and not closed.
    #[error("pathPattern {pattern:?}: invalid capture starting at offset {offset}: missing closing brace")]
    Unclosed { pattern: String, offset: usize },
    /// A brace is closed that was not opened.
    #[error("pathPattern {pattern:?}: invalid capture ending at offset {offset}: missing opening brace")]
    Unopened { pattern: String, offset: usize },
    /// The braces hold no name.
    #[error("pathPattern {pattern:?}: {source}")]
    Capture { pattern: String, source: PlaceholderError },
    /// A name is captured twice.
    #[error("pathPattern {pattern:?}: duplicate capture variable {name:?}")]
    Duplicate { pattern: String, name: String },
    /// The pattern is too large to be matched.
    #[error("pathPattern {pattern:?}: failed to compile path pattern: {message}")]
    Compile { pattern: String, message: String },
    /// A capture becomes a label, and its name cannot be the key of one.
    #[error("pathPattern {pattern:?}: capture variable {name:?} is not a valid Kubernetes label key: {rule}")]
    LabelKey { pattern: String, name: String, rule: String },
    /// A capture becomes a label, and this one cannot.
    #[error(
        "pathPattern {pattern:?}: captured value {value:?} for variable {name:?} is not a valid Kubernetes label value: {rule}"
    )]
    Label { pattern: String, name: String, value: String, rule: String },
    /// A field of an artifact refers to what is not there.
    #[error(
        "pathPattern {pattern:?}: failed to render artifact {artifact} for match {directory}: invalid template {template:?}: {source}"
    )]
    Render {
        pattern: String,
        artifact: String,
        directory: String,
        template: String,
        source: Box<PlaceholderError>,
    },
    /// The name of an artifact cannot be the name of an object.
    #[error(
        "pathPattern {pattern:?}: rendered artifact name {name:?} is not a valid Kubernetes object name: {rule}"
    )]
    Name { pattern: String, name: String, rule: String },
    /// Two directories would make the same object.
    #[error(
        "pathPattern {pattern:?}: directories {first:?} and {second:?} both resolve to artifact name {name:?}"
    )]
    Collision { pattern: String, first: String, second: String, name: String },
    /// More artifacts than a generator may have.
    #[error("pathPattern {pattern:?} makes more than {MAX_REQUESTS} artifacts")]
    TooMany { pattern: String },
}

/// Returns the artifacts for the directories of a source that a pattern, `@alias/apps/{app}`, matches.
pub(super) fn expand(
    text: &str,
    sources: &Sources,
    outputs: &[OutputArtifact],
) -> Result<Vec<Request>, PatternError> {
    let (alias, path) = text
        .strip_prefix('@')
        .and_then(|rest| rest.split_once('/'))
        .ok_or_else(|| PatternError::Format(text.to_owned()))?;
    let source = sources
        .get(alias)
        .ok_or_else(|| PatternError::Alias { pattern: text.to_owned(), alias: alias.to_owned() })?;
    PathPattern::parse(text, path)?.expand(source.directories(), outputs)
}

/// A pattern, ready to be matched.
#[derive(Debug)]
struct PathPattern<'p> {
    text: &'p str,
    matcher: Regex,
}

impl<'p> PathPattern<'p> {
    /// Reads the path of a pattern; `text` is all of it, for messages.
    fn parse(text: &'p str, path: &str) -> Result<Self, PatternError> {
        let pattern = || text.to_owned();
        let mut expression = String::from("^");
        let mut names = Vec::new();
        for part in Parts::of(path) {
            match part.map_err(|error| misplaced(text, error))? {
                Part::Text(literal) => expression.push_str(&regex::escape(literal)),
                Part::Name(name) if names.contains(&name) => {
                    return Err(PatternError::Duplicate { pattern: pattern(), name: name.to_owned() });
                }
                Part::Name(name) => {
                    names.push(name);
                    expression.push_str(&format!("(?P<{name}>[^/]+)"));
                }
            }
        }
        expression.push('$');
        let matcher = Regex::new(&expression)
            .map_err(|error| PatternError::Compile { pattern: pattern(), message: error.to_string() })?;
        for name in names {
            name::check_label_key(name).map_err(|rule| PatternError::LabelKey {
                pattern: pattern(),
                name: name.to_owned(),
                rule,
            })?;
        }
        Ok(PathPattern { text, matcher })
    }

    /// The artifacts for these directories, in their order.
    fn expand<'d>(
        &self,
        directories: impl IntoIterator<Item = &'d str>,
        outputs: &[OutputArtifact],
    ) -> Result<Vec<Request>, PatternError> {
        let mut requests = Vec::new();
        let mut made: BTreeMap<String, &str> = BTreeMap::new();
        for directory in directories {
            let Some(captures) = self.captures(directory) else { continue };
            let labels = self.labels(&captures)?;
            for output in outputs {
                let request = self.request(output, directory, &captures, &labels)?;
                let name = request.artifact.name.clone();
                if let Some(first) = made.insert(name.clone(), directory) {
                    let (pattern, first, second) =
                        (self.text.to_owned(), first.to_owned(), directory.to_owned());
                    return Err(PatternError::Collision { pattern, first, second, name });
                }
                if requests.len() >= MAX_REQUESTS {
                    return Err(PatternError::TooMany { pattern: self.text.to_owned() });
                }
                requests.push(request);
            }
        }
        Ok(requests)
    }

    fn captures(&self, directory: &str) -> Option<BTreeMap<String, String>> {
        let found = self.matcher.captures(directory)?;
        let named = self.matcher.capture_names().flatten();
        Some(
            named.filter_map(|name| Some((name.to_owned(), found.name(name)?.as_str().to_owned()))).collect(),
        )
    }

    /// Kubernetes names are in lower case, and labels follow.
    fn labels(&self, captures: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, PatternError> {
        captures
            .iter()
            .map(|(name, value)| {
                let (name, value) = (name.clone(), value.to_lowercase());
                match name::check_label_value(&value) {
                    Ok(()) => Ok((name, value)),
                    Err(rule) => {
                        Err(PatternError::Label { pattern: self.text.to_owned(), name, value, rule })
                    }
                }
            })
            .collect()
    }

    fn request(
        &self,
        output: &OutputArtifact,
        directory: &str,
        captures: &BTreeMap<String, String>,
        labels: &BTreeMap<String, String>,
    ) -> Result<Request, PatternError> {
        let rendered = |text: &str, values| {
            placeholder::render(text, values).map_err(|source| PatternError::Render {
                pattern: self.text.to_owned(),
                artifact: output.name.clone(),
                directory: directory.to_owned(),
                template: text.to_owned(),
                source: Box::new(source),
            })
        };
        let name = rendered(&output.name, labels)?;
        if let Err(rule) = name::check_object_name(&name) {
            return Err(PatternError::Name { pattern: self.text.to_owned(), name, rule });
        }
        let copy = output.copy.iter().map(|operation| {
            let (from, to) = (rendered(&operation.from, captures)?, rendered(&operation.to, captures)?);
            Ok(CopyOperation { from, to, ..operation.clone() })
        });
        let artifact = OutputArtifact { name, copy: copy.collect::<Result<_, _>>()?, ..output.clone() };
        Ok(Request { artifact, labels: labels.clone() })
    }
}

fn misplaced(pattern: &str, error: PlaceholderError) -> PatternError {
    let pattern = pattern.to_owned();
    match error {
        PlaceholderError::Unclosed(offset) => PatternError::Unclosed { pattern, offset },
        PlaceholderError::Unopened(offset) => PatternError::Unopened { pattern, offset },
        source => PatternError::Capture { pattern, source },
    }
}

#[cfg(test)]
mod tests;
