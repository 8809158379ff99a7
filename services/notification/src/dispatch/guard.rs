//! The decision about an event and an Alert, before anything is rendered (spec 4.5, in its order).

use weir_api::{Alert, Provider};
use weir_runtime::gate::workload_identity_needed;

use crate::event::{Event, metadata};
use crate::provider::{COMMENT_TYPES, GENERIC_TYPES, GIT_STATUS_TYPES};

/// Lines of the log about events that lack something, in Flux's words.
const NO_COMMIT: &str = "event dropped for commit status providers due to missing commit metadata key";
const NO_CHANGE_REQUEST: &str =
    "event dropped for change request providers due to missing change request metadata key";

/// The policy of the service.
#[derive(Debug, Clone, Copy, Default)]
pub struct Policy {
    /// `--no-cross-namespace-refs`
    pub no_cross_namespace_refs: bool,
    /// Feature gate `ObjectLevelWorkloadIdentity`.
    pub workload_identity: bool,
}

/// The verdict.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is delivered.
    Deliver,
    /// It is not, and nobody needs to know.
    Skip,
    /// It is not; worth a line in the log, which is this.
    Drop(&'static str),
    /// It should be sent and cannot: an event reports it.
    Refuse(String),
}

/// Checks that an Alert of this namespace may see the event (NTF-30).
///
/// # Errors
/// The message of the refusal.
pub fn check_namespace(policy: Policy, alert: &Alert, event: &Event) -> Result<(), String> {
    let object = &event.involved_object;
    let namespace = alert.metadata.namespace.as_deref().unwrap_or_default();
    if !policy.no_cross_namespace_refs || object.namespace == namespace {
        return Ok(());
    }
    let name = alert.metadata.name.as_deref().unwrap_or_default();
    Err(format!(
        "discarding event, access denied to cross-namespace sources: alert '{namespace}/{name}' can't process event from \
         '{}', cross-namespace references have been blocked",
        object.path()
    ))
}

/// Returns true when the event goes to a provider of this type. Looks at the metadata as received, with prefixes (NTF-34).
pub fn judge(policy: Policy, provider: &Provider, event: &Event) -> Verdict {
    if provider.spec.suspend {
        return Verdict::Skip;
    }
    let kind = provider.spec.type_.as_str();
    let is_git = GIT_STATUS_TYPES.contains(&kind);
    let is_update = metadata::is_commit_status_update(event);
    if is_update && !is_git && !GENERIC_TYPES.contains(&kind) {
        return Verdict::Skip;
    }
    if is_git && !is_update && !event.is_error() && metadata::user(event, metadata::COMMIT).is_none() {
        return Verdict::Drop(NO_COMMIT);
    }
    if COMMENT_TYPES.contains(&kind) && metadata::user(event, metadata::CHANGE_REQUEST).is_none() {
        return Verdict::Drop(NO_CHANGE_REQUEST);
    }
    if provider.spec.service_account_name.as_deref().is_some_and(|name| !name.is_empty())
        && !policy.workload_identity
    {
        return Verdict::Refuse(workload_identity_needed("spec.serviceAccountName for provider"));
    }
    Verdict::Deliver
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::event::ObjectReference;

    const KUSTOMIZE: &str = "kustomize.toolkit.fluxcd.io";
    const UPDATE: (&str, &str) = ("kustomize.toolkit.fluxcd.io/commit_status", "update");
    const COMMIT: (&str, &str) = ("event.toolkit.fluxcd.io/commit", "sha1:abc");
    const CHANGE: (&str, &str) = ("event.toolkit.fluxcd.io/change_request", "7");

    fn event(severity: &str, metadata: &[(&str, &str)]) -> Event {
        Event {
            involved_object: ObjectReference { api_version: format!("{KUSTOMIZE}/v1"), ..Default::default() },
            severity: severity.into(),
            metadata: metadata.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
            ..Default::default()
        }
    }

    fn provider(kind: &str) -> Provider {
        let mut provider = Provider::default();
        provider.spec.type_ = kind.to_owned();
        provider
    }

    #[rstest]
    #[case::chat_gets_news("slack", "info", &[], Verdict::Deliver)]
    #[case::chat_gets_no_status_updates("slack", "info", &[UPDATE], Verdict::Skip)]
    #[case::generic_gets_status_updates("generic-hmac", "info", &[UPDATE], Verdict::Deliver)]
    #[case::git_gets_status_updates("github", "info", &[UPDATE], Verdict::Deliver)]
    #[case::git_gets_failures("gitlab", "error", &[], Verdict::Deliver)]
    #[case::git_gets_named_commits("github", "info", &[COMMIT], Verdict::Deliver)]
    #[case::git_gets_no_other_news("github", "info", &[], Verdict::Drop(NO_COMMIT))]
    #[case::comments_need_a_request("githubpullrequestcomment", "error", &[], Verdict::Drop(NO_CHANGE_REQUEST))]
    #[case::comments_on_requests("githubpullrequestcomment", "error", &[CHANGE], Verdict::Deliver)]
    fn types_and_events(
        #[case] kind: &str,
        #[case] severity: &str,
        #[case] metadata: &[(&str, &str)],
        #[case] expected: Verdict,
    ) {
        assert_eq!(judge(Policy::default(), &provider(kind), &event(severity, metadata)), expected);
    }

    #[test]
    fn a_suspended_provider_is_silent_and_a_service_account_needs_its_gate() {
        let mut provider = provider("generic");
        provider.spec.service_account_name = Some("deployer".into());
        assert!(matches!(judge(Policy::default(), &provider, &event("info", &[])), Verdict::Refuse(_)));
        let policy = Policy { workload_identity: true, ..Policy::default() };
        assert_eq!(judge(policy, &provider, &event("info", &[])), Verdict::Deliver);
        provider.spec.suspend = true;
        assert_eq!(judge(Policy::default(), &provider, &event("info", &[])), Verdict::Skip);
    }

    #[test]
    fn security_events_of_other_namespaces_are_refused_when_told_so() {
        let mut alert = Alert::default();
        alert.metadata.namespace = Some("ops".into());
        alert.metadata.name = Some("all".into());
        let mut event = event("info", &[]);
        event.involved_object.namespace = "apps".into();
        assert_eq!(check_namespace(Policy::default(), &alert, &event), Ok(()));
        let strict = Policy { no_cross_namespace_refs: true, ..Policy::default() };
        let refused = check_namespace(strict, &alert, &event).unwrap_err();
        assert!(
            refused
                .starts_with("discarding event, access denied to cross-namespace sources: alert 'ops/all'")
        );
        event.involved_object.namespace = "ops".into();
        assert_eq!(check_namespace(strict, &alert, &event), Ok(()));
    }
}
