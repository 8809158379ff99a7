//! The table.

use std::fmt::Write;

use anyhow::Result;

use super::Options;
use crate::bench::scenarios::Results;
use crate::bench::{commit, machine};

/// One section of docs/benchmarks-log.md.
pub(super) fn section(results: &Results, options: &Options) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "## Sources, {}\n", jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC"))?;
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let limit =
        options.memory.map(|mebibytes| format!(" within {mebibytes} MiB of memory")).unwrap_or_default();
    writeln!(
        text,
        "{}, load {} at the end; commit {}; `source-controller --concurrent=20` alone{limit}; {} OCIRepositories and \
         GitRepositories, repositories of\n{} MiB of which one folder (monorepo) or all (whole) is the artifact, an index of {} MiB, {} objects.\n",
        machine(),
        load.split(' ').next().unwrap_or_default(),
        commit(),
        options.n,
        options.monorepo,
        options.index,
        options.objects,
    )?;
    Ok(text + &results.table()?)
}
