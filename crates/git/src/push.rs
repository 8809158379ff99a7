//! Pushing by compare-and-swap: no commit of anyone is ever lost (DEP-GIT-4, DESIGN §6).

use std::cell::RefCell;

use git2::{ErrorClass, ErrorCode, Oid, PushOptions, RemoteCallbacks};
use gix_hash::ObjectId;

use crate::error::Error;
use crate::objects::{Objects, library_id};
use crate::operation::Registered;
use crate::store::Directory;

/// Local reference from which a commit is pushed.
const LOCAL: &str = "refs/weir/pushed";
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
    let verdict: RefCell<Option<Error>> = RefCell::new(None);
    let mut callbacks = RemoteCallbacks::new();
    callbacks.push_negotiation(|updates| {
        for update in updates {
            if let Some(lost) = lease_lost(request, update.src()) {
                *verdict.borrow_mut() = Some(lost);
                return Err(git2::Error::new(ErrorCode::User, ErrorClass::Callback, "lease lost"));
            }
        }
        Ok(())
    });
    callbacks.push_update_reference(|_, status| {
        if let Some(reason) = status {
            *verdict.borrow_mut() = Some(refused(request, reason));
        }
        Ok(())
    });
    callbacks.push_transfer_progress(|_, _, _| {});
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
    match (verdict.into_inner(), pushed) {
        (Some(error), _) => Err(error),
        (None, Err(error)) if error.message().contains("push-options") => Err(Error::PushOptionsUnsupported),
        (None, pushed) => Ok(pushed?),
    }
}

fn lease_lost(request: &PushRequest, found: Oid) -> Option<Error> {
    let (holds, expected) = match request.lease {
        Lease::Force => (true, String::new()),
        Lease::Absent => (found.is_zero(), NOTHING.to_owned()),
        Lease::Expect(expected) => (found.as_bytes() == expected.as_slice(), expected.to_string()),
    };
    let found = if found.is_zero() { NOTHING.to_owned() } else { found.to_string() };
    (!holds).then(|| Error::LeaseLost { refname: request.refname.clone(), expected, found })
}

/// Returns the meaning of a server's refusal: the reference moved between its list and our push, or something else.
fn refused(request: &PushRequest, reason: &str) -> Error {
    let moved = [
        "failed to update ref",
        "cannot lock ref",
        "fetch first",
        "non-fast-forward",
        "reference already exists",
    ];
    let refname = request.refname.clone();
    if moved.iter().any(|words| reason.contains(words)) {
        let expected = match request.lease {
            Lease::Expect(expected) => expected.to_string(),
            Lease::Absent | Lease::Force => NOTHING.to_owned(),
        };
        return Error::LeaseLost { refname, expected, found: format!("something else ({reason})") };
    }
    Error::PushRejected { refname, reason: reason.to_owned() }
}
