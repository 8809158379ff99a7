//! The note in the status that a refspec is still to be pushed for a commit (IU-12).
//!
//! A run writes the note before it pushes the branch, so that a kill or another failure does not lose it; a success takes
//! it away. It names the commit: several automations may push to one branch as one author, so that the author of the branch's last
//! commit does not show which of them made it.

use std::sync::Arc;

use parking_lot::Mutex;
use weir_api::ImageUpdateAutomation;
use weir_api::condition_type::REFSPEC_PENDING;
use weir_git::ObjectId;
use weir_runtime::condition::{self, Status};
use weir_runtime::{Failure, Run};

use super::failure;
use crate::git_source::Refspec;

const REASON: &str = "PushPending";

/// Returns the note about a refspec and a commit.
pub(super) fn text(refspec: &Refspec, commit: ObjectId) -> String {
    format!("refspec '{}' is to be pushed for commit '{commit}'", refspec.text)
}

/// Returns true when a note is about this commit: a refspec that was corrected since is owed as the one before was.
pub(super) fn is_about(note: &str, commit: ObjectId) -> bool {
    note.ends_with(&format!("for commit '{commit}'"))
}

/// Returns the note that the status of an automation has.
pub(super) fn of(automation: &ImageUpdateAutomation) -> Option<String> {
    let conditions = &automation.status.as_ref()?.conditions;
    condition::find(conditions, REFSPEC_PENDING).map(|note| note.message.clone())
}

/// The note of one run.
pub(super) struct RefspecNote<'a> {
    run: &'a Run<ImageUpdateAutomation>,
    newest: Mutex<Arc<ImageUpdateAutomation>>,
}

impl<'a> RefspecNote<'a> {
    /// Nothing is noted yet.
    pub(super) fn new(run: &'a Run<ImageUpdateAutomation>) -> Self {
        Self { run, newest: Mutex::new(Arc::clone(&run.object)) }
    }

    /// Writes into the status that the refspec is to be pushed once the commit is pushed. Without the note, nothing may be pushed.
    pub(super) async fn write(&self, refspec: &Refspec, commit: ObjectId) -> Result<(), Failure> {
        let mut object = self.object();
        let generation = object.metadata.generation.unwrap_or_default();
        let conditions = &mut object.status.get_or_insert_default().conditions;
        let text = text(refspec, commit);
        condition::set(conditions, REFSPEC_PENDING, Status::True, REASON, &text, generation, self.run.now);
        match self.run.record(object).await {
            Some(recorded) => *self.newest.lock() = recorded,
            None if self.run.cancel.is_cancelled() => return Err(failure::cancelled()),
            None => return Err(failure::update_source("failed to note the refspec in the status")),
        }
        Ok(())
    }

    /// Returns the automation of the run with the status as it is now.
    pub(super) fn object(&self) -> ImageUpdateAutomation {
        let status = self.newest.lock().status.clone();
        ImageUpdateAutomation { status, ..ImageUpdateAutomation::clone(&self.run.object) }
    }
}
