//! A peer that does not answer over gRPC: the loop goes on over the way that stands in for it, and the counter says so.

use std::time::Instant;

use anyhow::Result;
use weir_e2e::{FiveProcesses, Payload, Routes};
use weir_testkit::{Fault, FaultProxy};

use super::main_loop::{DEADLINE, MainLoop};

/// One way between two services.
#[derive(Debug, Clone, Copy)]
struct Way {
    payload: Payload,
    /// The one that counts.
    service: &'static str,
    /// The one that answers.
    peer: &'static str,
}

const WAYS: [Way; 3] = [
    Way { payload: Payload::Artifact, service: "kustomize-controller", peer: "source-controller" },
    Way {
        payload: Payload::Resolution,
        service: "image-automation-controller",
        peer: "image-reflector-controller",
    },
    Way { payload: Payload::Event, service: "kustomize-controller", peer: "notification-controller" },
];

impl Way {
    fn link(self, world: &FiveProcesses) -> &FaultProxy {
        match self.payload {
            Payload::Artifact => &world.links.artifacts,
            Payload::Resolution => &world.links.resolutions,
            Payload::Event => &world.links.events,
        }
    }

    async fn routes(self, world: &FiveProcesses) -> Result<Routes> {
        world.routes(self.service, self.payload).await
    }

    /// Plays the loop and returns the ways that were taken meanwhile.
    async fn taken(self, main_loop: &mut MainLoop) -> Result<Routes> {
        let before = self.routes(&main_loop.world).await?;
        main_loop.new_image().await?;
        Ok(self.routes(&main_loop.world).await?.since(before))
    }

    /// Plays the loop with a peer that is spoilt: it goes on over the other way, and over no other.
    async fn falls_back(self, what: &str, main_loop: &mut MainLoop) -> Result<()> {
        let taken = self.taken(main_loop).await?;
        assert!(taken.has_fallen_back() && taken.grpc == 0, "{self:?} {what}: {taken:?}");
        Ok(())
    }

    /// Plays the loop until the first way is taken again: a peer that has failed is left alone for a while.
    async fn heals(self, main_loop: &mut MainLoop) -> Result<()> {
        self.comes_to(main_loop, |taken| taken.grpc > 0).await
    }

    /// Plays the loop until the ways are as they should be.
    async fn comes_to(self, main_loop: &mut MainLoop, wanted: impl Fn(Routes) -> bool) -> Result<()> {
        let since = Instant::now();
        loop {
            let taken = self.taken(main_loop).await?;
            if wanted(taken) {
                return Ok(());
            }
            assert!(since.elapsed() < DEADLINE, "{self:?} stays with {taken:?}");
        }
    }
}

/// A server that answers, but not with gRPC, stands where the peer was.
#[tokio::test]
async fn a_replaced_peer() -> Result<()> {
    let mut main_loop = MainLoop::start().await?;
    for way in WAYS {
        let other = main_loop.world.registry.address().to_owned();
        way.link(&main_loop.world).redirect(&other);
        way.falls_back("replaced", &mut main_loop).await?;
        way.link(&main_loop.world).redirect(&main_loop.world.grpc_address(way.peer)?);
        way.heals(&mut main_loop).await?;
    }
    Ok(())
}

/// Nobody takes connections where the peer was.
#[tokio::test]
async fn a_stopped_peer() -> Result<()> {
    let mut main_loop = MainLoop::start().await?;
    for way in WAYS {
        way.link(&main_loop.world).set(Fault::Away);
        way.falls_back("stopped", &mut main_loop).await?;
        way.link(&main_loop.world).set(Fault::None);
        way.heals(&mut main_loop).await?;
    }
    Ok(())
}

/// Connections are taken, and nothing ever comes.
#[tokio::test]
async fn a_slow_peer() -> Result<()> {
    let mut main_loop = MainLoop::start().await?;
    for way in WAYS {
        let link = way.link(&main_loop.world);
        // Cuts what is open, so that the next connection meets the silence.
        link.set(Fault::Away);
        link.set(Fault::Silent);
        way.falls_back("slow", &mut main_loop).await?;
        way.link(&main_loop.world).set(Fault::Away);
        way.link(&main_loop.world).set(Fault::None);
        way.heals(&mut main_loop).await?;
    }
    Ok(())
}

/// The peer does not take the token that it is shown.
#[tokio::test]
async fn a_peer_that_refuses_the_token() -> Result<()> {
    let mut main_loop = MainLoop::start().await?;
    for way in WAYS {
        main_loop.world.show_peers(way.service, Some("nonsense")).await?;
        way.falls_back("forbidden", &mut main_loop).await?;
        main_loop.world.show_peers(way.service, None).await?;
        way.heals(&mut main_loop).await?;
    }
    Ok(())
}

/// The peer knows the caller, which has lost the right to what it asks for.
#[tokio::test]
async fn a_caller_without_the_right() -> Result<()> {
    let mut main_loop = MainLoop::start().await?;
    // Not kustomize, which may do anything.
    let way = Way { service: "source-controller", ..WAYS[2] };
    way.comes_to(&mut main_loop, Routes::is_grpc_only).await?;
    let events = r#"[{"op": "test", "path": "/rules/7/resources/0", "value": "events"}, {"op": "remove", "path": "/rules/7"}]"#;
    let plane = &main_loop.world.plane;
    plane.kubectl(&["patch", "clusterrole", "crd-controller", "--type=json", "-p", events]).await?;
    // Rights are remembered for half a minute.
    way.comes_to(&mut main_loop, Routes::has_fallen_back).await?;
    main_loop.world.installation.apply(&main_loop.world.plane).await?;
    way.heals(&mut main_loop).await
}
