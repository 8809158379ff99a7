//! The health of one object, asked of the server: for objects that no watch covers (KS-HC-2, KS-HC-10).

use std::sync::Arc;

use jiff::Timestamp;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::Value;
use weir_evaluation::{MayGoOn, evaluated};
use weir_kstatus::{Assessment, Status, assess, assess_pods};

use crate::error::{is_unserved, shown};
use crate::request::Target;
use crate::{Mapping, ObjectId, Session, health};

/// Versions of its API in which an object is looked for: the one that was preferred, and the one that is now.
pub(crate) const MAX_FINDS: usize = 2;

/// Pods looked at for one StatefulSet or ReplicaSet; the first failed one decides.
const MAX_PODS: u32 = 500;

/// An object's health, and whether it could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Its health.
    pub assessment: Assessment,
    /// Error of reading it, if any.
    pub error: Option<String>,
}

impl Probe {
    /// Returns the health of an object that cannot be read, with the reason.
    #[must_use]
    pub fn unknown(error: String) -> Self {
        Self { assessment: Assessment::unknown(error.clone()), error: Some(error) }
    }

    /// The object as health messages list it (KS-HC-6).
    pub fn item(&self, id: &ObjectId) -> String {
        let item = format!("{} status: '{}'", id.subject(), self.assessment.status);
        self.error.as_ref().map_or_else(|| item.clone(), |error| format!("{item}: {error}"))
    }
}

/// Rules about the health of some kinds that stand before the usual ones (KS-CEL-6).
pub trait Judge: Send + Sync {
    /// Returns true when there are rules for the object.
    fn covers(&self, id: &ObjectId) -> bool;

    /// Judges an object that is covered, for as long as it may go on. Blocks meanwhile.
    fn judge(&self, id: &ObjectId, object: &Value, may_go_on: &MayGoOn<'_>) -> Probe;
}

/// Reads an object and has it judged.
pub(crate) async fn judged(session: &Session, judge: Arc<dyn Judge>, id: &ObjectId) -> Probe {
    let object = match read(session, id).await {
        Ok(Some(object)) => object,
        Ok(None) => return Assessment::not_found().into(),
        Err(error) => return Probe::unknown(error),
    };
    let id = id.clone();
    evaluated(move |may_go_on| judge.judge(&id, &object, may_go_on)).await.unwrap_or_else(Probe::unknown)
}

/// Reads an object in the version that the cluster prefers; nothing if there is none.
///
/// # Errors
/// Words for people, when the kind is unknown or the API server does not answer.
pub async fn read(session: &Session, id: &ObjectId) -> Result<Option<Value>, String> {
    let found = find(session, id).await?;
    found.map(|(_, object)| serde_json::to_value(object).map_err(|error| error.to_string())).transpose()
}

/// Finds an object, and where it is. A version that is no longer served is forgotten, and the one that is preferred now is tried. When
/// that is not served either, the object is not gone: the replicas of an API server disagree while a definition changes.
async fn find(session: &Session, id: &ObjectId) -> Result<Option<(Arc<Mapping>, DynamicObject)>, String> {
    let mut finds = 0;
    loop {
        finds += 1;
        let mapping = session.mapper.preferred(&id.group, &id.kind).await;
        let mapping = mapping.map_err(|error| error.to_string())?;
        match (Target { client: &session.client, mapping: &mapping, id }).get().await {
            Ok(found) => return Ok(found.map(|object| (mapping, object))),
            Err(error) if finds < MAX_FINDS && is_unserved(&error) => {
                session.mapper.forget(&mapping.resource.api_version)
            }
            Err(error) => return Err(shown(id, &error)),
        }
    }
}

impl From<Assessment> for Probe {
    fn from(assessment: Assessment) -> Self {
        // Unknown is a status that cannot be computed, which Flux tells like an object that cannot be read.
        let error = (assessment.status == Status::Unknown).then(|| assessment.message.clone());
        Self { assessment, error }
    }
}

/// Reads an object in the version that the cluster prefers, and returns its health. An object that cannot be read has
/// the status Unknown, and the error has the reason.
pub async fn probe(session: &Session, id: &ObjectId) -> Probe {
    match find(session, id).await {
        Ok(None) => Assessment::not_found().into(),
        Ok(Some((mapping, object))) => match with_pods(session, &as_served(id, &mapping), &object).await {
            Ok(assessment) => assessment.into(),
            Err(error) => Probe::unknown(shown(id, &error)),
        },
        Err(error) => Probe::unknown(error),
    }
}

/// Returns the id with the kind as the cluster spells it.
fn as_served(id: &ObjectId, mapping: &Mapping) -> ObjectId {
    ObjectId { kind: mapping.resource.kind.clone(), ..id.clone() }
}

/// The health of an object as it stands.
fn assess_object(id: &ObjectId, object: &DynamicObject) -> Assessment {
    assess(&assessable(id, object), Timestamp::now())
}

/// A StatefulSet or ReplicaSet in progress is judged by its Pods too (KS-KST-37).
async fn with_pods(
    session: &Session,
    id: &ObjectId,
    object: &DynamicObject,
) -> Result<Assessment, kube::Error> {
    let assessment = assess_object(id, object);
    let has_pods = id.group == "apps" && matches!(id.kind.as_str(), "StatefulSet" | "ReplicaSet");
    if !has_pods || assessment.status != Status::InProgress {
        return Ok(assessment);
    }
    let api: Api<DynamicObject> =
        Api::namespaced_with(session.client.clone(), &id.namespace, &pod_resource());
    let labels = object.data.pointer("/spec/selector").map(label_selector).unwrap_or_default();
    let pods = api.list(&ListParams::default().labels(&labels).limit(MAX_PODS)).await?;
    let pod_id = ObjectId { group: String::new(), kind: "Pod".to_owned(), ..id.clone() };
    let pods: Vec<Value> = pods.iter().map(|pod| assessable(&pod_id, pod)).collect();
    Ok(assess_pods(assessment, &pods, Timestamp::now()))
}

/// Returns the parts of an object that show its health, as JSON.
fn assessable(id: &ObjectId, object: &DynamicObject) -> Value {
    let field = |name: &str| object.data.get(name).cloned().unwrap_or_default();
    let mut parts = health::parts(&object.metadata, field("spec"), field("status"));
    health::of_kind(&mut parts, id);
    parts
}

fn pod_resource() -> kube::core::ApiResource {
    kube::core::ApiResource::erase::<k8s_openapi::api::core::v1::Pod>(&())
}

/// A selector of a workload in the syntax of list requests.
fn label_selector(selector: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let equal = labels.into_iter().flatten().map(|(key, value)| format!("{key}={}", text(value)));
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    let terms = expressions.into_iter().flatten().filter_map(|expression| {
        let key = text(expression.get("key")?);
        let values = expression.get("values").and_then(Value::as_array);
        let values = values.into_iter().flatten().map(text).collect::<Vec<_>>().join(",");
        Some(match expression.get("operator")?.as_str()? {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key,
            "DoesNotExist" => format!("!{key}"),
            _ => return None,
        })
    });
    equal.chain(terms).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_are_written_for_the_server() {
        let selector = json!({"matchLabels": {"a": "b"}, "matchExpressions": [
            {"key": "c", "operator": "In", "values": ["d", "e"]}, {"key": "f", "operator": "DoesNotExist"}]});
        assert_eq!(label_selector(&selector), "a=b,c in (d,e),!f");
    }

    #[test]
    fn items_name_subject_status_and_error() {
        let id: ObjectId = "apps_x_no.such_Thing".parse().unwrap();
        let item = Probe::from(Assessment::unknown("e")).item(&id);
        assert_eq!(item, "Thing/apps/x status: 'Unknown': e");
        assert_eq!(Probe::from(Assessment::not_found()).item(&id), "Thing/apps/x status: 'NotFound'");
    }
}
