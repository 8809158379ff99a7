//! Listing and downloading (DEP-GIT-1).

use crate::checkout::{Checkout, CommitInfo};
use crate::error::Error;
use crate::operation::Registered;
use crate::reference::{Candidate, Depth, Plan, Reference, RemoteRef};
use crate::store::{Directory, Place};
use git2::{AutotagOption, Direction, FetchOptions, Oid, RemoteCallbacks, Repository};

/// References that a remote may list. The largest public repositories have some 500 000, pull requests included.
const MAX_REFS: usize = 2_000_000;
/// Bytes of one download: several times the largest public monorepos, and less than a volume.
const MAX_PACK_BYTES: usize = 16 << 30;
/// Reference of the local repository into which everything is fetched; objects are looked up by their id.
const LOCAL: &str = "refs/weir/fetched";
/// Reference to the newest commit of a kept repository: the server is told of it, and sends only what it lacks.
const TIP: &str = "refs/weir/tip";
const SHALLOW: i32 = 1;
/// All history of a repository that has it from the start.
const WHOLE: i32 = 0;
/// All history, also when the local one is cut: the library's and Git's number for "no cut".
const UNSHALLOW: i32 = i32::MAX;

/// What the library says of servers that give all history or nothing.
const NOT_SHALLOW: &str = "doesn't support shallow";

/// What it says of servers whose objects have other names than SHA-1.
const OTHER_FORMAT: &str = "unknown remote object format";

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
    connect(&mut git2::Remote::create_detached(operation.url())?)
}

/// Resolves and downloads in one session. A kept repository that cannot be read is emptied and fetched anew.
pub(crate) fn fetch(
    operation: &Registered,
    place: Place,
    reference: &Reference,
    known: Option<&str>,
) -> Result<Fetched, Error> {
    let (directory, is_used) = Directory::at(place)?;
    match resolve_and_download(operation, &directory, reference, known) {
        Err(error @ Error::Library { .. }) if is_used && may_go_on(operation) => {
            tracing::warn!(%error, "a kept Git repository cannot be used and is fetched anew");
            directory.clear()?;
            resolve_and_download(operation, &directory, reference, known)
        }
        result => result,
    }
}

/// Whether a failure was not the remote's.
fn may_go_on(operation: &Registered) -> bool {
    operation.operation().is_live() && !operation.operation().has_failed()
}

fn resolve_and_download(
    operation: &Registered,
    directory: &Directory,
    reference: &Reference,
    known: Option<&str>,
) -> Result<Fetched, Error> {
    let repository = directory.open()?;
    let mut remote = repository.remote_anonymous(&operation.url())?;
    let refs = connect(&mut remote)?;
    let plan = reference.resolve(&refs)?;
    if let Some(revision) = plan.revision()
        && known == Some(revision.as_str())
    {
        return Ok(Fetched::Unchanged { revision });
    }
    download_plan(operation, &repository, remote, &plan)?;
    let chosen = choose(&repository, &plan)?;
    repository.reference(TIP, chosen.commit, true, "")?;
    drop(repository);
    let revision = chosen.revision();
    if known == Some(revision.as_str()) {
        return Ok(Fetched::Unchanged { revision });
    }
    Checkout::new(directory.clone(), chosen.object, chosen.commit, revision).map(Fetched::New)
}

/// Downloads what the plan needs and the repository does not have.
fn download_plan<'a>(
    operation: &Registered,
    repository: &'a Repository,
    mut remote: git2::Remote<'a>,
    plan: &Plan,
) -> Result<(), Error> {
    if has_all(repository, plan)? {
        return Ok(());
    }
    let names: Vec<&str> = plan.candidates.iter().map(|candidate| candidate.name.as_str()).collect();
    let Depth::History { of, within } = &plan.depth else {
        return match download(operation, &mut remote, &names, SHALLOW) {
            Err(Error::Library { source }) if source.message().contains(NOT_SHALLOW) => {
                remote = repository.remote_anonymous(&operation.url())?;
                connect(&mut remote)?;
                download(operation, &mut remote, &names, WHOLE)
            }
            result => result,
        };
    };
    if within.is_none() {
        // Most servers give any commit that they have by its id. Those that do not are asked for their history.
        match download(operation, &mut remote, &names, SHALLOW) {
            Err(error @ Error::Library { .. }) if may_go_on(operation) => {
                tracing::debug!(%error, "the commit is looked for in all history");
                remote = repository.remote_anonymous(&operation.url())?;
                connect(&mut remote)?;
            }
            result => return result,
        }
    }
    let history: Vec<&str> = of.iter().map(String::as_str).collect();
    let depth = if repository.is_shallow() { UNSHALLOW } else { WHOLE };
    download(operation, &mut remote, &history, depth)?;
    if has_all(repository, plan)? {
        return Ok(());
    }
    let id = plan.candidates.first().map(|candidate| candidate.commit.to_string()).unwrap_or_default();
    Err(Error::CommitNotFound { id, reason: "object not found".to_owned() })
}

/// Whether everything that the plan may choose is there.
fn has_all(repository: &Repository, plan: &Plan) -> Result<bool, Error> {
    let odb = repository.odb()?;
    let there = plan.candidates.iter().all(|candidate| odb.exists(candidate.object));
    let Depth::History { within: Some(tip), .. } = &plan.depth else { return Ok(there) };
    // Being there is not enough: it may have come with another branch.
    let is_within = |commit| commit == *tip || repository.graph_descendant_of(*tip, commit).unwrap_or(false);
    Ok(there && odb.exists(*tip) && plan.candidates.iter().all(|candidate| is_within(candidate.commit)))
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
        download(operation, &mut remote, &[&chosen.name], SHALLOW)?;
    }
    CommitInfo::read(&repository, chosen.commit).map(Some)
}

fn connect(remote: &mut git2::Remote<'_>) -> Result<Vec<RemoteRef>, Error> {
    remote.connect(Direction::Fetch).map_err(|error| match error.message() {
        message if message.contains(OTHER_FORMAT) => Error::ObjectFormat,
        _ => error.into(),
    })?;
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
    depth: i32,
) -> Result<(), Error> {
    let mut callbacks = RemoteCallbacks::new();
    let allowance = operation.operation().remote.allowance.as_ref();
    let limit = allowance.map_or(MAX_PACK_BYTES, |allowance| allowance.left().min(MAX_PACK_BYTES));
    callbacks.transfer_progress(|progress| {
        if progress.received_bytes() > limit {
            let limit = limit as u64;
            operation.operation().fail(Error::Limit { what: "size of the download".to_owned(), limit });
            return false;
        }
        operation.operation().is_live()
    });
    let mut options = FetchOptions::new();
    options.remote_callbacks(callbacks).download_tags(AutotagOption::None).update_fetchhead(false);
    options.depth(depth);
    let refspecs: Vec<String> =
        names.iter().enumerate().map(|(index, name)| format!("+{name}:{LOCAL}/{index}")).collect();
    remote.download(&refspecs, Some(&mut options))?;
    if let Some(allowance) = allowance {
        allowance.spend(remote.stats().received_bytes());
    }
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
