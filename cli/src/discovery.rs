//! The kinds that a cluster has, found by the words that people use for them.

use std::collections::BTreeSet;

use futures::future::try_join;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::discovery::v2::{APIGroupDiscovery, APIResourceDiscovery};

use crate::cluster::Cluster;
use crate::error::Error;

/// A kind, as the cluster serves it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Resource {
    /// Group, version, kind and plural.
    pub(crate) api: ApiResource,
    /// True when the objects stand in namespaces.
    pub(crate) is_namespaced: bool,
    /// Other words for the kind, in lower case.
    words: Vec<String>,
}

impl Resource {
    /// Its objects: those of the namespace of the request, or of the cluster.
    pub(crate) fn objects(&self, cluster: &Cluster) -> Api<DynamicObject> {
        match self.is_namespaced {
            true => Api::namespaced_with(cluster.client.clone(), &cluster.namespace, &self.api),
            false => Api::all_with(cluster.client.clone(), &self.api),
        }
    }
}

/// All kinds of a cluster: those of the core group first, and of each group those of the preferred version first.
pub(crate) struct Discovery(Vec<Resource>);

impl Discovery {
    /// Asks a cluster, in two requests.
    pub(crate) async fn ask(cluster: &Cluster) -> Result<Self, Error> {
        let (core, groups) =
            (cluster.client.list_core_api_versions_aggregated(), cluster.client.list_api_groups_aggregated());
        let (core, groups) = cluster.in_time(try_join(core, groups)).await??;
        Ok(Self(core.items.iter().chain(&groups.items).flat_map(resources).collect()))
    }

    /// The kinds in lower case, each once.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|resource| resource.api.kind.to_lowercase()).collect::<BTreeSet<_>>().into_iter()
    }

    /// Returns the kind that a word names: plural, singular, short name or kind, with or without version and group.
    pub(crate) fn resource(&self, word: &str) -> Result<Resource, Error> {
        let word = word.to_lowercase();
        let (name, place) = word.split_once('.').unwrap_or((&word, ""));
        let is_meant = |resource: &&Resource| {
            let ApiResource { group, version, .. } = &resource.api;
            resource.words.iter().any(|word| word == name)
                && (place.is_empty() || place == group || place == format!("{version}.{group}"))
        };
        let found = self.0.iter().find(is_meant).cloned();
        found.ok_or_else(|| Error::Api(format!("the server doesn't have a resource type \"{word}\"")))
    }

    /// Returns the kind of a name in a version; names in lower case are known, too.
    pub(crate) fn kind(&self, api_version: &str, kind: &str) -> Result<Resource, Error> {
        let is_meant = |resource: &&Resource| {
            let own = &resource.api.kind;
            resource.api.api_version == api_version && (own == kind || own.to_lowercase() == kind)
        };
        let found = self.0.iter().find(is_meant).cloned();
        found.ok_or_else(|| {
            let meant = self.resource(kind).map_or_else(
                |_| String::new(),
                |Resource { api: ApiResource { kind, api_version, .. }, .. }| {
                    format!("\n  did you mean --kind {kind} --api-version {api_version}?")
                },
            );
            Error::Api(format!("no matches for kind \"{kind}\" in version \"{api_version}\"{meant}"))
        })
    }
}

fn resources(group: &APIGroupDiscovery) -> Vec<Resource> {
    let name = group.metadata.as_ref().and_then(|metadata| metadata.name.clone()).unwrap_or_default();
    let versions = group.versions.iter().filter_map(|version| Some((version.version.as_deref()?, version)));
    versions
        .flat_map(|(version, found)| {
            found
                .resources
                .iter()
                .filter_map(|resource| resource_of(&name, version, resource))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn resource_of(group: &str, version: &str, found: &APIResourceDiscovery) -> Option<Resource> {
    let (plural, kind) = (found.resource.clone()?, found.response_kind.as_ref()?.kind.clone()?);
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut words = found.short_names.clone();
    words.extend(found.singular_resource.clone());
    words.extend([plural.clone(), kind.to_lowercase()]);
    let api = ApiResource { group: group.to_owned(), version: version.to_owned(), api_version, kind, plural };
    Some(Resource { api, is_namespaced: found.scope.as_deref() == Some("Namespaced"), words })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(group: &str, kind: &str, plural: &str, short: &str) -> Resource {
        let api_version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
        let api = ApiResource {
            group: group.to_owned(),
            version: "v1".to_owned(),
            api_version,
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        };
        let words = vec![short.to_owned(), plural.to_owned(), kind.to_lowercase()];
        Resource { api, is_namespaced: true, words }
    }

    #[rstest::rstest]
    #[case("cm", Some("v1"))]
    #[case("Event", Some("v1"))]
    #[case("events.events.k8s.io", Some("events.k8s.io/v1"))]
    #[case("ev.v1.events.k8s.io", Some("events.k8s.io/v1"))]
    #[case("events.apps", None)]
    #[case("nothing", None)]
    fn kinds_are_found_by_their_words(#[case] word: &str, #[case] expected: Option<&str>) {
        let discovery = Discovery(vec![
            resource("", "ConfigMap", "configmaps", "cm"),
            resource("", "Event", "events", "ev"),
            resource("events.k8s.io", "Event", "events", "ev"),
        ]);
        let found = discovery.resource(word).ok().map(|resource| resource.api.api_version);
        assert_eq!(found.as_deref(), expected);
    }

    #[rstest::rstest]
    #[case("v1", "cm", "\n  did you mean --kind ConfigMap --api-version v1?")]
    #[case("apps/v1", "ConfigMap", "\n  did you mean --kind ConfigMap --api-version v1?")]
    #[case("v1", "nothing", "")]
    fn a_kind_that_is_written_otherwise_is_named(
        #[case] version: &str,
        #[case] kind: &str,
        #[case] hint: &str,
    ) {
        let discovery = Discovery(vec![resource("", "ConfigMap", "configmaps", "cm")]);
        let refused = discovery.kind(version, kind).unwrap_err().to_string();
        assert_eq!(refused, format!("no matches for kind \"{kind}\" in version \"{version}\"{hint}"));
    }
}
