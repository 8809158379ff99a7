//! Older versions of the notification kinds (NTF-136 to NTF-141).
//!
//! Where the stored version is wider (names, lengths, kinds, types), the older ones are as wide (NTF-138).

use serde_json::{Value, json};

use super::edit::Edit::{self, Put, Remove, Require, Set, Unset};
use super::{CrdError, Definition, Older, definition, object, schema_of, string};
use crate::schema::pattern;
use crate::{Alert, Condition, Provider, Receiver};

const COMPONENT: &str = "notification-controller";

pub(super) fn definitions() -> Result<Vec<Definition>, CrdError> {
    Ok(vec![
        definition::<Alert>(
            COMPONENT,
            vec![
                Older::new("v1beta2", [Put("status", status(true))]).with_status(),
                Older::new("v1beta1", alert_v1beta1()).with_status(),
            ],
        )?,
        definition::<Provider>(
            COMPONENT,
            vec![
                Older::new("v1beta2", provider_v1beta2()).with_status(),
                Older::new("v1beta1", provider_v1beta2().into_iter().chain(provider_v1beta1())).with_status(),
            ],
        )?,
        definition::<Receiver>(
            COMPONENT,
            vec![
                Older::new("v1beta2", receiver_v1beta2()),
                Older::new("v1beta1", receiver_v1beta2().into_iter().chain(receiver_v1beta1())),
            ],
        )?,
    ])
}

/// The status that Alert and Provider had; nothing fills it any more.
fn status(with_handled: bool) -> Value {
    let conditions = json!({ "type": "array", "items": schema_of::<Condition>() });
    let mut fields = serde_json::Map::new();
    fields.insert("conditions".to_owned(), conditions);
    fields.insert("observedGeneration".to_owned(), json!({ "type": "integer", "format": "int64" }));
    if with_handled {
        fields.insert(
            "lastHandledReconcileAt".to_owned(),
            string("The last reconcile request that was handled."),
        );
    }
    let mut status = object("Deprecated: Not used.", fields, &[]);
    status.insert("default".to_owned(), json!({ "observedGeneration": -1 }));
    status.into()
}

fn alert_v1beta1() -> Vec<Edit> {
    vec![
        Remove("spec.inclusionList"),
        Remove("spec.eventMetadata"),
        Unset("spec.summary", "maxLength"),
        Put("status", status(false)),
    ]
}

fn provider_v1beta2() -> Vec<Edit> {
    vec![
        Unset("spec", "x-kubernetes-validations"),
        Remove("spec.commitStatusExpr"),
        Remove("spec.proxySecretRef"),
        Remove("spec.serviceAccountName"),
        Put("status", status(true)),
    ]
}

fn provider_v1beta1() -> Vec<Edit> {
    vec![
        Remove("spec.interval"),
        Unset("spec.address", "maxLength"),
        Unset("spec.channel", "maxLength"),
        Unset("spec.username", "maxLength"),
        Unset("spec.proxy", "maxLength"),
        Set("spec.timeout", "pattern", json!(pattern::GO_DURATION)),
        Put("status", status(false)),
    ]
}

fn receiver_v1beta2() -> Vec<Edit> {
    // All but generic-oidc, for which these versions have no trust settings.
    let types = [
        "generic",
        "generic-hmac",
        "github",
        "gitlab",
        "bitbucket",
        "harbor",
        "dockerhub",
        "quay",
        "gcr",
        "nexus",
        "acr",
        "cdevents",
    ];
    vec![
        Unset("spec", "x-kubernetes-validations"),
        Set("spec.type", "enum", json!(types)),
        Remove("spec.oidcProviders"),
        Remove("spec.resourceFilter"),
        Remove("spec.resources[].filter"),
        Require("spec.secretRef"),
        Unset("spec.interval", "default"),
        Put("status.url", string("Deprecated: Use webhookPath instead.")),
    ]
}

fn receiver_v1beta1() -> Vec<Edit> {
    vec![Remove("spec.interval"), Remove("status.webhookPath"), Remove("status.lastHandledReconcileAt")]
}
