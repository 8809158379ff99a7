//! The rows.

use jiff::tz::TimeZone;
use kube::api::DynamicObject;
use weir_api::FluxObject;
use weir_api::{
    Alert, ArtifactGenerator, Bucket, ExternalArtifact, GitRepository, HelmChart, HelmRepository,
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
        words: Words { group: Some(Group::Source), one: "oci", many: "oci", short: None },
        columns: SOURCE_COLUMNS,
        shortens: true,
        success: fetched,
        ..of::<OciRepository>()
    },
    Kind {
        human: "source bucket",
        words: Words { group: Some(Group::Source), one: "bucket", many: "bucket", short: None },
        columns: SOURCE_COLUMNS,
        shortens: true,
        success: fetched,
        ..of::<Bucket>()
    },
    Kind {
        human: "source git",
        words: Words { group: Some(Group::Source), one: "git", many: "git", short: None },
        columns: SOURCE_COLUMNS,
        shortens: true,
        success: fetched,
        ..of::<GitRepository>()
    },
    Kind {
        human: "source helm",
        words: Words { group: Some(Group::Source), one: "helm", many: "helm", short: None },
        columns: SOURCE_COLUMNS,
        shortens: true,
        static_message: |object| (text(object, "/spec/type") == "oci").then_some("Helm repository is Ready"),
        success: fetched,
        ..of::<HelmRepository>()
    },
    Kind {
        human: "source chart",
        words: Words { group: Some(Group::Source), one: "chart", many: "chart", short: None },
        // The revision is a version, whose build part may look like a hash.
        columns: &[Name, Text("Revision", "/status/artifact/revision"), Suspended, Ready, Message],
        shortens: true,
        sources: &["HelmRepository", "GitRepository", "Bucket"],
        success: fetched,
        ..of::<HelmChart>()
    },
    Kind {
        human: "source external-artifact",
        words: Words { group: Some(Group::Source), one: "external", many: "external", short: None },
        columns: &[Name, Revision("/status/artifact/revision"), MadeOf, Ready, Message],
        shortens: true,
        verbs: Verbs::Get,
        ..of::<ExternalArtifact>()
    },
    Kind {
        human: "image repository",
        words: Words { group: Some(Group::Image), one: "repository", many: "repository", short: None },
        columns: &[Name, Time("Last scan", "/status/lastScanResult/scanTime"), Suspended, Ready, Message],
        success: scanned,
        ..of::<ImageRepository>()
    },
    Kind {
        human: "image policy",
        words: Words { group: Some(Group::Image), one: "policy", many: "policy", short: None },
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
        words: Words { group: Some(Group::Image), one: "update", many: "update", short: None },
        columns: &[Name, Time("Last run", "/status/lastAutomationRunTime"), Suspended, Ready, Message],
        success: automated,
        ..of::<ImageUpdateAutomation>()
    },
    Kind {
        human: "helmrelease",
        words: Words { group: None, one: "helmrelease", many: "helmreleases", short: Some("hr") },
        columns: &[Name, Source, FirstOf("Revision", CHART_VERSIONS), Suspended, Ready, Message],
        sources: &["HelmChart", "OCIRepository"],
        success: |release| format!("applied revision {}", first_of(release, CHART_VERSIONS)),
        normalized: Ok,
        ..HELM_RELEASE
    },
    Kind {
        human: "kustomization",
        words: Words { group: None, one: "kustomization", many: "kustomizations", short: Some("ks") },
        columns: &[Name, Source, Revision("/status/lastAppliedRevision"), Suspended, Ready, Message],
        shortens: true,
        sources: &["OCIRepository", "GitRepository", "Bucket"],
        success: applied,
        ..of::<Kustomization>()
    },
    Kind {
        human: "receiver",
        words: Words { group: None, one: "receiver", many: "receivers", short: None },
        columns: &[Name, Suspended, Ready, Message],
        success: |_| "Receiver reconciliation completed".to_owned(),
        ..of::<Receiver>()
    },
    Kind {
        human: "alert provider",
        words: Words { group: None, one: "alert-provider", many: "alert-providers", short: None },
        columns: &[Name, Ready, Message],
        static_message: |_| Some("Provider is Ready"),
        verbs: Verbs::AllButReconcile,
        success: |_| "Provider reconciliation completed".to_owned(),
        ..of::<Provider>()
    },
    Kind {
        human: "alert",
        words: Words { group: None, one: "alert", many: "alerts", short: None },
        columns: &[Name, Suspended, Ready, Message],
        static_message: |_| Some("Alert is Ready"),
        verbs: Verbs::AllButReconcile,
        success: |_| "Alert reconciliation completed".to_owned(),
        ..of::<Alert>()
    },
    Kind {
        human: "artifactgenerator",
        words: Words { group: Some(Group::Artifact), one: "generator", many: "generators", short: None },
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
        words: Words { group: None, one: "", many: "", short: None },
        columns: &[],
        shortens: false,
        static_message: |_| None,
        verbs: Verbs::All,
        sources: &[],
        success: |_| String::new(),
        normalized: |object| serde_json::to_value(serde_json::from_value::<K>(object)?),
    }
}

fn fetched(object: &DynamicObject) -> String {
    format!("fetched revision {}", revision_of(object))
}

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
