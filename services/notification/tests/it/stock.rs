//! Flux's own command line and source-controller against this service. `FLUX_CLI` and `FLUX_SOURCE_CONTROLLER` name them.

use std::process::Command;

use serde_json::json;
use weir_testkit::object::git_repository;
use weir_testkit::{Controller, FluxCli, GitServer, eventually, flux_program, storage_flags};

use crate::world::{DEADLINE, Setup};

#[tokio::test]
async fn stock_commands_about_alerts_and_receivers_work() {
    if flux_program("FLUX_CLI").unwrap().is_none() {
        return;
    }
    let world = Setup::new().await.start().await;
    let flux = FluxCli::find(world.plane, &world.namespace).unwrap().unwrap();
    let token = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}, "stringData": {"token": "x"},
    });
    world.plane.apply(&world.namespace, token).await.unwrap();
    let address = world.sink.url("/chat");
    flux.run(&format!("create alert-provider chat --type=generic --address={address}"), &["chat"])
        .await
        .unwrap();
    let alert = "create alert web --provider-ref=chat --event-source=Kustomization/*";
    flux.run(alert, &["web"]).await.unwrap();
    let receiver = "create receiver push --type=generic --secret-ref=token --resource=GitRepository/app";
    flux.run(receiver, &["webhook URL", "/hook/"]).await.unwrap();
    flux.run("get alerts", &["web"]).await.unwrap();
    flux.run("get alert-providers", &["chat"]).await.unwrap();
    flux.run("get receivers push", &["push", "True", "Receiver initialized for path: /hook/"]).await.unwrap();
    flux.run("reconcile receiver push", &["Receiver reconciliation completed"]).await.unwrap();
    flux.run("suspend receiver push", &["suspended"]).await.unwrap();
    flux.run("resume receiver push", &["Receiver push reconciliation completed"]).await.unwrap();
    flux.run("suspend alert web", &["suspended"]).await.unwrap();
    flux.run("resume alert web", &["resumed"]).await.unwrap();
    flux.run("export alert web", &["name: chat"]).await.unwrap();
    flux.run("delete receiver push --silent", &["deleted"]).await.unwrap();
}

#[tokio::test]
async fn stock_events_of_sources_are_delivered() {
    let Some(program) = flux_program("FLUX_SOURCE_CONTROLLER").unwrap() else { return };
    let setup = Setup::new().await;
    setup.provider("source", "generic", json!({})).await;
    setup.alert("source", json!({"eventSources": [{"kind": "GitRepository", "name": "*"}]})).await;
    let (world, git) = (setup.start().await, GitServer::start().await.unwrap());
    git.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a: 1\n")]).unwrap();
    let mut flags = storage_flags().unwrap();
    flags
        .extend(["--watch-all-namespaces=false".to_owned(), format!("--events-addr={}", world.events_url())]);
    let _source =
        Controller::start(Command::new(program), world.plane, &world.namespace, &flags).await.unwrap();
    world.plane.apply(&world.namespace, git_repository("app", &git.url("app"))).await.unwrap();
    let delivered = eventually("the event of the new artifact", DEADLINE, || async {
        let told = |text: &str| text.contains("stored artifact for commit 'first'");
        world.sink.requests().iter().any(|request| told(&request.text())).then_some(())
    });
    delivered.await.unwrap();
}
