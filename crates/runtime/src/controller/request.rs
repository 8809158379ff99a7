//! Requests to reconcile an object now: an annotation, which anyone may set.

use kube::Api;
use kube::api::{Patch, PatchParams};
use serde::de::DeserializeOwned;
use serde_json::json;
use weir_api::REQUESTED_AT_ANNOTATION;

/// Requests a reconcile of an object now. `token` is what its status shows once the request was handled; by custom it is the
/// time.
///
/// # Errors
/// As the API server answers.
pub async fn request_reconcile<K>(
    api: &Api<K>,
    name: &str,
    token: &str,
    params: &PatchParams,
) -> kube::Result<()>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let patch = json!({ "metadata": { "annotations": { REQUESTED_AT_ANNOTATION: token } } });
    api.patch_metadata(name, params, &Patch::Merge(patch)).await.map(drop)
}

/// Returns true when someone asks for a run that was not asked for before. Taking the request away asks for
/// nothing.
pub(super) fn is_requested_anew<K: kube::Resource>(old: &K, new: &K) -> bool {
    let request = request(new);
    request.is_some() && request != self::request(old)
}

fn request(object: &impl kube::Resource) -> Option<&str> {
    object.meta().annotations.as_ref()?.get(REQUESTED_AT_ANNOTATION).map(String::as_str)
}

/// The token of the newest request to reconcile now. An empty one has none that a status could show.
pub(crate) fn requested_at(object: &impl kube::Resource) -> Option<&str> {
    request(object).filter(|token| !token.is_empty())
}
