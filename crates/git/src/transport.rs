//! The two transports, under our own conversations and under libgit2's pushes (DEP-GIT-2, DEP-GIT-3).
//!
//! libgit2 blocks, so an operation has a blocking thread of its own; on it the transports wait for asynchronous IO,
//! bounded by the operation's deadline and cancellation.

mod http;
mod ssh;

use std::sync::{Arc, OnceLock};

use git2::transport::{SmartSubtransport, Transport};
use git2::{ConfigLevel, ErrorClass, ErrorCode};

pub use self::ssh::ask_proxy;
use crate::error::Error;
use crate::operation::{self, HTTP_SCHEME, Operation, SSH_SCHEME};

/// Prepares libgit2 for this process, once: no configuration of system or user, no check of directory owners (a volume
/// may belong to another user), and our two transports.
pub(crate) fn initialise() -> Result<(), Error> {
    static DONE: OnceLock<Result<(), (i32, String)>> = OnceLock::new();
    let done =
        DONE.get_or_init(|| register().map_err(|error| (error.raw_code(), error.message().to_owned())));
    done.clone()
        .map_err(|(_, message)| git2::Error::new(ErrorCode::GenericError, ErrorClass::None, message).into())
}

/// Bytes of one mapping of a pack, and of all mappings of the process. The library's defaults are 1 GiB and all the address
/// space, and what is mapped counts as memory of the process.
const WINDOW_BYTES: usize = 1 << 20;
const MAPPED_BYTES: usize = 16 << 20;
/// Bytes of commits and trees that are kept unpacked.
const CACHE_BYTES: isize = 8 << 20;

/// The only `unsafe` of this workspace. These functions change process globals of libgit2 without a lock; the `OnceLock` around
/// this function is the lock, and no repository or remote is opened by this crate before it has returned.
#[allow(unsafe_code)]
fn register() -> Result<(), git2::Error> {
    unsafe {
        for level in [ConfigLevel::ProgramData, ConfigLevel::System, ConfigLevel::XDG, ConfigLevel::Global] {
            git2::opts::set_search_path(level, "")?;
        }
        git2::opts::set_verify_owner_validation(false)?;
        git2::opts::set_mwindow_size(WINDOW_BYTES)?;
        git2::opts::set_mwindow_mapped_limit(MAPPED_BYTES)?;
        git2::opts::set_cache_max_size(CACHE_BYTES)?;
        git2::transport::register(HTTP_SCHEME, |remote| smart(remote, true, http::HttpTransport::new))?;
        git2::transport::register(SSH_SCHEME, |remote| smart(remote, false, ssh::SshTransport::new))
    }
}

/// The transport of an operation.
pub(crate) fn of(operation: &Arc<Operation>) -> Box<dyn SmartSubtransport> {
    let operation = Arc::clone(operation);
    match operation.is_http() {
        true => Box::new(http::HttpTransport::new(operation)),
        false => Box::new(ssh::SshTransport::new(operation)),
    }
}

/// A smart transport for the operation that the remote's URL names. `stateless` is how HTTP talks: a request per turn.
fn smart<T: SmartSubtransport>(
    remote: &git2::Remote<'_>,
    stateless: bool,
    make: impl FnOnce(Arc<Operation>) -> T,
) -> Result<Transport, git2::Error> {
    let unknown = || git2::Error::new(ErrorCode::Invalid, ErrorClass::Net, "operation is over");
    let operation = operation::find(remote.url()?).ok_or_else(unknown)?;
    Transport::smart(remote, stateless, make(operation))
}
