//! Puts the controller of Git repositories together.

use weir_api::GitRepository;
use weir_git::{Git, GitConfig, SshAlgorithms, Stores};
use weir_runtime::{Cache, ServiceError};

use super::packed::Packed;
use super::{GitReconciler, include, stores};
use crate::source::Wiring;
use crate::verification::Verdicts;

/// Folder of Git repositories beside the artifacts. It starts with a dot: the artifact server gives nothing of such.
const FOLDER: &str = ".git-stores";

/// Adds the loop of GitRepositories, and what keeps their bare stores small.
pub(crate) fn start(wiring: &Wiring<'_>, objects: Cache<GitRepository>) -> Result<(), ServiceError> {
    let args = wiring.args;
    let stores = Stores::new(args.storage_path.join(FOLDER));
    stores::sweep(wiring.service, wiring.storage.clone(), stores.clone(), objects.clone());
    let reconciler = GitReconciler {
        stores,
        git: client(wiring)?,
        secrets: wiring.secrets.clone(),
        storage: wiring.storage.clone(),
        verdicts: Verdicts::default(),
        packed: Packed::default(),
        logins: wiring.logins.clone(),
        objects: objects.clone(),
        requeue_dependency: args.runtime.requeue_dependency.to_std(),
        workload_identity: wiring.workload_identity(),
    };
    let queue = wiring.control(objects.clone(), reconciler);
    include::wake_by_included(&objects, &queue);
    Ok(())
}

fn client(wiring: &Wiring<'_>) -> Result<Git, ServiceError> {
    let other = |error: String| ServiceError::Other(error);
    let ssh = SshAlgorithms::parse(&wiring.args.ssh_kex_algos, &wiring.args.ssh_hostkey_algos);
    let ssh = ssh.map_err(|error| other(error.to_string()))?;
    let config = GitConfig { concurrency: wiring.concurrent(), ssh, step: weir_runtime::killpoint::hit };
    Git::new(config).map_err(|error| other(error.to_string()))
}
