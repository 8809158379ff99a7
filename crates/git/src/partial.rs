//! A part of a commit's tree: all of its directories, and of its files only those that are wanted. Where the server
//! offers it (`filter` among its capabilities) the commit comes without blobs, and the wanted ones are requested by
//! their ids.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use gix_hash::ObjectId;

use crate::checkout::{Limits, Reader, TreeKind};
use crate::conversation::{Conversation, Reach, Request};
use crate::error::Error;
use crate::store::Directory;

/// Blobs of one request: below a megabyte of ids, which proxies in front of servers let through.
const MAX_BLOBS: usize = 16_384;
/// Names the submodules; it is read whatever is wanted.
const MODULES: &str = ".gitmodules";

type Wants = dyn Fn(&str, bool) -> bool + Send + Sync;

/// Which files of a tree are wanted. Others cannot be read of a checkout that was fetched with it.
#[derive(Clone)]
pub struct Part(Arc<Wants>);

impl Part {
    /// Makes a part by a function of the path and a flag for directories; everything below an unwanted directory is
    /// left out.
    #[must_use]
    pub fn new(wants: impl Fn(&str, bool) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(wants))
    }

    /// Returns true when a file is wanted, or anything below a directory.
    #[must_use]
    pub fn wants(&self, path: &str, is_directory: bool) -> bool {
        (self.0)(path, is_directory)
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Part")
    }
}

/// Downloads the wanted files of a tree that are not there.
pub(crate) fn complete(
    conversation: &mut Conversation,
    directory: &Directory,
    tree: ObjectId,
    part: &Part,
) -> Result<(), Error> {
    let missing = missing(directory, tree, part)?;
    for wants in missing.chunks(MAX_BLOBS) {
        let wants = wants.to_vec();
        let (haves, roots) = (Vec::new(), Vec::new());
        let request = Request { wants, haves, roots, reach: Reach::Whole, is_partial: false };
        conversation.download(&request, directory)?;
    }
    Ok(())
}

fn missing(directory: &Directory, tree: ObjectId, part: &Part) -> Result<Vec<ObjectId>, Error> {
    let reader = Reader::of(directory, Limits::default())?;
    let present = reader.objects().presence()?;
    let mut missing = BTreeSet::new();
    reader.walk(tree, "", &|path| part.wants(path, true), |path, node| {
        let is_wanted = node.kind != TreeKind::Submodule && (path == MODULES || part.wants(path, false));
        if is_wanted && !present.has(node.id) {
            missing.insert(node.id);
        }
    })?;
    Ok(missing.into_iter().collect())
}
