use std::collections::BTreeMap;
use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use weir_testkit::AuditCounts;

use crate::{Usage, World};

/// Ten times what Flux needs for its slowest phase at N = 1000.
const DEADLINE: Duration = Duration::from_secs(30 * 60);

/// No request for this long means that the outboxes of events are empty: Weir sends several a second while it has any.
const DRAINED: Duration = Duration::from_secs(1);

/// The user of [`weir_testkit::ControlPlane::weir_kubeconfig_path`].
const USER: &str = "weir";

/// The cost of one phase.
#[derive(Debug, Clone)]
pub struct Phase {
    /// Its name.
    pub name: &'static str,
    /// From the first request of the user until the last object is as wanted.
    pub seconds: f64,
    /// Requests of Weir by verb, events that it sent a moment later among them.
    pub requests: BTreeMap<String, u64>,
    /// CPU time of Weir in seconds.
    pub cpu_seconds: f64,
    /// The most resident memory of Weir during the phase, in bytes; of all shards together.
    pub peak_rss_bytes: u64,
    /// CPU time of the API server in seconds.
    pub server_cpu_seconds: f64,
    /// Seconds that the requests nobody could leave out take alone, if that was measured ([`super::bare::Bare`]).
    pub bare_seconds: Option<f64>,
}

impl Phase {
    /// Requests of all verbs.
    #[must_use]
    pub fn total_requests(&self) -> u64 {
        self.requests.values().sum()
    }
}

/// Measures phases of a world with an audit log.
pub(super) struct Meter<'a> {
    world: &'a World,
    size: usize,
    detail: bool,
    /// The processes of Weir.
    pids: Vec<u32>,
    bare: BTreeMap<&'static str, f64>,
    phases: Vec<Phase>,
}

impl<'a> Meter<'a> {
    pub(super) fn new(
        world: &'a World,
        pids: Vec<u32>,
        bare: BTreeMap<&'static str, f64>,
        size: usize,
        detail: bool,
    ) -> Self {
        Self { world, size, detail, pids, bare, phases: Vec::new() }
    }

    pub(super) async fn measure(
        &mut self,
        name: &'static str,
        phase: impl Future<Output = Result<()>>,
    ) -> Result<()> {
        let counts = self.world.plane.audit_counts()?;
        let (before, server) = (self.usage()?, self.server()?);
        self.pids.iter().try_for_each(|pid| Usage::reset_peak(*pid))?;
        let start = Instant::now();
        tokio::time::timeout(DEADLINE, phase).await.with_context(|| format!("{name} took too long"))??;
        let seconds = start.elapsed().as_secs_f64();
        let counts = self.drained().await?.since(&counts);
        let after = self.usage()?;
        let phase = Phase {
            name,
            seconds,
            requests: by_verb(&counts),
            cpu_seconds: after.cpu_seconds - before.cpu_seconds,
            peak_rss_bytes: after.peak_rss_bytes,
            server_cpu_seconds: self.server()?.cpu_seconds - server.cpu_seconds,
            bare_seconds: self.bare.get(name).copied(),
        };
        self.show(&phase, &counts);
        self.phases.push(phase);
        Ok(())
    }

    /// The usage of all processes of Weir together.
    fn usage(&self) -> Result<Usage> {
        let mut all = Usage { cpu_seconds: 0.0, peak_rss_bytes: 0 };
        for pid in &self.pids {
            let usage = Usage::of(*pid)?;
            all.cpu_seconds += usage.cpu_seconds;
            all.peak_rss_bytes += usage.peak_rss_bytes;
        }
        Ok(all)
    }

    /// The usage of the API server, the second of the control plane's processes.
    fn server(&self) -> Result<Usage> {
        Usage::of(*self.world.plane.pids().get(1).context("no API server")?)
    }

    /// The counts when Weir has sent what the phase left to be sent, so that it does not count in the next one.
    async fn drained(&self) -> Result<AuditCounts> {
        let mut counts = self.world.plane.audit_counts()?;
        loop {
            #[expect(clippy::disallowed_methods, reason = "a benchmark is no run")]
            tokio::time::sleep(DRAINED).await;
            let newer = self.world.plane.audit_counts()?;
            if by_verb(&newer) == by_verb(&counts) {
                return Ok(newer);
            }
            counts = newer;
        }
    }

    pub(super) fn into_phases(self) -> Vec<Phase> {
        self.phases
    }

    fn show(&self, phase: &Phase, counts: &AuditCounts) {
        #[expect(clippy::cast_precision_loss, reason = "numbers for people")]
        let each = phase.total_requests() as f64 / self.size as f64;
        println!(
            "  {:<9} {:>7.1} s  {:>6} requests ({each:.1} a unit)  {:>6.1} CPU-s  {:>4} MiB  API server {:>6.1} CPU-s{}",
            phase.name,
            phase.seconds,
            phase.total_requests(),
            phase.cpu_seconds,
            phase.peak_rss_bytes >> 20,
            phase.server_cpu_seconds,
            phase
                .bare_seconds
                .map(|bare| format!("  {:.2} x bare", phase.seconds / bare))
                .unwrap_or_default()
        );
        if self.detail {
            for (key, count) in counts.iter().filter(|(key, _)| key.user == USER) {
                println!("      {count:>6} {} {}", key.verb, key.resource);
            }
        }
    }
}

fn by_verb(counts: &AuditCounts) -> BTreeMap<String, u64> {
    let mut verbs = BTreeMap::new();
    for (key, count) in counts.iter().filter(|(key, _)| key.user == USER) {
        *verbs.entry(key.verb.clone()).or_default() += count;
    }
    verbs
}
