//! Listing and downloading (DEP-GIT-1).

use crate::checkout::{Checkout, CommitInfo};
use crate::conversation::{Conversation, ConversationError, Reach, Request};
use crate::error::Error;
use crate::operation::{Operation, Registered};
use crate::partial::{self, Part};
use crate::reference::{self, Candidate, Plan, Reference, RemoteRef};
use crate::store::{Directory, Place};
use git2::{Oid, Repository};
use std::sync::Arc;

/// Reference to the newest commit of a kept repository: the server is told of it, and sends only what it lacks.
const TIP: &str = "refs/weir/tip";
/// Commits that a server is told of: where history was rewritten, one of them is likely to be common.
const MAX_HAVES: usize = 256;

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
    Ok(Conversation::begin(operation.operation())?.end())
}

/// Resolves and downloads in one session. A kept repository that cannot be read is emptied and fetched anew, whole; and
/// so is a part that a server offers and then refuses.
pub(crate) fn fetch(
    operation: &Registered,
    place: Place,
    reference: &Reference,
    known: Option<&str>,
) -> Result<Fetched, Error> {
    let (directory, is_used) = Directory::at(place)?;
    let operation = operation.operation();
    let part = operation.remote.part.as_ref();
    let error = match resolve_and_download(operation, &directory, reference, known, part) {
        Err(error) if may_go_on(operation) => error,
        result => return result,
    };
    match &error {
        Error::Library { .. } if is_used => {}
        Error::Conversation(ConversationError::Refused { .. }) if directory.is_partial() => {}
        _ => return Err(error),
    }
    tracing::warn!(%error, "a kept Git repository cannot be used and is fetched anew");
    directory.clear()?;
    resolve_and_download(operation, &directory, reference, known, None)
}

/// Whether a failure was not the remote's.
fn may_go_on(operation: &Operation) -> bool {
    operation.is_live() && !operation.has_failed()
}

fn resolve_and_download(
    operation: &Arc<Operation>,
    directory: &Directory,
    reference: &Reference,
    known: Option<&str>,
    part: Option<&Part>,
) -> Result<Fetched, Error> {
    let mut conversation = Conversation::begin(operation)?;
    let plan = reference.resolve(&conversation.offered().refs)?;
    if let Some(revision) = plan.revision()
        && known == Some(revision.as_str())
    {
        conversation.end();
        return Ok(Fetched::Unchanged { revision });
    }
    let part = part.filter(|_| conversation.offered().gives_parts());
    if part.is_some() {
        directory.mark_partial()?;
    } else if directory.is_partial() {
        // The server would not send again what it believes to be there.
        directory.clear()?;
    }
    download_plan(&mut conversation, directory, &plan, part.is_some())?;
    let repository = directory.open()?;
    let chosen = choose(&repository, &plan)?;
    if let Some(part) = part {
        let tree = repository.find_commit(chosen.commit)?.tree_id();
        partial::complete(&mut conversation, directory, tree, part)?;
    }
    repository.reference(TIP, chosen.commit, true, "")?;
    drop(repository);
    conversation.end();
    let revision = chosen.revision();
    if known == Some(revision.as_str()) {
        return Ok(Fetched::Unchanged { revision });
    }
    Checkout::new(directory.clone(), chosen.object, chosen.commit, revision).map(Fetched::New)
}

/// Downloads what the plan needs and the repository does not have.
fn download_plan(
    conversation: &mut Conversation,
    directory: &Directory,
    plan: &Plan,
    is_partial: bool,
) -> Result<(), Error> {
    if has_all(directory, plan)? {
        return Ok(());
    }
    let objects = plan.candidates.iter().map(|candidate| candidate.object).collect();
    let reference::Depth::History { of, within } = &plan.depth else {
        return download(conversation, directory, objects, Reach::Tip, is_partial);
    };
    if within.is_none() && conversation.offered().gives_any_object() {
        match download(conversation, directory, objects, Reach::Tip, is_partial) {
            Err(Error::Conversation(error @ ConversationError::Refused { .. })) => {
                tracing::debug!(%error, "the commit is looked for in all history");
            }
            result => return result,
        }
    }
    let refs = conversation.offered().refs.iter();
    let tips = refs.filter(|reference| of.contains(&reference.name)).map(|reference| reference.id).collect();
    let reach = if directory.roots()?.is_empty() { Reach::Whole } else { Reach::Uncut };
    download(conversation, directory, tips, reach, is_partial)?;
    if has_all(directory, plan)? {
        return Ok(());
    }
    let id = plan.candidates.first().map(|candidate| candidate.commit.to_string()).unwrap_or_default();
    Err(Error::CommitNotFound { id, reason: "object not found".to_owned() })
}

/// Whether everything that the plan may choose is there.
fn has_all(directory: &Directory, plan: &Plan) -> Result<bool, Error> {
    let repository = directory.open()?;
    let odb = repository.odb()?;
    let there = plan.candidates.iter().all(|candidate| odb.exists(candidate.object));
    let reference::Depth::History { within: Some(tip), .. } = &plan.depth else { return Ok(there) };
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
    let mut conversation = Conversation::begin(operation.operation())?;
    let plan = match Reference::Branch(branch.to_owned()).resolve(&conversation.offered().refs) {
        Err(Error::RefNotFound { .. }) => return Ok(None),
        plan => plan?,
    };
    download_plan(&mut conversation, directory, &plan, false)?;
    conversation.end();
    CommitInfo::read(&directory.open()?, choose_one(&plan)?.commit).map(Some)
}

fn download(
    conversation: &mut Conversation,
    directory: &Directory,
    wants: Vec<Oid>,
    reach: Reach,
    is_partial: bool,
) -> Result<(), Error> {
    // Some servers give all history or nothing.
    let reach = if conversation.offered().offers("shallow") { reach } else { Reach::Whole };
    let (haves, roots) = (haves(directory)?, directory.roots()?.into_iter().collect());
    conversation.download(&Request { wants, haves, roots, reach, is_partial }, directory)
}

/// The newest commits that are there.
fn haves(directory: &Directory) -> Result<Vec<Oid>, Error> {
    let repository = directory.open()?;
    let Ok(tip) = repository.refname_to_id(TIP) else { return Ok(Vec::new()) };
    let mut walk = repository.revwalk()?;
    walk.push(tip)?;
    Ok(walk.take(MAX_HAVES).collect::<Result<_, _>>()?)
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
