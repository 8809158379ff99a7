//! `ValueAddTransformer`: one value, also as a part of file paths, in fields of selected resources (KZ-1202).

use std::rc::Rc;

use weir_yaml::{Tag, read_first_document};

use super::NamespaceTransformer;
use crate::Error;
use crate::build::Build;
use crate::fieldspec::{set_scalar, split_slash_path};
use crate::kustomization::{Decoder, Selector, Strictness, decodes};
use crate::loader::Loader;
use crate::path;
use crate::plugin::error::PluginError;
use crate::resmap::ResMap;
use crate::selector::CompiledSelector;
use crate::transform::Transformer;
use crate::yaml::malformed;

const OWN_NAMESPACE: &str = "metadata/namespace";

/// Configuration of the transformer.
#[derive(Debug, Default)]
pub(crate) struct ValueAdd {
    value: String,
    targets: Vec<Place>,
    target_file: String,
}

/// One of `targets`.
#[derive(Debug, Default)]
struct Place {
    selector: Option<Selector>,
    field_path: String,
    position: i64,
}

/// A file of targets.
#[derive(Debug, Default)]
struct Places {
    targets: Vec<Place>,
}

decodes!(ValueAdd as "plugin" { value = "value", targets = "targets", target_file = "targetFilePath" });
decodes!(Place as "Target" { selector = "selector", field_path = "fieldPath", position = "filePathPosition" });
decodes!(Places as "plugin" { targets = "targets" });

/// Puts the value into its places.
pub(crate) struct ValueAddTransformer {
    value: String,
    places: Vec<(Option<CompiledSelector>, Place)>,
}

impl ValueAddTransformer {
    /// Reads further targets from their file and checks all of them.
    ///
    /// # Errors
    /// There is no target, or one makes no sense.
    pub(crate) fn load(build: &Build<'_>, loader: &Rc<Loader>, config: ValueAdd) -> Result<Self, Error> {
        let value = match config.value.trim() {
            "" => loader.root().file_name().to_owned(),
            value => value.to_owned(),
        };
        let mut targets = config.targets;
        if !config.target_file.is_empty() {
            targets.extend(read_targets(build, loader, &config.target_file)?);
        }
        if targets.is_empty() {
            return Err(PluginError::Config("must specify at least one target".to_owned()).into());
        }
        let mut places = Vec::new();
        for place in targets {
            if place.field_path.is_empty() {
                return Err(PluginError::Config("fieldPath cannot be empty".to_owned()).into());
            }
            if place.position < 0 {
                let problem = format!("value of FilePathPosition ({}) cannot be negative", place.position);
                return Err(PluginError::Config(problem).into());
            }
            places.push((place.selector.as_ref().map(CompiledSelector::of_build).transpose()?, place));
        }
        Ok(Self { value, places })
    }
}

fn read_targets(build: &Build<'_>, loader: &Rc<Loader>, path: &str) -> Result<Vec<Place>, Error> {
    let content = loader.read(build, path)?;
    let Some(node) = read_first_document(path, content).map_err(malformed(path))? else {
        return Ok(Vec::new());
    };
    let places: Places = Decoder::document(Strictness::LENIENT, &node)?;
    Ok(places.targets)
}

impl Transformer for ValueAddTransformer {
    fn apply(&self, build: &Build<'_>, resources: &mut ResMap) -> Result<(), Error> {
        let schema = build.schema();
        let namespace = NamespaceTransformer::new(&self.value, &[]);
        for (selector, place) in &self.places {
            let path = path::parts(&split_slash_path(&place.field_path));
            for resource in resources.iter_mut() {
                if let Some(selector) = selector
                    && !selector.matches_target(resource, schema)?
                {
                    continue;
                }
                if place.field_path == OWN_NAMESPACE {
                    namespace.set_own(resource, schema)?;
                    continue;
                }
                match (path::find_or_make(&mut resource.node, &path)?, usize::try_from(place.position)) {
                    (None, Ok(1..)) => {
                        let problem = format!("nothing to insert into at '{}'", place.field_path);
                        return Err(PluginError::Config(problem).into());
                    }
                    (None, _) => {}
                    (Some(field), Ok(position @ 1..)) => {
                        let text = inserted(field.text().unwrap_or_default(), position - 1, &self.value);
                        set_scalar(field, &text, Tag::Unset)?;
                    }
                    (Some(field), _) => set_scalar(field, &self.value, Tag::Unset)?,
                }
            }
        }
        Ok(())
    }
}

/// A file path with one more part; behind the last one if it has fewer parts.
fn inserted(path: &str, position: usize, part: &str) -> String {
    let (root, relative) = match path.strip_prefix('/') {
        Some(relative) => ("/", relative),
        None => ("", path),
    };
    let mut parts: Vec<&str> = relative.split('/').filter(|part| !part.is_empty()).collect();
    parts.insert(position.min(parts.len()), part);
    format!("{root}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::inserted;

    #[rstest]
    #[case("", 0, "PEACH")]
    #[case("/", 5, "/PEACH")]
    #[case("pie", 0, "PEACH/pie")]
    #[case("/raw", 1, "/raw/PEACH")]
    #[case("a/nice/warm/pie", 3, "a/nice/warm/PEACH/pie")]
    fn parts_are_put_into_paths(#[case] path: &str, #[case] position: usize, #[case] wanted: &str) {
        assert_eq!(inserted(path, position, "PEACH"), wanted);
    }
}
