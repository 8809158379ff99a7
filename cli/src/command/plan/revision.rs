//! The files that another revision of a source consists of, as its artifact would hold them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use kube::api::DynamicObject;
use weir_api::GitRepository;
use weir_artifact::{DirectoryTree, Tree};
use weir_git::Reference;
use weir_kustomize_controller::ArtifactFiles;
use weir_source_controller::preview;

use crate::cluster::Cluster;
use crate::command::build::kustomization::existing_directory;
use crate::error::Error;
use crate::kind::{Kind, text};
use crate::output::progress;

/// Bytes of the largest file that is kept, and of all files that one build reads: those of `--max-build-bytes`, which the
/// service has by default.
pub(super) const MAX_BUILD_BYTES: u64 = 64 << 20;

/// The revision of a Git repository.
#[derive(Args, Debug, Default)]
pub(super) struct GitRevision {
    /// Branch to fetch.
    #[arg(long)]
    branch: Option<String>,
    /// Tag to fetch.
    #[arg(long)]
    tag: Option<String>,
    /// Commit to fetch; --branch says where to look for it.
    #[arg(long, value_name = "SHA")]
    commit: Option<String>,
    /// Name of a reference to fetch, such as refs/pull/1/head.
    #[arg(long, value_name = "NAME")]
    ref_name: Option<String>,
}

/// The place of the new files.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A directory of this machine.
    Folder(PathBuf),
    /// A reference of the source's own repository.
    Git(Reference),
}

impl GitRevision {
    /// Returns the one place that the flags name.
    pub(super) fn or_folder(&self, folder: Option<&Path>) -> Result<Wanted, Error> {
        let Self { branch, tag, commit, ref_name } = self;
        let git = match (branch, tag, commit, ref_name) {
            (None, None, None, None) => None,
            (branch, None, Some(id), None) => {
                Some(Reference::Commit { id: id.clone(), branch: branch.clone(), name: None })
            }
            (Some(branch), None, None, None) => Some(Reference::Branch(branch.clone())),
            (None, Some(tag), None, None) => Some(Reference::Tag(tag.clone())),
            (None, None, None, Some(name)) => Some(Reference::Name(name.clone())),
            _ => return Err(one_of("give one of --branch, --tag, --commit and --ref-name only")),
        };
        match (git, folder) {
            (Some(reference), None) => Ok(Wanted::Git(reference)),
            (None, Some(folder)) => Ok(Wanted::Folder(folder.to_owned())),
            (None, None) => Err(one_of(
                "the new revision is required: --path DIR, or for a GitRepository --branch, --tag, --commit or --ref-name",
            )),
            (Some(_), Some(_)) => Err(one_of("--path stands for a revision: do not give another one")),
        }
    }
}

fn one_of(message: &str) -> Error {
    Error::Flags(message.to_owned())
}

/// The files of a revision.
pub(super) struct Files {
    /// The revision as a status would name it, or the folder.
    pub(super) revision: String,
    pub(super) files: Arc<ArtifactFiles>,
}

impl Files {
    /// Fetches the revision with the source's own access, or reads the folder.
    pub(super) async fn read(
        cluster: &Cluster,
        kind: &'static Kind,
        source: &DynamicObject,
        wanted: &Wanted,
    ) -> Result<Self, Error> {
        let (revision, tree) = match wanted {
            Wanted::Folder(path) => (path.display().to_string(), folder(path)?),
            Wanted::Git(reference) => fetched(cluster, kind, source, reference).await?,
        };
        let ignore = Some(text(source, "/spec/ignore")).filter(|text| !text.is_empty());
        let shown = revision.clone();
        let reading = tokio::task::spawn_blocking(move || {
            preview::files(&*tree, ignore.as_deref(), MAX_BUILD_BYTES)
                .map_err(|cause| Error::File { path: shown, cause })
        });
        let read = cluster.in_time(reading).await?.map_err(|panic| Error::Build(panic.to_string()))?;
        let (spans, stack) = read?;
        Ok(Self { revision, files: Arc::new(ArtifactFiles::new(spans, stack)) })
    }
}

fn folder(path: &Path) -> Result<Box<dyn Tree + Send>, Error> {
    let real = existing_directory(path)?;
    let failed = |cause| Error::File { path: path.display().to_string(), cause };
    Ok(Box::new(DirectoryTree::open_path(&real).map_err(failed)?))
}

async fn fetched(
    cluster: &Cluster,
    kind: &'static Kind,
    source: &DynamicObject,
    reference: &Reference,
) -> Result<(String, Box<dyn Tree + Send>), Error> {
    let repository = source.clone().try_parse::<GitRepository>();
    let repository = repository.map_err(|error| Error::Api(error.to_string()))?;
    let name = repository.metadata.name.as_deref().unwrap_or_default();
    progress::action(&format!("fetching {} {name} in {} namespace", kind.name, cluster.namespace));
    let fetching = preview::git_repository(cluster.client.clone(), &repository, reference);
    let fetched = cluster.in_time(fetching).await?.map_err(|error| Error::Api(error.to_string()))?;
    progress::success(&format!("fetched revision {}", fetched.revision));
    for (is_used, field) in [
        (!repository.spec.include.is_empty(), "spec.include"),
        (repository.spec.verify.is_some(), "spec.verify"),
    ] {
        if is_used {
            progress::warning(&format!("{field} of the GitRepository is left out of the plan"));
        }
    }
    Ok((fetched.revision, fetched.tree))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(flags: &[(&str, &str)], folder: Option<&str>) -> Option<Wanted> {
        let flag =
            |name: &str| flags.iter().find(|(flag, _)| *flag == name).map(|(_, value)| (*value).to_owned());
        let (branch, tag, commit, ref_name) = (flag("branch"), flag("tag"), flag("commit"), flag("ref-name"));
        GitRevision { branch, tag, commit, ref_name }.or_folder(folder.map(Path::new)).ok()
    }

    #[rstest::rstest]
    #[case(&[("branch", "a")], None, Some(Wanted::Git(Reference::Branch("a".into()))))]
    #[case(&[("tag", "a")], None, Some(Wanted::Git(Reference::Tag("a".into()))))]
    #[case(&[("ref-name", "a")], None, Some(Wanted::Git(Reference::Name("a".into()))))]
    #[case(&[("commit", "c"), ("branch", "a")], None,
        Some(Wanted::Git(Reference::Commit { id: "c".into(), branch: Some("a".into()), name: None })))]
    #[case(&[], Some("dir"), Some(Wanted::Folder("dir".into())))]
    #[case(&[], None, None)]
    #[case(&[("tag", "a"), ("branch", "a")], None, None)]
    #[case(&[("branch", "a")], Some("dir"), None)]
    fn one_revision_is_meant(
        #[case] flags: &[(&str, &str)],
        #[case] folder: Option<&str>,
        #[case] expected: Option<Wanted>,
    ) {
        assert_eq!(wanted(flags, folder), expected);
    }
}
