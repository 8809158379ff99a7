//! Flags of every command (cli.md 1.1).

mod cluster_flags;
mod kubeconfig;
mod login;
mod namespace;
mod oidc;
mod throttle;

use clap::Args;
use kube::Config;
use tokio::time::{Instant, timeout_at};
use weir_api::Duration;
use weir_runtime::client::Login;

use self::cluster_flags::ClusterFlags;
pub(crate) use self::cluster_flags::bearer_token;
pub(crate) use self::namespace::DEFAULT as DEFAULT_NAMESPACE;
use self::namespace::Wishes;
use crate::cluster::Cluster;
use crate::environment;
use crate::error::Error;

/// Flags of every command.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Global flags")]
pub(crate) struct Global {
    /// Namespace of the request (default "flux-system", or $WEIR_SYSTEM_NAMESPACE, $FLUX_SYSTEM_NAMESPACE).
    #[arg(short, long, global = true)]
    namespace: Option<String>,
    /// Use the namespace of the kubeconfig's context when --namespace is not given.
    #[arg(long, global = true, hide_short_help = true)]
    ns_follows_kube_context: bool,
    /// Longest time for the whole command, such as 30s or 1m30s.
    #[arg(long, global = true, default_value = "5m", value_name = "DURATION")]
    pub(crate) timeout: Duration,
    /// Print the manifests that `install` applies; other commands have nothing more to print.
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) access: ClusterFlags,
}

impl Global {
    /// The cluster that the flags lead to.
    pub(crate) async fn cluster(&self) -> Result<Cluster, Error> {
        // Time starts to count before anything is asked of anyone.
        let deadline = Instant::now() + self.timeout.to_std();
        let kubeconfig = self.access.kubeconfig()?;
        let namespace = self.namespace_with(kubeconfig.as_ref())?;
        let mut config = self.access.config(kubeconfig.as_ref())?;
        let oidc = kubeconfig.as_ref().and_then(|file| self.access.take_oidc_login(file, &mut config));
        if let Some(login) = oidc.clone() {
            timeout_at(deadline, login.header()).await.map_err(|_| Error::Deadline)??;
        }
        let program = login::program(&config.auth_info);
        let builder = weir_runtime::client::builder(config)
            .map_err(|error| login::refused(&error, program.as_deref()))?;
        let bearing = oidc::Bearing(oidc);
        let client = builder.with_layer(&bearing).with_layer(&self.access.throttle()).build();
        Ok(Cluster { client, namespace, deadline })
    }

    /// The configuration of the services of `run`, and the login of a user who logs in by OIDC.
    pub(crate) async fn configuration(&self) -> Result<(Config, Option<Login>), Error> {
        let kubeconfig = self.access.kubeconfig()?;
        let mut config = self.access.config(kubeconfig.as_ref())?;
        let oidc = kubeconfig.as_ref().and_then(|file| self.access.take_oidc_login(file, &mut config));
        if let Some(login) = oidc.clone() {
            login.header().await?;
        }
        Ok((config, oidc.map(|login| Login::new(oidc::Bearing(Some(login))))))
    }

    /// The namespace of the request, for commands that need no client.
    pub(crate) fn namespace(&self) -> Result<String, Error> {
        let is_asked = self.namespace.is_none() && self.follows_context();
        let kubeconfig = if is_asked { self.access.kubeconfig()? } else { None };
        self.namespace_with(kubeconfig.as_ref())
    }

    /// The same flags without `--token`, for a command with a flag of that name for something else, as in Flux.
    pub(crate) fn without_token(&self) -> Self {
        let mut global = self.clone();
        global.access.forget_token();
        global
    }

    /// Refuses a `--namespace` that none can have. Commands that look into no namespace refuse it too, as in Flux.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match &self.namespace {
            Some(name) => {
                namespace::choose(Wishes { flag: Some(name.clone()), ..Wishes::default() }).map(drop)
            }
            None => Ok(()),
        }
    }

    fn follows_context(&self) -> bool {
        self.ns_follows_kube_context || environment::variable("NS_FOLLOWS_KUBE_CONTEXT").is_some()
    }

    fn namespace_with(&self, kubeconfig: Option<&kube::config::Kubeconfig>) -> Result<String, Error> {
        let wishes = Wishes {
            flag: self.namespace.clone(),
            of_context: kubeconfig
                .filter(|_| self.follows_context())
                .and_then(|file| self.access.namespace_of_context(file)),
            of_environment: environment::text("SYSTEM_NAMESPACE"),
        };
        if !self.access.asks_nobody {
            wishes.warn();
        }
        namespace::choose(wishes)
    }
}

/// Returns the namespace that the services are in where no flag says otherwise: that of the environment, or the usual one.
pub(crate) fn services_namespace() -> String {
    let wishes = Wishes { of_environment: environment::text("SYSTEM_NAMESPACE"), ..Wishes::default() };
    namespace::choose(wishes).unwrap_or_else(|_| DEFAULT_NAMESPACE.to_owned())
}
