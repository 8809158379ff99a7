//! Selecting tags.

use axum::http::StatusCode;
use k8s_openapi::api::core::v1::Event;
use kube::api::Patch;
use serde_json::json;
use weir_testkit::{Registry, SinkAnswer, WebhookSink, eventually, touch_requested_at};

use crate::world::{DEADLINE, World};

#[tokio::test]
async fn a_policy_follows_the_scans_of_its_repository() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let image = format!("{}/follow/app", registry.address());
    registry.push_image("follow/app", "1.0.0").await.unwrap();
    // Applied before its repository, so that it has to wait.
    world.policy("app", "app", json!({"semver": {"range": "1.x"}})).await;
    world.until("ImagePolicy", "app", "referenced ImageRepository does not exist").await;
    world.repository("app", &image, json!({})).await;
    world.until("ImagePolicy", "app", "resolved to 1.0.0").await;
    registry.push_image("follow/app", "1.1.0").await.unwrap();
    registry.push_image("follow/app", "2.0.0").await.unwrap();
    touch_requested_at(&world.api("ImageRepository").await, "app").await.unwrap();
    let status = world.until("ImagePolicy", "app", "resolved to 1.1.0").await;
    assert_eq!(status["latestRef"], json!({"name": image, "tag": "1.1.0"}));
    assert_eq!(status["observedPreviousRef"], json!({"name": image, "tag": "1.0.0"}));
}

/// IP-3: as with Flux, policies hear of a repository that goes, and of one that comes and cannot be scanned.
#[tokio::test]
async fn a_policy_notices_that_its_repository_is_gone_or_new() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let image = format!("{}/gone/app", registry.address());
    registry.push_image("gone/app", "1.0.0").await.unwrap();
    world.repository("app", &image, json!({})).await;
    world.policy("app", "app", json!({"semver": {"range": "1.x"}})).await;
    world.until("ImagePolicy", "app", "resolved to 1.0.0").await;
    world.api("ImageRepository").await.delete("app", &Default::default()).await.unwrap();
    world.until("ImagePolicy", "app", "referenced ImageRepository does not exist").await;
    world.repository("app", "oci://nowhere", json!({})).await;
    world.until("ImagePolicy", "app", "should not include URL scheme").await;
}

/// An image that moves to another registry has the same tags there, so that nothing but its name is new. Until it is found there, the
/// policy names the image that was found.
#[tokio::test]
async fn a_policy_follows_an_image_that_moves() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let image = |name: &str| format!("{}/move/{name}", registry.address());
    for name in ["from", "to"] {
        registry.push_image(&format!("move/{name}"), "1.0.0").await.unwrap();
    }
    world.repository("app", &image("from"), json!({})).await;
    world.policy("app", "app", json!({"semver": {"range": "1.x"}})).await;
    world.until("ImagePolicy", "app", "resolved to 1.0.0").await;
    let named = |image: &str| Patch::Merge(json!({"spec": {"image": image}}));
    let repositories = world.api("ImageRepository").await;

    repositories.patch("app", &Default::default(), &named(&image("nowhere"))).await.unwrap();
    world.until("ImageRepository", "app", "scan failed").await;
    touch_requested_at(&world.api("ImagePolicy").await, "app").await.unwrap();
    let status = world.until("ImagePolicy", "app", "no tags in database").await;
    assert_eq!(status["latestRef"], json!({"name": image("from"), "tag": "1.0.0"}));

    repositories.patch("app", &Default::default(), &named(&image("to"))).await.unwrap();
    let status = world.until("ImagePolicy", "app", &format!("{} resolved to 1.0.0", image("to"))).await;
    assert_eq!(status["observedPreviousRef"], json!({"name": image("from"), "tag": "1.0.0"}));
    repositories.patch("app", &Default::default(), &named(&image("from"))).await.unwrap();
    world.until("ImagePolicy", "app", &format!("{} resolved to 1.0.0", image("from"))).await;

    repositories.patch("app", &Default::default(), &named("oci://nowhere")).await.unwrap();
    world.until("ImagePolicy", "app", "should not include URL scheme").await;
}

/// IP-4: leave is given by the labels that the policy's namespace has in the cluster.
#[rstest::rstest]
#[case::with_the_label("a", false, "resolved to 1.0.0")]
#[case::with_another_label("b", false, "can't be accessed due to ACL labels mismatch on namespace")]
#[case::blocked("a", true, "cross-namespace references have been blocked")]
#[tokio::test]
async fn security_a_policy_of_another_namespace_needs_leave(
    #[case] team: &str,
    #[case] is_blocked: bool,
    #[case] expected: &str,
) {
    let shard = format!("shard-{team}-{is_blocked}-{}", std::process::id());
    let flags = [
        "--watch-all-namespaces=true".to_owned(),
        format!("--watch-label-selector=test={shard}"),
        format!("--no-cross-namespace-refs={is_blocked}"),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let (world, registry) = (World::start_with(&flags).await, Registry::start().await.unwrap());
    registry.push_image("leave/app", "1.0.0").await.unwrap();
    let elsewhere = world.plane.unique_namespace("elsewhere").await.unwrap();
    let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> =
        kube::Api::all(world.plane.client().unwrap());
    let labels = kube::api::Patch::Merge(json!({"metadata": {"labels": {"team": team}}}));
    namespaces.patch(&elsewhere, &Default::default(), &labels).await.unwrap();
    let object = |kind: &str, spec: serde_json::Value| {
        let metadata = json!({"name": "app", "labels": {"test": shard}});
        json!({"apiVersion": crate::world::IMAGE, "kind": kind, "metadata": metadata, "spec": spec})
    };
    let repository = json!({
        "image": format!("{}/leave/app", registry.address()), "interval": "1h", "insecure": true,
        "accessFrom": {"namespaceSelectors": [{"matchLabels": {"team": "a"}}]},
    });
    world.plane.apply(&world.namespace, object("ImageRepository", repository)).await.unwrap();
    world.until("ImageRepository", "app", "found 1 tags").await;
    let policy = json!({
        "imageRepositoryRef": {"name": "app", "namespace": world.namespace},
        "policy": {"semver": {"range": "1.x"}},
    });
    world.plane.apply(&elsewhere, object("ImagePolicy", policy)).await.unwrap();
    let api = world.plane.api(crate::world::IMAGE, "ImagePolicy", &elsewhere).await.unwrap();
    let says = |object: Option<&kube::core::DynamicObject>| {
        object.is_some_and(|object| {
            weir_testkit::condition(object, "Ready").is_some_and(|ready| ready.message.contains(expected))
        })
    };
    let found = weir_testkit::wait_for(&api, "app", expected, DEADLINE, says).await;
    let found = found.unwrap_or_else(|error| panic!("{error}\n{}", world.controller.log_tail()));
    let is_selected = found.unwrap().data["status"]["latestRef"]["tag"] == "1.0.0";
    assert_eq!(is_selected, expected.starts_with("resolved"));
}

#[tokio::test]
async fn digests_are_reflected() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let image = format!("{}/digest/app", registry.address());
    let digest = registry.push_image("digest/app", "1.0.0").await.unwrap();
    world.repository("app", &image, json!({})).await;
    let spec = json!({
        "imageRepositoryRef": {"name": "app"}, "policy": {"alphabetical": {}}, "digestReflectionPolicy": "IfNotPresent",
    });
    world.apply("ImagePolicy", "app", spec).await;
    let status = world.until("ImagePolicy", "app", "with digest").await;
    assert_eq!(status["latestRef"], json!({"name": image, "tag": "1.0.0", "digest": digest}));
}

/// The words of Flux's library; the question is one for the head, which registries do not count as a pull.
#[tokio::test]
async fn digests_that_cannot_be_looked_up() {
    let (world, sink) = (World::start().await, WebhookSink::start().await.unwrap());
    sink.answer_with(|request| match request.path.as_str() {
        "/v2/org/app/tags/list" => {
            SinkAnswer { body: r#"{"tags":["1.0.0"]}"#.into(), ..SinkAnswer::default() }
        }
        "/v2/" => SinkAnswer::default(),
        _ => SinkAnswer { status: StatusCode::NOT_FOUND, ..SinkAnswer::default() },
    });
    let address = sink.url("").replace("http://", "");
    let image = format!("{address}/org/app");
    world.repository("app", &image, json!({"insecure": true})).await;
    let spec = json!({
        "imageRepositoryRef": {"name": "app"}, "policy": {"alphabetical": {}}, "digestReflectionPolicy": "IfNotPresent",
    });
    world.apply("ImagePolicy", "app", spec).await;
    let expected = format!(
        "failed fetching digest of {image}:1.0.0: failed fetching descriptor for \"{image}:1.0.0\": HEAD \
         http://{address}/v2/org/app/manifests/1.0.0: unexpected status code 404 Not Found (HEAD responses have no \
         body, use GET for details)"
    );
    world.until("ImagePolicy", "app", &expected).await;
    // Later attempts may have asked again, each once.
    let asked = sink.requests().into_iter().filter(|request| request.path.contains("/manifests/"));
    let asked: Vec<String> = asked.map(|request| request.method).collect();
    assert!(!asked.is_empty() && asked.iter().all(|method| method == "HEAD"), "{asked:?}");
}

#[tokio::test]
async fn a_lost_tag_database_is_rebuilt_without_a_change() {
    let (mut world, registry) = (World::start().await, Registry::start().await.unwrap());
    let image = format!("{}/lost/app", registry.address());
    registry.push_image("lost/app", "1.0.0").await.unwrap();
    world.repository("app", &image, json!({})).await;
    world.policy("app", "app", json!({"semver": {"range": "1.x"}})).await;
    let before = world.until("ImagePolicy", "app", "resolved to 1.0.0").await;
    world.controller.kill();
    std::fs::remove_dir_all(world.storage()).unwrap();
    world.start_again();
    // A new tag is seen only after the store is filled again; then the old selection is still the previous one.
    registry.push_image("lost/app", "1.1.0").await.unwrap();
    touch_requested_at(&world.api("ImageRepository").await, "app").await.unwrap();
    let after = world.until("ImagePolicy", "app", "resolved to 1.1.0").await;
    assert_eq!(after["observedPreviousRef"], before["latestRef"]);
    // Nobody hears that there were no tags for a moment.
    let events: kube::Api<Event> = kube::Api::namespaced(world.plane.client().unwrap(), &world.namespace);
    let messages = eventually("the event of the new tag", DEADLINE, async || {
        let events = events.list(&Default::default()).await.ok()?.items;
        let messages: Vec<_> = events.into_iter().filter_map(|event| event.message).collect();
        messages.iter().any(|message| message.contains("resolved to 1.1.0")).then_some(messages)
    });
    let messages = messages.await.unwrap();
    assert!(!messages.iter().any(|message| message.contains("no tags in database")), "{messages:?}");
}
