//! Tags of many images, and the policies that choose among them.

use std::path::Path;

use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};
use weir_testkit::Registry;
use weir_testkit::object::{image_policy, image_repository};

use super::{IMAGE, NAMESPACE, Stage};
use crate::bench::scenarios::Results;
use crate::bench::{create, is_ready, number, request, wait_for_all};

/// Repositories of the registry.
pub(super) const REPOSITORIES: usize = 20;
/// Tags of each.
pub(super) const TAGS: usize = 100;
/// Pushes at once.
const PUSHES: usize = 16;

pub(super) async fn play(
    results: &mut Results,
    maker: &'static str,
    program: &Path,
    size: usize,
) -> Result<()> {
    let registry = filled().await?;
    let stage = Stage::start(maker, program, &["--storage-path=.".to_owned()]).await?;
    let repositories = stage.plane.api(IMAGE, "ImageRepository", NAMESPACE).await?;
    let policies = stage.plane.api(IMAGE, "ImagePolicy", NAMESPACE).await?;
    let scanned = |name: &str| {
        let repository = repository(number(name) % REPOSITORIES);
        image_repository(name, &format!("{}/{repository}", registry.address()))
    };
    let scans = async {
        create(&repositories, size, scanned).await?;
        wait_for_all(&repositories, size, is_ready).await
    };
    results.measure(&stage.subject(), "images 1: scanned", size, scans).await?;
    let chosen = async {
        create(&policies, size, |name| image_policy(name, name, ">=1.0.0")).await?;
        wait_for_all(&policies, size, is_ready).await
    };
    results.measure(&stage.subject(), "images 2: policies Ready", size, chosen).await?;
    let again = request(&repositories, size);
    results.measure(&stage.subject(), "images 3: scanned again", size, again).await
}

fn repository(number: usize) -> String {
    format!("app-{number}")
}

async fn filled() -> Result<Registry> {
    let registry = Registry::start().await?;
    let tags = (0..REPOSITORIES).flat_map(|number| (0..TAGS).map(move |tag| (number, tag)));
    let pushes = stream::iter(tags).map(|(number, tag)| {
        let registry = &registry;
        async move { registry.push_image(&repository(number), &format!("1.{tag}.0")).await }
    });
    pushes.buffer_unordered(PUSHES).try_for_each(|_| async { Ok(()) }).await?;
    Ok(registry)
}
