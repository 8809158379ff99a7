//! Logs as Flux's controllers write them: one JSON line an entry on stderr, with the keys that `flux logs` reads (OBS-01).

mod format;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use format::ZapFormat;

/// Verbosity of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// Everything, the wire included.
    Trace,
    /// Decisions.
    Debug,
    /// State changes, once per reconcile.
    Info,
    /// What someone has to act on.
    Error,
}

/// Form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Encoding {
    /// One JSON object a line.
    Json,
    /// Tab-separated, for people.
    Console,
}

/// Sends the process's log to stderr. Libraries that could print what they send stay at warnings (DEP-OBS-3). A second
/// call does nothing, so that services sharing a process share its log.
pub fn init(level: Level, encoding: Encoding) {
    let own = match level {
        Level::Trace => "trace",
        Level::Debug => "debug",
        Level::Info => "info",
        // Warnings are shown at every level; zap's levels, as Flux has them, know none below error but info.
        Level::Error => "warn",
    };
    let quiet = "hyper=warn,hyper_util=warn,h2=warn,rustls=warn,tower=warn,reqwest=warn,russh=warn,kube=warn,tonic=warn";
    let filter = EnvFilter::new(format!("{own},{quiet},aws_config=warn,aws_smithy_runtime=warn"));
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .event_format(ZapFormat { encoding })
        .with_ansi(false);
    let _ = tracing_subscriber::registry().with(filter).with(layer).try_init();
}
