//! Values files and how several become one (SRC-CHT-15).

use weir_yaml::{Map, Node, Tag, YamlError, emit, read_documents, read_first_document};

/// Errors that make a values file unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValuesError {
    /// It is not YAML.
    #[error("unmarshaling values from '{file}' failed: {}", self.fault())]
    Syntax {
        /// The file, as it is referred to.
        file: String,
        /// The parser's message.
        #[source]
        source: YamlError,
    },
    /// It is YAML, and no mapping.
    #[error("unmarshaling values from '{file}' failed: {}", self.fault())]
    Shape {
        /// The file, as it is referred to.
        file: String,
        /// Kind of the value that stands there instead, as JSON calls it.
        found: &'static str,
    },
    /// There is no such file.
    #[error("no values file found at path '{path}'")]
    Missing {
        /// The path.
        path: String,
    },
    /// There is no such file in a source.
    #[error("no values file found at path '/{path}' (reference '{reference}')")]
    MissingInSource {
        /// The path from the source's root.
        path: String,
        /// As the object refers to it.
        reference: String,
    },
}

impl ValuesError {
    /// Returns the fault in a file, without its name.
    pub(crate) fn fault(&self) -> String {
        match self {
            Self::Syntax { source, .. } => format!("error converting YAML to JSON: {source}"),
            Self::Shape { found, .. } => format!(
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type \
                 map[string]interface {{}}"
            ),
            missing => missing.to_string(),
        }
    }
}

/// Values: a mapping, in the order of its file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values(Map);

/// Reads a values file; an empty one has no values.
///
/// # Errors
/// When it is not YAML, or no mapping.
pub fn parse(file: &str, content: &[u8]) -> Result<Values, ValuesError> {
    let node = read_first_document(file, content.to_vec()).map_err(syntax(file))?;
    node.map_or_else(|| Ok(Values::default()), |node| of_document(file, node))
}

/// Reads all documents of a file, later ones on top of earlier ones.
///
/// # Errors
/// When it is not YAML, or one of the documents is no mapping.
pub fn parse_all(file: &str, content: &[u8]) -> Result<Values, ValuesError> {
    let mut values = Values::default();
    for node in read_documents(file, content.to_vec()).map_err(syntax(file))? {
        values.merge(of_document(file, node)?);
    }
    Ok(values)
}

fn syntax(file: &str) -> impl FnOnce(YamlError) -> ValuesError {
    move |source| ValuesError::Syntax { file: file.to_owned(), source }
}

/// Helm and Flux read values as YAML 1.1: a feature that is `off` is not the text "off", which templates take for true.
fn of_document(file: &str, node: Node) -> Result<Values, ValuesError> {
    match node.before_text().as_yaml11() {
        node if node.is_null() => Ok(Values::default()),
        Node::Map(map) => {
            let values = Values(map);
            // Numbers that are none are found when values are rendered.
            values.to_yaml().map_err(syntax(file))?;
            Ok(values)
        }
        other => {
            let found = match other.as_scalar().map(|scalar| scalar.tag) {
                None => "array",
                Some(Tag::Bool) => "bool",
                Some(Tag::Int | Tag::Float) => "number",
                Some(_) => "string",
            };
            Err(ValuesError::Shape { file: file.to_owned(), found })
        }
    }
}

impl Values {
    /// Puts `over` on top: mappings run together, everything else is replaced, lists and nulls too.
    pub fn merge(&mut self, over: Self) {
        merge(&mut self.0, over.0);
    }

    /// The values as YAML; no bytes when there are none.
    ///
    /// # Errors
    /// When a number is none, which values that were parsed have not.
    pub fn to_yaml(&self) -> Result<String, YamlError> {
        let mut text = String::new();
        if !self.0.is_empty() {
            emit(&Node::Map(self.0.clone()), &mut text)?;
        }
        Ok(text)
    }
}

fn merge(base: &mut Map, over: Map) {
    for entry in over.entries {
        match (base.get_mut(&entry.key.text), entry.value) {
            (Some(Node::Map(below)), Node::Map(above)) => merge(below, above),
            (Some(slot), value) => *slot = value,
            (None, value) => base.entries.push(weir_yaml::Entry { key: entry.key, value }),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn merged(files: &[&str]) -> String {
        let mut all = Values::default();
        for file in files {
            all.merge(parse("v", file.as_bytes()).unwrap());
        }
        all.to_yaml().unwrap()
    }

    #[rstest]
    #[case(&["a: 1\n", "a: 2\n"], "a: 2\n")]
    #[case(&["a: {b: 1, c: 2}\n", "a: {c: 3, d: x}\n"], "a:\n  b: 1\n  c: 3\n  d: x\n")]
    #[case(&["a: [1, 2]\n", "a: [3]\n"], "a:\n- 3\n")]
    #[case(&["a: {b: 1}\n", "a: null\n"], "a: null\n")]
    #[case(&["a: 1.5\nb: \"1\"\nc: \"yes\"\n", ""], "a: 1.5\nb: \"1\"\nc: \"yes\"\n")]
    #[case(&["a: yes\nb: off\nc: [n, ~]\nd: 2024-01-01\n"], "a: true\nb: false\nc:\n- false\n- null\nd: \"2024-01-01\"\n")]
    #[case(&["a: 0644\nb: 1_000\nc: 0x1F\nd: 1.0\ne: 1e3\n"], "a: 420\nb: 1000\nc: 31\nd: 1\ne: 1000\n")]
    #[case(&["a: {b, c: , d: [e, ]}\n"], "a:\n  b: null\n  c: null\n  d:\n  - e\n")]
    #[case(&["a: 1\nb: 2\na: 3\n"], "a: 3\nb: 2\n")]
    #[case(&["", "# nothing\n"], "")]
    fn merging(#[case] files: &[&str], #[case] expected: &str) {
        assert_eq!(merged(files), expected);
    }

    #[test]
    fn documents_of_a_file_are_merged_in_order() {
        let values = parse_all("v", b"a: {b: 1, c: 2}\n---\na: {c: 3}\n---\n# nothing\n").unwrap();
        assert_eq!(values.to_yaml().unwrap(), "a:\n  b: 1\n  c: 3\n");
        assert!(parse_all("v", b"a: 1\n---\n- b\n").is_err());
    }

    #[rstest]
    #[case(
        "- a\n",
        "failed: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}"
    )]
    #[case("a\n", "json: cannot unmarshal string into Go")]
    #[case("'1'\n", "json: cannot unmarshal string into Go")]
    #[case("1\n", "json: cannot unmarshal number into Go")]
    #[case("on\n", "json: cannot unmarshal bool into Go")]
    #[case("a: .nan\n", "unmarshaling values from 'v' failed: ")]
    #[case("a: [\n", "unmarshaling values from 'v' failed: error converting YAML to JSON: yaml: line")]
    fn refused(#[case] text: &str, #[case] part: &str) {
        let message = parse("v", text.as_bytes()).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
}
