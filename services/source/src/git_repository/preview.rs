//! The content of a revision that the object does not name, as an artifact of it would be.

use tokio_util::sync::CancellationToken;
use weir_access::Secrets;
use weir_api::GitRepository;
use weir_artifact::{Revision, Tree};
use weir_auth::{LoginOptions, Logins};
use weir_git::{Fetched, Git, GitConfig, Reference, Remote};
use weir_runtime::ObjectKey;

use super::act::{RepositoryParts, submodules};
use super::observe::RULES;
use super::{decide, part};
use crate::source::Failure;

/// A revision that was fetched.
pub struct Preview {
    /// The revision, as the status would name it.
    pub revision: String,
    /// Its files with those of submodules, before anything is left out, and without those of `spec.include`.
    pub tree: Box<dyn Tree + Send>,
}

/// The reason for which a revision cannot be had, as the condition of the object would say it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PreviewError(String);

impl PreviewError {
    fn of(error: &impl ToString) -> Self {
        Self(error.to_string())
    }
}

impl From<Failure> for PreviewError {
    fn from(failure: Failure) -> Self {
        Self(failure.cause.message)
    }
}

/// Fetches a revision of a repository with the access that its object describes, read with the rights of `client`. Signatures
/// are not verified.
///
/// # Errors
/// When the Secrets cannot be read, or the remote does not give the revision.
pub async fn preview(
    client: kube::Client,
    repository: &GitRepository,
    reference: &Reference,
) -> Result<Preview, PreviewError> {
    let (spec, url) = (&repository.spec, repository.spec.url.clone());
    let sparse = decide::sparse_paths(&spec.sparse_checkout);
    let remote = Remote { part: part::part(spec, &sparse), ..remote(client, repository).await? };
    let git = Git::new(GitConfig::default()).map_err(|error| PreviewError::of(&error))?;
    let fetched = git.fetch(&remote, reference, None).await;
    let checkout = match fetched.map_err(|error| decide::fetch_failure(&error, &url, reference, false))? {
        Fetched::New(checkout) => checkout,
        Fetched::Unchanged { revision } => {
            return Err(PreviewError(format!("nothing was fetched for '{revision}'")));
        }
    };
    let revision = Revision::normalise(checkout.revision()).to_string();
    let submodules = submodules(&git, spec, &remote, &checkout, &sparse).await?;
    let parts = RepositoryParts { checkout, submodules, sparse };
    let composed = tokio::task::spawn_blocking(move || parts.compose(&url)).await;
    let tree = composed.map_err(|error| PreviewError::of(&error))??;
    Ok(Preview { revision, tree: Box::new(tree) })
}

/// The remote of a repository, logged in.
async fn remote(client: kube::Client, repository: &GitRepository) -> Result<Remote, PreviewError> {
    let cancel = CancellationToken::new();
    let access = Secrets::new(client.clone()).git_access(repository, &RULES, &cancel).await;
    let mut access = access.map_err(|error| PreviewError::of(&error))?;
    let options = LoginOptions { workload_identity: true, ..LoginOptions::default() };
    let logins = Logins::new(client, options).map_err(|error| PreviewError::of(&error))?;
    let (key, account) = (ObjectKey::of(repository), repository.spec.service_account_name.as_deref());
    let login = access.log_in::<GitRepository>(&logins, &key, account).await;
    login.map_err(|error| PreviewError::of(&error))?;
    Ok(access.remote)
}
