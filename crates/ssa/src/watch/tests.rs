use std::convert::Infallible;
use std::future::pending;

use kube::client::Body;
use kube::core::{ApiResource, GroupVersionKind};

use super::*;

#[tokio::test]
async fn kinds_beyond_the_most_watches_count_as_unwatched() {
    let silent = |_: http::Request<Body>| pending::<Result<http::Response<Body>, Infallible>>();
    let client = Client::new(tower::service_fn(silent), "default");
    let ledger = Arc::new(Ledger::new("kustomize-controller", &[], |_, _, _| {}));
    let shutdown = CancellationToken::new();
    let watches = Watches::new(client, ledger, "example.com/name".to_owned(), shutdown.clone());
    for number in 0..MAX_WATCHES + 2 {
        assert_eq!(watches.unwatched(), number.saturating_sub(MAX_WATCHES));
        let kind = GroupVersionKind::gvk("example.com", "v1", &format!("Kind{number}"));
        let mapping = Mapping { resource: ApiResource::from_gvk(&kind), is_namespaced: true };
        watches.ensure(&mapping, "apps");
        watches.ensure(&mapping, "apps");
    }
    assert_eq!(watches.unwatched(), 2);
    shutdown.cancel();
    watches.stopped().await;
}

/// Watches of a cluster in which one object was applied, its kind, and the end of the watches.
fn of_one_object(client: Client) -> (Watches, Mapping, CancellationToken) {
    let ledger = Arc::new(Ledger::new("kustomize-controller", &[], |_, _, _| {}));
    let owner = crate::Owner { group: "g".into(), name: "o".into(), namespace: "apps".into() };
    ledger.make_room(&owner, &"apps_web_example.com_Thing".parse().unwrap());
    let shutdown = CancellationToken::new();
    let watches = Watches::new(client, ledger, "example.com/name".to_owned(), shutdown.clone());
    let kind = GroupVersionKind::gvk("example.com", "v1", "Thing");
    (watches, Mapping { resource: ApiResource::from_gvk(&kind), is_namespaced: true }, shutdown)
}

/// KS-IMP-7: as an identity with rights in a namespace.
#[tokio::test]
async fn a_kind_that_may_be_watched_in_a_namespace_only_is_watched_there() {
    let (asked, mut paths) = tokio::sync::mpsc::channel(8);
    let answer = move |request: http::Request<Body>| {
        let path = request.uri().path().to_owned();
        let is_allowed = path.contains("/namespaces/apps/");
        let _told = asked.try_send(path);
        async move {
            if is_allowed {
                return pending().await;
            }
            let status = Body::from(br#"{"kind":"Status","status":"Failure","code":403}"#.to_vec());
            Ok::<_, Infallible>(http::Response::builder().status(403).body(status).unwrap())
        }
    };
    let (watches, mapping, shutdown) = of_one_object(Client::new(tower::service_fn(answer), "default"));
    watches.ensure(&mapping, "apps");
    assert_eq!(paths.recv().await.unwrap(), "/apis/example.com/v1/things");
    assert_eq!(paths.recv().await.unwrap(), "/apis/example.com/v1/namespaces/apps/things");
    assert_eq!(watches.unwatched(), 0);
    watches.ensure(&mapping, "other");
    assert_eq!(paths.recv().await.unwrap(), "/apis/example.com/v1/namespaces/other/things");
    shutdown.cancel();
    watches.stopped().await;
    assert!(paths.try_recv().is_err(), "each is asked for once");
}

fn answered(code: u16, body: &str) -> http::Response<Body> {
    let body = Body::from(body.as_bytes().to_vec());
    http::Response::builder().status(code).body(body).unwrap()
}

/// The answer of a server without objects to a list or a watch.
async fn of_nothing(is_refused: bool, is_watch: bool) -> Result<http::Response<Body>, Infallible> {
    let empty =
        r#"{"kind":"ThingList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"1"},"items":[]}"#;
    Ok(match (is_refused, is_watch) {
        (true, _) => answered(403, r#"{"kind":"Status","status":"Failure","code":403}"#),
        (false, false) => answered(200, empty),
        (false, true) => return pending().await,
    })
}

/// KS-IMP-7: an API server that has just started refuses for a moment what it admits later.
#[tokio::test(start_paused = true)]
async fn a_kind_that_was_split_by_a_passing_refusal_is_one_watch_again() {
    let (asked, mut requests) = tokio::sync::mpsc::channel(16);
    let refusals = std::sync::atomic::AtomicUsize::new(2);
    let answer = move |request: http::Request<Body>| {
        let uri = request.uri().to_string();
        let (is_of_all, is_watch) = (!uri.contains("/namespaces/"), uri.contains("watch=true"));
        let counted = |left: usize| left.checked_sub(1);
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        let is_refused = is_of_all && refusals.fetch_update(relaxed, relaxed, counted).is_ok();
        let _told = asked.try_send((request.uri().path().to_owned(), is_watch));
        of_nothing(is_refused, is_watch)
    };
    let (watches, mapping, shutdown) = of_one_object(Client::new(tower::service_fn(answer), "default"));
    let of_all = "/apis/example.com/v1/things".to_owned();
    let of = |namespace: &str| format!("/apis/example.com/v1/namespaces/{namespace}/things");
    watches.ensure(&mapping, "apps");
    let first = [(of_all.clone(), false), (of("apps"), false), (of("apps"), true)];
    for expected in first {
        assert_eq!(requests.recv().await.unwrap(), expected);
    }
    watches.ensure(&mapping, "unrecorded");
    let second = [(of("unrecorded"), false), (of("unrecorded"), true), (of_all.clone(), false)];
    for expected in second {
        assert_eq!(requests.recv().await.unwrap(), expected);
    }
    let scope = |namespace: Option<&str>| {
        let kind = GroupKind { group: "example.com".to_owned(), kind: "Thing".to_owned() };
        Scope { kind, namespace: namespace.map(str::to_owned) }
    };
    // The second refusal was heard by now.
    let third = [(of_all.clone(), false), (of_all, true)];
    assert_eq!(requests.recv().await.unwrap(), third[0]);
    let is_known = watches.0.ways.lock().contains_key(&scope(Some("unrecorded")));
    assert!(!is_known, "a namespace without objects is forgotten");
    assert_eq!(requests.recv().await.unwrap(), third[1]);
    let ways: Vec<_> =
        watches.0.ways.lock().iter().map(|(scope, way)| (scope.clone(), way.is_watch())).collect();
    assert_eq!(ways, [(scope(None), true)]);
    // The watch of all itself and nothing else is left.
    assert_eq!(watches.0.tasks.len(), 1);
    shutdown.cancel();
    watches.stopped().await;
}

/// KS-IMP-7: a kind whose definition has gone, or whose API does not have the verb.
#[rstest::rstest]
#[tokio::test(start_paused = true)]
async fn the_watches_of_namespaces_end_with_their_kind(#[values(404, 405)] code: u16) {
    let was_asked = std::sync::atomic::AtomicBool::new(false);
    let answer = move |request: http::Request<Body>| {
        let is_of_all = !request.uri().path().contains("/namespaces/");
        let is_again = was_asked.fetch_or(is_of_all, std::sync::atomic::Ordering::Relaxed);
        let code = if is_again { code } else { 403 };
        async move {
            match is_of_all {
                true => Ok::<_, Infallible>(answered(code, &format!(r#"{{"kind":"Status","code":{code}}}"#))),
                false => pending().await,
            }
        }
    };
    let (watches, mapping, _) = of_one_object(Client::new(tower::service_fn(answer), "default"));
    watches.ensure(&mapping, "apps");
    let is_over = async || watches.0.tasks.is_empty().then_some(());
    weir_testkit::eventually("no watch is left", 2 * REFUSED, is_over).await.unwrap();
    assert_eq!(watches.unwatched(), usize::from(code == 405));
}

/// KS-IMP-7: as after a start of the API server, which refuses everything for a moment.
#[tokio::test(start_paused = true)]
async fn kinds_that_were_refused_together_come_back_as_far_as_there_is_room() {
    let is_up = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    let server = Arc::clone(&is_up);
    let answer = move |request: http::Request<Body>| {
        of_nothing(!server.load(relaxed), request.uri().to_string().contains("watch=true"))
    };
    let (watches, _, shutdown) = of_one_object(Client::new(tower::service_fn(answer), "default"));
    let count =
        |is_meant: fn(&Way) -> bool| watches.0.ways.lock().values().filter(|way| is_meant(way)).count();
    for number in 1..=MAX_WATCHES + 2 {
        let kind = GroupVersionKind::gvk("example.com", "v1", &format!("Kind{number}"));
        let mapping = Mapping { resource: ApiResource::from_gvk(&kind), is_namespaced: true };
        watches.ensure(&mapping, "apps");
        weir_testkit::eventually("the refusal", REFUSED / 2, async || {
            (count(|way| matches!(way, Way::Namespaces { .. })) == number).then_some(())
        })
        .await
        .unwrap();
    }
    is_up.store(true, relaxed);
    weir_testkit::eventually("all kinds are back", 2 * REFUSED, async || {
        (count(|way| matches!(way, Way::Namespaces { .. })) == 0).then_some(())
    })
    .await
    .unwrap();
    assert_eq!((count(Way::is_watch), watches.unwatched()), (MAX_WATCHES, 2));
    assert_eq!(watches.0.tasks.len(), MAX_WATCHES);
    shutdown.cancel();
    watches.stopped().await;
}

/// KS-IMP-7: a kind counts once, however many of its namespaces are not watched.
#[tokio::test]
async fn a_kind_with_more_namespaces_than_watches_counts_as_one() {
    let answer = |request: http::Request<Body>| async move {
        match request.uri().path().contains("/namespaces/") {
            true => pending().await,
            false => Ok::<_, Infallible>(answered(403, r#"{"kind":"Status","status":"Failure","code":403}"#)),
        }
    };
    let client = Client::new(tower::service_fn(answer), "default");
    let ledger = Arc::new(Ledger::new("kustomize-controller", &[], |_, _, _| {}));
    let owner = crate::Owner { group: "g".into(), name: "o".into(), namespace: "apps".into() };
    for number in 0..MAX_WATCHES + 2 {
        ledger.make_room(&owner, &format!("n{number}_web_example.com_Thing").parse().unwrap());
    }
    let shutdown = CancellationToken::new();
    let watches = Watches::new(client, ledger, "example.com/name".to_owned(), shutdown.clone());
    let kind = GroupVersionKind::gvk("example.com", "v1", "Thing");
    let mapping = Mapping { resource: ApiResource::from_gvk(&kind), is_namespaced: true };
    watches.ensure(&mapping, "n0");
    weir_testkit::eventually("the namespaces are watched", REFUSED, async || {
        (watches.unwatched() == 1).then_some(())
    })
    .await
    .unwrap();
    assert_eq!(watches.0.ways.lock().len(), MAX_WATCHES + 1);
    shutdown.cancel();
    watches.stopped().await;
}

#[rstest::rstest]
#[case::refused(403, 1)]
#[case::gone(404, 0)]
#[tokio::test]
async fn a_kind_that_is_gone_does_not_count(#[case] code: u16, #[case] expected: usize) {
    let answer = move |_: http::Request<Body>| async move {
        let status = format!(r#"{{"kind":"Status","status":"Failure","code":{code}}}"#);
        Ok::<_, Infallible>(
            http::Response::builder().status(code).body(Body::from(status.into_bytes())).unwrap(),
        )
    };
    let client = Client::new(tower::service_fn(answer), "default");
    let ledger = Arc::new(Ledger::new("kustomize-controller", &[], |_, _, _| {}));
    let watches = Watches::new(client, ledger, "example.com/name".to_owned(), CancellationToken::new());
    let kind = GroupVersionKind::gvk("example.com", "v1", "Gone");
    watches.ensure(&Mapping { resource: ApiResource::from_gvk(&kind), is_namespaced: false }, "");
    watches.stopped().await;
    assert_eq!(watches.unwatched(), expected);
}
