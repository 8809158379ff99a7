//! `weir watch` against the gRPC server that the services have.

use clap::Parser;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::ChildStdout;
use tokio::task::JoinSet;
use weir_api::Kustomization;
use weir_runtime::args::RuntimeArgs;
use weir_runtime::{Environment, Service};
use weir_testkit::{eventually, free_port};

use crate::weir::{DEADLINE, Running, Weir, visible};
use crate::world::{World, ready, with};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    runtime: RuntimeArgs,
}

/// A service that shows Kustomizations and does nothing else.
struct Shown {
    address: String,
    env: Environment,
    tasks: JoinSet<()>,
}

impl Shown {
    async fn new(world: &World) -> Self {
        let address = format!("127.0.0.1:{}", free_port().unwrap());
        let flags = [format!("--grpc-addr={address}"), "--metrics-addr=0".into(), "--health-addr=0".into()];
        let arguments = Arguments::parse_from(["x".to_owned()].into_iter().chain(flags)).runtime;
        let env = Environment::new(world.plane.config().unwrap(), world.namespace.clone()).unwrap();
        let service =
            Service::start("kustomize-controller", &arguments, None, env.clone(), &[]).await.unwrap();
        let objects = service.cache::<Kustomization>().await.unwrap();
        service.show(objects);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { service.run_until_shutdown().await.unwrap() });
        let listening = || async { tokio::net::TcpStream::connect(&address).await.ok() };
        eventually("the gRPC server to listen", DEADLINE, listening).await.unwrap();
        Self { address, env, tasks }
    }

    async fn stop(self) {
        self.env.shutdown.cancel();
        self.tasks.join_all().await;
    }
}

/// A token of an account that may do these verbs on Kustomizations.
async fn token(world: &World, name: &str, verbs: &[&str]) -> String {
    let resources = ("kustomize.toolkit.fluxcd.io", &["kustomizations"][..]);
    world.plane.token_for(&world.namespace, name, resources, verbs).await.unwrap()
}

fn lines(running: &mut Running) -> Lines<BufReader<ChildStdout>> {
    BufReader::new(running.child.stdout.take().unwrap()).lines()
}

async fn next(lines: &mut Lines<BufReader<ChildStdout>>) -> String {
    tokio::time::timeout(DEADLINE, lines.next_line()).await.unwrap().unwrap().unwrap()
}

#[tokio::test]
async fn every_change_is_a_line() {
    let world = World::new("watch-lines").await;
    world.object("Kustomization", "app").await;
    let shown = Shown::new(&world).await;
    let token = token(&world, "reader", &["get", "list", "watch"]).await;
    let command = format!("watch kustomizations --grpc-addr {} --token {token}", shown.address);
    let mut watch = world.weir().start(&command);
    let mut lines = lines(&mut watch);
    let mut transcript = vec![next(&mut lines).await];
    let applied = json!({ "lastAppliedRevision": "main@sha1:0123" });
    let status =
        with(ready(1, "True", "ReconciliationSucceeded", "Applied revision: main@sha1:0123"), applied);
    world.status("Kustomization", "app", status).await;
    transcript.push(next(&mut lines).await);
    world.api("Kustomization").await.delete("app", &Default::default()).await.unwrap();
    transcript.push(next(&mut lines).await);
    // The first word is the time.
    let transcript: Vec<_> = transcript.iter().map(|line| line.split_once(' ').unwrap().1).collect();
    insta::assert_snapshot!(transcript.join("\n"), @r"
    Kustomization/watch-lines/app Ready=-
    Kustomization/watch-lines/app Ready=True ReconciliationSucceeded Applied revision: main@sha1:0123
    Kustomization/watch-lines/app deleted
    ");
    shown.stop().await;
}

#[tokio::test]
async fn a_table_shows_all_objects_and_a_stream_can_be_json() {
    let world = World::new("watch-table").await;
    for name in ["backend", "frontend"] {
        world.object("Kustomization", name).await;
    }
    world
        .status("Kustomization", "backend", ready(1, "False", "BuildFailed", "accumulating resources"))
        .await;
    let shown = Shown::new(&world).await;
    let token = token(&world, "reader", &["get", "list", "watch"]).await;
    let flags = format!("--grpc-addr {} --token {token}", shown.address);

    let mut table = world.weir().start(&format!("watch --output table {flags}"));
    let mut rows = lines(&mut table);
    let mut transcript = String::new();
    for _ in 0..3 {
        transcript.push_str(&visible(next(&mut rows).await.as_bytes(), ""));
    }
    let mut json = world.weir().start(&format!("watch ks backend --output json {flags}"));
    transcript.push_str(&next(&mut lines(&mut json)).await);
    insta::assert_snapshot!(transcript);
    shown.stop().await;
}

#[tokio::test]
async fn who_may_not_watch_is_told() {
    let world = World::new("watch-denied").await;
    let shown = Shown::new(&world).await;
    let nobody = token(&world, "nobody", &["get"]).await;
    let without_token = world.plane.kubeconfig_for("").unwrap();
    let flags = format!("--grpc-addr {}", shown.address);
    let mut transcript = world
        .weir()
        .transcript(&[
            &format!("watch ks {flags} --token {nobody}"),
            &format!("watch ks {flags} --token wrong"),
            "watch ks --grpc-addr 127.0.0.1:1 --token any",
            "watch ks --grpc-addr 'no address' --token any",
            "watch helmreleases --token any",
        ])
        .await;
    let anonymous = Weir::default().with_kubeconfig(&without_token);
    transcript.push_str(&anonymous.transcript(&[&format!("watch ks {flags}")]).await);
    let transcript = transcript.replace(&shown.address, "[address]").replace(&nobody, "[token]");
    insta::assert_snapshot!(transcript);
    shown.stop().await;
}
