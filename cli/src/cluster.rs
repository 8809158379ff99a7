//! The requests that the verbs make, each of them within `--timeout`.

mod listed;
mod lists;
mod wait;

use std::future::Future;

use futures::stream::{BoxStream, StreamExt, TryStreamExt};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use weir_runtime::request_reconcile;

use self::listed::{Brief, Listed};
pub(crate) use self::wait::LAST_LOOK;
use crate::error::Error;
use crate::kind::Kind;

/// Field manager of this command's changes; the name that Flux's command has in managedFields, so that an object's
/// history stays readable when both are in use.
pub(crate) const FIELD_MANAGER: &str = "flux";

/// Message of Flux's libraries for an object without a namespace.
const NO_NAMESPACE: &str = "an empty namespace may not be set when a resource name is provided";

/// A cluster, the namespace to work in, and the time to be done.
#[derive(Clone)]
pub(crate) struct Cluster {
    /// Client of the user.
    pub(crate) client: kube::Client,
    /// Namespace of the request.
    pub(crate) namespace: String,
    /// End of `--timeout`.
    pub(crate) deadline: Instant,
}

/// The outcome of making an object as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upsert {
    /// It was not there.
    Created,
    /// It was another one.
    Updated,
    /// It was as it should be.
    Unchanged,
}

/// The objects to list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    /// All namespaces instead of the one of the request.
    pub(crate) all_namespaces: bool,
    /// One object.
    pub(crate) name: Option<String>,
    /// Objects with these labels.
    pub(crate) labels: Option<String>,
}

impl Selection {
    fn fields(&self) -> Option<String> {
        let escaped = |name: &String| name.replace('\\', r"\\").replace(',', r"\,").replace('=', r"\=");
        self.name.as_ref().map(|name| format!("metadata.name={}", escaped(name)))
    }
}

impl Cluster {
    /// Waits for a request, until the deadline.
    pub(crate) async fn in_time<T>(&self, request: impl Future<Output = T>) -> Result<T, Error> {
        timeout_at(self.deadline, request).await.map_err(|_| Error::Deadline)
    }

    fn api(&self, kind: &'static Kind, all_namespaces: bool) -> Api<DynamicObject> {
        let resource = kind.api_resource();
        if all_namespaces {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
        }
    }

    /// The same cluster, seen from another namespace.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), ..self.clone() }
    }

    /// All objects that are selected, without the lists of their field managers.
    pub(crate) async fn list(
        &self,
        kind: &'static Kind,
        selection: &Selection,
    ) -> Result<Vec<DynamicObject>, Error> {
        self.selected(kind, selection, |Listed(object)| object).await
    }

    /// The same, each as `row` makes it, which sees no inventories; a whole object is held no longer than its page.
    pub(crate) async fn rows<R: Send + 'static>(
        &self,
        kind: &'static Kind,
        selection: &Selection,
        row: impl Fn(DynamicObject) -> R + Clone + Send + 'static,
    ) -> Result<Vec<R>, Error> {
        self.selected(kind, selection, move |Brief(object)| row(object)).await
    }

    async fn selected<T: DeserializeOwned + 'static, R: Send + 'static>(
        &self,
        kind: &'static Kind,
        selection: &Selection,
        row: impl Fn(T) -> R + Clone + Send + 'static,
    ) -> Result<Vec<R>, Error> {
        let api = self.api(kind, selection.all_namespaces);
        let params = ListParams {
            field_selector: selection.fields(),
            label_selector: selection.labels.clone(),
            ..ListParams::default()
        };
        let listed = self.each(api.resource_url(), params, row).await?;
        listed.map_err(|error| selector_error(kind, selection, error))
    }

    /// One object.
    pub(crate) async fn get(&self, kind: &'static Kind, name: &str) -> Result<DynamicObject, Error> {
        if name.is_empty() {
            return Err(Error::NameRequired(kind.name));
        }
        addressable(kind, name)?;
        self.check_namespace()?;
        match self.in_time(self.api(kind, false).get(name)).await? {
            Err(kube::Error::Api(status)) if status.reason == "NotFound" => {
                Err(Error::Api(format!("{}{}", status.message, self.similar(kind, name).await)))
            }
            got => got.map_err(|error| Error::api(kind, error)),
        }
    }

    /// Refuses the namespace that a label or a manifest lacks: without it an address is that of something else.
    pub(crate) fn check_namespace(&self) -> Result<(), Error> {
        if self.namespace.is_empty() { Err(Error::Api(NO_NAMESPACE.to_owned())) } else { Ok(()) }
    }

    /// One object; nothing where it is not there.
    pub(crate) async fn get_opt(
        &self,
        kind: &'static Kind,
        name: &str,
    ) -> Result<Option<DynamicObject>, Error> {
        let got = self.in_time(self.api(kind, false).get_opt(name)).await?;
        got.map_err(|error| Error::api(kind, error))
    }

    /// Returns a line that suggests another object for a name that does not exist: one of a similar name, or one in another
    /// namespace. Nothing when there is none, or when it cannot be found out soon.
    pub(crate) async fn similar(&self, kind: &'static Kind, name: &str) -> String {
        if name.is_empty() {
            return String::new();
        }
        let elsewhere = Selection { all_namespaces: true, name: Some(name.to_owned()), labels: None };
        let here = Selection::default();
        let lists = async { (self.list(kind, &here).await, self.list(kind, &elsewhere).await) };
        let Ok((here, elsewhere)) = timeout_at(Instant::now() + LAST_LOOK, lists).await else {
            return String::new();
        };
        let names: Vec<_> = here.unwrap_or_default().iter().map(ResourceExt::name_any).collect();
        if names.iter().any(|here| here == name) {
            return String::new();
        }
        if let Some(similar) = nearest(name, &names) {
            return format!("\n  did you mean '{similar}'?");
        }
        let namespaces = elsewhere.unwrap_or_default();
        let found = namespaces.iter().find_map(ResourceExt::namespace);
        found.map_or_else(String::new, |namespace| {
            format!("\n  there is one in another namespace: -n {namespace}")
        })
    }

    /// Changes an object by a JSON merge patch.
    pub(crate) async fn patch(
        &self,
        kind: &'static Kind,
        name: &str,
        patch: Value,
    ) -> Result<DynamicObject, Error> {
        let api = self.api(kind, false);
        let patched = self.in_time(api.patch(name, &by_this_command(), &Patch::Merge(patch))).await?;
        patched.map_err(|error| Error::api(kind, error))
    }

    /// Requests a reconcile of an object now; its status shows `token` once the request was handled.
    pub(crate) async fn request(&self, kind: &'static Kind, name: &str, token: &str) -> Result<(), Error> {
        let (api, params) = (self.api(kind, false), by_this_command());
        let requested = self.in_time(request_reconcile(&api, name, token, &params)).await?;
        requested.map_err(|error| Error::api(kind, error))
    }

    /// Makes an object, or gives an existing one these labels and this spec. The rest of an existing object is kept.
    pub(crate) async fn upsert(
        &self,
        kind: &'static Kind,
        name: &str,
        object: &Value,
    ) -> Result<Upsert, Error> {
        let api = self.api(kind, false);
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let wanted: DynamicObject = serde_json::from_value(object.clone()).map_err(std::io::Error::from)?;
        let failed = |error| Error::api(kind, error);
        let Some(mut found) = self.in_time(api.get_opt(name)).await?.map_err(failed)? else {
            return self
                .in_time(api.create(&params, &wanted))
                .await?
                .map(|_| Upsert::Created)
                .map_err(failed);
        };
        let before = found.clone();
        found.metadata.labels = wanted.metadata.labels;
        if let (Some(data), Some(spec)) = (found.data.as_object_mut(), wanted.data.get("spec")) {
            data.insert("spec".to_owned(), spec.clone());
        }
        if found == before {
            return Ok(Upsert::Unchanged);
        }
        self.in_time(api.replace(name, &params, &found)).await?.map(|_| Upsert::Updated).map_err(failed)
    }

    /// Deletes an object; does not wait until it is gone.
    pub(crate) async fn delete(&self, kind: &'static Kind, name: &str) -> Result<(), Error> {
        let deleted = self.in_time(self.api(kind, false).delete(name, &DeleteParams::background())).await?;
        deleted.map(drop).map_err(|error| Error::api(kind, error))
    }

    /// The selected objects as they are, then every change of them; deleted objects come once more, as they were last.
    pub(crate) fn watch(
        &self,
        kind: &'static Kind,
        selection: &Selection,
    ) -> BoxStream<'static, Result<DynamicObject, Error>> {
        self.events(kind, selection)
            .try_filter_map(|event| {
                let changed = match event {
                    watcher::Event::Apply(object)
                    | watcher::Event::InitApply(object)
                    | watcher::Event::Delete(object) => Some(object),
                    watcher::Event::Init | watcher::Event::InitDone => None,
                };
                std::future::ready(Ok(changed))
            })
            .boxed()
    }

    /// The selected objects as they are, then every change of them. Behind an error they are watched again, after a pause.
    pub(crate) fn events(
        &self,
        kind: &'static Kind,
        selection: &Selection,
    ) -> BoxStream<'static, Result<watcher::Event<DynamicObject>, Error>> {
        let config = watcher::Config {
            field_selector: selection.fields(),
            label_selector: selection.labels.clone(),
            ..watcher::Config::default()
        };
        let selection = selection.clone();
        watcher(self.api(kind, selection.all_namespaces), config)
            .default_backoff()
            .map_err(move |error| watch_error(kind, &selection, error))
            .boxed()
    }
}

/// Likeness of two names from which on one may have been meant by the other; 1 is the same name.
const ALIKE: f64 = 0.85;

/// Returns the one of several names that may have been meant by another one.
pub(crate) fn nearest<'n>(name: &str, names: &'n [String]) -> Option<&'n String> {
    let likeness = |other: &String| strsim::jaro_winkler(name, other);
    let nearest = names.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(nearest) >= ALIKE).then_some(nearest)
}

/// Refuses a name that no object can have: in the address of a request it would be that of something else.
fn addressable(kind: &Kind, name: &str) -> Result<(), Error> {
    let fault = match name {
        "." | ".." => Some(format!("may not be '{name}'")),
        _ => ['/', '%']
            .into_iter()
            .find(|sign| name.contains(*sign))
            .map(|sign| format!("may not contain '{sign}'")),
    };
    if let Some(fault) = fault {
        return Err(Error::Api(format!("invalid resource name {name:?}: [{fault}]")));
    }
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '.' | '_' | ':');
    if name.chars().all(is_plain) {
        return Ok(());
    }
    Err(Error::Api(format!("{}.{} {name:?} not found", kind.plural, kind.group)))
}

fn by_this_command() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

fn watch_error(kind: &'static Kind, selection: &Selection, error: watcher::Error) -> Error {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => selector_error(kind, selection, error),
        watcher::Error::WatchError(status) => Error::from(kube::Error::Api(status)),
        other => Error::Api(other.to_string()),
    }
}

/// The one thing that is bad about a list request is its label selector (CLI-GET04).
fn selector_error(kind: &'static Kind, selection: &Selection, error: kube::Error) -> Error {
    match (error, &selection.labels) {
        (kube::Error::Api(status), Some(selector)) if status.code == 400 => {
            Error::LabelSelector { selector: selector.clone(), reason: status.message.clone() }
        }
        (other, _) => Error::api(kind, other),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use kube::client::Body;

    use super::*;

    /// A failure of the API server is not taken for an object that is not there.
    #[rstest::rstest]
    #[case::there(200, r#"{"apiVersion":"v1","kind":"X","metadata":{"name":"app"}}"#, Ok(true))]
    #[case::absent(404, r#"{"kind":"Status","status":"Failure","reason":"NotFound","code":404}"#, Ok(false))]
    #[case::kind_absent(404, "404 page not found\n", Err("no matches for kind"))]
    #[case::denied(
        403,
        r#"{"kind":"Status","status":"Failure","message":"no rights","reason":"Forbidden","code":403}"#,
        Err("no rights")
    )]
    #[case::broken(500, "oops", Err("oops"))]
    #[tokio::test]
    async fn objects_that_may_be_absent(
        #[case] status: u16,
        #[case] body: &'static str,
        #[case] expected: Result<bool, &str>,
    ) {
        let server = tower::service_fn(move |_: http::Request<Body>| {
            let mut answer = http::Response::new(Body::from(body.as_bytes().to_vec()));
            *answer.status_mut() = http::StatusCode::from_u16(status).unwrap();
            std::future::ready(Ok::<_, Infallible>(answer))
        });
        let client = kube::Client::new(server, "default");
        let deadline = Instant::now() + Duration::from_secs(30);
        let cluster = Cluster { client, namespace: "default".to_owned(), deadline };
        let found = cluster.get_opt(Kind::named("Kustomization").unwrap(), "app").await;
        match (found, expected) {
            (Ok(found), Ok(is_there)) => assert_eq!(found.is_some(), is_there),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
            (found, _) => panic!("{found:?}"),
        }
    }

    #[tokio::test]
    async fn an_object_without_a_namespace_is_not_asked_for() {
        let server = tower::service_fn(|_: http::Request<Body>| {
            std::future::ready(Ok::<_, Infallible>(http::Response::new(Body::empty())))
        });
        let client = kube::Client::new(server, "default");
        let deadline = Instant::now() + Duration::from_secs(30);
        let cluster = Cluster { client, namespace: String::new(), deadline };
        let refused = cluster.get(Kind::named("Kustomization").unwrap(), "app").await.unwrap_err();
        assert_eq!(refused.to_string(), NO_NAMESPACE);
    }

    #[rstest::rstest]
    #[case("podinfo", "metadata.name=podinfo")]
    #[case("a=b,c\\d", "metadata.name=a\\=b\\,c\\\\d")]
    fn any_name_can_be_asked_for(#[case] name: &str, #[case] expected: &str) {
        let selection = Selection { name: Some(name.to_owned()), ..Selection::default() };
        assert_eq!(selection.fields().as_deref(), Some(expected));
    }

    #[rstest::rstest]
    #[case("podinfo", None)]
    #[case("system:x_1.0", None)]
    #[case("apps/podinfo", Some("invalid resource name \"apps/podinfo\": [may not contain '/']"))]
    #[case("a%2Fb", Some("invalid resource name \"a%2Fb\": [may not contain '%']"))]
    #[case("..", Some("invalid resource name \"..\": [may not be '..']"))]
    #[case("podinfo ", Some("kustomizations.kustomize.toolkit.fluxcd.io \"podinfo \" not found"))]
    #[case("a?watch=1", Some("kustomizations.kustomize.toolkit.fluxcd.io \"a?watch=1\" not found"))]
    fn names_that_would_be_another_address_are_refused(#[case] name: &str, #[case] expected: Option<&str>) {
        let refused = addressable(Kind::named("Kustomization").unwrap(), name).err();
        assert_eq!(refused.map(|error| error.to_string()).as_deref(), expected);
    }
}
