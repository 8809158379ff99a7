//! Listing and downloading (DEP-GIT-1).

use crate::checkout::{Checkout, CommitInfo, Directory};
use crate::error::Error;
use crate::operation::Registered;
use crate::reference::{Candidate, Depth, Plan, Reference, RemoteRef};
use git2::{AutotagOption, Direction, FetchOptions, Oid, RemoteCallbacks, Repository};

/// References that a remote may list. The largest public repositories have some 500 000, pull requests included.
const MAX_REFS: usize = 2_000_000;
/// Reference of the local repository into which everything is fetched; objects are looked up by their id.
const LOCAL: &str = "refs/weir/fetched";
const SHALLOW: i32 = 1;

/// What a fetch came to.
pub enum Fetched {
    /// The reference still stands for the revision that is known.
    Unchanged {
        /// That revision.
        revision: String,
    },
    /// A commit that can be read.
    New(Checkout),
}

/// The remote's references.
pub(crate) fn list(operation: &Registered) -> Result<Vec<RemoteRef>, Error> {
    let directory = Directory::create()?;
    let repository = directory.open()?;
    let mut remote = repository.remote_anonymous(&operation.url())?;
    connect(&mut remote)
}

/// Resolves and downloads in one session.
pub(crate) fn fetch(
    operation: &Registered,
    reference: &Reference,
    known: Option<&str>,
) -> Result<Fetched, Error> {
    let directory = Directory::create()?;
    let repository = directory.open()?;
    let mut remote = repository.remote_anonymous(&operation.url())?;
    let refs = connect(&mut remote)?;
    let plan = reference.resolve(&refs)?;
    if let Some(revision) = plan.revision()
        && known == Some(revision.as_str())
    {
        return Ok(Fetched::Unchanged { revision });
    }
    let names: Vec<&str> = match &plan.depth {
        Depth::Shallow => plan.candidates.iter().map(|candidate| candidate.name.as_str()).collect(),
        Depth::Full(names) => names.iter().map(String::as_str).collect(),
    };
    download(operation, &mut remote, &names, plan.depth == Depth::Shallow)?;
    let chosen = choose(&repository, &plan)?;
    drop(remote);
    drop(repository);
    let revision = chosen.revision();
    if known == Some(revision.as_str()) {
        return Ok(Fetched::Unchanged { revision });
    }
    Checkout::new(directory, chosen.object, chosen.commit, revision).map(Fetched::New)
}

/// Downloads another branch beside what is there.
pub(crate) fn fetch_more(
    operation: &Registered,
    directory: &Directory,
    branch: &str,
) -> Result<Option<CommitInfo>, Error> {
    let repository = directory.open()?;
    let mut remote = repository.remote_anonymous(&operation.url())?;
    let refs = connect(&mut remote)?;
    let plan = match Reference::Branch(branch.to_owned()).resolve(&refs) {
        Err(Error::RefNotFound { .. }) => return Ok(None),
        plan => plan?,
    };
    let chosen = choose_one(&plan)?;
    if !repository.odb()?.exists(chosen.commit) {
        download(operation, &mut remote, &[&chosen.name], true)?;
    }
    CommitInfo::read(&repository, chosen.commit).map(Some)
}

fn connect(remote: &mut git2::Remote<'_>) -> Result<Vec<RemoteRef>, Error> {
    remote.connect(Direction::Fetch)?;
    let heads = remote.list()?;
    if heads.len() > MAX_REFS {
        return Err(Error::Limit { what: "number of references".to_owned(), limit: MAX_REFS as u64 });
    }
    let refs: Vec<_> = heads
        .iter()
        .filter(|head| !head.oid().is_zero())
        .map(|head| RemoteRef { name: head.name().to_owned(), id: head.oid() })
        .collect();
    if refs.is_empty() { Err(Error::Empty) } else { Ok(refs) }
}

fn download(
    operation: &Registered,
    remote: &mut git2::Remote<'_>,
    names: &[&str],
    shallow: bool,
) -> Result<(), Error> {
    let mut callbacks = RemoteCallbacks::new();
    callbacks.transfer_progress(|_| operation.operation().is_live());
    let mut options = FetchOptions::new();
    options.remote_callbacks(callbacks).download_tags(AutotagOption::None).update_fetchhead(false);
    if shallow {
        options.depth(SHALLOW);
    }
    let refspecs: Vec<String> =
        names.iter().enumerate().map(|(index, name)| format!("+{name}:{LOCAL}/{index}")).collect();
    remote.download(&refspecs, Some(&mut options))?;
    remote.disconnect()?;
    Ok(())
}

fn choose_one(plan: &Plan) -> Result<&Candidate, Error> {
    plan.candidates.first().ok_or_else(|| Error::RefNotFound { name: String::new() })
}

/// Of several tags with equal versions the one whose commit is newest (SRC-GIT-4), with its commit looked up: a
/// server need not list what is behind an annotated tag.
fn choose(repository: &Repository, plan: &Plan) -> Result<Candidate, Error> {
    let mut newest: Option<(i64, Candidate)> = None;
    for candidate in &plan.candidates {
        let commit = peel(repository, candidate)?;
        let time = commit.time().seconds();
        if newest.as_ref().is_none_or(|(best, _)| time > *best) {
            newest = Some((time, Candidate { commit: commit.id(), ..candidate.clone() }));
        }
    }
    match newest {
        Some((_, candidate)) => Ok(candidate),
        None => choose_one(plan).cloned(),
    }
}

fn peel<'a>(repository: &'a Repository, candidate: &Candidate) -> Result<git2::Commit<'a>, Error> {
    let missing =
        |_| Error::CommitNotFound { id: candidate.commit.to_string(), reason: "object not found".to_owned() };
    let object: Oid = candidate.object;
    let found = repository.find_object(object, None).map_err(missing)?;
    found.peel_to_commit().map_err(|_| Error::NotACommit { name: candidate.name.clone() })
}
