//! Waiting for a condition with a deadline: by watch where there is one, by polling where there is none.

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use kube::api::{DynamicObject, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Error;

/// Pause between two looks of [`eventually`]: often enough for a test, seldom enough for a laptop.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// One condition of an object's status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The machine-readable reason.
    pub reason: String,
    /// The text for people.
    pub message: String,
    /// Generation of the condition; 0 when it has none.
    pub observed_generation: i64,
}

/// Waits by watch until `wanted` holds for the object, which is `None` while it does not exist.
///
/// # Errors
/// [`Error::Deadline`] with the object as it was when the time was up, or [`Error::Watch`].
pub async fn wait_for<K>(
    api: &Api<K>,
    name: &str,
    what: &str,
    deadline: Duration,
    wanted: impl Fn(Option<&K>) -> bool,
) -> Result<Option<K>, Error>
where
    K: Resource + Clone + Debug + Serialize + DeserializeOwned + Send + 'static,
{
    match tokio::time::timeout(deadline, await_condition(api.clone(), name, wanted)).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(source)) => Err(Error::Watch { what: format!("{what} ({name})"), source: Box::new(source) }),
        Err(_) => {
            let last = match api.get_opt(name).await {
                Ok(Some(object)) => brief(&object),
                Ok(None) => "it does not exist".into(),
                Err(error) => error.to_string(),
            };
            Err(Error::Deadline { what: format!("{what} ({name})"), deadline, last })
        }
    }
}

/// Waits until the object has `Ready=True` for its current generation.
///
/// # Errors
/// As [`wait_for`].
pub async fn wait_ready(
    api: &Api<DynamicObject>,
    name: &str,
    deadline: Duration,
) -> Result<DynamicObject, Error> {
    wait_condition(api, name, "Ready", "True", None, deadline).await
}

/// Waits until a condition of the object's current generation has a status and, if given, a reason.
///
/// # Errors
/// As [`wait_for`].
pub async fn wait_condition(
    api: &Api<DynamicObject>,
    name: &str,
    type_: &str,
    status: &str,
    reason: Option<&str>,
    deadline: Duration,
) -> Result<DynamicObject, Error> {
    let what = format!("{type_}={status} {}", reason.unwrap_or_default());
    let found = wait_for(api, name, &what, deadline, |object: Option<&DynamicObject>| {
        let Some(object) = object else { return false };
        let Some(found) = condition(object, type_) else { return false };
        let generation = object.metadata.generation.unwrap_or_default();
        let current = found.observed_generation == 0 || found.observed_generation == generation;
        current && found.status == status && reason.is_none_or(|reason| reason == found.reason)
    })
    .await?;
    found.ok_or(Error::Deadline { what, deadline, last: "it does not exist".into() })
}

/// Waits until the object has `Ready=False` with a message that holds `part`, and returns that condition.
///
/// # Errors
/// As [`wait_for`].
pub async fn wait_not_ready(
    api: &Api<DynamicObject>,
    name: &str,
    part: &str,
    deadline: Duration,
) -> Result<Condition, Error> {
    let what = format!("Ready=False with '{part}'");
    let not_ready = |object: Option<&DynamicObject>| {
        let ready = condition(object?, "Ready")?;
        (ready.status == "False" && ready.message.contains(part)).then_some(ready)
    };
    let found = wait_for(api, name, &what, deadline, |object| not_ready(object).is_some()).await?;
    not_ready(found.as_ref()).ok_or(Error::Deadline { what, deadline, last: "it changed again".into() })
}

/// Waits until the object does not exist.
///
/// # Errors
/// As [`wait_for`].
pub async fn wait_gone<K>(api: &Api<K>, name: &str, deadline: Duration) -> Result<(), Error>
where
    K: Resource + Clone + Debug + Serialize + DeserializeOwned + Send + 'static,
{
    wait_for(api, name, "its end", deadline, |object| object.is_none()).await.map(drop)
}

/// A condition of an object's status, if it has it.
#[must_use]
pub fn condition(object: &DynamicObject, type_: &str) -> Option<Condition> {
    let conditions = object.data.get("status")?.get("conditions")?.as_array()?;
    let found =
        conditions.iter().find(|condition| condition.get("type").and_then(Value::as_str) == Some(type_))?;
    let text = |field: &str| found.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Condition {
        status: text("status"),
        reason: text("reason"),
        message: text("message"),
        observed_generation: found.get("observedGeneration").and_then(Value::as_i64).unwrap_or_default(),
    })
}

/// Asks for a reconcile now, as `flux reconcile` does, and returns the token that
/// `status.lastHandledReconcileAt` will show.
///
/// # Errors
/// When the API server refuses.
pub async fn touch_requested_at(api: &Api<DynamicObject>, name: &str) -> Result<String, Error> {
    let since_epoch = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let token = format!("{}.{:09}", since_epoch.as_secs(), since_epoch.subsec_nanos());
    let patch = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": token}}});
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .map_err(Error::kube(format!("annotate {name}")))?;
    Ok(token)
}

/// Polls until `look` finds something; for what has no watch: files, servers, processes.
///
/// # Errors
/// [`Error::Deadline`].
pub async fn eventually<T, F>(what: &str, deadline: Duration, mut look: impl FnMut() -> F) -> Result<T, Error>
where
    F: Future<Output = Option<T>>,
{
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            #[expect(clippy::disallowed_methods, reason = "the one place where tests wait")]
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(deadline, looking).await.map_err(|_| Error::Deadline {
        what: what.into(),
        deadline,
        last: "nothing yet".into(),
    })
}

fn brief<K: Resource + Serialize>(object: &K) -> String {
    let value = serde_json::to_value(object).unwrap_or_default();
    let status = value.get("status").cloned().unwrap_or(Value::Null);
    let generation = object.meta().generation.unwrap_or_default();
    format!("{} generation {generation}, status {status:#}", object.name_any())
}
