//! The file that a resource came from, and the transformers that changed it (KZ-1310, KZ-1311).

use std::sync::Arc;

use weir_yaml::{Map, Node, emit};

use crate::fs::FsPath;
use crate::remote::{GitUrl, is_url, without_secrets};

/// The folder that the paths of origins count from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Home<'h> {
    /// The directory of the build, or the root of a repository.
    pub(crate) root: &'h FsPath,
    /// The repository, if it is one.
    pub(crate) repository: Option<&'h GitUrl>,
}

impl Home<'_> {
    /// Returns an origin that names no more than the repository.
    fn origin(self) -> Origin {
        let Some(url) = self.repository else { return Origin::default() };
        let reference = url.reference.clone().unwrap_or_default();
        // The annotation goes into the cluster.
        let repo = without_secrets(&url.repository).into_owned();
        Origin { repo, reference, ..Origin::default() }
    }
}

/// A step in the life of a resource: the file it was loaded from, or the configuration that made or changed it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Origin {
    pub(crate) path: String,
    pub(crate) repo: String,
    pub(crate) reference: String,
    pub(crate) configured_in: String,
    pub(crate) configured_by: ConfiguredBy,
}

/// The generator or transformer of an origin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ConfiguredBy {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
}

impl Origin {
    /// Loaded from a file.
    pub(crate) fn file(path: &FsPath, home: Home<'_>) -> Arc<Self> {
        Arc::new(Self { path: path.relative_to(home.root), ..home.origin() })
    }

    /// Returns the origin of a reference's target. URLs of files are shown as if they were those of repositories, as
    /// the reference does.
    pub(crate) fn resource(reference: &str, path: &FsPath, home: Home<'_>) -> Arc<Self> {
        if !is_url(reference) {
            return Self::file(path, home);
        }
        Arc::new(match GitUrl::parse(reference) {
            Ok(url) => Self { path: url.path.clone(), ..Home { repository: Some(&url), ..home }.origin() },
            Err(_) => Self { path: without_secrets(reference).into_owned(), ..home.origin() },
        })
    }

    /// Made or changed by a builtin named in the kustomization file `file`.
    pub(crate) fn builtin(file: &FsPath, home: Home<'_>, kind: &str) -> Arc<Self> {
        let configured_by = ConfiguredBy {
            api_version: "builtin".to_owned(),
            kind: kind.to_owned(),
            ..ConfiguredBy::default()
        };
        Arc::new(Self { configured_in: file.relative_to(home.root), configured_by, ..home.origin() })
    }

    fn fields(&self) -> Node {
        let mut map = Map::new();
        let mut add = |key: &str, value: &str| {
            if !value.is_empty() {
                map.set(key, Node::string(value));
            }
        };
        add("path", &self.path);
        add("repo", &self.repo);
        add("ref", &self.reference);
        add("configuredIn", &self.configured_in);
        let by = &self.configured_by;
        let mut configured_by = Map::new();
        for (key, value) in [
            ("apiVersion", &by.api_version),
            ("kind", &by.kind),
            ("name", &by.name),
            ("namespace", &by.namespace),
        ] {
            if !value.is_empty() {
                configured_by.set(key, Node::string(value.as_str()));
            }
        }
        if !configured_by.is_empty() {
            map.set("configuredBy", Node::Map(configured_by));
        }
        Node::Map(map)
    }

    /// The text of the origin annotation.
    pub(crate) fn annotation(&self) -> String {
        print_in_order(&self.fields())
    }
}

/// The text of the transformations annotation.
pub(crate) fn transformations_annotation(steps: &[Arc<Origin>]) -> String {
    print_in_order(&Node::Seq(steps.iter().map(|step| step.fields()).collect()))
}

/// Prints small trees with keys in the order they were set; the emitter would sort them.
fn print_in_order(node: &Node) -> String {
    let mut out = String::new();
    match node {
        Node::Seq(items) => {
            for item in items {
                push_indented(&mut out, "- ", &print_in_order(item));
            }
        }
        Node::Map(map) => {
            for (key, value) in map.iter() {
                print_entry(key, value, &mut out);
            }
        }
        Node::Scalar(_) => {}
    }
    out
}

fn print_entry(key: &str, value: &Node, out: &mut String) {
    if matches!(value, Node::Map(inner) if !inner.is_empty()) {
        out.push_str(key);
        out.push_str(":\n");
        push_indented(out, "  ", &print_in_order(value));
    } else {
        let mut single = Map::new();
        single.set(key, value.clone());
        // Strings always print.
        let _printed = emit(&Node::Map(single), out);
    }
}

/// Adds the lines of a text behind `first`, and behind as many spaces.
fn push_indented(out: &mut String, first: &str, text: &str) {
    for (index, line) in text.lines().enumerate() {
        out.push_str(if index == 0 { first } else { "  " });
        out.push_str(line);
        out.push('\n');
    }
}
