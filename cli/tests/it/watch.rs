//! `weir watch` against the gRPC server that the services have.

use std::path::{Path, PathBuf};

use clap::Parser;
use serde_json::{Value, json};
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
    let address = shown.address.clone();
    shown.stop().await;
    let mut told = BufReader::new(watch.child.stderr.take().unwrap()).lines();
    let warning = tokio::time::timeout(DEADLINE, told.next_line()).await.unwrap().unwrap().unwrap();
    assert!(warning.starts_with(&format!("⚠️ no changes come from {address}: ")), "{warning}");
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
        ])
        .await;
    let anonymous = Weir::default().with_kubeconfig(&without_token);
    transcript.push_str(&anonymous.transcript(&[&format!("watch ks {flags}")]).await);
    let transcript = transcript.replace(&shown.address, "[address]").replace(&nobody, "[token]");
    insta::assert_snapshot!(transcript);
    shown.stop().await;
}

/// A kubeconfig with a program for logins, which prints a token: the command itself has none.
fn with_program(world: &World, token: &str, folder: &Path) -> PathBuf {
    let credential = json!({ "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": { "token": token } });
    let program = json!({ "apiVersion": "client.authentication.k8s.io/v1", "command": "echo",
        "args": [credential.to_string()], "interactiveMode": "Never" });
    let file = std::fs::read_to_string(world.plane.kubeconfig_for(token).unwrap()).unwrap();
    let mut config: Value = serde_json::from_str(&file).unwrap();
    config["users"][0]["user"] = json!({ "exec": program });
    let path = folder.join("config");
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

/// The API server tells the same to people without a token, and of Flux's services, which have no gRPC API.
#[tokio::test]
async fn without_services_or_a_token_the_api_server_is_asked() {
    let world = World::new("watch-direct").await;
    for name in ["backend", "frontend"] {
        world.object("Kustomization", name).await;
    }
    world.object("GitRepository", "apps").await;
    let (everything, verbs) = (("*", &["*"][..]), &["list", "watch"][..]);
    let token = world.plane.token_for(&world.namespace, "reader", everything, verbs).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let by_program = Weir::default().with_kubeconfig(&with_program(&world, &token, folder.path()));
    let by_token = Weir::default().with_kubeconfig(&world.plane.kubeconfig_for(&token).unwrap());
    let ways = [
        (by_program, "following through the API server: the services want a bearer token (--token)"),
        (by_token, "following through the API server: no services of Weir in namespace watch-direct"),
    ];
    for (weir, way) in ways {
        let mut table = weir.start("watch --output table -n watch-direct --flux-namespace watch-direct");
        let mut rows = lines(&mut table);
        let mut shown = Vec::new();
        for _ in 0..4 {
            shown.push(next(&mut rows).await.split_whitespace().next().unwrap().to_owned());
        }
        assert_eq!(shown, ["NAME", "gitrepository/apps", "kustomization/backend", "kustomization/frontend"]);
        let mut warning = String::new();
        BufReader::new(table.child.stderr.take().unwrap()).read_line(&mut warning).await.unwrap();
        assert!(warning.contains(way), "{warning}");
    }

    let mut watch = world.weir().start("watch ks backend");
    let mut lines = lines(&mut watch);
    let mut transcript = vec![next(&mut lines).await];
    let applied = json!({ "lastAppliedRevision": "main@sha1:0123" });
    let status =
        with(ready(1, "True", "ReconciliationSucceeded", "Applied revision: main@sha1:0123"), applied);
    world.status("Kustomization", "backend", status).await;
    transcript.push(next(&mut lines).await);
    world.api("Kustomization").await.delete("backend", &Default::default()).await.unwrap();
    transcript.push(next(&mut lines).await);
    let transcript: Vec<_> = transcript.iter().map(|line| line.split_once(' ').unwrap().1).collect();
    insta::assert_snapshot!(transcript.join("\n"), @r"
    Kustomization/watch-direct/backend Ready=-
    Kustomization/watch-direct/backend Ready=True ReconciliationSucceeded Applied revision: main@sha1:0123
    Kustomization/watch-direct/backend deleted
    ");
}
