//! A part of a commit's tree: all of its directories, and of its files only those that are wanted. Where the server
//! offers it (`filter` among its capabilities) the commit comes without blobs, and the wanted ones are requested by
//! their ids.

use std::collections::BTreeSet;

use gix_hash::ObjectId;

use crate::checkout::{Reader, TreeKind};
use crate::conversation::{Conversation, FetchDepth, Request};
use crate::error::Error;
use crate::part::Part;
use crate::store::Directory;
use crate::submodule::MODULES_FILE;

/// Blobs of one request: below a megabyte of ids, which proxies in front of servers let through.
const MAX_BLOBS: usize = 16_384;

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
        let request = Request { wants, haves, roots, depth: FetchDepth::Missing, is_partial: false };
        conversation.download(&request, directory)?;
    }
    Ok(())
}

fn missing(directory: &Directory, tree: ObjectId, part: &Part) -> Result<Vec<ObjectId>, Error> {
    let reader = Reader::of(directory)?;
    let present = reader.objects().presence()?;
    let mut missing = BTreeSet::new();
    reader.walk(tree, "", &|path| part.wants(path, true), |path, node| {
        let is_wanted = node.kind != TreeKind::Submodule && (path == MODULES_FILE || part.wants(path, false));
        if is_wanted && !present.has(node.id) {
            missing.insert(node.id);
        }
    })?;
    Ok(missing.into_iter().collect())
}
