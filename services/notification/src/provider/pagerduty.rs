//! `pagerduty`: triggers or resolves an incident, and sends good news as a change.

use serde_json::{Value, json};
use url::Url;

use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address};
use crate::event::json::{filled, with};
use crate::event::text::{object_name, reason_in_words};
use crate::event::{Event, SEVERITY_INFO};

pub(super) struct PagerDuty {
    url: Url,
    routing_key: String,
}

impl PagerDuty {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let url = address::parse(&settings.address).map_err(|reason| {
            InitError::Address(format!("invalid PagerDuty endpoint URL {:?}: '{reason}'", settings.address))
        })?;
        Ok(Self { url, routing_key: settings.channel.clone() })
    }
}

impl Notifier for PagerDuty {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        if event.is_progressing() {
            return Ok(Delivery::Nothing);
        }
        let to = |path: &str| address::with_path(&self.url, path);
        let incident = Message::post_json(&to("/v2/enqueue"), &incident(event, &self.routing_key));
        let mut messages = vec![incident.failing_with("failed sending event: ")];
        if event.severity == SEVERITY_INFO {
            let change = Message::post_json(&to("/v2/change/enqueue"), &change(event, &self.routing_key));
            messages.push(change.failing_with("failed sending change event: "));
        }
        Ok(Delivery::Messages(messages))
    }
}

fn incident(event: &Event, routing_key: &str) -> Value {
    let object = &event.involved_object;
    let action = if event.is_error() { "trigger" } else { "resolve" };
    let incident = json!({"routing_key": routing_key, "event_action": action});
    let incident = with(incident, "dedup_key", filled(&object.uid));
    let payload = event.is_error().then(|| {
        json!({
            "summary": summary(event),
            "source": source(event),
            "severity": "error",
            "timestamp": event.timestamp_text(),
            "component": object.name,
            "group": object.kind,
            "custom_details": {"message": event.message, "metadata": event.metadata},
        })
    });
    with(incident, "payload", payload)
}

fn change(event: &Event, routing_key: &str) -> Value {
    json!({"routing_key": routing_key, "payload": {
        "summary": summary(event),
        "source": source(event),
        "timestamp": event.timestamp_text(),
        "custom_details": {"message": event.message, "metadata": event.metadata},
    }})
}

fn summary(event: &Event) -> String {
    format!("{}: {}", reason_in_words(&event.reason), object_name(&event.involved_object))
}

fn source(event: &Event) -> String {
    format!("Flux {}", event.reporting_controller)
}
