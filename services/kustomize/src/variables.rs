//! The variables of post-build substitution and where they come from (KS-SUB-2..6).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client};
use weir_api::Kustomization;
use weir_api::kustomize::{PostBuild, SubstituteReference};
use weir_envsubst::{VARIABLE_NAME, is_variable_name};
use weir_runtime::client::reason;

/// Bytes of all values together; ConfigMaps and Secrets hold 1 MiB each at most.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The kind of source whose values are no secrets.
pub(crate) const CONFIG_MAP: &str = "ConfigMap";

/// Name and value of every variable. Values may come from Secrets, so that they are not printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables {
    values: BTreeMap<String, String>,
    /// Names of those that come from Secrets.
    secret: BTreeSet<String>,
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

/// Errors in finding the variables; the texts stand behind the name of the object that is substituted (KS-SUB-8).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A ConfigMap or Secret could not be read (KS-SUB-3).
    #[error("substitute from '{kind}/{name}' error: {message}")]
    Reference {
        /// Of the object.
        kind: String,
        /// Of the object.
        name: String,
        /// Cause.
        message: String,
    },
    /// A name that no variable can have (KS-SUB-5).
    #[error("envsubst error: '{name}' var name is invalid, must match '{VARIABLE_NAME}'")]
    Name {
        /// The name.
        name: String,
    },
    /// More values than a build takes.
    #[error("variables exceed the limit of {MAX_BYTES} bytes")]
    TooLarge,
}

impl Error {
    /// A number that differs when the text does.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.to_string().hash(&mut hasher);
        hasher.finish()
    }
}

impl Variables {
    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Names and values in the order of the names; values of Secrets are among them.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns true when there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values that come from Secrets.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secret.iter().filter_map(|name| self.get(name))
    }

    /// The same variables with a placeholder for each value that comes from a Secret. YAML takes it for text and nothing else;
    /// no build with these variables can show a value.
    pub(crate) fn masked(&self) -> Self {
        let mut masked = self.clone();
        for name in &self.secret {
            masked.values.insert(name.clone(), format!("<secret {name}>"));
        }
        masked
    }

    /// Reads all sources, later ones over earlier ones and inline values last, as the service itself (KS-IMP-2).
    ///
    /// # Errors
    /// A source cannot be read, or a name or the size of all is not allowed.
    pub async fn load(client: &Client, kustomization: &Kustomization) -> Result<Option<Self>, Error> {
        Self::load_over(client, kustomization, |_| None).await
    }

    /// The same, where `known` has the values of sources that are not to be read from the cluster.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub async fn load_over(
        client: &Client,
        kustomization: &Kustomization,
        known: impl Fn(&SubstituteReference) -> Option<BTreeMap<String, String>>,
    ) -> Result<Option<Self>, Error> {
        let Some(post_build) = &kustomization.spec.post_build else { return Ok(None) };
        let namespace = kustomization.metadata.namespace.as_deref().unwrap_or_default();
        let mut loaded = Self::default();
        for reference in &post_build.substitute_from {
            let values = match known(reference) {
                Some(values) => values,
                None => read(client, namespace, reference).await?,
            };
            loaded.extend(values, reference.kind != CONFIG_MAP);
            loaded.check_size()?;
        }
        Self::merge(loaded, post_build).map(Some)
    }

    /// The inline values alone.
    ///
    /// # Errors
    /// A name or the size of all is not allowed.
    pub fn inline(post_build: &PostBuild) -> Result<Self, Error> {
        Self::merge(Self::default(), post_build)
    }

    fn extend(&mut self, values: BTreeMap<String, String>, are_secret: bool) {
        for (name, value) in values {
            if are_secret {
                self.secret.insert(name.clone());
            } else {
                self.secret.remove(&name);
            }
            self.values.insert(name, value);
        }
    }

    /// Asked after each source, so that no more than one above the limit is held.
    fn check_size(&self) -> Result<(), Error> {
        let bytes: usize = self.values.iter().map(|(name, value)| name.len() + value.len()).sum();
        if bytes > MAX_BYTES { Err(Error::TooLarge) } else { Ok(()) }
    }

    fn merge(loaded: Self, post_build: &PostBuild) -> Result<Self, Error> {
        let mut variables = loaded;
        variables.extend(post_build.substitute.clone(), false);
        if let Some(name) = variables.values.keys().find(|name| !is_variable_name(name)) {
            return Err(Error::Name { name: name.clone() });
        }
        variables.check_size()?;
        variables.values.values_mut().for_each(|value| value.retain(|character| character != '\n'));
        Ok(variables)
    }

    /// A number that differs when a name or value does.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.values.hash(&mut hasher);
        hasher.finish()
    }
}

async fn read(
    client: &Client,
    namespace: &str,
    reference: &SubstituteReference,
) -> Result<BTreeMap<String, String>, Error> {
    let SubstituteReference { kind, name, optional } = reference;
    let answer = match kind.as_str() {
        CONFIG_MAP => {
            let found = Api::<ConfigMap>::namespaced(client.clone(), namespace).get(name).await;
            found.map(|object| object.data.unwrap_or_default())
        }
        _ => {
            let found = Api::<Secret>::namespaced(client.clone(), namespace).get(name).await;
            found.map(|object| texts(object.data.unwrap_or_default()))
        }
    };
    match answer {
        Ok(variables) => Ok(variables),
        Err(kube::Error::Api(status)) if *optional && status.code == 404 => Ok(BTreeMap::new()),
        Err(error) => {
            Err(Error::Reference { kind: kind.clone(), name: name.clone(), message: reason(error) })
        }
    }
}

fn texts(data: BTreeMap<String, k8s_openapi::ByteString>) -> BTreeMap<String, String> {
    data.into_iter().map(|(key, value)| (key, String::from_utf8_lossy(&value.0).into_owned())).collect()
}

#[cfg(test)]
impl<'a> FromIterator<(&'a str, &'a str)> for Variables {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(entries: I) -> Self {
        let values = entries.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { values: values.collect(), secret: BTreeSet::new() }
    }
}

#[cfg(test)]
impl Variables {
    /// Variables that all come from Secrets.
    pub(crate) fn of_secret(entries: &[(&str, &str)]) -> Self {
        let mut variables: Self = entries.iter().copied().collect();
        variables.secret = variables.values.keys().cloned().collect();
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inline(entries: &[(&str, &str)]) -> PostBuild {
        let substitute =
            entries.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        PostBuild { substitute, ..PostBuild::default() }
    }

    #[test]
    fn inline_values_win_and_line_ends_go() {
        let loaded = Variables::of_secret(&[("a", "cm"), ("b", "\naz-1a\n")]);
        let variables = Variables::merge(loaded, &inline(&[("a", "spec")])).unwrap();
        assert_eq!(variables.secrets().collect::<Vec<_>>(), ["az-1a"], "an inline value is no secret");
        assert_eq!(
            (variables.masked().get("a"), variables.masked().get("b")),
            (Some("spec"), Some("<secret b>"))
        );
        assert_eq!(
            (variables.get("a"), variables.get("b"), variables.get("c")),
            (Some("spec"), Some("az-1a"), None)
        );
    }

    #[test]
    fn one_bad_name_fails_all() {
        let error = Variables::inline(&inline(&[("a-b", "x")])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "envsubst error: 'a-b' var name is invalid, must match '^[_[:alpha:]][_[:alpha:][:digit:]]*$'"
        );
    }

    #[test]
    fn values_are_not_printed() {
        let variables = Variables::inline(&inline(&[("password", "hunter2")])).unwrap();
        assert_eq!(format!("{variables:?}"), r#"{"password"}"#);
    }
}
