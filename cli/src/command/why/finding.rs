//! The state of one object, why it is so, and what would change it. Pure: no cluster is asked.

use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::DynamicObject;

use crate::error::Error;
use crate::kind::{Kind, Reference, condition, first_of, is_suspended, ready, reason, text, transition_time};
use crate::output::age;
use crate::readiness::is_told_of_its_generation;

/// State of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// As it should be.
    Ready,
    /// On its way.
    Waiting,
    /// Not as it should be.
    Failed,
    /// Left alone on purpose.
    Suspended,
    /// Not there.
    Missing,
    /// No service has looked at it.
    Unseen,
    /// Not to be seen by this user, who is told so; it is not known to be in the way.
    Hidden,
}

/// An object, its state, and the objects that it waits for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Finding {
    /// `Kind/namespace/name`.
    pub(super) subject: String,
    /// The part that it plays for the object above it; empty for the first.
    pub(super) role: &'static str,
    pub(super) state: State,
    /// State and time in words.
    pub(super) headline: String,
    /// Message of the object; empty when there is none.
    pub(super) message: String,
    /// The command or change that helps; nothing when it is ready.
    pub(super) hint: Option<String>,
    pub(super) below: Vec<Self>,
    /// True for an object that is explained in another place, above.
    pub(super) is_repeated: bool,
}

impl Finding {
    /// Judges an object by its metadata, its spec and its conditions.
    pub(super) fn of(kind: &Kind, object: &DynamicObject, now: Timestamp) -> Self {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        let target = format!("{} {name} -n {namespace}", kind.path());
        let (state, headline, message, hint) = judge(kind, object, &target, now);
        let subject = format!("{}/{namespace}/{name}", kind.name);
        Self { subject, role: "", state, headline, message, hint, below: Vec::new(), is_repeated: false }
    }

    /// An object that is referred to and is not there.
    pub(super) fn missing(reference: &Reference, cause: &str) -> Self {
        let Reference { kind, namespace, name, .. } = reference;
        let subject = format!("{kind}/{namespace}/{name}");
        let hint = Some(format!("create {subject}, or correct the reference to it"));
        let headline = format!("missing: {cause}");
        Self {
            subject,
            role: "",
            state: State::Missing,
            headline,
            message: String::new(),
            hint,
            below: Vec::new(),
            is_repeated: false,
        }
    }

    /// An object, or the objects of a kind, that the user has no right to read.
    pub(super) fn hidden(subject: String, cause: &Error) -> Self {
        Self {
            subject,
            role: "",
            state: State::Hidden,
            headline: "not to be seen".to_owned(),
            message: cause.to_string(),
            hint: None,
            below: Vec::new(),
            is_repeated: false,
        }
    }

    /// Returns the finding for a place below the one where it is explained.
    pub(super) fn repeated(mut self) -> Self {
        self.headline.push_str("; shown above");
        Self { is_repeated: true, ..self }
    }

    pub(super) fn with_role(self, role: &'static str) -> Self {
        Self { role, ..self }
    }

    /// Returns true when the object, or one that it waits for, is in the way.
    pub(super) fn is_blocked(&self) -> bool {
        !matches!(self.state, State::Ready | State::Hidden) || self.below.iter().any(Self::is_blocked)
    }

    /// Returns true when the object is shown although nobody has asked about it: it is in the way, or may be.
    pub(super) fn is_of_note(&self) -> bool {
        self.state == State::Hidden || self.is_blocked()
    }

    /// Returns what would unblock it: the hints of the objects at the ends of the chains.
    pub(super) fn hints(&self) -> Vec<&str> {
        let below: Vec<_> = self.below.iter().flat_map(Self::hints).collect();
        let own = self.hint.as_deref();
        match self.state {
            // Nothing below helps as long as it is suspended.
            State::Suspended => own.into_iter().chain(below).collect(),
            _ if self.is_repeated => Vec::new(),
            // The remedy is told in the other place.
            _ if below.is_empty() && self.below.iter().any(|found| found.is_repeated) => Vec::new(),
            _ if below.is_empty() => own.into_iter().collect(),
            _ => below,
        }
    }
}

type Judged = (State, String, String, Option<String>);

fn judge(kind: &Kind, object: &DynamicObject, target: &str, now: Timestamp) -> Judged {
    let since = |time: &str| match time.parse::<Timestamp>() {
        Ok(moment) => format!(" for {}, since {time}", age(moment, now)),
        Err(_) => String::new(),
    };
    let logs = format!(
        "weir logs --level error --kind {} --name {} -n {}",
        kind.name,
        object.name_any(),
        namespace(object)
    );
    if let Some(deleted) = &object.metadata.deletion_timestamp {
        let headline = format!("being deleted{}", since(&deleted.0.to_string()));
        let message = format!("it waits for its finalizers: {}", object.finalizers().join(", "));
        return (State::Waiting, headline, message, Some(logs));
    }
    let told = ready(object);
    let message = told.map_or("", |(_, message)| message).to_owned();
    if is_suspended(object) {
        return (State::Suspended, "suspended".to_owned(), message, Some(format!("weir resume {target}")));
    }
    if let Some(message) = (kind.static_message)(object) {
        return (State::Ready, "ready".to_owned(), message.to_owned(), None);
    }
    let Some((status, _)) = told else {
        let headline = format!("new{}; no service has looked at it", since(&created(object)));
        return (State::Unseen, headline, message, Some("weir check".to_owned()));
    };
    let since = since(transition_time(object, "Ready"));
    if is_behind(object) {
        let message = "its spec has changed, and no service has looked at it since".to_owned();
        return (State::Unseen, format!("outdated{since}"), message, Some("weir check".to_owned()));
    }
    let reason = reason(object, "Ready").unwrap_or_default();
    match (status, condition(object, "Stalled")) {
        ("True", _) => (State::Ready, format!("ready{since}"), message, None),
        (_, Some(("True", _))) => {
            let hint = format!("change its spec: it is not tried again as it is ({target})");
            (State::Failed, format!("stalled{since} ({reason})"), message, Some(hint))
        }
        ("False", _) => (
            State::Failed,
            format!("not ready{since} ({reason})"),
            message,
            Some(hint(kind, object, reason, target, &logs)),
        ),
        _ => (State::Waiting, format!("at work{since} ({reason})"), message, Some(logs)),
    }
}

/// Reasons of failures for which the address or the credentials of an object are to be looked at.
const OF_REMOTES: [&str; 7] = [
    "AuthenticationFailed",
    "GitOperationFailed",
    "OCIArtifactPullFailed",
    "ReadOperationFailed",
    "BucketOperationFailed",
    "IndexationFailed",
    "TokenNotFound",
];

/// Returns the command or the change that helps by the reason of a failure.
fn hint(kind: &Kind, object: &DynamicObject, reason: &str, target: &str, logs: &str) -> String {
    if OF_REMOTES.contains(&reason) || (kind.name, reason) == ("HelmRepository", "Failed") {
        return of_remote(kind, object)
            .map_or_else(|| logs.to_owned(), |what| format!("check {what}; then: weir reconcile {target}"));
    }
    match (kind.name, reason) {
        ("Kustomization", "BuildFailed") => format!("weir build {target} --path <folder of the files>"),
        ("Kustomization", "ReconciliationFailed") => {
            format!("weir diff {target} --path <folder of the files>")
        }
        ("Kustomization", "PruneRefused") => {
            format!("put the objects back into the source, or allow it as the message says ({target})")
        }
        ("Kustomization", "ArtifactFailed") => {
            format!("check its spec.path {} in the source's files ({target})", text(object, "/spec/path"))
        }
        ("HelmChart", "ChartPullError" | "InvalidChartReference") => {
            format!("check its spec.chart and spec.version, and the address of its source ({target})")
        }
        ("ImagePolicy", "Failure") => {
            format!("check its spec.policy and spec.filterTags against the tags of the image ({target})")
        }
        (_, "DependencyNotReady") => format!("check its spec.dependsOn ({target})"),
        _ => logs.to_owned(),
    }
}

/// Returns what is to be looked at where a server refuses or is not there: the address and the Secret of an object, or of its source.
fn of_remote(kind: &Kind, object: &DynamicObject) -> Option<String> {
    if kind.name == "ImageUpdateAutomation" {
        let (of_kind, name) = (text(object, "/spec/sourceRef/kind"), text(object, "/spec/sourceRef/name"));
        return Some(format!("that the Secret of {of_kind} {name} may push"));
    }
    let address = first_of(object, &["/spec/url", "/spec/endpoint", "/spec/image"]);
    let secret = text(object, "/spec/secretRef/name");
    let place = format!("the Secret {}/{secret}", namespace(object));
    match (address.is_empty(), secret.is_empty()) {
        (true, true) => None,
        (true, false) => Some(place),
        (false, true) => Some(format!("the address {address}")),
        (false, false) => Some(format!("the address {address}, and {place}")),
    }
}

/// Returns true when the service has not looked at the spec as it is. The status of an object that others make may name no generation.
fn is_behind(object: &DynamicObject) -> bool {
    let tells = object.data.pointer("/status/observedGeneration").is_some();
    tells && object.metadata.generation.is_some() && !is_told_of_its_generation(object)
}

fn created(object: &DynamicObject) -> String {
    object.creation_timestamp().map(|time| time.0.to_string()).unwrap_or_default()
}

fn namespace(object: &DynamicObject) -> String {
    object.namespace().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn judged(kind: &str, metadata: Value, spec: Value, status: Value) -> Finding {
        let mut object = json!({ "apiVersion": "x/v1", "kind": kind, "metadata": metadata, "spec": spec, "status": status });
        object["metadata"]["name"] = "apps".into();
        object["metadata"]["namespace"] = "prod".into();
        let object = serde_json::from_value(object).unwrap();
        Finding::of(Kind::named(kind).unwrap(), &object, "2022-02-03T01:47:54Z".parse().unwrap())
    }

    fn ready(status: &str, reason: &str) -> Value {
        json!({ "observedGeneration": 1, "conditions": [{
            "type": "Ready", "status": status, "reason": reason, "message": "why", "lastTransitionTime": "2022-02-03T01:37:54Z",
        }] })
    }

    /// An object that was never ready notes no generation beside that of its condition.
    fn never_ready(reason: &str) -> Value {
        let mut status = ready("False", reason);
        status["observedGeneration"] = (-1).into();
        status["conditions"][0]["observedGeneration"] = 2.into();
        status
    }

    #[rstest::rstest]
    #[case("Kustomization", json!({}), json!({}), ready("True", "Succeeded"), State::Ready, "ready for 10m, since 2022-02-03T01:37:54Z", None)]
    #[case("Kustomization", json!({}), json!({}), ready("False", "BuildFailed"), State::Failed,
        "not ready for 10m, since 2022-02-03T01:37:54Z (BuildFailed)", Some("weir build kustomization apps -n prod --path <folder of the files>"))]
    #[case("Kustomization", json!({ "generation": 2 }), json!({}), never_ready("BuildFailed"), State::Failed,
        "not ready for 10m, since 2022-02-03T01:37:54Z (BuildFailed)", Some("weir build kustomization apps -n prod --path <folder of the files>"))]
    #[case("Kustomization", json!({ "generation": 3 }), json!({}), never_ready("BuildFailed"), State::Unseen,
        "outdated for 10m, since 2022-02-03T01:37:54Z", Some("weir check"))]
    #[case("Kustomization", json!({}), json!({ "path": "./apps" }), ready("False", "ArtifactFailed"), State::Failed,
        "not ready for 10m, since 2022-02-03T01:37:54Z (ArtifactFailed)",
        Some("check its spec.path ./apps in the source's files (kustomization apps -n prod)"))]
    #[case("Kustomization", json!({}), json!({}), ready("False", "DependencyNotReady"), State::Failed,
        "not ready for 10m, since 2022-02-03T01:37:54Z (DependencyNotReady)", Some("check its spec.dependsOn (kustomization apps -n prod)"))]
    #[case("GitRepository", json!({}), json!({ "url": "https://h.io/r", "secretRef": { "name": "key" } }), ready("False", "GitOperationFailed"), State::Failed,
        "not ready for 10m, since 2022-02-03T01:37:54Z (GitOperationFailed)",
        Some("check the address https://h.io/r, and the Secret prod/key; then: weir reconcile source git apps -n prod"))]
    #[case("Bucket", json!({}), json!({ "endpoint": "s3.example.com" }), ready("False", "BucketOperationFailed"), State::Failed,
        "not ready for 10m, since 2022-02-03T01:37:54Z (BucketOperationFailed)",
        Some("check the address s3.example.com; then: weir reconcile source bucket apps -n prod"))]
    #[case("Kustomization", json!({}), json!({ "suspend": true }), ready("True", "Succeeded"), State::Suspended, "suspended", Some("weir resume kustomization apps -n prod"))]
    #[case("Kustomization", json!({ "generation": 2 }), json!({}), ready("True", "Succeeded"), State::Unseen, "outdated for 10m, since 2022-02-03T01:37:54Z", Some("weir check"))]
    #[case("Kustomization", json!({}), json!({}), json!({}), State::Unseen, "new; no service has looked at it", Some("weir check"))]
    #[case("Provider", json!({}), json!({}), json!({}), State::Ready, "ready", None)]
    fn an_object_is_judged_by_what_it_says(
        #[case] kind: &str,
        #[case] metadata: Value,
        #[case] spec: Value,
        #[case] status: Value,
        #[case] state: State,
        #[case] headline: &str,
        #[case] hint: Option<&str>,
    ) {
        let found = judged(kind, metadata, spec, status);
        assert_eq!((found.state, found.headline.as_str(), found.hint.as_deref()), (state, headline, hint));
    }

    #[rstest::rstest]
    #[case("OCIRepository", "OCIArtifactPullFailed", json!({ "url": "oci://h.io/r" }), "check the address oci://h.io/r; then: weir reconcile source oci apps -n prod")]
    #[case("HelmRepository", "Failed", json!({ "url": "https://h.io" }), "check the address https://h.io; then: weir reconcile source helm apps -n prod")]
    #[case("ImageRepository", "ReadOperationFailed", json!({ "image": "h.io/a", "secretRef": { "name": "key" } }),
        "check the address h.io/a, and the Secret prod/key; then: weir reconcile image repository apps -n prod")]
    #[case("ImageUpdateAutomation", "GitOperationFailed", json!({ "sourceRef": { "kind": "GitRepository", "name": "fleet" } }),
        "check that the Secret of GitRepository fleet may push; then: weir reconcile image update apps -n prod")]
    #[case("Receiver", "TokenNotFound", json!({ "secretRef": { "name": "key" } }), "check the Secret prod/key; then: weir reconcile receiver apps -n prod")]
    #[case("ImagePolicy", "Failure", json!({}), "check its spec.policy and spec.filterTags against the tags of the image (image policy apps -n prod)")]
    #[case("HelmChart", "ChartPullError", json!({}), "check its spec.chart and spec.version, and the address of its source (source chart apps -n prod)")]
    #[case("Kustomization", "PruneRefused", json!({}), "put the objects back into the source, or allow it as the message says (kustomization apps -n prod)")]
    #[case("Kustomization", "Other", json!({}), "weir logs --level error --kind Kustomization --name apps -n prod")]
    fn a_failure_is_answered_by_its_reason(
        #[case] kind: &str,
        #[case] reason: &str,
        #[case] spec: Value,
        #[case] hint: &str,
    ) {
        let found = judged(kind, json!({}), spec, ready("False", reason));
        assert_eq!(found.hint.as_deref(), Some(hint));
    }

    #[test]
    fn the_ends_of_chains_are_what_unblocks() {
        let mut first = judged("Kustomization", json!({}), json!({}), ready("False", "DependencyNotReady"));
        let mut second = judged("Kustomization", json!({}), json!({}), ready("False", "ArtifactFailed"));
        second.below = vec![judged("GitRepository", json!({}), json!({ "suspend": true }), json!({}))];
        first.below = vec![judged("GitRepository", json!({}), json!({}), ready("True", "Succeeded")), second];
        assert_eq!(first.hints(), ["weir resume source git apps -n prod"]);
        let twice =
            judged("Kustomization", json!({}), json!({}), ready("False", "ArtifactFailed")).repeated();
        let mut third = judged("Kustomization", json!({}), json!({}), ready("False", "DependencyNotReady"));
        third.below = vec![twice];
        assert!(third.hints().is_empty() && third.is_blocked());
        first.below.push(third);
        assert_eq!(first.hints(), ["weir resume source git apps -n prod"]);
        assert!(first.is_blocked());
    }
}
