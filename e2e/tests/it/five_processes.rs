//! The main loop with the five services as processes of their own, as `deploy/kustomize` runs them: Git to the cluster,
//! image to Git to the cluster, messages out, webhooks in.

mod arguments;
mod grants;
mod main_loop;
mod monitoring;
mod peers;
mod rights;
mod swap;

use anyhow::Result;
use weir_e2e::Payload;

use self::main_loop::MainLoop;

/// Everything that one service gets from another comes over gRPC; what stands in for it is not used once.
#[tokio::test]
async fn everything_travels_over_grpc() -> Result<()> {
    // Identities of objects change nothing for those that use none.
    let mut main_loop = MainLoop::start_with(&["workload-identity"]).await?;
    main_loop.push_by_webhook().await?;
    main_loop.new_image().await?;
    main_loop.push_by_webhook().await?;

    let world = &main_loop.world;
    let artifacts = world.routes("kustomize-controller", Payload::Artifact).await?;
    assert!(artifacts.is_grpc_only(), "{artifacts:?}");
    let resolutions = world.routes("image-automation-controller", Payload::Resolution).await?;
    assert!(resolutions.is_grpc_only(), "{resolutions:?}");
    for service in ["source-controller", "kustomize-controller", "image-reflector-controller"] {
        let events = world.routes(service, Payload::Event).await?;
        assert!(events.is_grpc_only(), "{service}: {events:?}");
    }
    let events = world.routes("image-automation-controller", Payload::Event).await?;
    assert!(!events.has_fallen_back(), "{events:?}");
    Ok(())
}
