//! Alerts, providers and receivers (CLI-CRE09).

use serde_json::Value;

use super::super::flag::{list, one_of, text};
use super::super::reference;
use super::{Recipe, UNUSED_INTERVAL, refuse};
use crate::enumeration::{Enumeration, Form};
use crate::error::Error;
use crate::output::manifest::put;

/// Types of receivers.
pub(in crate::command::create) const RECEIVER_TYPE: Enumeration = Enumeration {
    thing: "receiver type",
    words: &[
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
    ],
    form: Form::NotSupported("the receiver type"),
};

pub(super) static ALERT: Recipe = Recipe {
    kind: "Alert",
    example: "slack --provider-ref slack --event-source 'Kustomization/*' --event-severity error --export",
    flags: &[
        UNUSED_INTERVAL,
        &[
            text("provider-ref", "/providerRef/name", "Name of the provider"),
            text("event-severity", "/eventSeverity", "Least severity, info or error"),
            list("event-source", "", "Objects to alert about, <kind>/<name>[.<namespace>]"),
        ],
    ],
    complete: |flags, spec| {
        flags.required("provider-ref", "provider ref is required")?;
        let sources =
            flags.list("event-source").into_iter().map(event_source).collect::<Result<Vec<_>, _>>()?;
        if sources.is_empty() {
            return refuse("at least one event source is required");
        }
        put(spec, "/eventSources", sources);
        Ok(())
    },
};

pub(super) static PROVIDER: Recipe = Recipe {
    kind: "Provider",
    example: "slack --type slack --channel general --secret-ref webhook-url --export",
    flags: &[
        UNUSED_INTERVAL,
        &[
            text("type", "/type", "Type of the provider"),
            text("channel", "/channel", "Channel to write to"),
            text("username", "/username", "Name of the bot"),
            text("address", "/address", "Address of the receiver"),
            text("secret-ref", "/secretRef/name", "Name of the Secret with address or token"),
        ],
    ],
    complete: |flags, _| flags.required("type", "Provider type is required").map(drop),
};

pub(super) static RECEIVER: Recipe = Recipe {
    kind: "Receiver",
    example: "github --type github --event ping,push --secret-ref webhook-token --resource GitRepository/webapp --export",
    flags: &[
        UNUSED_INTERVAL,
        &[
            one_of("type", "/type", RECEIVER_TYPE, "Type of the sender"),
            text("secret-ref", "/secretRef/name", "Name of the Secret with the token"),
            list("event", "/events", "Events to react to"),
            list("resource", "", "Objects to reconcile, <kind>/<name>"),
        ],
    ],
    complete: |flags, spec| {
        flags.required("type", "Receiver type is required")?;
        flags.required("secret-ref", "secret ref is required")?;
        let resources = flags.list("resource").into_iter().map(resource).collect::<Result<Vec<_>, _>>()?;
        if resources.is_empty() {
            return refuse("atleast one resource is required");
        }
        put(spec, "/resources", resources);
        Ok(())
    },
};

fn event_source(text: &str) -> Result<Value, Error> {
    let (kind, name) = kind_and_name(text)?;
    let (name, namespace) = reference::split_namespace(name);
    Ok(reference::reference(Some(kind), name, namespace))
}

fn resource(text: &str) -> Result<Value, Error> {
    kind_and_name(text).map(|(kind, name)| reference::reference(Some(kind), name, None))
}

fn kind_and_name(text: &str) -> Result<(&str, &str), Error> {
    match reference::split_kind(text) {
        (Some(kind), name) if !kind.is_empty() => Ok((kind, name)),
        _ => refuse(format!("invalid event source '{text}', must be in format <kind>/<name>")),
    }
}
