//! Remote bases on the command line: nothing is set up before the first one is met.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Args;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio_util::sync::CancellationToken;
use weir_kustomize::{Answer, FetchError, FileSystem, GitUrl, Remote, RemoteError};
use weir_remote_bases::{Fetcher, RemoteBases};
use weir_runtime::args::Switch;

use crate::error::Error;

/// True when bases of a directory may lie elsewhere, as a person says.
#[derive(Args, Debug, Clone, Copy)]
pub(crate) struct RemoteFlags {
    /// Fetch the bases and files that kustomizations name by URL, from Git repositories and over HTTP.
    #[arg(long)]
    allow_remote_bases: bool,
}

/// True when bases of a Kustomization may lie elsewhere, as they may for the service (KS-BLD-33).
#[derive(Args, Debug, Clone, Copy)]
pub(crate) struct ServiceRemoteFlags {
    /// Fetch the bases and files that kustomizations name by URL, as the service does; --allow-remote-bases=false refuses them.
    #[arg(long, default_value_t = true, switch())]
    allow_remote_bases: bool,
}

/// Returns a fetcher of remote bases.
pub(crate) fn fetcher() -> Arc<dyn Remote> {
    Arc::new(OnFirstUse::default())
}

impl RemoteFlags {
    /// The fetcher of remote bases, if the flag allows it.
    pub(crate) fn remote(self) -> Option<Arc<dyn Remote>> {
        self.allow_remote_bases.then(fetcher)
    }
}

impl ServiceRemoteFlags {
    /// The fetcher of remote bases, unless the flag refuses them.
    pub(crate) fn remote(self) -> Option<Arc<dyn Remote>> {
        self.allow_remote_bases.then(fetcher)
    }
}

/// Returns the message of a failed build; that of a refused one names the flag.
pub(super) fn failed(error: &weir_kustomize::Error, text: String) -> Error {
    match error.remote() {
        Some(RemoteError::Disabled(_)) => {
            Error::Build(format!("{text}; use --allow-remote-bases to fetch it"))
        }
        _ => Error::Build(text),
    }
}

#[derive(Debug, Default)]
struct OnFirstUse(OnceLock<Result<Started, String>>);

#[derive(Debug)]
struct Started {
    fetcher: Fetcher,
    /// Unless the command has one.
    _runtime: Option<Runtime>,
}

impl Started {
    fn new() -> Result<Self, String> {
        let runtime = match Handle::try_current() {
            Ok(_) => None,
            Err(_) => {
                let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
                Some(runtime.map_err(|error| format!("cannot start fetching: {error}"))?)
            }
        };
        let entered = runtime.as_ref().map(Runtime::enter);
        let mut bases = RemoteBases::new().map_err(|error| error.to_string())?;
        if let Some(home) = std::env::var_os("HOME") {
            bases = bases.with_ssh_folder(PathBuf::from(home).join(".ssh"));
        }
        // As long as any build may; the user can end it sooner.
        let fetcher = bases.for_build(Duration::MAX, CancellationToken::new());
        drop(entered);
        Ok(Self { fetcher, _runtime: runtime })
    }
}

impl OnFirstUse {
    fn fetcher(&self) -> Result<&Fetcher, FetchError> {
        let started = self.0.get_or_init(Started::new).as_ref();
        started.map(|started| &started.fetcher).map_err(|error| FetchError::Failed(error.clone()))
    }
}

impl Remote for OnFirstUse {
    fn repository(&self, url: &GitUrl) -> Result<Box<dyn FileSystem>, FetchError> {
        self.fetcher()?.repository(url)
    }

    fn get(&self, url: &str, limit: u64) -> Result<Answer, FetchError> {
        self.fetcher()?.get(url, limit)
    }
}
