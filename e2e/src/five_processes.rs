//! The five services as processes of their own, as `deploy/kustomize` runs them: each with the arguments of its
//! Deployment, the token of its ServiceAccount and the RBAC of the default overlay, and nothing beside.

mod arguments;
mod process;
mod routes;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::future::try_join_all;
use kube::Api;
use kube::api::DynamicObject;
use weir_testkit::{AuditedRequest, ControlPlane, FaultProxy, GitServer, Registry, WebhookSink, eventually};

use self::arguments::Surroundings;
pub use self::process::Maker;
use self::process::ServiceProcess;
pub use self::routes::{Payload, Routes};
use crate::installation::{Installation, NAMESPACE, SERVICES};
use crate::kind::api_version;
use crate::ports::Ports;
use crate::weir_process::crds;

/// Services that answer start before those that ask, since a way that is not there is tried again some seconds later only.
const STARTS: [&[&str]; 3] = [
    &["notification-controller"],
    &["source-controller", "image-reflector-controller"],
    &["kustomize-controller", "image-automation-controller"],
];

/// A stream is opened at once; the rest is for a busy machine.
const FOLLOWED_DEADLINE: Duration = Duration::from_secs(60);

/// The ways between services over gRPC, each through a proxy, so that one can be spoiled.
#[derive(Debug)]
pub struct Links {
    /// From kustomize to source.
    pub artifacts: FaultProxy,
    /// From image-automation to image-reflector.
    pub resolutions: FaultProxy,
    /// From all others to notification.
    pub events: FaultProxy,
}

/// A cluster with the five services in it, and the servers that they work with.
pub struct FiveProcesses {
    // Fields drop in order: the services go before what they talk to.
    services: BTreeMap<&'static str, ServiceProcess>,
    /// The ways over gRPC.
    pub links: Links,
    /// Git over HTTP.
    pub git: GitServer,
    /// The registry of images.
    pub registry: Registry,
    /// The sink of notifications.
    pub sink: WebhookSink,
    /// The installation in the cluster.
    pub installation: Installation,
    /// The cluster; its API server counts requests.
    pub plane: ControlPlane,
    surroundings: Surroundings,
}

impl FiveProcesses {
    /// Starts everything with the default overlay and further components, and waits until all services are ready and
    /// follow each other.
    ///
    /// # Errors
    /// When one of its parts cannot be started.
    pub async fn start_with(components: &[&str]) -> Result<Self> {
        let world = Self::start_made_by(components, &crds(), |_| Maker::Weir).await?;
        world.wait_until_followed().await?;
        Ok(world)
    }

    /// Starts everything with the programs of these makers and the CRDs in a folder.
    ///
    /// # Errors
    /// When one of its parts cannot be started.
    pub async fn start_made_by(
        components: &[&str],
        crds: &Path,
        maker: impl Fn(&'static str) -> Maker,
    ) -> Result<Self> {
        let (plane, git, registry, sink) = tokio::try_join!(
            ControlPlane::options().audit().start(),
            GitServer::start(),
            Registry::start(),
            WebhookSink::start()
        )?;
        let installation = Installation::with_components(components)?;
        installation.apply_with_crds(&plane, crds).await?;
        let ports: BTreeMap<&'static str, Ports> =
            SERVICES.into_iter().map(|service| Ok((service, Ports::free()?))).collect::<Result<_>>()?;
        let links = Links::to(&ports).await?;
        let mut services = BTreeMap::new();
        let surroundings = Surroundings::new(&links, &ports)?;
        for service in SERVICES {
            let arguments = installation.arguments(service)?;
            let process = ServiceProcess::new(
                service,
                maker(service),
                of(&ports, service)?,
                &arguments,
                &surroundings,
            )?;
            services.insert(service, process);
        }
        let mut world = Self { services, links, git, registry, sink, installation, plane, surroundings };
        for group in STARTS {
            let services = world.services.iter_mut().filter(|(name, _)| group.contains(name));
            try_join_all(services.map(|(_, service)| service.start(&world.plane))).await?;
        }
        Ok(world)
    }

    /// Puts the program of a maker in the place of a service, on an empty disk, as a new Pod has it.
    ///
    /// # Errors
    /// When the old one does not stop, or the new one does not get ready in time.
    pub async fn replace(&mut self, service: &'static str, maker: Maker) -> Result<()> {
        let mut old = self.services.remove(service).with_context(|| format!("no {service}"))?;
        old.stop().await?;
        let arguments = self.installation.arguments(service)?;
        let mut new = ServiceProcess::new(service, maker, old.ports, &arguments, &self.surroundings)?;
        new.start(&self.plane).await?;
        self.services.insert(service, new);
        Ok(())
    }

    /// Waits until image-reflector has let image-automation follow its resolutions.
    async fn wait_until_followed(&self) -> Result<()> {
        let user = format!("system:serviceaccount:{NAMESPACE}:image-automation-controller");
        let is_review = |request: &AuditedRequest| {
            request.user == user
                && request.verb == "watch"
                && request.resource == "imagepolicies"
                && request.code == 0
        };
        let is_reviewed =
            async || self.plane.audited_requests().is_ok_and(|all| all.iter().any(is_review)).then_some(());
        Ok(eventually("resolutions to be followed", FOLLOWED_DEADLINE, is_reviewed).await?)
    }

    /// Starts a service again with another token for its peers, or with its own.
    ///
    /// # Errors
    /// When it does not stop or does not get ready in time.
    pub async fn show_peers(&mut self, service: &str, token: Option<&str>) -> Result<()> {
        let process = self.services.get_mut(service).with_context(|| format!("no {service}"))?;
        process.stop().await?;
        process.show_peers(token);
        process.start(&self.plane).await
    }

    /// Counts the ways by which artifacts, resolutions or events have come to a service, or gone from it, since it was started.
    ///
    /// # Errors
    /// When its metrics cannot be read.
    pub async fn routes(&self, service: &str, payload: Payload) -> Result<Routes> {
        Routes::parse(&self.metrics(service).await?, payload)
    }

    /// The metrics of a service, as OpenMetrics text.
    ///
    /// # Errors
    /// When they cannot be read.
    #[expect(clippy::disallowed_methods, reason = "the answer is our own process's")]
    pub async fn metrics(&self, service: &str) -> Result<String> {
        let port = self.service(service)?.ports.metrics;
        Ok(reqwest::get(format!("http://127.0.0.1:{port}/metrics")).await?.text().await?)
    }

    /// The URL of a webhook path.
    ///
    /// # Errors
    /// When there is no such service.
    pub fn receiver_url(&self, path: &str) -> Result<String> {
        let port = self.service("notification-controller")?.ports.receiver;
        Ok(format!("http://127.0.0.1:{port}{path}"))
    }

    /// The URL that takes events as Flux's controllers post them.
    ///
    /// # Errors
    /// When there is no such service.
    pub fn events_url(&self) -> Result<String> {
        Ok(format!("http://127.0.0.1:{}/", self.service("notification-controller")?.ports.events))
    }

    /// `host:port` of the gRPC server of a service, without a proxy.
    ///
    /// # Errors
    /// When there is no such service.
    pub fn grpc_address(&self, service: &str) -> Result<String> {
        Ok(self.service(service)?.ports.grpc_address())
    }

    fn service(&self, service: &str) -> Result<&ServiceProcess> {
        self.services.get(service).with_context(|| format!("no {service}"))
    }

    /// Objects of a kind in the namespace of the services.
    ///
    /// # Errors
    /// When the kind is not served.
    pub async fn api(&self, kind: &str) -> Result<Api<DynamicObject>> {
        Ok(self.plane.api(api_version(kind), kind, NAMESPACE).await?)
    }
}

impl Links {
    async fn to(ports: &BTreeMap<&'static str, Ports>) -> Result<Self> {
        let to = async |service: &str| -> Result<FaultProxy> {
            Ok(FaultProxy::tcp(&of(ports, service)?.grpc_address()).await?)
        };
        Ok(Self {
            artifacts: to("source-controller").await?,
            resolutions: to("image-reflector-controller").await?,
            events: to("notification-controller").await?,
        })
    }
}

/// Ports of a service.
fn of(ports: &BTreeMap<&'static str, Ports>, service: &str) -> Result<Ports> {
    ports.get(service).copied().with_context(|| format!("no {service}"))
}
