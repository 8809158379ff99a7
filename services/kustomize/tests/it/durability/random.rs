//! Killed again and again at moments that nobody chose, while revisions change and Kustomizations come and go.

use kube::api::{DeleteParams, ListParams};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::process::{Revision, Service};
use crate::world::PATIENCE;

/// Lives of the process; `WEIR_KILLS` asks for more.
const KILLS: u32 = 12;

const APPS: [&str; 4] = ["app-a", "app-b", "app-c", "app-d"];

/// A life ends at one of its first so many requests, of which a start takes some twenty.
const REQUESTS: usize = 90;

#[tokio::test(flavor = "multi_thread")]
async fn random_kills_under_load_leave_exactly_the_last_revisions() {
    let seed = number("WEIR_SEED").unwrap_or_else(|| rand::rng().random_range(0..1_000_000));
    let kills = number("WEIR_KILLS").map_or(KILLS, |kills| u32::try_from(kills).unwrap());
    println!("WEIR_SEED={seed} WEIR_KILLS={kills} cargo test -p weir-kustomize-controller random_kills");
    let mut random = StdRng::seed_from_u64(seed);
    let (mut service, proxy) = Service::behind_proxy().await;
    let mut killed_at_work = 0;
    for life in 0..kills {
        for app in APPS {
            change(&service, &mut random, app, life).await;
        }
        proxy.forget_requests();
        service.start();
        let moment = random.random_range(1..REQUESTS);
        // A life in which little is left to do makes fewer requests, and is killed when it has nothing more to do.
        killed_at_work += u32::from(proxy.wait_for("", moment, PATIENCE / 30).await.is_ok());
        service.kill();
    }
    println!("{killed_at_work} of {kills} lives were killed at their moment");
    assert!(killed_at_work >= kills / 4, "{killed_at_work} of {kills} lives were killed at work");
    // A change to an object that is being deleted is lost with it, so deletions end first.
    service.start();
    let kustomizations = service.world.kustomizations().await;
    let end = async || {
        let all = kustomizations.list(&ListParams::default()).await.ok()?;
        all.iter().all(|object| object.metadata.deletion_timestamp.is_none()).then_some(())
    };
    weir_testkit::eventually("the deletions to end", PATIENCE, end).await.unwrap();
    let mut wanted = Vec::new();
    for (app, life) in APPS.into_iter().zip(kills..) {
        wanted.push((app, publish(&service, &mut random, app, life).await));
        service.declare(app, app).await;
    }
    for (app, revision) in &wanted {
        service.holds(app, revision).await;
    }
    for (app, _) in wanted {
        service.world.kustomizations().await.delete(app, &DeleteParams::default()).await.unwrap();
        service.leaves_nothing(app).await;
    }
}

/// Gives an app a new revision, deletes it, or leaves it alone.
async fn change(service: &Service, random: &mut StdRng, app: &str, life: u32) {
    match random.random_range(0..10) {
        0 => drop(service.world.kustomizations().await.delete(app, &DeleteParams::default()).await),
        1..3 => {}
        _ => {
            publish(service, random, app, life).await;
            service.declare(app, app).await;
        }
    }
}

/// Each app has objects of its own; every revision has some of them.
async fn publish(service: &Service, random: &mut StdRng, app: &str, number: u32) -> Revision {
    let names: Vec<String> =
        (0..8).map(|at| if at < 2 { format!("role-{app}-{at}") } else { format!("{app}-{at}") }).collect();
    let count = random.random_range(1..names.len());
    let names: Vec<&str> = names.sample(random, count).map(String::as_str).collect();
    service.publish(app, number, &names).await
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
