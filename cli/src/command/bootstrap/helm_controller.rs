//! Flux's helm-controller in a file of manifests: Weir has no helm service, so that a bootstrap keeps it as it is.

use serde_json::Value;
use weir_yaml::{Limits, Source, YamlError, parse_first_document};

use super::components::{self, FILE};
use crate::error::Error;
use crate::manifests::HELM_CONTROLLER;
use crate::output::manifest::text;

/// API group of Helm releases.
const GROUP: &str = "helm.toolkit.fluxcd.io";

/// Returns the documents of a file of manifests that are Flux's helm-controller. Without them the cluster would lose it, and with its CRD
/// every Helm release. A file whose header names it and that has none of it is refused.
pub(super) fn kept(manifests: &str) -> Result<String, Error> {
    let mut kept = String::new();
    for document in documents(manifests) {
        let object = object(&document).map_err(|error| Error::Bootstrap(format!("{FILE}: {error}")))?;
        if is_part(&object) {
            kept.push_str("---\n");
            kept.push_str(&document);
        }
    }
    if kept.is_empty() && components::named(manifests).any(|name| name == HELM_CONTROLLER) {
        return Err(Error::Bootstrap(format!(
            "{FILE} names {HELM_CONTROLLER} as a component and has no manifest of it: nothing was changed, as the cluster would delete it \
             and all Helm releases; if it is to go, take its name out of the line `# Components:`"
        )));
    }
    Ok(kept)
}

/// Splits a file at its document markers.
fn documents(manifests: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in manifests.lines() {
        match (line.trim_end(), documents.last_mut()) {
            ("---", _) | (_, None) => documents.push(String::new()),
            (_, Some(document)) => {
                document.push_str(line);
                document.push('\n');
            }
        }
    }
    documents
}

fn object(document: &str) -> Result<Value, YamlError> {
    let limits = Limits::default();
    let source = Source::read("manifest", document.as_bytes().to_vec(), &limits)?;
    parse_first_document(&source, &limits)?.map_or(Ok(Value::Null), |node| node.to_json_of_yaml11())
}

/// True for objects of that name, CRDs of its group, and whatever carries its label, which Flux sets since 0.35.
fn is_part(object: &Value) -> bool {
    text(object, "/metadata/name") == HELM_CONTROLLER
        || text(object, "/metadata/labels/app.kubernetes.io~1component") == HELM_CONTROLLER
        || (text(object, "/kind") == "CustomResourceDefinition" && text(object, "/spec/group") == GROUP)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the shape of Flux 0.35 and later.
    #[test]
    fn documents_with_the_label_are_found() {
        let of = |component: &str, kind: &str| {
            format!("---\nkind: {kind}\nmetadata:\n  labels:\n    app.kubernetes.io/component: {component}\n")
        };
        let [crd, deployment] =
            ["CustomResourceDefinition", "Deployment"].map(|kind| of(HELM_CONTROLLER, kind));
        let file =
            format!("---\n# Components: a\n{crd}{}{deployment}", of("source-controller", "Deployment"));
        let found = kept(&file).unwrap();
        assert_eq!(found, format!("{crd}{deployment}"));
        assert_eq!(kept(&found).unwrap(), found);
        assert_eq!(kept("").unwrap(), "");
    }

    /// In the shape of Flux before 0.35, which has no label of a component.
    #[test]
    fn documents_without_the_label_are_found() {
        let file = include_str!("../../../tests/it/bootstrap/of-flux-0.30.yaml");
        let (rest, expected) = file.split_once("# those of helm-controller\n").unwrap();
        assert_eq!(kept(file).unwrap(), expected);
        let error = kept(rest).unwrap_err().to_string();
        assert!(error.contains("names helm-controller as a component and has no manifest of it"), "{error}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_refused() {
        let error = kept("---\nkind: [\n").unwrap_err().to_string();
        assert!(error.contains("gotk-components.yaml: "), "{error}");
    }
}
