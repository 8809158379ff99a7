use std::collections::BTreeMap;
use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use weir_testkit::AuditCounts;

use super::bare::{BareCost, BareCosts};
use super::stage::Stage;
use crate::Usage;

/// Ten times what Flux needs for its slowest phase at N = 1000.
const DEADLINE: Duration = Duration::from_secs(30 * 60);

/// No request for this long means that the outboxes of events are empty: a service sends several a second while it has any.
const DRAINED: Duration = Duration::from_secs(1);

/// The user of [`weir_testkit::ControlPlane::weir_kubeconfig_path`], as whom the services act.
const USER: &str = "weir";

/// The cost of one phase.
#[derive(Debug, Clone)]
pub(super) struct Phase {
    /// Its name.
    pub(super) name: String,
    /// Units that it worked on.
    pub(super) units: usize,
    /// From the first request of the user until the last object is as wanted.
    pub(super) seconds: f64,
    /// Requests by verb, events that were sent a moment later among them.
    pub(super) requests: BTreeMap<String, u64>,
    /// CPU time of the services in seconds.
    pub(super) cpu_seconds: f64,
    /// The most resident memory of the source services during the phase, in bytes; of all shards together.
    pub(super) source_rss_bytes: u64,
    /// The same of the kustomize services.
    pub(super) kustomize_rss_bytes: u64,
    /// CPU time of the API server in seconds.
    pub(super) server_cpu_seconds: f64,
    /// The cost of the requests that nobody could leave out, alone, if that was measured ([`super::bare::Bare`]).
    pub(super) bare: Option<BesideBare>,
}

impl Phase {
    /// Requests of all verbs for each unit.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "numbers for people")]
    pub(super) fn requests_a_unit(&self) -> f64 {
        self.requests.values().sum::<u64>() as f64 / self.units as f64
    }

    /// Peak resident memory of the kustomize services in MiB.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "numbers for people")]
    pub(super) fn kustomize_mebibytes(&self) -> f64 {
        self.kustomize_rss_bytes as f64 / f64::from(1 << 20)
    }
}

/// The cost of one phase for the bare applier, before all phases of the services and after them. Where the two differ much, the machine
/// was busy with something else, and the multiple says little.
#[derive(Debug, Clone, Copy)]
pub(super) struct BesideBare {
    pub(super) before: BareCost,
    pub(super) after: BareCost,
}

impl BesideBare {
    /// The mean of both in seconds.
    pub(super) fn seconds(self) -> f64 {
        f64::midpoint(self.before.seconds, self.after.seconds)
    }
}

/// Measures phases of a stage.
pub(super) struct Meter<'a> {
    stage: &'a Stage,
    detail: bool,
    phases: Vec<Phase>,
}

impl<'a> Meter<'a> {
    pub(super) fn new(stage: &'a Stage, detail: bool) -> Self {
        Self { stage, detail, phases: Vec::new() }
    }

    pub(super) async fn measure(
        &mut self,
        name: impl Into<String>,
        units: usize,
        phase: impl Future<Output = Result<()>>,
    ) -> Result<()> {
        let name = name.into();
        let counts = self.drained().await?;
        let (before, server) = (self.usage()?, self.stage.server()?);
        self.pids().try_for_each(Usage::reset_peak)?;
        let start = Instant::now();
        tokio::time::timeout(DEADLINE, phase).await.with_context(|| format!("{name} took too long"))??;
        let seconds = start.elapsed().as_secs_f64();
        let counts = self.drained().await?.since(&counts);
        let after = self.usage()?;
        let phase = Phase {
            units,
            seconds,
            requests: by_verb(&counts),
            cpu_seconds: after.cpu_seconds - before.cpu_seconds,
            source_rss_bytes: usage(self.stage.source())?.peak_rss_bytes,
            kustomize_rss_bytes: usage(self.stage.kustomize())?.peak_rss_bytes,
            server_cpu_seconds: self.stage.server()?.cpu_seconds - server.cpu_seconds,
            bare: None,
            name,
        };
        self.show(&phase, &counts);
        self.phases.push(phase);
        Ok(())
    }

    fn pids(&self) -> impl Iterator<Item = u32> {
        self.stage.source().chain(self.stage.kustomize())
    }

    /// The usage of all services together.
    fn usage(&self) -> Result<Usage> {
        usage(self.pids())
    }

    /// The counts when the services have sent what the phase left to be sent, so that it does not count in the next one.
    async fn drained(&self) -> Result<AuditCounts> {
        let mut counts = self.stage.plane.audit_counts()?;
        loop {
            #[expect(clippy::disallowed_methods, reason = "a benchmark is no run")]
            tokio::time::sleep(DRAINED).await;
            let newer = self.stage.plane.audit_counts()?;
            if by_verb(&newer) == by_verb(&counts) {
                return Ok(newer);
            }
            counts = newer;
        }
    }

    pub(super) fn into_phases(self) -> Vec<Phase> {
        self.phases
    }

    /// The phases with the costs of the bare applier, which played before them and after them.
    pub(super) fn into_phases_beside(mut self, before: &BareCosts, after: &BareCosts) -> Vec<Phase> {
        for phase in &mut self.phases {
            let name = phase.name.as_str();
            let (Some(&before), Some(&after)) = (before.get(name), after.get(name)) else { continue };
            let bare = BesideBare { before, after };
            println!(
                "  {name:<34} {:>7.2} x bare ({:.1} s before, {:.1} s after; API server {:.1} and {:.1} CPU-s)",
                phase.seconds / bare.seconds(),
                before.seconds,
                after.seconds,
                before.server_cpu_seconds,
                after.server_cpu_seconds
            );
            phase.bare = Some(bare);
        }
        self.phases
    }

    fn show(&self, phase: &Phase, counts: &AuditCounts) {
        println!(
            "  {:<34} {:>7.1} s  {:>8.2} requests a unit  {:>6.1} CPU-s  {:>4.0} MiB  API server {:>6.1} CPU-s",
            phase.name,
            phase.seconds,
            phase.requests_a_unit(),
            phase.cpu_seconds,
            phase.kustomize_mebibytes(),
            phase.server_cpu_seconds
        );
        if self.detail {
            for (key, count) in counts.iter().filter(|(key, _)| key.user == USER) {
                println!("      {count:>6} {} {}", key.verb, key.resource);
            }
        }
    }
}

/// The usage of processes together.
fn usage(pids: impl Iterator<Item = u32>) -> Result<Usage> {
    let mut all = Usage { cpu_seconds: 0.0, peak_rss_bytes: 0 };
    for pid in pids {
        let usage = Usage::of(pid)?;
        all.cpu_seconds += usage.cpu_seconds;
        all.peak_rss_bytes += usage.peak_rss_bytes;
    }
    Ok(all)
}

fn by_verb(counts: &AuditCounts) -> BTreeMap<String, u64> {
    let mut verbs = BTreeMap::new();
    for (key, count) in counts.iter().filter(|(key, _)| key.user == USER) {
        *verbs.entry(key.verb.clone()).or_default() += count;
    }
    verbs
}
