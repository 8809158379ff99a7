//! The generated ConfigMaps and Secrets (§9.2).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use weir_yaml::{Entry, Map, Node, Scalar, Style, Tag};

use super::error::GenerateError;
use super::sources::{Pair, pairs};
use crate::Error;
use crate::build::Build;
use crate::kustomization::{ConfigMapArgs, GeneratorOptions, SecretArgs};
use crate::loader::Loader;
use crate::resource::{Behavior, Resource};

/// Base64 is broken after this many characters (KZ-912).
const BASE64_LINE: usize = 70;

/// Makes a ConfigMap (KZ-910).
pub(crate) fn config_map(
    build: &Build<'_>,
    loader: &Loader,
    args: &ConfigMapArgs,
    options: &GeneratorOptions,
) -> Result<Resource, Error> {
    let mut object = base(args, "ConfigMap")?;
    let (mut data, mut binary) = (Map::new(), Map::new());
    for (key, value) in sorted(pairs(build, loader, args, "ConfigMap")?) {
        match String::from_utf8(value) {
            Ok(text) => data.entries.push(entry(key, text)),
            Err(error) => binary.entries.push(entry(key, base64(error.as_bytes()))),
        }
    }
    for (name, map) in [("data", data), ("binaryData", binary)] {
        if !map.is_empty() {
            object.set(name, Node::Map(map));
        }
    }
    Ok(finished(object, args, options))
}

/// Makes a Secret (KZ-911).
pub(crate) fn secret(
    build: &Build<'_>,
    loader: &Loader,
    args: &SecretArgs,
    options: &GeneratorOptions,
) -> Result<Resource, Error> {
    let mut object = base(&args.common, "Secret")?;
    let secret_type = if args.secret_type.is_empty() { "Opaque" } else { &args.secret_type };
    object.set("type", Node::string(secret_type));
    let mut data = Map::new();
    for (key, value) in sorted(pairs(build, loader, &args.common, "Secret")?) {
        data.entries.push(entry(key, base64(&value)));
    }
    object.set("data", Node::Map(data));
    Ok(finished(object, &args.common, options))
}

/// Keys are unique here, so nothing has to be looked for. Values of several lines are blocks, which keep their type when
/// numbers are merged onto them.
fn entry(key: String, value: String) -> Entry {
    let style = if value.contains('\n') { Style::Literal } else { Style::Plain };
    Entry { key: Scalar::string(key), value: Node::Scalar(Scalar { style, ..Scalar::string(value) }) }
}

fn sorted(mut pairs: Vec<Pair>) -> Vec<Pair> {
    pairs.sort();
    pairs
}

fn base(args: &ConfigMapArgs, kind: &str) -> Result<Map, GenerateError> {
    if args.name.is_empty() {
        return Err(GenerateError::NoName);
    }
    let mut metadata = Map::new();
    metadata.set("name", Node::string(args.name.as_str()));
    if !args.namespace.is_empty() {
        metadata.set("namespace", Node::string(args.namespace.as_str()));
    }
    let mut object = Map::new();
    object.set("apiVersion", Node::string("v1"));
    object.set("kind", Node::string(kind));
    object.set("metadata", Node::Map(metadata));
    Ok(object)
}

fn finished(mut object: Map, args: &ConfigMapArgs, options: &GeneratorOptions) -> Resource {
    if let Some(metadata) = object.get_mut("metadata").and_then(Node::as_map_mut) {
        for (name, pairs) in [("labels", &options.labels), ("annotations", &options.annotations)] {
            let mut map = Map::new();
            pairs.iter().for_each(|(key, value)| map.set(key, Node::string(value.as_str())));
            if !map.is_empty() {
                metadata.set(name, Node::Map(map));
            }
        }
    }
    if options.immutable {
        object.set("immutable", Node::Scalar(Scalar::tagged("true", Tag::Bool)));
    }
    let mut resource = Resource::new(Node::Map(object));
    resource.ensure_annotations();
    resource.behavior = Behavior::parse(&args.behavior);
    resource.needs_hash = !options.disable_name_suffix_hash;
    resource
}

/// Base64 in lines of 70 characters; what fits on one line has no line break at all.
fn base64(bytes: &[u8]) -> String {
    let encoded = STANDARD.encode(bytes);
    if encoded.len() < BASE64_LINE {
        return encoded;
    }
    let mut wrapped = String::with_capacity(encoded.len() + encoded.len() / BASE64_LINE + 1);
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at_checked(BASE64_LINE).unwrap_or((rest, ""));
        wrapped.push_str(line);
        wrapped.push('\n');
        rest = after;
    }
    wrapped
}
