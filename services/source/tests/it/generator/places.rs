//! Where sources, artifacts and their files lie, and that none gets into another's way (deviation 15).

use serde_json::{Value, json};

use super::{EXTERNAL, GENERATOR, OCI, Sources};
use crate::world::{Setup, paths};

/// An artifact that is named as a source's alias is made of what it copies only, and ignore rules are about paths in the
/// artifact: where it is put together may be called anything. What is generated is a source again (SRC-EXT-1, B9).
#[tokio::test]
async fn names_of_places_have_no_effect() {
    let folder = tempfile::tempdir().unwrap();
    let excluded = folder.path().join("x.zip").join(".github");
    std::fs::create_dir_all(&excluded).unwrap();
    let environment = vec![("TMPDIR", excluded.display().to_string())];
    let sources = Sources::start_as(Setup { environment, ..Setup::default() }).await;
    let named_as_alias = json!([
        { "name": "env", "copy": [{ "from": "@app/deploy/**", "to": "@artifact/" }] },
        { "name": "app", "copy": [{ "from": "@env/values.yaml", "to": "@artifact/env/" }] },
    ]);
    sources.apply("generator", named_as_alias, json!({})).await;
    sources.says("generator", "True", "generated 2 artifact(s)").await;
    let env = sources.external("env", &Value::Null).await;
    let app = sources.external("app", &Value::Null).await;
    assert_eq!(paths(&env.data["status"]).await, ["a.yaml"]);
    assert_eq!(paths(&app.data["status"]).await, ["env/values.yaml"]);

    let again = json!([{ "name": "both", "copy": [
        { "from": "@one/", "to": "@artifact/one" }, { "from": "@two/", "to": "@artifact/two" } ] }]);
    let of = |alias: &str, name: &str| json!({ "alias": alias, "kind": EXTERNAL, "name": name });
    sources.apply("second", again, json!({ "sources": [of("one", "env"), of("two", "app")] })).await;
    let both = sources.external("both", &Value::Null).await;
    assert_eq!(paths(&both.data["status"]).await, ["one/a.yaml", "two/env/values.yaml"]);
    sources.push("env", &[("values.yaml", "z: 7\n")]).await;
    sources.fetch("env").await;
    let followed = sources.external("both", &both.data["status"]["artifact"]["digest"]).await;
    assert_eq!(paths(&followed.data["status"]).await, ["one/a.yaml", "two/env/values.yaml"]);
    assert!(
        sources.world.api(OCI).await.get("env").await.is_ok(),
        "{GENERATOR} leaves sources of that name alone"
    );
}
