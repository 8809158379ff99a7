use serde_json::{Value, json};
use weir_ssa::Manifest;

use crate::world::World;

/// Values that the API server repeats, and what is said in their place.
fn broken(world: &World) -> Vec<(Value, &'static str)> {
    let secret = |fields: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "s", "namespace": world.ns}});
        object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        object
    };
    vec![
        (secret(json!({"stringData": {"pin": 271828}})), "stringData.pin is not text; "),
        (secret(json!({"stringData": {"nested": {"pin": "271828"}}})), "stringData.nested is not text; "),
        (secret(json!({"data": {"pin": "271828!"}})), "data.pin is not base64; "),
        (secret(json!({"data": {"pin": [271828]}})), "data.pin is not text; "),
        (secret(json!({"data": "271828"})), "data is no map; "),
        (secret(json!({"type": {"pin": "271828"}})), ""),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn security_values_of_secrets_are_in_no_message_of_an_apply_or_a_diff() {
    let world = World::new().await;
    for (object, words) in broken(&world) {
        let applied = world.apply(std::slice::from_ref(&object)).await.unwrap_err().to_string();
        let manifest = Manifest::try_from(object.clone()).unwrap();
        let compared = world.session.diff(vec![manifest], &world.settings()).await.unwrap_err().to_string();
        for failure in [applied, compared] {
            assert!(!failure.contains("271828"), "{object}: {failure}");
            assert!(failure.starts_with(&format!("Secret/{}/s dry-run failed", world.ns)), "{failure}");
            assert!(failure.contains(&format!("{words}the API server's message is not shown")), "{failure}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn immutable_secret_says_what_is_wrong() {
    let world = World::new().await;
    let secret = |pin: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": world.ns},
            "immutable": true, "stringData": {"pin": pin}})
    };
    world.apply(&[secret("271828")]).await.unwrap();
    let failure = world.apply(&[secret("314159")]).await.unwrap_err().to_string();
    assert!(failure.contains("dry-run failed (Invalid): data: field is immutable; "), "{failure}");
}
