//! Logs as Flux's controllers write them: one JSON line an entry on stderr, with the keys that `flux logs` reads (OBS-01).

mod format;
#[cfg(test)]
pub(crate) mod written;

use clap::ValueEnum;
use kube::Resource;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::JsonFields;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use self::format::ZapFormat;
use crate::cache::ObjectKey;

/// Verbosity of the log. Its words are taken in quotes too: Flux's guide to logs writes `--log-level="debug"` into a manifest, where no
/// shell takes the quotes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// Everything, including requests and answers.
    #[value(alias = r#""trace""#)]
    Trace,
    /// Decisions.
    #[value(alias = r#""debug""#)]
    Debug,
    /// Changes of state, one line per reconcile.
    #[value(alias = r#""info""#)]
    Info,
    /// Problems that need someone to act.
    #[value(alias = r#""error""#)]
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
        Level::Error => "error",
    };
    let quiet = "hyper=warn,hyper_util=warn,h2=warn,rustls=warn,tower=warn,reqwest=warn,russh=warn,kube=warn,tonic=warn,pgp=error";
    let filter = EnvFilter::new(format!("{own},{quiet},aws_config=warn,aws_smithy_runtime=warn"));
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .event_format(ZapFormat { encoding })
        .fmt_fields(JsonFields::new())
        .with_ansi(false);
    let _ = tracing_subscriber::registry().with(filter).with(layer).try_init();
}

/// Returns the span of one run of a reconciler, which puts into every entry the object, and an id that no other run
/// has (OBS-01, SRC-LOG-1).
pub(crate) fn run_span<K: Resource<DynamicType = ()>>(key: &ObjectKey) -> tracing::Span {
    let reconcile_id = uuid::Uuid::new_v4();
    tracing::error_span!(
        "run",
        controllerGroup = &*K::group(&()),
        controllerKind = &*K::kind(&()),
        namespace = key.namespace,
        name = key.name,
        reconcileID = %reconcile_id
    )
}
