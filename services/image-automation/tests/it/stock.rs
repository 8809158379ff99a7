//! Flux's own command line and image-reflector-controller against this service. `FLUX_CLI` and
//! `FLUX_IMAGE_REFLECTOR_CONTROLLER` name them.

use std::process::Command;

use serde_json::json;
use weir_testkit::{Controller, FluxCli, Registry, flux_program, touch_requested_at};

use crate::world::World;

#[tokio::test]
async fn stock_commands_about_automations_work() {
    if flux_program("FLUX_CLI").unwrap().is_none() {
        return;
    }
    let world = World::start().await;
    let flux = FluxCli::find(world.plane, &world.namespace).unwrap().unwrap();
    let repo = world.app().await;
    let create = "create image update app --git-repo-ref=app --git-repo-path=./ --checkout-branch=main \
                  --author-name=bot --author-email=bot@example.com --interval=1h";
    flux.run(create, &["ImageUpdateAutomation reconciliation completed"]).await.unwrap();
    assert_eq!(repo.read("main", "web.yaml").unwrap(), world.manifest("r/web:1.0.0", "web"));
    flux.run("reconcile image update app", &["repository up-to-date"]).await.unwrap();
    flux.run("get image update app", &["app", "True", "repository up-to-date"]).await.unwrap();
    flux.run("suspend image update app", &["suspended"]).await.unwrap();
    flux.run("resume image update app", &["repository up-to-date"]).await.unwrap();
    flux.run("export image update app", &["email: bot@example.com"]).await.unwrap();
    flux.run("delete image update app --silent", &["deleted"]).await.unwrap();
}

#[tokio::test]
async fn stock_policies_are_written() {
    let Some(program) = flux_program("FLUX_IMAGE_REFLECTOR_CONTROLLER").unwrap() else { return };
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let flags = ["--watch-all-namespaces=false", "--storage-path=."].map(str::to_owned);
    let _reflector =
        Controller::start(Command::new(program), world.plane, &world.namespace, &flags).await.unwrap();
    let image = format!("{}/app", registry.address());
    let repo = world.git.repo("app").unwrap();
    repo.commit("main", "first", &[("web.yaml", &world.manifest("old:1", "app"))]).unwrap();
    world.repository("app").await;
    world.automation("app", json!({})).await;
    registry.push_image("app", "1.0.0").await.unwrap();
    let objects = [
        ("ImageRepository", json!({"image": image, "interval": "1h", "insecure": true})),
        (
            "ImagePolicy",
            json!({"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": "1.x"}}}),
        ),
    ];
    for (kind, spec) in objects {
        let version = "image.toolkit.fluxcd.io/v1";
        let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "app"}, "spec": spec});
        world.apply(object).await;
    }
    world.until_seen("app", "app", "1.0.0").await;
    registry.push_image("app", "1.1.0").await.unwrap();
    touch_requested_at(&world.api("ImageRepository").await, "app").await.unwrap();
    world.until_seen("app", "app", "1.1.0").await;
    assert_eq!(repo.read("main", "web.yaml").unwrap(), world.manifest(&format!("{image}:1.1.0"), "app"));
}
