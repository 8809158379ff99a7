//! Killed at any instant: nothing half-written is ever advertised or served, and the end is the same (A14, SRC-STO-5).

use rstest::rstest;
use weir_testkit::{Fault, Folder, eventually};

use super::{assert_whole, file};
use crate::origin::{Kind, Origin, holds, served};
use crate::world::{DEADLINE, World};

const BYTES: usize = 2 << 20;
/// Size of a file that stays larger than a piece when compressed, in bytes.
const LARGE: usize = 10 << 20;
const AFTER_STATUS: &str = "after-status";

#[rstest]
#[tokio::test]
async fn a_kill_at_any_step_of_a_write_ends_as_no_kill(
    #[values(
        "store-opened",
        "store-filled",
        "store-synced",
        "store-renamed",
        "store-durable",
        "store-linked",
        "after-store",
        AFTER_STATUS
    )]
    point: &str,
) {
    killed_at(Kind::Oci, point, [100, 200]).await;
}

#[rstest]
#[tokio::test]
async fn a_kill_at_any_step_of_a_fetch_ends_as_no_kill(
    #[values(
        "git-pack-received",
        "git-roots-noted",
        "git-pack-kept",
        "git-tip-noted",
        "store-renamed",
        "after-store",
        AFTER_STATUS
    )]
    point: &str,
) {
    killed_at(Kind::Git, point, [100, 200]).await;
}

/// Large artifacts, which lie in pieces (docs/adr/0014).
#[rstest]
#[tokio::test]
async fn a_kill_at_any_step_of_a_piece_ends_as_no_kill(
    #[values("store-piece", "store-filled", "store-synced", "store-renamed", "store-durable")] point: &str,
) {
    killed_at(Kind::Git, point, [LARGE, LARGE + 1000]).await;
}

async fn killed_at(kind: Kind, point: &str, bytes: [usize; 2]) {
    let (mut world, origin) = (World::start().await, Origin::start(kind).await.unwrap());
    origin.publish(0, bytes[0]).await;
    origin.declare(&world).await;
    let old = origin.at(&world, 0).await;
    assert_eq!(file(&world, &old).is_dir(), bytes[0] == LARGE);

    let marker = Folder::new("marker").unwrap();
    let killed = marker.path().join("killed");
    let variable = killed.display().to_string();
    let environment = [("WEIR_KILL_POINT", point), ("WEIR_KILL_FILE", variable.as_str())];
    world.start_again(&environment);
    origin.publish(1, bytes[1]).await;
    origin.look(&world).await;
    eventually("the controller to be killed", DEADLINE, async || killed.exists().then_some(()))
        .await
        .unwrap();
    world.controller.wait(DEADLINE).await.unwrap();
    let between = origin.status(&world).await;
    assert_whole(&world, &between, point);
    if point != AFTER_STATUS {
        assert_eq!(between["artifact"]["digest"], old["artifact"]["digest"], "{point}");
    }

    world.start_again(&environment);
    world.until_served().await;
    let status = origin.at(&world, 1).await;
    assert_whole(&world, &status, point);
    let names = std::fs::read_dir(file(&world, &status).parent().unwrap()).unwrap();
    let partial = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let partial: Vec<_> = partial.filter(|name| name.ends_with(".partial")).collect();
    // The remains of a killed write are neither served nor counted, and the sweep removes them.
    assert!(partial.len() <= 1, "{point}: {partial:?}");
    for name in partial {
        let url = status["artifact"]["url"].as_str().unwrap();
        let url = format!("{}/{name}", url.rsplit_once('/').unwrap().0);
        assert_eq!(reqwest::get(url).await.unwrap().status(), 404, "{point}");
    }
    assert!(packs(&world, is_partial).is_empty(), "{point}");
}

/// Files of packs in the kept repositories of Git.
fn packs(world: &World, is_so: fn(&str) -> bool) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![world.folder.path().join("data/.git-stores")];
    while let Some(folder) = folders.pop() {
        // A folder may go while it is looked at.
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if is_so(&entry.file_name().to_string_lossy()) {
                found.push(path);
            }
        }
    }
    found
}

fn is_partial(name: &str) -> bool {
    name.starts_with("pack_git2_")
}

/// The process goes in the middle of a pack, by a signal that nobody can take.
#[tokio::test]
async fn a_kill_in_the_middle_of_a_pack_leaves_nothing_of_it() {
    let (mut world, origin) = (World::start().await, Origin::start(Kind::Git).await.unwrap());
    origin.publish(0, 100).await;
    origin.declare(&world).await;
    let old = origin.at(&world, 0).await;
    let bytes = served(&old).await;

    origin.publish(1, BYTES).await;
    origin.proxy.set_for("POST ", usize::MAX, Fault::StallAfter(BYTES as u64 / 2));
    origin.look(&world).await;
    let begun = async || {
        let written = |path: &std::path::PathBuf| path.metadata().is_ok_and(|metadata| metadata.len() > 0);
        packs(&world, is_partial).iter().any(written).then_some(())
    };
    eventually("half a pack on the disk", DEADLINE, begun).await.unwrap();
    assert_eq!(served(&old).await, bytes, "what was there is served while another is fetched");
    world.controller.kill();
    assert!(!packs(&world, is_partial).is_empty(), "it was killed in the middle");
    assert_eq!(origin.status(&world).await["artifact"], old["artifact"]);

    // Started again while no more than half of it comes, and then while all does.
    world.start_again(&[]);
    world.until_served().await;
    assert_eq!(served(&old).await, bytes);
    origin.proxy.set(Fault::None);
    world.start_again(&[]);
    world.until_served().await;
    let new = origin.at(&world, 1).await;
    assert!(holds(&served(&new).await, 1));
    assert!(packs(&world, is_partial).is_empty());
    assert_ne!(new["artifact"]["revision"], old["artifact"]["revision"]);
}
