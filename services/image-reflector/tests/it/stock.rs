//! Flux's own command line and image-automation-controller against this service. `FLUX_CLI` and
//! `FLUX_IMAGE_AUTOMATION_CONTROLLER` name them.

use std::process::Command;

use serde_json::json;
use weir_testkit::object::git_repository;
use weir_testkit::{Controller, FluxCli, GitServer, Registry, eventually, flux_program};

use crate::world::{DEADLINE, IMAGE, World};

#[tokio::test]
async fn stock_commands_about_images_work() {
    if flux_program("FLUX_CLI").unwrap().is_none() {
        return;
    }
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let flux = FluxCli::find(world.plane, &world.namespace).unwrap().unwrap();
    registry.push_image("app", "1.0.0").await.unwrap();
    let image = format!("{}/app", registry.address());
    let repository = format!("create image repository app --image={image} --interval=1h");
    flux.run(&repository, &["reconciliation completed"]).await.unwrap();
    flux.run("get image repository app", &["found 1"]).await.unwrap();
    flux.run("create image policy app --image-ref=app --select-semver=1.x", &["reconciliation completed"])
        .await
        .unwrap();
    flux.run("get image policy app", &["1.0.0", "True"]).await.unwrap();
    registry.push_image("app", "1.1.0").await.unwrap();
    flux.run("reconcile image repository app", &["scan fetched 2 tags"]).await.unwrap();
    world.until("ImagePolicy", "app", "1.1.0").await;
    flux.run("reconcile image policy app", &["1.1.0"]).await.unwrap();
    flux.run("get image policy app", &["1.1.0", "True"]).await.unwrap();
    flux.run("suspend image repository app", &["suspended"]).await.unwrap();
    flux.run("resume image repository app", &["ImageRepository app reconciliation completed"]).await.unwrap();
    flux.run("get images all", &["imagerepository/app", "imagepolicy/app"]).await.unwrap();
    flux.run("export image policy app", &["range: 1.x"]).await.unwrap();
    flux.run("delete image policy app --silent", &["deleted"]).await.unwrap();
}

#[tokio::test]
async fn stock_automation_writes_what_is_selected_here() {
    let Some(program) = flux_program("FLUX_IMAGE_AUTOMATION_CONTROLLER").unwrap() else { return };
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let git = GitServer::start().await.unwrap();
    let flags = ["--watch-all-namespaces=false".to_owned()];
    let controller = Controller::start(Command::new(program), world.plane, &world.namespace, &flags).await;
    let controller = controller.unwrap();
    let image = format!("{}/app", registry.address());
    let line =
        |tag: &str| format!("image: {image}:{tag} # {{\"$imagepolicy\": \"{}:app\"}}\n", world.namespace);
    let repo = git.repo("app").unwrap();
    repo.commit("main", "first", &[("web.yaml", &line("0.1.0"))]).unwrap();
    world.plane.apply(&world.namespace, git_repository("app", &git.url("app"))).await.unwrap();
    let commit = json!({"author": {"name": "bot", "email": "bot@example.com"}});
    let spec = json!({
        "interval": "1h", "sourceRef": {"kind": "GitRepository", "name": "app"}, "update": {"path": "./"},
        "git": {"checkout": {"ref": {"branch": "main"}}, "commit": commit, "push": {"branch": "main"}},
    });
    let automation = json!({
        "apiVersion": IMAGE, "kind": "ImageUpdateAutomation", "metadata": {"name": "app"}, "spec": spec,
    });
    world.plane.apply(&world.namespace, automation).await.unwrap();
    world.repository("app", &image, json!({})).await;
    world.policy("app", "app", json!({"semver": {"range": "1.x"}})).await;
    for tag in ["1.0.0", "1.1.0"] {
        registry.push_image("app", tag).await.unwrap();
        weir_testkit::touch_requested_at(&world.api("ImageRepository").await, "app").await.unwrap();
        let written = eventually("the selected tag in Git", DEADLINE, || async {
            repo.read("main", "web.yaml").is_ok_and(|text| text == line(tag)).then_some(())
        });
        assert!(written.await.is_ok(), "{tag}: {}", controller.log_tail());
    }
}
