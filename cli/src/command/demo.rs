//! `weir demo`: the main loop on a throw-away control plane, each step checked and timed.

mod control_plane;
mod git;
mod process;
mod steps;

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, timeout_at};

use self::control_plane::{ControlPlane, Programs};
use self::git::Repository;
use self::process::{Stage, free_ports};
use self::steps::Steps;
use crate::apply;
use crate::cluster::Cluster;
use crate::error::{Error, chain};
use crate::global::Global;
use crate::manifests::crds;
use crate::output::{print, progress};

/// A step that takes longer has failed; on a quiet machine each takes a second or two.
const STEP: Duration = Duration::from_secs(90);
/// Namespace of the services and of their objects.
const NAMESPACE: &str = "flux-system";
/// Name of the program `weir run` on the stage.
const WEIR: &str = "weir";
/// Listeners of `weir run`, each of which gets a free port.
const LISTENERS: [&str; 6] = ["storage", "health", "grpc", "events", "receiver", "metrics"];

/// Flags of a demo.
#[derive(Args, Debug)]
#[command(
    after_help = "The steps: manifests are committed and become objects, an upgrade is rolled out, a change by hand is \
taken back, an object whose manifest is removed is pruned. Nothing outside a temporary folder is touched, and no cluster of \
yours. It needs git and the programs of a control plane, which `make control-plane` in Weir's repository builds. Images and \
notifications are left out, since they need a registry and a chat: `make demo` there has them.

Examples:
  # The main loop on a throw-away control plane
  weir demo

  # Leave it up until Ctrl-C, to try commands and commits
  weir demo --keep"
)]
pub(crate) struct Demo {
    /// Program that `make control-plane` builds, or a folder with etcd and kube-apiserver [default: $WEIR_CONTROL_PLANE,
    /// $KUBEBUILDER_ASSETS, or the newest one in ~/.cache/weir].
    #[arg(long, value_name = "PATH")]
    control_plane: Option<PathBuf>,
    /// Leave it running until Ctrl-C, and print how to reach it.
    #[arg(long)]
    keep: bool,
}

impl Demo {
    /// Plays the demo, and takes away all that it has made, whatever comes of it.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let programs = Programs::find(self.control_plane.as_deref())?;
        let mut stage = Stage::new()?;
        let mut stopped = pin!(stopped()?);
        let start = Instant::now();
        let played = tokio::select! {
            // Before what the signal has done to the programs, which Ctrl-C reaches as well.
            biased;
            () = &mut stopped => Err(Error::Demo("stopped by a signal".to_owned())),
            played = play(&mut stage, &programs, start + global.timeout.to_std()) => played,
        };
        let outcome = match played {
            Ok(world) if self.keep => world.stay_up(stopped).await,
            played => played.map(drop),
        };
        stage.end().await?;
        outcome?;
        progress::success(&format!("all of it is removed again{}", after(start)));
        Ok(())
    }
}

/// The servers of a demo that has been played.
struct World {
    kubeconfig: PathBuf,
    repository: Repository,
    grpc: String,
}

impl World {
    /// Prints how to reach it and waits for the end.
    async fn stay_up(self, stopped: impl Future<Output = ()>) -> Result<(), Error> {
        progress::waiting("it stays up until Ctrl-C, and applies what is pushed to its repository");
        print(&format!(
            "export KUBECONFIG={}\ngit clone {}\nweir get all -A\nweir watch --grpc-addr {}\n",
            self.kubeconfig.display(),
            self.repository.url,
            self.grpc
        ))?;
        stopped.await;
        Ok(())
    }
}

async fn play(stage: &mut Stage, programs: &Programs, deadline: Instant) -> Result<World, Error> {
    progress::action("starting a control plane");
    let plane = step(deadline, ControlPlane::start(stage, programs), |plane| {
        format!("etcd and kube-apiserver {} serve", plane.version)
    });
    let ControlPlane { client, kubeconfig, .. } = plane.await?;
    let cluster = &Cluster { client, namespace: NAMESPACE.to_owned(), deadline };

    progress::action("installing the CRDs, starting weir run");
    let weir = step(deadline, run_weir(stage, cluster, &kubeconfig), |_| "all services are ready".to_owned());
    let grpc = weir.await?;

    progress::action("making a Git repository");
    let folder = stage.path("git");
    let repository = step(deadline, Repository::serve(&folder), |it| format!("it is served at {}", it.url));
    let repository = repository.await?;

    let steps = Steps { cluster, repository: &repository };
    let played = async {
        progress::action("committing manifests of a Deployment and a ConfigMap");
        step(deadline, steps.commit(), String::clone).await?;
        progress::action("committing an upgrade");
        step(deadline, steps.upgrade(), String::clone).await?;
        progress::action("changing the ConfigMap by hand");
        step(deadline, steps.drift(), String::clone).await?;
        progress::action("committing the removal of the ConfigMap");
        step(deadline, steps.prune(), String::clone).await
    };
    match played.await {
        Ok(_) => Ok(World { kubeconfig, repository, grpc }),
        Err(error) => {
            Err(Error::Demo(format!("{error}; the last that weir run has logged:\n{}", stage.log(WEIR))))
        }
    }
}

/// Plays a step and says what came of it, and when.
async fn step<T>(
    deadline: Instant,
    play: impl Future<Output = Result<T, Error>>,
    shown: impl FnOnce(&T) -> String,
) -> Result<T, Error> {
    let start = Instant::now();
    let played = timeout_at(deadline.min(start + STEP), play).await.map_err(|_| Error::Deadline)??;
    progress::success(&format!("{}{}", shown(&played), after(start)));
    Ok(played)
}

fn after(start: Instant) -> String {
    format!(" ({:.1} s)", start.elapsed().as_secs_f64())
}

/// Installs the CRDs and starts this program as `weir run`; returns the address of its gRPC server when it is ready.
async fn run_weir(stage: &mut Stage, cluster: &Cluster, kubeconfig: &Path) -> Result<String, Error> {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
    apply::apply(cluster, &[crds()?, vec![namespace]].concat(), |_| {}).await?;
    let temporary = stage.path("tmp");
    std::fs::create_dir(&temporary)?;
    let mut command = Command::new(std::env::current_exe()?);
    // Variables of this environment that are about services are not about these.
    command.env_clear().env("KUBECONFIG", kubeconfig).env("RUNTIME_NAMESPACE", NAMESPACE);
    command.env("TMPDIR", temporary).arg("run");
    command.arg("--storage-path").arg(stage.path("artifacts")).arg("--state-dir").arg(stage.path("state"));
    let ports = free_ports::<{ LISTENERS.len() }>()?;
    let address = |port: u16| format!("127.0.0.1:{port}");
    command.args(LISTENERS.iter().zip(ports).map(|(name, port)| format!("--{name}-addr={}", address(port))));
    let [storage, health, grpc, ..] = ports.map(address);
    command.arg(format!("--storage-adv-addr={storage}"));
    stage.start(WEIR, command)?;
    let client = reqwest::Client::builder().no_proxy().build();
    let client = client.map_err(|error| Error::Demo(chain(&error)))?;
    let ready = format!("http://{health}/readyz");
    stage.until(async || client.get(&ready).send().await.ok()?.error_for_status().ok().map(drop)).await?;
    Ok(grpc)
}

/// Returns a future that ends when this process is asked to end.
fn stopped() -> Result<impl Future<Output = ()>, Error> {
    let [mut interrupt, mut terminate, mut hangup] =
        [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?];
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}
