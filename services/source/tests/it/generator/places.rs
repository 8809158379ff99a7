//! Places of sources, artifacts and their files: none gets into another's way (deviation 15).

use serde_json::{Value, json};
use weir_testkit::Artifact;

use super::{EXTERNAL, GENERATOR, OCI, Sources};
use crate::chart_server::{chart, package};
use crate::world::{Setup, paths};

/// An artifact that is named as a source's alias holds only what its copies put there, and ignore rules are about
/// paths in the artifact: the folder in which it is put together may have any name. The result is a source again
/// (SRC-EXT-1, B9).
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

/// SRC-AGN-16, B9: tarballs of a source are unpacked; what leads out of the artifact, and what is none, is refused.
#[tokio::test]
async fn tarballs_are_extracted() {
    let sources = Sources::start().await;
    let good = chart("web", "1.0.0", &[]);
    let evil = package(&[("web/../../evil".into(), b"x")]);
    let packed: [(String, &[u8]); 3] =
        [("dist/web.tgz".into(), &good), ("dist/notes.txt".into(), b"n"), ("evil.tgz".into(), &evil)];
    let artifact = Artifact::of_layer(package(&packed));
    sources.registry.push_artifact_with("packed", "latest", artifact).await.unwrap();
    // Without a rule of its own, archives stay out of the source's artifact.
    sources.world.oci("packed", &sources.registry.url("packed"), json!({"ignore": "nothing"})).await;
    let source = json!({"sources": [{"alias": "packed", "kind": OCI, "name": "packed"}]});
    let extract = |name: &str, from: &str, to: &str| json!([{"name": name, "copy": [{"from": from, "to": to, "strategy": "Extract"}]}]);
    let content = ["Chart.yaml", "templates/cm.yaml", "values.yaml"];
    for (name, from, to, prefix) in [
        ("one", "@packed/dist/web.tgz", "@artifact/", "web"),
        ("below", "@packed/dist/web.tgz", "@artifact/charts/", "charts/web"),
        ("some", "@packed/dist/**", "@artifact/", "web"),
    ] {
        sources.apply(name, extract(name, from, to), source.clone()).await;
        let external = sources.external(name, &Value::Null).await;
        let expected = content.map(|file| format!("{prefix}/{file}"));
        assert_eq!(paths(&external.data["status"]).await, expected, "{name}");
    }
    for (name, from, why) in [
        ("evil", "@packed/evil.tgz", "tar contained invalid name error"),
        ("text", "@packed/dist/notes.txt", "extract strategy requires tarball file (.tar.gz or .tgz), got "),
        ("folder", "@packed/dist", "extract strategy is not supported for directories, got "),
    ] {
        sources.apply(name, extract(name, from, "@artifact/"), source.clone()).await;
        sources.says(name, "False", why).await;
    }
}
