//! The request to a server.

use std::fmt::Write as _;

use gix_hash::ObjectId;

use super::advertisement::Advertisement;
use super::lines::put;

/// Capabilities of a server that are used; of several with the same use, the best comes first.
const CAPABILITIES: [&[&str]; 5] = [
    &["multi_ack_detailed", "multi_ack"],
    &["side-band-64k", "side-band"],
    &["ofs-delta"],
    &["thin-pack"],
    &["no-progress"],
];
/// All history, also where the local one is cut: Git's number for it.
const ENDLESS: u32 = i32::MAX as u32;

/// The history to fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FetchDepth {
    /// The commit alone.
    Tip,
    /// All that is missing, as far as history is not cut.
    Missing,
    /// All, also what an earlier download has cut off.
    Unshallow,
}

impl FetchDepth {
    /// Returns true when the answer begins with where history is cut.
    pub(super) fn is_cut(self) -> bool {
        self != Self::Missing
    }
}

/// A download.
#[derive(Debug)]
pub(crate) struct Request {
    /// The objects.
    pub(crate) wants: Vec<ObjectId>,
    /// Commits that are there, with all that belongs to them.
    pub(crate) haves: Vec<ObjectId>,
    /// Commits whose parents are not there.
    pub(crate) roots: Vec<ObjectId>,
    pub(crate) depth: FetchDepth,
    /// True when blobs are left out.
    pub(crate) is_partial: bool,
}

impl Request {
    pub(super) fn encode(&self, offered: &Advertisement) -> Vec<u8> {
        let mut out = Vec::new();
        let mut capabilities = self.capabilities(offered);
        for want in &self.wants {
            put(&mut out, &format!("want {want}{}\n", std::mem::take(&mut capabilities)));
        }
        if offered.offers("shallow") {
            self.roots.iter().for_each(|root| put(&mut out, &format!("shallow {root}\n")));
        }
        match self.depth {
            FetchDepth::Tip => put(&mut out, "deepen 1\n"),
            FetchDepth::Missing => {}
            FetchDepth::Unshallow => put(&mut out, &format!("deepen {ENDLESS}\n")),
        }
        if self.is_partial {
            put(&mut out, "filter blob:none\n");
        }
        out.extend(super::NOTHING);
        self.haves.iter().for_each(|have| put(&mut out, &format!("have {have}\n")));
        put(&mut out, "done\n");
        out
    }

    fn capabilities(&self, offered: &Advertisement) -> String {
        let mut text = String::new();
        for alike in CAPABILITIES {
            if let Some(best) = alike.iter().find(|name| offered.offers(name)) {
                let _ = write!(text, " {best}");
            }
        }
        if self.is_partial {
            text.push_str(" filter");
        }
        if let Some(format) = offered.named_format() {
            let _ = write!(text, " {format}");
        }
        text
    }
}

#[cfg(test)]
mod tests;
