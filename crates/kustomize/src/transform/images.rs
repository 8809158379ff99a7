//! `images` (§7.6).

use regex::Regex;
use weir_policy::go_regex;
use weir_yaml::{Node, Tag};

use crate::Error;
use crate::build::Build;
use crate::fieldspec::{CompiledSpecs, Creation, FieldSpec, set_scalar};
use crate::kustomization::Image;
use crate::resmap::ResMap;
use crate::transform::Transformer;

/// Replaces name, tag or digest of an image.
pub(crate) struct ImageTagTransformer {
    image: Image,
    /// `None` when the name is no valid regular expression; then nothing matches (KZ-751).
    pattern: Option<Regex>,
    specs: CompiledSpecs,
}

impl ImageTagTransformer {
    pub(crate) fn new(image: Image, specs: &[FieldSpec]) -> Self {
        let pattern = format!(
            "^{}(:[a-zA-Z0-9_.{{}}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{{}}-]*)?$",
            image.name
        );
        Self { pattern: go_regex::compile(&pattern).ok(), image, specs: CompiledSpecs::new(specs) }
    }

    fn update(&self, node: &mut Node) -> Result<(), Error> {
        let Some(value) = node.text() else { return Err(Error::wrong_kind("ScalarNode", node)) };
        if !self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(value)) {
            return Ok(());
        }
        let replaced = replace(value, &self.image);
        set_scalar(node, &replaced, Tag::Unset)
    }

    /// The pass without field specs: containers at any depth of any resource (KZ-750).
    fn update_containers(&self, node: &mut Node) -> Result<(), Error> {
        match node {
            Node::Scalar(_) => Ok(()),
            Node::Seq(items) => items.iter_mut().try_for_each(|item| self.update_containers(item)),
            Node::Map(map) => map.entries.iter_mut().try_for_each(|entry| {
                self.update_containers(&mut entry.value)?;
                match (&mut entry.value, entry.key.text.as_str()) {
                    (Node::Seq(items), "containers" | "initContainers") => {
                        items.iter_mut().try_for_each(|item| self.update_container(item))
                    }
                    _ => Ok(()),
                }
            }),
        }
    }
}

impl ImageTagTransformer {
    fn update_container(&self, item: &mut Node) -> Result<(), Error> {
        match item {
            Node::Map(map) => map.get_mut("image").map_or(Ok(()), |image| self.update(image)),
            item if item.is_null() => Ok(()),
            item => Err(Error::wrong_kind("MappingNode", item)),
        }
    }
}

impl Transformer for ImageTagTransformer {
    fn apply(&self, _: &Build<'_>, resources: &mut ResMap) -> Result<(), Error> {
        for resource in resources.contents_mut() {
            if resource.kind() == "CustomResourceDefinition" {
                continue;
            }
            // Fields that both passes reach are updated twice, which shows with `tagSuffix` (KZ-754).
            self.update_containers(&mut resource.node)?;
            self.specs.apply(resource, Creation::Never, |node| self.update(node))?;
        }
        Ok(())
    }
}

/// Puts the reference together again (KZ-753).
fn replace(value: &str, image: &Image) -> String {
    let (mut name, mut tag, mut digest) = split(value);
    if !image.new_name.is_empty() {
        name = &image.new_name;
    }
    let suffixed;
    match (image.new_tag.is_empty(), image.digest.is_empty()) {
        (true, true) if !image.tag_suffix.is_empty() => {
            suffixed = format!("{tag}{}", image.tag_suffix);
            tag = &suffixed;
            digest = "";
        }
        (true, true) => {}
        _ => {
            tag = &image.new_tag;
            digest = &image.digest;
        }
    }
    let mut replaced = name.to_owned();
    for (mark, part) in [(':', tag), ('@', digest)] {
        if !part.is_empty() {
            replaced.push(mark);
            replaced.push_str(part);
        }
    }
    replaced
}

/// Splits a reference into name, tag and digest; a port before the first slash is part of the name (KZ-752).
fn split(value: &str) -> (&str, &str, &str) {
    let start = value.find('/').unwrap_or(0);
    let find = |mark| value.get(start..).and_then(|rest| rest.find(mark)).map(|at| at + start);
    let part = |from: usize, to: usize| value.get(from..to).unwrap_or_default();
    match (find(':'), find('@')) {
        (None, None) => (value, "", ""),
        (Some(colon), None) => (part(0, colon), part(colon + 1, value.len()), ""),
        (Some(colon), Some(at)) if colon < at => {
            (part(0, colon), part(colon + 1, at), part(at + 1, value.len()))
        }
        (_, Some(at)) => (part(0, at), "", part(at + 1, value.len())),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use weir_yaml::Node;

    use super::{Image, ImageTagTransformer};

    fn image(name: &str, new_name: &str, new_tag: &str, digest: &str, tag_suffix: &str) -> Image {
        let [name, new_name, new_tag, digest, tag_suffix] =
            [name, new_name, new_tag, digest, tag_suffix].map(str::to_owned);
        Image { name, new_name, tag_suffix, new_tag, digest }
    }

    #[rstest]
    #[case("nginx:1.0", image("nginx", "foo/nginx", "1", "", ""), "foo/nginx:1")]
    #[case("nginx@sha256:abcd", image("nginx", "foo/nginx", "1", "", ""), "foo/nginx:1")]
    #[case("nginx:", image("nginx", "foo/nginx", "1", "", ""), "foo/nginx:1")]
    #[case(
        "reg.io:5000/foo/nginx:1.0@sha256:abcd",
        image("nginx", "x", "1", "", ""),
        "reg.io:5000/foo/nginx:1.0@sha256:abcd"
    )]
    #[case(
        "reg.io:5000/foo/nginx:1",
        image("reg.io:5000/foo/nginx", "", "", "sha256:ee", ""),
        "reg.io:5000/foo/nginx@sha256:ee"
    )]
    #[case("nginx:1.0", image("nginx", "", "", "", "-x"), "nginx:1.0-x")]
    #[case("nginx:1@sha256:aa", image("nginx", "", "2", "sha256:bb", ""), "nginx:2@sha256:bb")]
    #[case("nginx:1@sha256:aa", image("nginx", "other", "", "", ""), "other:1@sha256:aa")]
    #[case("nginx:1", image("[", "other", "", "", ""), "nginx:1")]
    fn references_are_taken_apart_and_put_together(
        #[case] before: &str,
        #[case] image: Image,
        #[case] after: &str,
    ) {
        let mut node = Node::plain(before);
        ImageTagTransformer::new(image, &[]).update(&mut node).unwrap();
        assert_eq!(node.text(), Some(after));
    }
}
