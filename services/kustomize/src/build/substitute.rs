//! Substitution in one built object: over its YAML, which is read anew as YAML 1.1 (KS-SUB-1, KS-SUB-9).

use serde_json::Value;
use weir_api::kustomize::KustomizationSpec;
use weir_envsubst::Unset;
use weir_yaml::{Entry, Limits, Map, Node, Scalar, Source, YamlError, emit, parse_first_document, sort_keys};

use crate::cluster::GROUP;
use crate::variables::{self, Variables};

/// Errors of substituting an object.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The variables are not known.
    #[error(transparent)]
    Variables(#[from] variables::Error),
    /// An expression is wrong.
    #[error("envsubst error: variable substitution failed: {0}")]
    Expression(#[from] weir_envsubst::Error),
    /// The values have made something else of the text than YAML. They may come from Secrets, and are not shown.
    #[error("envsubst error: YAMLToJSON: {}", without_value(.0))]
    Yaml(#[from] YamlError),
}

/// The object and its YAML, with the variables put in.
pub(super) fn substitute(
    object: Value,
    yaml: String,
    variables: Option<&Result<Variables, variables::Error>>,
    spec: &KustomizationSpec,
    is_strict: bool,
) -> Result<(Value, String), Error> {
    let (Some(variables), false) = (variables, is_disabled(&object)) else { return Ok((object, yaml)) };
    let variables = variables.as_ref().map_err(Clone::clone)?;
    let strategy = spec.post_build.as_ref().and_then(|post_build| post_build.substitute_strategy.as_deref());
    if variables.is_empty() && strategy != Some("Always") {
        return Ok((object, yaml));
    }
    let unset = if is_strict { Unset::Refuse } else { Unset::Empty };
    let text = weir_envsubst::substitute(&yaml, |name| variables.get(name), unset)?;
    if text == yaml {
        return Ok((object, yaml));
    }
    read_again(text)
}

fn without_value(error: &YamlError) -> String {
    match error {
        YamlError::Type { found, wanted, .. } => format!("yaml: cannot decode {found} as a {wanted}"),
        YamlError::DuplicateKey { line, first, .. } => {
            format!("yaml: unmarshal errors:\n  line {line}: mapping key already defined at line {first}")
        }
        YamlError::Separator(_) => "yaml: invalid document separator".to_owned(),
        other => other.to_string(),
    }
}

/// Returns true when the object opts out (KS-SUB-7); the value is compared exactly.
fn is_disabled(object: &Value) -> bool {
    let key = format!("{GROUP}/substitute");
    ["labels", "annotations"].iter().any(|field| {
        let map = object.get("metadata").and_then(|metadata| metadata.get(field));
        map.and_then(|map| map.get(&key)).and_then(Value::as_str) == Some("disabled")
    })
}

fn read_again(text: String) -> Result<(Value, String), Error> {
    let source = Source::file("", text);
    let node = parse_first_document(&source, &Limits::default())?;
    let object = node.map_or(Ok(Value::Null), |node| node.to_json_of_yaml11())?;
    let yaml = to_yaml(&object)?;
    Ok((object, yaml))
}

/// An object as the build prints it.
///
/// # Errors
/// Text that YAML cannot hold.
pub fn to_yaml(object: &Value) -> Result<String, YamlError> {
    let mut yaml = String::new();
    emit(&to_node(object), &mut yaml)?;
    Ok(yaml)
}

/// The order of keys is that of the reference's output, so that digests in the history agree.
fn to_node(value: &Value) -> Node {
    match value {
        Value::Null => Node::plain("null"),
        Value::Bool(value) => Node::plain(value.to_string()),
        Value::Number(number) => Node::plain(number.to_string()),
        Value::String(text) => Node::string(text.as_str()),
        Value::Array(items) => Node::Seq(items.iter().map(to_node).collect()),
        Value::Object(object) => {
            let mut keys: Vec<&str> = object.keys().map(String::as_str).collect();
            sort_keys(&mut keys);
            // Keys of an object stand once, so that none is looked for.
            let entry =
                |key: &str| Some(Entry { key: Scalar::string(key), value: to_node(object.get(key)?) });
            Node::Map(Map { entries: keys.into_iter().filter_map(entry).collect() })
        }
    }
}
