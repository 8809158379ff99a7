use std::fmt;

/// The progress of an object (KS-KST-1 ff.). The names are those of kstatus and appear in health messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// The object is what its spec asks for.
    Current,
    /// The object is on its way.
    InProgress,
    /// The object will not get there by itself.
    Failed,
    /// The object is being deleted.
    Terminating,
    /// There is no such object.
    NotFound,
    /// The status cannot be determined.
    Unknown,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Current => "Current",
            Self::InProgress => "InProgress",
            Self::Failed => "Failed",
            Self::Terminating => "Terminating",
            Self::NotFound => "NotFound",
            Self::Unknown => "Unknown",
        })
    }
}

/// The status of one object and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// Progress of the object.
    pub status: Status,
    /// A sentence for people, in kstatus' words.
    pub message: String,
}

impl Assessment {
    /// An assessment of any status.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// The object does not exist (KS-KST-1).
    pub fn not_found() -> Self {
        Self::new(Status::NotFound, "Resource not found")
    }

    /// Returns the status Unknown with this reason (KS-KST-9).
    pub fn unknown(reason: impl Into<String>) -> Self {
        Self::new(Status::Unknown, reason)
    }

    pub(crate) fn current(message: impl Into<String>) -> Self {
        Self::new(Status::Current, message)
    }

    pub(crate) fn in_progress(message: impl Into<String>) -> Self {
        Self::new(Status::InProgress, message)
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Status::Failed, message)
    }
}
