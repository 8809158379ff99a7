//! Marking: asks the controllers of the objects that a Receiver names to reconcile them (NTF-105 … NTF-113).

use futures::{StreamExt, stream};
use kube::api::{Api, ApiResource, DynamicObject, ListParams, PatchParams};
use kube::core::{GroupVersion, GroupVersionKind, PartialObjectMeta};
use serde_json::{Value, json};
use weir_api::Receiver;
use weir_api::notification::ReceiverResource;
use weir_runtime::client::reason;
use weir_runtime::request_reconcile;

use super::filter::Filters;
use crate::FIELD_MANAGER;
use crate::kind;

const ANY: &str = "*";
/// Objects listed at once.
const PAGE: u32 = 500;
/// Entries of a Receiver looked at at once, and objects of one entry marked at once: senders wait some seconds only, and the
/// API server has others to serve. A Receiver has either many names or an entry for many objects.
const ENTRIES_AT_ONCE: usize = 4;
const OBJECTS_AT_ONCE: usize = 8;

/// Sets the annotation.
#[derive(Clone)]
pub struct Marker {
    /// The service's own client.
    pub client: kube::Client,
    /// `--no-cross-namespace-refs`
    pub no_cross_namespace_refs: bool,
}

/// One entry of a Receiver, with the namespace it means.
struct Entry<'a> {
    number: usize,
    resource: &'a ReceiverResource,
    namespace: &'a str,
}

impl Entry<'_> {
    /// Returns the object of this name as log lines show it.
    fn path(&self, name: &str) -> String {
        format!("{}/{name}.{}", self.resource.reference.kind, self.namespace)
    }
}

impl Marker {
    /// Marks all objects of all entries; one that fails does not stop the others.
    ///
    /// # Errors
    /// A text that names every failure.
    pub async fn mark_all(&self, receiver: &Receiver, filters: &Filters) -> Result<(), String> {
        let own = receiver.metadata.namespace.as_deref().unwrap_or_default();
        let entries = receiver.spec.resources.iter().enumerate().map(|(number, resource)| Entry {
            number,
            resource,
            namespace: resource.reference.namespace.as_deref().filter(|it| !it.is_empty()).unwrap_or(own),
        });
        // In a list first: a stream with this closure in it could not be sent to a task.
        let marks: Vec<_> = entries.map(|entry| self.mark_own(own, entry, filters)).collect();
        let marked: Vec<_> = stream::iter(marks).buffered(ENTRIES_AT_ONCE).collect().await;
        let failures: Vec<String> = marked.into_iter().filter_map(Result::err).collect();
        if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
    }

    /// Marks the objects of an entry, if the Receiver may name their namespace.
    async fn mark_own(&self, own: &str, entry: Entry<'_>, filters: &Filters) -> Result<(), String> {
        if self.no_cross_namespace_refs && entry.namespace != own {
            return Err("cross-namespace references are not allowed".to_owned());
        }
        self.mark_entry(&entry, filters).await.inspect_err(|error| {
            let reference = entry.path(&entry.resource.reference.name);
            tracing::error!(resource = reference, error, "unable to request reconciliation");
        })
    }

    async fn mark_entry(&self, entry: &Entry<'_>, filters: &Filters) -> Result<(), String> {
        let reference = &entry.resource.reference;
        let given = reference.api_version.as_deref().filter(|version| !version.is_empty());
        let api_version = given
            .or_else(|| kind::default_api_version(&reference.kind))
            .ok_or_else(|| format!("apiVersion must be specified for kind {:?}", reference.kind))?;
        if reference.name == ANY && reference.match_labels.is_none() {
            return Err("matchLabels field not set when using wildcard '*' as name".to_owned());
        }
        let api = self.api(api_version, &reference.kind, entry.namespace)?;
        match self.mark_in(&api, entry, filters).await {
            Err(error) if error.is_unserved => {
                // Old manifests may name a version that is gone; the group serves another one (NTF-106).
                let served = self.served_version(api_version).await?;
                let api = self.api(&served, &reference.kind, entry.namespace)?;
                self.mark_in(&api, entry, filters).await.map_err(|error| error.text)
            }
            result => result.map_err(|error| error.text),
        }
    }

    async fn mark_in(
        &self,
        api: &Api<DynamicObject>,
        entry: &Entry<'_>,
        filters: &Filters,
    ) -> Result<(), Failure> {
        let reference = &entry.resource.reference;
        if reference.name != ANY {
            // With a name, labels are not looked at (NTF-107).
            let metadata = if filters.any_for(entry.number) {
                let found = api.get_metadata(&reference.name).await;
                Some(found.map_err(|error| Failure::of_api(error, &reference.name))?.metadata)
            } else {
                None
            };
            return self.mark(api, entry, &reference.name, metadata, filters).await;
        }
        let labels: Vec<String> =
            reference.match_labels.iter().flatten().map(|(key, value)| format!("{key}={value}")).collect();
        let mut params = ListParams::default().labels(&labels.join(",")).limit(PAGE);
        let mut failures = Vec::new();
        let mut found = 0_usize;
        loop {
            let page = api.list_metadata(&params).await.map_err(|error| Failure::of_api(error, ""))?;
            found += page.items.len();
            let objects = page.items.into_iter();
            let marks: Vec<_> = objects.map(|object| self.mark_found(api, entry, object, filters)).collect();
            let marked: Vec<_> = stream::iter(marks).buffered(OBJECTS_AT_ONCE).collect().await;
            failures.extend(marked.into_iter().filter_map(Result::err).map(|failure| failure.text));
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => break,
            }
        }
        if found == 0 {
            tracing::info!(
                kind = reference.kind,
                namespace = entry.namespace,
                ?labels,
                "no resources match the labels"
            );
        }
        if failures.is_empty() { Ok(()) } else { Err(Failure::text(failures.join("; "))) }
    }

    async fn mark_found(
        &self,
        api: &Api<DynamicObject>,
        entry: &Entry<'_>,
        object: PartialObjectMeta<DynamicObject>,
        filters: &Filters,
    ) -> Result<(), Failure> {
        let name = object.metadata.name.clone().unwrap_or_default();
        self.mark(api, entry, &name, Some(object.metadata), filters).await
    }

    async fn mark(
        &self,
        api: &Api<DynamicObject>,
        entry: &Entry<'_>,
        name: &str,
        metadata: Option<kube::api::ObjectMeta>,
        filters: &Filters,
    ) -> Result<(), Failure> {
        let reference = &entry.resource.reference;
        let path = entry.path(name);
        if let Some(metadata) = metadata.filter(|_| filters.any_for(entry.number)) {
            let object = object_json(reference.api_version.as_deref(), &reference.kind, &metadata);
            if !filters.admit(entry.number, object).await.map_err(Failure::text)? {
                tracing::debug!(resource = path, "resource is filtered out");
                return Ok(());
            }
        }
        let now = jiff::Timestamp::now().to_string();
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let requested = request_reconcile(api, name, &now, &params).await;
        requested.map_err(|error| Failure::of_api(error, name))?;
        tracing::info!("resource '{path}' annotated");
        Ok(())
    }

    fn api(&self, api_version: &str, kind_name: &str, namespace: &str) -> Result<Api<DynamicObject>, String> {
        let version: GroupVersion = api_version
            .parse()
            .map_err(|_| format!("invalid apiVersion {api_version:?} for kind {kind_name:?}"))?;
        let gvk = GroupVersionKind::gvk(&version.group, &version.version, kind_name);
        let resource = ApiResource::from_gvk_with_plural(&gvk, &kind::plural(kind_name));
        Ok(Api::namespaced_with(self.client.clone(), namespace, &resource))
    }

    async fn served_version(&self, api_version: &str) -> Result<String, String> {
        let group = api_version.split('/').next().unwrap_or_default();
        let groups = self.client.list_api_groups().await.map_err(reason)?;
        let found = groups.groups.into_iter().find(|known| known.name == group);
        let version =
            found.and_then(|found| found.preferred_version).map(|preferred| preferred.group_version);
        version.ok_or_else(|| format!("no version of the group {group:?} is served"))
    }
}

/// Returns the part of an object that a filter may read.
fn object_json(api_version: Option<&str>, kind_name: &str, metadata: &kube::api::ObjectMeta) -> Value {
    let given = api_version.filter(|version| !version.is_empty());
    let api_version = given.or_else(|| kind::default_api_version(kind_name)).unwrap_or_default();
    json!({"apiVersion": api_version, "kind": kind_name, "metadata": metadata})
}

struct Failure {
    text: String,
    /// The API server does not know the version (not: the object).
    is_unserved: bool,
}

impl Failure {
    fn text(text: String) -> Self {
        Self { text, is_unserved: false }
    }

    fn of_api(error: kube::Error, name: &str) -> Self {
        let is_unserved = match &error {
            kube::Error::Api(status) if status.code == 404 => {
                // A missing object is named in the details, a missing version is not.
                status.details.as_ref().is_none_or(|details| details.name.is_empty() || details.name != name)
            }
            _ => false,
        };
        Self { text: reason(error), is_unserved }
    }
}
