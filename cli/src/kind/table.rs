//! The rows.

use jiff::tz::TimeZone;
use kube::api::DynamicObject;
use serde_json::Value;
use weir_api::FluxObject;
use weir_api::{
    Alert, ArtifactGenerator, Bucket, Duration, ExternalArtifact, GitRepository, HelmChart, HelmRepository,
    ImagePolicy, ImageRepository, ImageUpdateAutomation, Kustomization, OciRepository, Provider, Receiver,
};

use super::Column::{FirstOf, MadeOf, Message, Name, Ready, Revision, Source, Suspended, Text, Time};
use super::object::first_of;
use super::{Column, Group, Kind, Verbs, Words, ready, revision_of, text};
use crate::output::rfc3339;

/// The kinds, in the order in which `get all` shows them (CLI-GET06).
pub(crate) static KINDS: [Kind; 15] = [
    Kind {
        human: "source oci",
        words: Words { group: Some(Group::Source), one: "oci", many: "oci", short: &["ocirepo"] },
        columns: SOURCE_COLUMNS,
        shortens: true,
        success: fetched,
        ..of::<OciRepository>()
    },
    Kind {
        human: "source bucket",
        words: Words { group: Some(Group::Source), one: "bucket", many: "bucket", short: &[] },
        columns: SOURCE_COLUMNS,
        shortens: true,
        success: fetched,
        ..of::<Bucket>()
    },
    Kind {
        human: "source git",
        words: Words { group: Some(Group::Source), one: "git", many: "git", short: &["gitrepo"] },
        columns: SOURCE_COLUMNS,
        shortens: true,
        success: fetched,
        ..of::<GitRepository>()
    },
    Kind {
        human: "source helm",
        words: Words { group: Some(Group::Source), one: "helm", many: "helm", short: &["helmrepo"] },
        columns: SOURCE_COLUMNS,
        shortens: true,
        static_message: |object| (text(object, "/spec/type") == "oci").then_some(OF_REGISTRY),
        success: indexed,
        ..of::<HelmRepository>()
    },
    Kind {
        human: "source chart",
        words: Words { group: Some(Group::Source), one: "chart", many: "chart", short: &["hc"] },
        // The revision is a version, whose build part may look like a hash.
        columns: &[Name, Text("Revision", "/status/artifact/revision"), Suspended, Ready, Message],
        shortens: true,
        sources: &["HelmRepository", "GitRepository", "Bucket"],
        success: fetched,
        ..of::<HelmChart>()
    },
    Kind {
        human: "source external-artifact",
        words: Words { group: Some(Group::Source), one: "external", many: "external", short: &["ea"] },
        columns: &[Name, Revision("/status/artifact/revision"), MadeOf, Ready, Message],
        shortens: true,
        verbs: Verbs::Get,
        ..of::<ExternalArtifact>()
    },
    Kind {
        human: "image repository",
        words: Words {
            group: Some(Group::Image),
            one: "repository",
            many: "repository",
            short: &["imgrepo", "imagerepo"],
        },
        columns: &[Name, Time("Last scan", "/status/lastScanResult/scanTime"), Suspended, Ready, Message],
        success: scanned,
        ..of::<ImageRepository>()
    },
    Kind {
        human: "image policy",
        words: Words {
            group: Some(Group::Image),
            one: "policy",
            many: "policy",
            short: &["imgpol", "imagepol"],
        },
        columns: &[
            Name,
            Text("Image", "/status/latestRef/name"),
            Text("Tag", "/status/latestRef/tag"),
            Ready,
            Message,
        ],
        success: selected,
        ..of::<ImagePolicy>()
    },
    Kind {
        human: "image update automation",
        words: Words {
            group: Some(Group::Image),
            one: "update",
            many: "update",
            short: &["iua", "imgupd", "imgauto"],
        },
        columns: &[Name, Time("Last run", "/status/lastAutomationRunTime"), Suspended, Ready, Message],
        success: automated,
        ..of::<ImageUpdateAutomation>()
    },
    Kind {
        human: "helmrelease",
        words: Words { group: None, one: "helmrelease", many: "helmreleases", short: &["hr"] },
        columns: &[Name, Source, FirstOf("Revision", CHART_VERSIONS), Suspended, Ready, Message],
        sources: &["HelmChart", "OCIRepository"],
        success: |release| format!("applied revision {}", first_of(release, CHART_VERSIONS)),
        normalized: |mut release| {
            durations_as_go(&mut release);
            without_switches_that_are_off(&mut release);
            Ok(release)
        },
        ..HELM_RELEASE
    },
    Kind {
        human: "kustomization",
        words: Words { group: None, one: "kustomization", many: "kustomizations", short: &["ks"] },
        columns: &[Name, Source, Revision("/status/lastAppliedRevision"), Suspended, Ready, Message],
        shortens: true,
        sources: &["OCIRepository", "GitRepository", "Bucket"],
        success: applied,
        ..of::<Kustomization>()
    },
    Kind {
        human: "receiver",
        words: Words { group: None, one: "receiver", many: "receivers", short: &[] },
        columns: &[Name, Suspended, Ready, Message],
        success: |_| "Receiver reconciliation completed".to_owned(),
        ..of::<Receiver>()
    },
    Kind {
        human: "alert provider",
        words: Words { group: None, one: "alert-provider", many: "alert-providers", short: &[] },
        columns: &[Name, Ready, Message],
        static_message: |_| Some("Provider is Ready"),
        has_conditions: false,
        verbs: Verbs::AllButReconcile,
        success: |_| "Provider reconciliation completed".to_owned(),
        ..of::<Provider>()
    },
    Kind {
        human: "alert",
        words: Words { group: None, one: "alert", many: "alerts", short: &[] },
        columns: &[Name, Suspended, Ready, Message],
        static_message: |_| Some("Alert is Ready"),
        has_conditions: false,
        verbs: Verbs::AllButReconcile,
        success: |_| "Alert reconciliation completed".to_owned(),
        ..of::<Alert>()
    },
    Kind {
        human: "artifactgenerator",
        words: Words { group: Some(Group::Artifact), one: "generator", many: "generators", short: &["ag"] },
        columns: &[Name, Suspended, Ready, Message],
        verbs: Verbs::Get,
        ..of::<ArtifactGenerator>()
    },
];

const SOURCE_COLUMNS: &[Column] = &[Name, Revision("/status/artifact/revision"), Suspended, Ready, Message];

/// The part of the row of HelmReleases, which Flux's service reconciles and whose type is not part of the API here.
const HELM_RELEASE: Kind = Kind {
    name: "HelmRelease",
    group: "helm.toolkit.fluxcd.io",
    version: "v2",
    plural: "helmreleases",
    ..of::<Kustomization>()
};

/// Places of the version of a release's chart, the better one first.
const CHART_VERSIONS: &[&str] = &["/status/history/0/chartVersion", "/status/lastAttemptedRevision"];

/// The part of a row that the API knows.
const fn of<K: FluxObject>() -> Kind {
    Kind {
        name: K::KIND,
        human: K::KIND,
        group: K::GROUP,
        version: K::VERSION,
        plural: K::PLURAL,
        words: Words { group: None, one: "", many: "", short: &[] },
        columns: &[],
        shortens: false,
        static_message: |_| None,
        has_conditions: true,
        verbs: Verbs::All,
        sources: &[],
        success: |_| String::new(),
        normalized: |object| serde_json::to_value(serde_json::from_value::<K>(object)?),
    }
}

/// Places of durations in a HelmRelease.
const DURATIONS: [&str; 10] = [
    "/spec/interval",
    "/spec/timeout",
    "/spec/chart/spec/interval",
    "/spec/install/timeout",
    "/spec/install/strategy/retryInterval",
    "/spec/upgrade/timeout",
    "/spec/upgrade/strategy/retryInterval",
    "/spec/rollback/timeout",
    "/spec/test/timeout",
    "/spec/uninstall/timeout",
];

/// Writes the durations of a HelmRelease as Go does: `5m` is `5m0s`.
fn durations_as_go(release: &mut Value) {
    for place in DURATIONS {
        let Some(text) = release.pointer_mut(place) else { continue };
        if let Some(duration) = text.as_str().and_then(|text| text.parse::<Duration>().ok()) {
            *text = duration.to_string().into();
        }
    }
}

/// Places of a HelmRelease that have switches.
const SWITCHES: [&str; 7] = [
    "/spec",
    "/spec/chart/spec",
    "/spec/install",
    "/spec/upgrade",
    "/spec/test",
    "/spec/rollback",
    "/spec/uninstall",
];

/// Leaves out switches that are off, as Go does, except those whose absence means something else.
fn without_switches_that_are_off(release: &mut Value) {
    for place in SWITCHES {
        let Some(Value::Object(fields)) = release.pointer_mut(place) else { continue };
        let is_kept = |name: &str| matches!(name, "persistentClient" | "serverSideApply");
        fields.retain(|name, value| *value != Value::Bool(false) || is_kept(name));
    }
}

fn fetched(object: &DynamicObject) -> String {
    format!("fetched revision {}", revision_of(object))
}

/// Returns the message of a HelmRepository. One of an OCI registry has no index: its condition says so, if something reconciles it.
fn indexed(object: &DynamicObject) -> String {
    match text(object, "/spec/type").as_str() {
        "oci" => ready(object).map_or(OF_REGISTRY, |(_, message)| message).to_owned(),
        _ => fetched(object),
    }
}

/// Message for a HelmRepository of an OCI registry, which nothing reconciles.
const OF_REGISTRY: &str = "Helm repository is Ready";

fn applied(object: &DynamicObject) -> String {
    format!("applied revision {}", text(object, "/status/lastAppliedRevision"))
}

fn scanned(object: &DynamicObject) -> String {
    format!("scan fetched {} tags", text(object, "/status/lastScanResult/tagCount"))
}

fn selected(object: &DynamicObject) -> String {
    let part = |name| text(object, &format!("/status/latestRef/{name}"));
    let digest = part("digest");
    let digest = if digest.is_empty() { digest } else { format!("@{digest}") };
    format!("selected ref {}:{}{digest}", part("name"), part("tag"))
}

fn automated(object: &DynamicObject) -> String {
    match (ready(object), text(object, "/status/lastAutomationRunTime")) {
        (Some((_, message)), _) => message.to_owned(),
        (None, time) if time.is_empty() => "automation not yet run".to_owned(),
        (None, time) => format!("last run {}", rfc3339(&time, &TimeZone::system())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The short forms are those of the CRDs, so that what kubectl knows is known here.
    #[test]
    fn kinds_are_known_by_the_names_that_kubectl_has_for_them() {
        for definition in crate::manifests::crds().unwrap() {
            let names = &definition["spec"]["names"];
            let short = names["shortNames"].as_array().into_iter().flatten();
            let short: Vec<_> = short.filter_map(Value::as_str).collect();
            let kind = Kind::named(names["kind"].as_str().unwrap()).unwrap();
            assert_eq!(kind.words.short, short, "{}", kind.name);
        }
    }

    #[test]
    fn durations_of_helm_releases_are_written_as_by_go() {
        let mut release = json!({ "spec": {
            "interval": "5m", "timeout": "90s", "chart": { "spec": { "interval": "1h", "version": "6.x" } },
            "upgrade": { "timeout": "10m", "strategy": { "retryInterval": "30s" } }, "rollback": { "timeout": "soon" },
        } });
        durations_as_go(&mut release);
        let expected = json!({ "spec": {
            "interval": "5m0s", "timeout": "1m30s", "chart": { "spec": { "interval": "1h0m0s", "version": "6.x" } },
            "upgrade": { "timeout": "10m0s", "strategy": { "retryInterval": "30s" } }, "rollback": { "timeout": "soon" },
        } });
        assert_eq!(release, expected);
    }

    #[test]
    fn switches_of_helm_releases_that_are_off_are_left_out_as_by_go() {
        let mut release = json!({ "spec": {
            "suspend": false, "persistentClient": false, "values": { "enabled": false },
            "install": { "createNamespace": false, "replace": true, "serverSideApply": false, "remediation": { "ignoreTestFailures": false } },
            "chart": { "spec": { "ignoreMissingValuesFiles": false } }, "upgrade": { "force": false },
        } });
        without_switches_that_are_off(&mut release);
        let expected = json!({ "spec": {
            "persistentClient": false, "values": { "enabled": false },
            "install": { "replace": true, "serverSideApply": false, "remediation": { "ignoreTestFailures": false } },
            "chart": { "spec": {} }, "upgrade": {},
        } });
        assert_eq!(release, expected);
    }

    #[test]
    fn a_helm_repository_of_a_registry_says_itself_that_it_is_well() {
        let kind = Kind::named("HelmRepository").unwrap();
        let object = |type_: &str| -> DynamicObject {
            serde_json::from_value(json!({
            "apiVersion": "x/v1", "kind": "HelmRepository", "metadata": {}, "spec": { "type": type_ },
            "status": {
                "artifact": { "revision": "sha256:1" },
                "conditions": [{ "type": "Ready", "status": "True", "message": "Helm repository is ready" }],
            },
        })).unwrap()
        };
        assert_eq!((kind.success)(&object("oci")), "Helm repository is ready");
        let mut unseen = object("oci");
        unseen.data.as_object_mut().unwrap().remove("status");
        assert_eq!((kind.success)(&unseen), "Helm repository is Ready");
        assert_eq!((kind.success)(&object("default")), "fetched revision sha256:1");
    }
}
