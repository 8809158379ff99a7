//! Pushing by compare-and-swap: no commit of anyone is ever lost (DEP-GIT-4).

use std::cell::RefCell;

use git2::{ErrorClass, ErrorCode, Oid, PushOptions, RemoteCallbacks};
use gix_hash::ObjectId;

use crate::error::Error;
use crate::fetch;
use crate::objects::{Objects, library_id};
use crate::operation::Registered;
use crate::store::Directory;

/// Local reference from which a commit is pushed.
const LOCAL: &str = "refs/weir/pushed";
/// Bytes that are kept of what the server's hooks print.
const MAX_SAID_BYTES: usize = 4096;
/// Text for the commit of a branch that is not there.
const NOTHING: &str = "nothing";

/// The state that the branch must have for a push to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// At this commit.
    Expect(ObjectId),
    /// Not there yet.
    Absent,
    /// Whatever it is now. The server still refuses if it moves while we push.
    Force,
}

/// A commit and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushRequest {
    /// The commit.
    pub commit: ObjectId,
    /// Full name of the reference on the remote.
    pub refname: String,
    /// State that the reference must have.
    pub lease: Lease,
    /// Options for the server (`git push -o`).
    pub options: Vec<String>,
}

/// Pushes one commit to one reference.
pub(crate) fn push(
    operation: &Registered,
    directory: &Directory,
    request: &PushRequest,
) -> Result<(), Error> {
    let Objects::Sha1(repository) = directory.open()? else { return Err(Error::ObjectFormat) };
    repository.reference(LOCAL, library_id(request.commit)?, true, "")?;
    let mut remote = repository.remote_anonymous(&operation.url())?;
    let (lost, refusal, said) = (RefCell::new(None), RefCell::new(None), RefCell::new(Vec::new()));
    let mut callbacks = RemoteCallbacks::new();
    callbacks.push_negotiation(|updates| {
        let found = updates.iter().find_map(|update| other_than_leased(request, object_id(update.src())));
        let Some(error) = found else { return Ok(()) };
        *lost.borrow_mut() = Some(error);
        Err(git2::Error::new(ErrorCode::User, ErrorClass::Callback, "lease lost"))
    });
    callbacks.push_update_reference(|_, status| {
        *refusal.borrow_mut() = status.map(str::to_owned);
        Ok(())
    });
    callbacks.push_transfer_progress(|_, _, _| {});
    callbacks.sideband_progress(|printed| {
        let mut said = said.borrow_mut();
        let room = MAX_SAID_BYTES.saturating_sub(said.len());
        said.extend(printed.iter().take(room));
        true
    });
    let mut options = PushOptions::new();
    options.remote_callbacks(callbacks);
    let extra: Vec<&str> = request.options.iter().map(String::as_str).collect();
    if !extra.is_empty() {
        options.remote_push_options(&extra);
    }
    // The lease decides about overwriting, and not the fast-forward rule, which a shallow clone cannot check.
    let refspec = format!("+{LOCAL}:{}", request.refname);
    let pushed = remote.push(&[refspec.as_str()], Some(&mut options));
    drop(options);
    if let Some(error) = lost.into_inner() {
        return Err(error);
    }
    if let Some(reason) = refusal.into_inner() {
        return Err(refused(operation, request, reason, &said.into_inner()));
    }
    match pushed {
        Err(error) if error.message().contains("push-options") => Err(Error::PushOptionsUnsupported),
        pushed => Ok(pushed?),
    }
}

/// Returns the object of an id, none for that of a reference that is not there.
fn object_id(id: Oid) -> Option<ObjectId> {
    ObjectId::try_from(id.as_bytes()).ok().filter(|id| !id.is_null())
}

/// Returns the loss of a lease where the reference is not in the state that it must have.
fn other_than_leased(request: &PushRequest, found: Option<ObjectId>) -> Option<Error> {
    let is_leased = match request.lease {
        Lease::Force => true,
        Lease::Absent => found.is_none(),
        Lease::Expect(expected) => found == Some(expected),
    };
    let found = found.map_or_else(|| NOTHING.to_owned(), |found| found.to_string());
    (!is_leased).then(|| lost(request, found))
}

fn lost(request: &PushRequest, found: String) -> Error {
    let expected = match request.lease {
        Lease::Expect(expected) => expected.to_string(),
        Lease::Absent | Lease::Force => NOTHING.to_owned(),
    };
    Error::LeaseLost { refname: request.refname.clone(), expected, found }
}

/// Returns the meaning of a server's refusal: the reference moved between its list and our push, or something else. The list shows
/// it, whatever the server's words are; a push of somebody else that is still in progress shows in the words alone.
fn refused(operation: &Registered, request: &PushRequest, reason: String, said: &[u8]) -> Error {
    match fetch::list(operation) {
        Ok(refs) => {
            let found = refs.into_iter().find(|reference| reference.name == request.refname);
            if let Some(error) = other_than_leased(request, found.map(|found| found.id)) {
                return error;
            }
        }
        // The refusal says more than that.
        Err(_) => operation.operation().forget_failure(),
    }
    if is_race(&reason) {
        return lost(request, format!("something else ({reason})"));
    }
    Error::PushRejected { refname: request.refname.clone(), reason, said: lines(said) }
}

/// Returns the lines that hooks have printed, without those in which the server counts objects.
fn lines(said: &[u8]) -> Vec<String> {
    let said = String::from_utf8_lossy(said);
    let lines = said.split(['\n', '\r']).map(|line| line.chars().filter(|char| !char.is_control()).collect());
    lines
        .map(|line: String| line.trim().to_owned())
        .filter(|line| !line.is_empty() && !is_count(line))
        .collect()
}

/// Returns true for a line such as `Resolving deltas: 100% (1/1), done.` Hooks may print a share too, but not of what.
fn is_count(line: &str) -> bool {
    line.split_once(": ").and_then(|(_, rest)| rest.split_once("% (")).is_some_and(|(share, _)| {
        let share = share.trim_start();
        !share.is_empty() && share.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Returns true for the words of servers about a reference that somebody else is moving: of Git, by the state of the reference and by
/// its lock, and of JGit.
fn is_race(reason: &str) -> bool {
    let words = [
        "failed to update ref",
        "cannot lock ref",
        "incorrect old value provided",
        "reference does not exist",
        "reference already exists",
        "failed to lock",
        "lock failure",
        "lock error",
    ];
    words.iter().any(|words| reason.to_ascii_lowercase().contains(words))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case::git("failed to update ref", true)]
    #[case::git_lock("cannot lock ref 'refs/heads/main': is at 1 but expected 2", true)]
    #[case::git_of_batches("incorrect old value provided", true)]
    #[case::git_of_batches_deleted("reference does not exist", true)]
    #[case::git_made("reference already exists", true)]
    #[case::jgit("failed to lock", true)]
    #[case::gerrit("LOCK_FAILURE: lock failure", true)]
    #[case::hook("pre-receive hook declined", false)]
    #[case::policy("non-fast-forward", false)]
    #[case::protected("protected branch hook declined", false)]
    fn refusals_by_a_race(#[case] reason: &str, #[case] expected: bool) {
        assert_eq!(super::is_race(reason), expected);
    }

    #[rstest]
    #[case(
        "Resolving deltas:   0% (0/1)\rResolving deltas: 100% (1/1), done.\nerror: GH006: Protected branch\n",
        "error: GH006: Protected branch"
    )]
    #[case("GitLab: You are not allowed to push\x1b[31m\n\n", "GitLab: You are not allowed to push[31m")]
    #[case("disk usage: 5 GB", "disk usage: 5 GB")]
    #[case("Disk quota: 100% used", "Disk quota: 100% used")]
    #[case("Disk quota: used up to 100% (5 GB)", "Disk quota: used up to 100% (5 GB)")]
    #[case("", "")]
    fn hooks_print_reasons(#[case] said: &str, #[case] expected: &str) {
        assert_eq!(super::lines(said.as_bytes()).join("|"), expected);
    }
}
