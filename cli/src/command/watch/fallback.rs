//! Services that cannot be reached at the start: the API server tells of their objects in their place.

use futures::{StreamExt, stream};

use super::Changes;
use crate::error::Error;
use crate::kind::{KINDS, Kind};

/// Waits for the first answer of a service.
///
/// # Errors
/// When it cannot be reached. Another error is an answer, and stays a part of the changes.
pub(super) async fn reached(mut feed: Changes) -> Result<Changes, Error> {
    match feed.next().await {
        Some(Err(error)) if is_away(&error) => Err(error),
        first => Ok(stream::iter(first).chain(feed).boxed()),
    }
}

fn is_away(error: &Error) -> bool {
    matches!(error, Error::Grpc { status, .. } if status.code() == tonic::Code::Unavailable)
}

/// Returns the kinds whose objects a service owns, by the address of its Service; the only one owns all.
pub(super) fn kinds_of(address: &str, is_only: bool) -> Vec<&'static Kind> {
    let service = address.split('.').next().unwrap_or_default();
    let owns = |kind: &Kind| match service {
        "image-reflector-controller" => matches!(kind.name, "ImageRepository" | "ImagePolicy"),
        "image-automation-controller" => kind.name == "ImageUpdateAutomation",
        _ => {
            let area = service.strip_suffix("-controller");
            area.is_some_and(|area| kind.group.split('.').next() == Some(area))
        }
    };
    KINDS.iter().filter(|kind| is_only || owns(kind)).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tonic::{Code, Status};
    use weir_proto::status::v1::WatchResponse;

    use super::*;
    use crate::command::watch::feed::{Feed, Selection};
    use crate::command::watch::services::Way;

    fn answering(code: Code) -> Changes {
        let status = Box::new(Status::new(code, "no"));
        stream::iter([Err(Error::Grpc { address: "a".to_owned(), status })]).boxed()
    }

    #[tokio::test]
    async fn a_service_is_reached_that_answers_anything() {
        assert!(reached(answering(Code::Unavailable)).await.is_err());
        let refused: Vec<_> = reached(answering(Code::PermissionDenied)).await.ok().unwrap().collect().await;
        assert!(refused.len() == 1 && refused[0].is_err(), "it is told of in its turn");
        let changes = stream::iter([1, 2].map(|_| Ok(WatchResponse::default()))).boxed();
        assert_eq!(reached(changes).await.ok().unwrap().count().await, 2);
    }

    #[tokio::test]
    async fn a_service_that_does_not_listen_is_not_reached() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let way = Way::Address(listener.local_addr().unwrap().to_string());
        drop(listener);
        let all = Selection { kind: String::new(), namespace: String::new(), name: String::new() };
        let feed = Feed::connect(&way, None, "token".into(), all).unwrap();
        assert!(reached(feed.changes(Duration::from_secs(30)).boxed()).await.is_err());
    }

    #[rstest::rstest]
    #[case("source-controller.flux-system.svc:9393", &["GitRepository", "Bucket", "HelmChart"], &["Kustomization", "ImagePolicy"])]
    #[case("kustomize-controller.flux-system.svc", &["Kustomization"], &["GitRepository", "HelmRelease"])]
    #[case("notification-controller.flux-system.svc", &["Alert", "Provider", "Receiver"], &["Kustomization"])]
    #[case("image-reflector-controller.flux-system.svc", &["ImagePolicy", "ImageRepository"], &["ImageUpdateAutomation"])]
    #[case("image-automation-controller.flux-system.svc", &["ImageUpdateAutomation"], &["ImagePolicy"])]
    fn services_own_kinds(#[case] address: &str, #[case] own: &[&str], #[case] others: &[&str]) {
        let names: Vec<_> = kinds_of(address, false).into_iter().map(|kind| kind.name).collect();
        assert!(own.iter().all(|kind| names.contains(kind)), "{names:?}");
        assert!(!others.iter().any(|kind| names.contains(kind)), "{names:?}");
        assert_eq!(kinds_of(address, true).len(), KINDS.len());
    }
}
