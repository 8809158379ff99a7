//! The value that a marker stands for: the latest image of a policy, whole or a part of it (ST-8, ST-9).

use std::{collections::BTreeMap, fmt};

/// A policy by namespace and name; prints as `ns/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyName {
    /// The policy's namespace.
    pub namespace: String,
    /// The policy's name.
    pub name: String,
}

impl PolicyName {
    /// Returns the policy that a setter, `ns:policy` or `ns:policy:part`, belongs to.
    pub(crate) fn of_setter(setter: &str) -> Option<Self> {
        let mut parts = setter.split(':').map(str::to_owned);
        Some(Self { namespace: parts.next()?, name: parts.next()? })
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The latest image of a policy; prints as it is written into a manifest: `name:tag` or `name:tag@digest`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Image {
    /// The repository as its author wrote it.
    pub name: String,
    /// The chosen tag.
    pub tag: String,
    /// The digest, if the policy reflects it.
    pub digest: Option<String>,
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.tag)?;
        self.digest.as_ref().map_or(Ok(()), |digest| write!(f, "@{digest}"))
    }
}

/// The policies whose images may be written, by the text markers use.
#[derive(Debug, Clone, Default)]
pub struct Setters {
    values: BTreeMap<String, String>,
    images: BTreeMap<PolicyName, Image>,
}

impl Setters {
    /// Adds a policy with its latest image: the setters `ns:name`, `ns:name:tag`, `ns:name:name` and
    /// `ns:name:digest`.
    pub fn insert(&mut self, policy: PolicyName, image: Image) {
        let base = format!("{}:{}", policy.namespace, policy.name);
        self.values.insert(format!("{base}:tag"), image.tag.clone());
        self.values.insert(format!("{base}:name"), image.name.clone());
        self.values.insert(format!("{base}:digest"), image.digest.clone().unwrap_or_default());
        self.values.insert(base, image.to_string());
        self.images.insert(policy, image);
    }

    /// Returns the text that a setter writes; unknown policies and parts have none.
    pub fn value(&self, setter: &str) -> Option<&str> {
        self.values.get(setter).map(String::as_str)
    }

    /// Returns the policy that a setter belongs to, with its image.
    pub fn image(&self, setter: &str) -> Option<(&PolicyName, &Image)> {
        self.images.get_key_value(&PolicyName::of_setter(setter)?)
    }

    /// Returns true when there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
    }
}
