//! API objects as status messages.

use weir_api::FluxObject;
use weir_proto::status::v1::{Condition, ObjectStatus};

pub(super) fn status<K: FluxObject>(object: &K) -> ObjectStatus {
    let meta = object.meta();
    ObjectStatus {
        kind: K::KIND.to_owned(),
        namespace: meta.namespace.clone().unwrap_or_default(),
        name: meta.name.clone().unwrap_or_default(),
        generation: meta.generation.unwrap_or_default(),
        observed_generation: object.observed_generation(),
        suspended: object.is_suspended(),
        revision: object.revision().unwrap_or_default().to_owned(),
        conditions: object.conditions().iter().map(condition).collect(),
        resource_version: meta.resource_version.clone().unwrap_or_default(),
        last_handled_reconcile_at: object.last_handled_reconcile_at().unwrap_or_default().to_owned(),
    }
}

fn condition(condition: &weir_api::Condition) -> Condition {
    let time = condition.last_transition_time.0;
    let last_transition_time =
        weir_proto::Timestamp { seconds: time.as_second(), nanos: time.subsec_nanosecond() };
    Condition {
        r#type: condition.type_.clone(),
        status: condition.status.clone(),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        observed_generation: condition.observed_generation.unwrap_or_default(),
        last_transition_time: Some(last_transition_time),
    }
}
