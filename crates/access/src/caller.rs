//! The object that logs in to a cloud.

use std::time::Duration;

use weir_api::FluxObject;
use weir_auth::Caller;
use weir_http::Profile;
use weir_runtime::ObjectKey;

/// Returns an object of the kind `K` as the one who logs in, with its `spec.serviceAccountName`.
#[must_use]
pub fn caller<'a, K: FluxObject>(
    key: &'a ObjectKey,
    account: Option<&'a str>,
    http: &'a Profile,
    timeout: Duration,
) -> Caller<'a> {
    Caller { kind: K::KIND, namespace: &key.namespace, name: &key.name, account, http, timeout }
}
