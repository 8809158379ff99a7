//! Scenarios of one service alone, with Weir's program and then with Flux's, and their table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use weir_testkit::{ControlPlane, Controller};

use super::Programs;
use crate::Usage;

/// Many times what the slowest scenario needs.
const DEADLINE: Duration = Duration::from_secs(30 * 60);
/// The user of [`ControlPlane::weir_kubeconfig_path`], as whom the service acts.
const USER: &str = "weir";

/// The cost of one scenario with one program.
#[derive(Debug, Clone, Copy)]
struct Measured {
    /// From the first request of the user until the last object is as wanted.
    seconds: f64,
    /// Requests to the API server, reads and watches included, a unit.
    requests: f64,
    cpu_seconds: f64,
    peak_rss_bytes: u64,
}

/// The costs of all scenarios, by scenario and maker of the program.
#[derive(Debug, Default)]
pub(crate) struct Results(BTreeMap<(&'static str, &'static str), Measured>);

/// A service of one maker beside its control plane.
pub(crate) struct Subject<'a> {
    pub(crate) maker: &'static str,
    pub(crate) controller: &'a Controller,
    pub(crate) plane: &'a ControlPlane,
}

impl Results {
    /// Measures the service while `work` goes on, which is about so many units.
    pub(crate) async fn measure(
        &mut self,
        subject: &Subject<'_>,
        scenario: &'static str,
        units: usize,
        work: impl Future<Output = Result<()>>,
    ) -> Result<()> {
        let pid = subject.controller.pid();
        let (counts, usage) = (subject.plane.audit_counts()?, Usage::of(pid)?);
        Usage::reset_peak(pid)?;
        let start = Instant::now();
        tokio::time::timeout(DEADLINE, work)
            .await
            .with_context(|| format!("{scenario} took too long"))?
            .with_context(|| format!("{scenario}: {}", subject.controller.log_tail()))?;
        let seconds = start.elapsed().as_secs_f64();
        let after = Usage::of(pid)?;
        let total = subject.plane.audit_counts()?.since(&counts).total(|key| key.user == USER);
        #[expect(clippy::cast_precision_loss, reason = "numbers for people")]
        let requests = total as f64 / units as f64;
        let cpu_seconds = after.cpu_seconds - usage.cpu_seconds;
        let measured = Measured { seconds, requests, cpu_seconds, peak_rss_bytes: after.peak_rss_bytes };
        println!(
            "  {:<5} {scenario:<34} {seconds:>7.2} s {requests:>7.2} requests {cpu_seconds:>6.2} CPU-s {:>4} MiB",
            subject.maker,
            measured.peak_rss_bytes >> 20
        );
        self.0.insert((scenario, subject.maker), measured);
        Ok(())
    }

    /// One row for each scenario and program.
    pub(crate) fn table(&self) -> Result<String> {
        let mut text = String::from(
            "| scenario | program | seconds | requests a unit | CPU-seconds | peak MiB | Flux's time, CPU, memory by Weir's |\n\
             |---|---|---|---|---|---|---|\n",
        );
        let scenarios: BTreeSet<_> = self.0.keys().map(|(scenario, _)| *scenario).collect();
        for scenario in scenarios {
            let [weir, flux] = [Programs::WEIR, Programs::FLUX].map(|maker| self.0.get(&(scenario, maker)));
            row(&mut text, scenario, Programs::WEIR, weir, ratios(weir, flux))?;
            row(&mut text, scenario, Programs::FLUX, flux, String::new())?;
        }
        Ok(text)
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers for people")]
fn row(
    text: &mut String,
    scenario: &str,
    maker: &str,
    measured: Option<&Measured>,
    ratios: String,
) -> Result<()> {
    let Some(measured) = measured else { return Ok(()) };
    let mebibytes = measured.peak_rss_bytes as f64 / f64::from(1 << 20);
    writeln!(
        text,
        "| {scenario} | {maker} | {:.2} | {:.2} | {:.2} | {mebibytes:.0} | {ratios} |",
        measured.seconds, measured.requests, measured.cpu_seconds
    )?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "numbers for people")]
fn ratios(weir: Option<&Measured>, flux: Option<&Measured>) -> String {
    let (Some(weir), Some(flux)) = (weir, flux) else { return String::new() };
    let by = |flux: f64, weir: f64| format!("{:.1}x", flux / weir.max(0.01));
    let memory = by(flux.peak_rss_bytes as f64, weir.peak_rss_bytes as f64);
    [by(flux.seconds, weir.seconds), by(flux.cpu_seconds, weir.cpu_seconds), memory].join(", ")
}
