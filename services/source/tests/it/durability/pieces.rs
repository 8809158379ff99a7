//! Large artifacts, which lie in pieces on the disk (docs/adr/0014): to consumers they are files like all others.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use futures::{StreamExt, TryStreamExt};
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, IF_MODIFIED_SINCE, LAST_MODIFIED, RANGE};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tonic::transport::Channel;
use weir_proto::source::v1::FetchRequest;
use weir_proto::source::v1::artifacts_client::ArtifactsClient;
use weir_testkit::{GitRepo, GitServer, authorized, eventually, flux_program};

use super::{GIT, assert_whole, file, names};
use crate::adoption::take_over;
use crate::origin::{dense, served};
use crate::world::{DEADLINE, World};

/// Files that do not shrink to less than a piece and something.
const FILES: usize = 40;
const FILE_BYTES: usize = 256 << 10;

/// Has a repository with a large commit looked at.
async fn large(world: &World, server: &GitServer) -> (GitRepo, Value) {
    let repository = server.repo("app").unwrap();
    let text = |number: usize| (format!("f{number:02}"), dense(&number.to_string(), FILE_BYTES));
    let files: Vec<_> = (0..FILES).map(text).collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    repository.commit("main", "first", &files).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    let status = world.ready(GIT, "app").await;
    (repository, status)
}

/// A commit of one file, the last one of the archive.
async fn small_commit(world: &World, repository: &GitRepo, text: &str) -> Value {
    let id = repository.commit("main", text, &[("z", text)]).unwrap();
    world.reconciled(GIT, "app").await;
    world.at(GIT, "app", &id).await
}

fn first_piece(path: &Path) -> u64 {
    path.join("00000000").metadata().unwrap().ino()
}

/// SRC-STO-5, SRC-STO-11, SRC-STO-17: what did not change is on the disk once, whoever reads it.
#[tokio::test]
async fn commits_share_what_did_not_change_and_outlive_each_other() {
    let (mut world, server) = (World::start().await, GitServer::start().await.unwrap());
    let (repository, first) = large(&world, &server).await;
    let old = file(&world, &first);
    assert!(names(&old).len() > 1, "{:?}", names(&old));
    let whole = served(&first).await;
    let mut answer = reqwest::get(first["artifact"]["url"].as_str().unwrap()).await.unwrap();
    let mut downloaded = answer.chunk().await.unwrap().unwrap().to_vec();

    let second = small_commit(&world, &repository, "second").await;
    assert_eq!(first_piece(&file(&world, &second)), first_piece(&old));
    assert_whole(&world, &first, "beside the second");
    assert!(served(&second).await != whole);
    let third = small_commit(&world, &repository, "third").await;
    world.reconciled(GIT, "app").await;
    eventually("the first one to be collected", DEADLINE, async || (!old.exists()).then_some(()))
        .await
        .unwrap();
    while let Some(chunk) = answer.chunk().await.unwrap() {
        downloaded.extend_from_slice(&chunk);
    }
    assert!(downloaded == whole, "{} of {} bytes", downloaded.len(), whole.len());
    for status in [&second, &third] {
        served(status).await;
    }

    world.start_again(&[]);
    world.until_served().await;
    let again = world.reconciled(GIT, "app").await;
    assert_eq!(again["artifact"], third["artifact"]);
    // Made anew where there is one already, of the same commit.
    world.git("app", &server.url("app"), json!({"ignore": "f39\n"})).await;
    let other = world
        .until(GIT, "app", "fewer files", |object| {
            object.data["status"]["artifact"]["digest"] != third["artifact"]["digest"]
        })
        .await;
    assert_eq!(other["artifact"]["path"], third["artifact"]["path"]);
    served(&other).await;
    assert_whole(&world, &second, "after its successor was replaced");

    let piece = file(&world, &other).join("00000000");
    std::fs::write(&piece, "tampered").unwrap();
    let again = world.reconciled(GIT, "app").await;
    assert_eq!(again["artifact"]["digest"], other["artifact"]["digest"]);
    served(&again).await;
}

/// C6: to Flux on the same disk the artifact is missing. `FLUX_SOURCE_CONTROLLER` names its program.
#[tokio::test]
async fn the_stock_controller_writes_a_file_where_pieces_were() {
    let Some(program) = flux_program("FLUX_SOURCE_CONTROLLER").unwrap() else { return };
    let (mut world, server) = (World::start().await, GitServer::start().await.unwrap());
    let (repository, weirs) = large(&world, &server).await;
    world.controller.kill();
    let flux = take_over(&world, &program).await;
    let theirs = world.reconciled(GIT, "app").await;
    assert_eq!(theirs["artifact"]["path"], weirs["artifact"]["path"]);
    assert!(file(&world, &theirs).is_file());
    served(&theirs).await;
    drop(flux);

    world.start_again(&[]);
    world.until_served().await;
    assert_eq!(world.reconciled(GIT, "app").await["artifact"], theirs["artifact"]);
    let next = small_commit(&world, &repository, "second").await;
    assert!(names(&file(&world, &next)).len() > 1);
    served(&next).await;
}

/// SRC-STO-14, SRC-STO-15, SRC-CNS-4.
#[tokio::test]
async fn pieces_are_served_as_one_file_and_never_alone() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let (_, status) = large(&world, &server).await;
    let (whole, url) = (served(&status).await, status["artifact"]["url"].as_str().unwrap());
    let piece = file(&world, &status).join("00000000").metadata().unwrap().len() as usize;
    assert!(piece < whole.len());
    let client = Client::new();

    let head = client.head(url).send().await.unwrap();
    assert_eq!(head.headers()[CONTENT_LENGTH].to_str().unwrap(), whole.len().to_string());
    let modified = head.headers()[LAST_MODIFIED].clone();
    let unchanged = client.get(url).header(IF_MODIFIED_SINCE, modified).send().await.unwrap();
    assert_eq!(unchanged.status(), StatusCode::NOT_MODIFIED);
    let length = whole.len();
    for (asked, from, to) in [
        (format!("bytes={}-{}", piece - 70_000, piece + 70_000), piece - 70_000, piece + 70_001),
        (format!("bytes={piece}-"), piece, length),
        ("bytes=-10".to_owned(), length - 10, length),
    ] {
        let part = client.get(url).header(RANGE, &asked).send().await.unwrap();
        assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT, "{asked}");
        let range = format!("bytes {from}-{}/{length}", to - 1);
        assert_eq!(part.headers()[CONTENT_RANGE].to_str().unwrap(), range);
        assert!(part.bytes().await.unwrap() == whole[from..to], "{asked}");
    }
    let beyond = client.get(url).header(RANGE, format!("bytes={length}-")).send().await.unwrap();
    assert_eq!(beyond.status(), StatusCode::RANGE_NOT_SATISFIABLE);
    for below in ["/00000000", "/", "%2f00000000", "/../00000000"] {
        let answer = client.get(format!("{url}{below}")).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{below}");
    }

    let kinds = ("source.toolkit.fluxcd.io", &["gitrepositories"][..]);
    let token = world.plane.token_for(&world.namespace, "reader", kinds, &["get"]).await.unwrap();
    let grpc = format!("http://127.0.0.1:{}", world.grpc);
    let mut grpc = ArtifactsClient::new(Channel::from_shared(grpc).unwrap().connect_lazy());
    let digest = status["artifact"]["digest"].as_str().unwrap().to_owned();
    let namespace = world.namespace.clone();
    let asked = FetchRequest { kind: GIT.to_owned(), namespace, name: "app".to_owned(), digest };
    let stream = grpc.fetch(authorized(&token, asked)).await.unwrap().into_inner();
    let chunks: Vec<_> = stream.map(|message| message.map(|it| it.chunk)).try_collect().await.unwrap();
    assert!(chunks.concat() == whole);
}
