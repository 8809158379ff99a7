//! The benchmark of the three services that the other ones leave out: scans and policies of images, updates of manifests, and
//! notifications. Each runs alone beside a control plane of its own; Weir's, and Flux's in the same run where its program is given.

mod notifications;
mod scans;
mod updates;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Parser;
use weir_testkit::{ControlPlane, Controller};

use crate::bench::scenarios::{Results, Subject};
use crate::bench::{Programs, command, commit, machine};
use crate::weir_process::crds;

/// The namespace of all objects.
const NAMESPACE: &str = "bench";
/// The API of image objects.
const IMAGE: &str = "image.toolkit.fluxcd.io/v1";

/// Measures scans and policies of many images, many updates of manifests, and many notifications.
#[derive(Debug, Parser)]
pub struct Options {
    /// The folder of Weir's programs.
    #[arg(long, default_value = "target/release")]
    weir: PathBuf,
    /// Flux's image reflector; without it Weir's is measured alone.
    #[arg(long, env = "FLUX_IMAGE_REFLECTOR_CONTROLLER")]
    flux_image_reflector: Option<PathBuf>,
    /// Flux's image automation.
    #[arg(long, env = "FLUX_IMAGE_AUTOMATION_CONTROLLER")]
    flux_image_automation: Option<PathBuf>,
    /// Flux's notification controller.
    #[arg(long, env = "FLUX_NOTIFICATION_CONTROLLER")]
    flux_notification: Option<PathBuf>,
    /// ImageRepositories and ImagePolicies.
    #[arg(long, default_value_t = 500)]
    images: usize,
    /// ImageUpdateAutomations, each with a repository of its own.
    #[arg(long, default_value_t = 100)]
    updates: usize,
    /// Events.
    #[arg(long, default_value_t = 2000)]
    events: usize,
    /// Only print; leave docs/benchmarks-log.md as it is.
    #[arg(long)]
    dry_run: bool,
}

/// A service beside its control plane.
struct Stage {
    maker: &'static str,
    // Fields drop in order: the service goes before what it talks to.
    controller: Controller,
    plane: ControlPlane,
}

impl Stage {
    /// Starts a service alone; Weir's takes no gRPC, as nobody would call it.
    async fn start(maker: &'static str, program: &Path, flags: &[String]) -> Result<Self> {
        let plane = ControlPlane::options().audit().start().await?;
        plane.apply_crds(&crds()).await?;
        plane.namespace("flux-system").await?;
        plane.namespace(NAMESPACE).await?;
        let mut all = vec!["--log-level=error".to_owned()];
        if maker == Programs::WEIR {
            all.push("--grpc-addr=0".to_owned());
        }
        all.extend_from_slice(flags);
        let controller = Controller::start(command(program, None)?, &plane, "flux-system", &all).await?;
        Ok(Self { maker, controller, plane })
    }

    fn subject(&self) -> Subject<'_> {
        Subject { maker: self.maker, controller: &self.controller, plane: &self.plane }
    }
}

/// Runs the scenarios with each program.
///
/// # Errors
/// When a server does not start or a scenario does not end in time.
pub async fn run(options: &Options) -> Result<()> {
    let mut results = Results::default();
    for (maker, program) in programs(options, "image-reflector-controller", &options.flux_image_reflector) {
        scans::play(&mut results, maker, &program, options.images).await?;
    }
    for (maker, program) in programs(options, "image-automation-controller", &options.flux_image_automation) {
        updates::play(&mut results, maker, &program, options.updates).await?;
    }
    for (maker, program) in programs(options, "notification-controller", &options.flux_notification) {
        notifications::play(&mut results, maker, &program, options.events).await?;
    }
    let text = section(&results, options)?;
    println!("\n{text}");
    if options.dry_run { Ok(()) } else { crate::bench::append(&text) }
}

fn programs<'a>(
    options: &'a Options,
    service: &str,
    flux: &'a Option<PathBuf>,
) -> impl Iterator<Item = (&'static str, PathBuf)> + use<'a> {
    let flux = flux.iter().map(|program| (Programs::FLUX, program.clone()));
    [(Programs::WEIR, options.weir.join(service))].into_iter().chain(flux)
}

/// One section of docs/benchmarks-log.md.
fn section(results: &Results, options: &Options) -> Result<String> {
    let mut text = String::new();
    writeln!(
        text,
        "## Images and notifications, {}\n",
        jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC")
    )?;
    writeln!(
        text,
        "{}; commit {}; each service alone; {} ImageRepositories of {} repositories with {} tags each and as many ImagePolicies, {}\n\
         ImageUpdateAutomations, {} events for one Alert.\n",
        machine(),
        commit(),
        options.images,
        scans::REPOSITORIES,
        scans::TAGS,
        options.updates,
        options.events,
    )?;
    Ok(text + &results.table()?)
}
