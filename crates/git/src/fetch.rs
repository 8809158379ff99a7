//! Listing and downloading (DEP-GIT-1).

use std::sync::Arc;

use gix_hash::ObjectId;

use crate::checkout::{Checkout, CommitInfo};
use crate::conversation::{Conversation, ConversationError, FetchDepth, Request};
use crate::error::Error;
use crate::objects::Objects;
use crate::operation::{Operation, Registered};
use crate::part::Part;
use crate::partial;
use crate::reference::{self, Candidate, Plan, Reference, RemoteRef};
use crate::store::{Directory, Place};

/// Commits that are sent to a server: where history was rewritten, one of them is likely to be common.
const MAX_HAVES: usize = 256;

/// The result of a fetch.
#[expect(clippy::large_enum_variant, reason = "one value per fetch, taken apart at once")]
pub enum Fetched {
    /// The reference still stands for the revision that is known.
    Unchanged {
        /// Revision found.
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
        error if is_used && error.is_of_store() => {}
        Error::Conversation(ConversationError::Refused { .. }) if directory.is_partial() => {}
        _ => return Err(error),
    }
    tracing::warn!(%error, "a kept Git repository cannot be used and is fetched anew");
    directory.clear(directory.format())?;
    resolve_and_download(operation, &directory, reference, known, None)
}

/// Returns true when a failure was not the remote's.
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
    let (part, format) =
        (part.filter(|_| conversation.offered().gives_parts()), conversation.offered().format());
    // The objects on disk are of another repository, or of a part of it. The server would not send again those it believes to
    // be here.
    if directory.format() != format || (part.is_none() && directory.is_partial()) {
        directory.clear(format)?;
    }
    if part.is_some() {
        directory.mark_partial()?;
    }
    download_plan(&mut conversation, directory, &plan, part.is_some())?;
    let objects = directory.open()?;
    let chosen = choose(&objects, &plan)?;
    if let Some(part) = part {
        partial::complete(&mut conversation, directory, objects.tree_of(chosen.commit)?, part)?;
    }
    directory.set_tip(chosen.commit)?;
    (operation.step)("git-tip-noted");
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
    let reference::Depth::History { tips, within } = &plan.depth else {
        return download(conversation, directory, objects, FetchDepth::Tip, is_partial);
    };
    if within.is_none() && conversation.offered().gives_any_object() {
        match download(conversation, directory, objects, FetchDepth::Tip, is_partial) {
            Err(Error::Conversation(error @ ConversationError::Refused { .. })) => {
                tracing::debug!(%error, "the commit is looked for in all history");
            }
            result => return result,
        }
    }
    let depth = if directory.roots()?.is_empty() { FetchDepth::Missing } else { FetchDepth::Unshallow };
    download(conversation, directory, tips.clone(), depth, is_partial)?;
    if has_all(directory, plan)? {
        return Ok(());
    }
    let id = plan.candidates.first().map(|candidate| candidate.commit.to_string()).unwrap_or_default();
    Err(Error::CommitNotFound { id, reason: "object not found".to_owned() })
}

/// Returns true when everything that the plan may choose is there.
fn has_all(directory: &Directory, plan: &Plan) -> Result<bool, Error> {
    let objects = directory.open()?;
    let present = objects.presence()?;
    let there = plan.candidates.iter().all(|candidate| present.has(candidate.object));
    let reference::Depth::History { within: Some(tip), .. } = &plan.depth else { return Ok(there) };
    // Being there is not enough: it may have come with another branch.
    let is_within = |commit| objects.history(*tip).any(|found| found.is_ok_and(|found| found == commit));
    Ok(there && plan.candidates.iter().all(|candidate| is_within(candidate.commit)))
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

/// Returns true when `ancestor` is `commit` or in the history of it, which is downloaded for that to a folder of its own,
/// without files where the server offers that. False too when the server no longer gives the commit.
pub(crate) fn is_ancestor(
    operation: &Registered,
    ancestor: ObjectId,
    commit: ObjectId,
) -> Result<bool, Error> {
    let (directory, _) = Directory::at(Place::Own)?;
    let mut conversation = Conversation::begin(operation.operation())?;
    let offered = conversation.offered();
    let is_listed = offered.refs.iter().any(|reference| reference.id == commit);
    if !is_listed && !offered.gives_any_object() {
        conversation.end();
        return Ok(false);
    }
    let (is_partial, format) = (offered.gives_parts(), offered.format());
    if directory.format() != format {
        directory.clear(format)?;
    }
    match download(&mut conversation, &directory, vec![commit], FetchDepth::Missing, is_partial) {
        Err(Error::Conversation(ConversationError::Refused { .. })) if !is_listed => return Ok(false),
        result => result?,
    }
    conversation.end();
    let objects = directory.open()?;
    for found in objects.history(commit) {
        if found? == ancestor {
            return Ok(true);
        }
    }
    Ok(false)
}

fn download(
    conversation: &mut Conversation,
    directory: &Directory,
    wants: Vec<ObjectId>,
    depth: FetchDepth,
    is_partial: bool,
) -> Result<(), Error> {
    // Some servers give all history or nothing.
    let depth = if conversation.offered().offers("shallow") { depth } else { FetchDepth::Missing };
    let (haves, roots) = (haves(directory)?, directory.roots()?.into_iter().collect());
    conversation.download(&Request { wants, haves, roots, depth, is_partial }, directory)
}

/// The newest commits that are there.
fn haves(directory: &Directory) -> Result<Vec<ObjectId>, Error> {
    let Some(tip) = directory.tip()? else { return Ok(Vec::new()) };
    directory.open()?.history(tip).take(MAX_HAVES).collect()
}

fn choose_one(plan: &Plan) -> Result<&Candidate, Error> {
    plan.candidates.first().ok_or_else(|| Error::RefNotFound { name: String::new() })
}

/// Of several tags with equal versions the one whose commit is newest (SRC-GIT-4), with its commit looked up: a
/// server need not list what is behind an annotated tag.
fn choose(objects: &Objects, plan: &Plan) -> Result<Candidate, Error> {
    let mut newest: Option<(i64, Candidate)> = None;
    for candidate in &plan.candidates {
        let commit = CommitInfo::read(objects, peel(objects, candidate)?)?;
        if newest.as_ref().is_none_or(|(best, _)| commit.time > *best) {
            newest = Some((commit.time, Candidate { commit: commit.id, ..candidate.clone() }));
        }
    }
    match newest {
        Some((_, candidate)) => Ok(candidate),
        None => choose_one(plan).cloned(),
    }
}

fn peel(objects: &Objects, candidate: &Candidate) -> Result<ObjectId, Error> {
    if objects.header(candidate.object)?.is_none() {
        let id = candidate.commit.to_string();
        return Err(Error::CommitNotFound { id, reason: "object not found".to_owned() });
    }
    objects.peel(candidate.object, &candidate.name)
}
