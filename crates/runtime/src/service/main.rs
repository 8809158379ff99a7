//! The body of every service's `main`.

use std::ffi::OsString;
use std::future::Future;
use std::process::ExitCode;

use clap::Parser;
use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::error::stopped_is_ok;
use super::{Entry, ServiceError};
use crate::args::RuntimeArgs;
use crate::environment::Environment;
use crate::grpc::Peers;

/// Stack of a worker thread: CEL parsing and debug builds of deep futures need more than tokio's 2 MiB (DEP-CEL-4). Only
/// what is touched becomes memory.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// A service whose command line is parsed.
pub struct Program {
    args: RuntimeArgs,
    entry: Entry,
}

impl Program {
    /// Parses a command line, of which the first word is the program's name. The last of repeated flags wins, as with Flux:
    /// patches append to the arguments of a Deployment.
    ///
    /// # Errors
    /// When the command line is wrong, or asks for help or the version.
    pub fn parse<A, F>(
        arguments: Vec<OsString>,
        runtime: fn(&A) -> &RuntimeArgs,
        run: fn(A, Environment) -> F,
    ) -> Result<Self, clap::Error>
    where
        A: Parser + Send + 'static,
        F: Future<Output = Result<(), ServiceError>> + Send + 'static,
    {
        let matches = A::command().args_override_self(true).try_get_matches_from(arguments)?;
        let args = A::from_arg_matches(&matches)?;
        Ok(Self { args: runtime(&args).clone(), entry: Box::new(move |env| Box::pin(run(args, env))) })
    }

    /// The service, to be run beside others.
    #[must_use]
    pub fn into_entry(self) -> Entry {
        self.entry
    }

    /// Sets up logs and TLS, runs the service alone and stops it at SIGTERM or SIGINT.
    fn run(self) -> ExitCode {
        crate::log::init(self.args.log_level, self.args.log_encoding);
        forbid_core_dumps();
        install_crypto();
        let tokio = match tokio_runtime() {
            Ok(tokio) => tokio,
            Err(error) => {
                tracing::error!(logger = "setup", %error, "unable to start");
                return ExitCode::FAILURE;
            }
        };
        let outcome = tokio.block_on(async {
            let env = Environment { peers: Peers::of_service(&self.args), ..Environment::from_process()? };
            let stopping = cancel_at_signal(env.shutdown.clone());
            tokio::select! {
                outcome = (self.entry)(env.clone()) => stopped_is_ok(outcome),
                // Never ends before the service: it only cancels, and then waits for a second signal to cut the stop short.
                () = stopping => Err(ServiceError::Other("stopped by a second signal".to_owned())),
            }
        });
        match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                tracing::error!(logger = "setup", %error, "problem running manager");
                ExitCode::FAILURE
            }
        }
    }
}

/// Is the `main` of a service, given how its command line is parsed. The exit code is 1 when the service ends with an error.
pub fn service_main(parse: fn(Vec<OsString>) -> Result<Program, clap::Error>) -> ExitCode {
    match parse(std::env::args_os().collect()) {
        Ok(program) => program.run(),
        Err(refused) => refused.exit(),
    }
}

/// Largest core file, in bytes: none is that small. For programs that core dumps are piped to the kernel takes no notice of the limit,
/// but for this one number, with which they get none.
const CORE_BYTES: u64 = 1;

/// Keeps the memory of this process, in which there are keys and decrypted files, out of core dumps (KS-DEC-29).
pub fn forbid_core_dumps() {
    let limit = Rlimit { current: Some(CORE_BYTES), maximum: Some(CORE_BYTES) };
    if let Err(error) = setrlimit(Resource::Core, limit) {
        // A limit of 0 that cannot be raised forbids files already.
        tracing::debug!(%error, "core dumps are as the system allows them");
    }
}

/// The tokio runtime of a service: half of the processors read and write. The work that takes long has threads of its own, and the more
/// threads hand pieces of a run to each other, the more processor time they take (docs/benchmarks-log.md).
///
/// # Errors
/// When the system gives no threads.
pub fn tokio_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(processors.div_ceil(2)).thread_stack_size(STACK_BYTES).enable_all().build()
}

/// The tokio runtime of a command, on the thread that waits for it: a command waits for others most of its time.
///
/// # Errors
/// When the system gives no way to wait.
pub fn single_threaded_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().thread_stack_size(STACK_BYTES).enable_all().build()
}

/// One crypto provider for the whole process, installed before any TLS is set up (DEP-04).
pub fn install_crypto() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}

/// Cancels at the first SIGTERM or SIGINT; ends at the second.
pub async fn cancel_at_signal(shutdown: CancellationToken) {
    for _ in 0..2 {
        let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        shutdown.cancel();
    }
}
