//! From what an object asks for to one reference of the remote (SRC-GIT-1…6). Pure: the remote's list in, a plan out.

use gix_hash::ObjectId;
use weir_policy::semver::{Constraint, Version};

use crate::error::Error;

/// Suffix under which a server lists the commit behind an annotated tag.
const PEELED: &str = "^{}";
const HEADS: &str = "refs/heads/";
const TAGS: &str = "refs/tags/";
/// Names that Git tries for a short name, in this order: the text before it and the text behind it.
const PLACES: [(&str, &str); 6] =
    [("", ""), ("refs/", ""), (TAGS, ""), (HEADS, ""), ("refs/remotes/", ""), ("refs/remotes/", "/HEAD")];
/// Tags of equal precedence (build metadata) that are fetched to compare their dates: each build of a version may have one.
const MAX_TIES: usize = 1000;

/// The reference to fetch, one of `spec.ref`'s forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// The tip of a branch.
    Branch(String),
    /// A tag, lightweight or annotated.
    Tag(String),
    /// The highest version tag in a range.
    Semver(String),
    /// Any full reference, for example `refs/pull/1/head`.
    Name(String),
    /// Any name that `git fetch` understands: the unique part of the name of a branch, tag or other reference, or a
    /// commit by its full hash.
    Short(String),
    /// A commit by its full hash, searched on `branch` if given, else everywhere.
    Commit {
        /// 40 hex digits, or 64 where SHA-256 names the objects.
        id: String,
        /// The reference to search it in, and the revision's pointer when there is no name.
        branch: Option<String>,
        /// The revision's pointer, also where a branch is given (`ref.name` beside `ref.commit`).
        name: Option<String>,
    },
}

/// One line of a remote's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteRef {
    /// Full name; `^{}` at the end means the object behind an annotated tag.
    pub name: String,
    /// The object.
    pub id: ObjectId,
}

/// The object to download, and its local name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Remote references to fetch; more than one only for tags of equal precedence.
    pub(crate) candidates: Vec<Candidate>,
    /// History to fetch.
    pub(crate) depth: Depth,
}

/// One reference that may be the one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Full name on the remote.
    pub(crate) name: String,
    /// The object that the name stands for: a commit or an annotated tag.
    pub(crate) object: ObjectId,
    /// Commit, as far as the list shows it.
    pub(crate) commit: ObjectId,
    /// Part of the revision before the `@`.
    pub(crate) pointer: Option<String>,
}

/// The history that is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Depth {
    /// The commit alone.
    Shallow,
    /// History, to look for the candidate's commit in it.
    History {
        /// The tips of the references to which it belongs.
        tips: Vec<ObjectId>,
        /// The tip of the one branch on which the commit has to be, if it has to be on one.
        within: Option<ObjectId>,
    },
}

impl Plan {
    /// The revision, when the list alone decides it.
    pub(crate) fn revision(&self) -> Option<String> {
        match self.candidates.as_slice() {
            [only] => Some(only.revision()),
            _ => None,
        }
    }

    fn one(candidate: Candidate) -> Self {
        Self { candidates: vec![candidate], depth: Depth::Shallow }
    }
}

impl Candidate {
    pub(crate) fn revision(&self) -> String {
        match &self.pointer {
            Some(pointer) => format!("{pointer}@{}:{}", self.commit.kind(), self.commit),
            None => format!("{}:{}", self.commit.kind(), self.commit),
        }
    }
}

impl Reference {
    /// Decides what to download from a remote that lists `refs`.
    pub(crate) fn resolve(&self, refs: &[RemoteRef]) -> Result<Plan, Error> {
        match self {
            Self::Branch(branch) => Ok(Plan::one(named(refs, &format!("{HEADS}{branch}"), branch)?)),
            Self::Tag(tag) => Ok(Plan::one(named(refs, &format!("{TAGS}{tag}"), tag)?)),
            Self::Semver(range) => by_range(refs, range),
            Self::Name(name) => by_name(refs, name),
            Self::Short(name) => by_short_name(refs, name),
            Self::Commit { id, branch, name } => by_commit(refs, id, branch.as_deref(), name.as_deref()),
        }
    }

    /// The revision when it is known without asking the remote: a commit is what it is.
    pub(crate) fn fixed_revision(&self) -> Option<String> {
        let Self::Commit { id, branch, name } = self else { return None };
        let id = id.parse().ok()?;
        let pointer = name.clone().or_else(|| branch.clone());
        Some(Candidate { name: String::new(), object: id, commit: id, pointer }.revision())
    }
}

fn find<'a>(refs: &'a [RemoteRef], name: &str) -> Option<&'a RemoteRef> {
    refs.iter().find(|reference| reference.name == name)
}

fn candidate(refs: &[RemoteRef], name: &str, pointer: &str) -> Option<Candidate> {
    let object = find(refs, name)?.id;
    let commit = find(refs, &format!("{name}{PEELED}")).map_or(object, |peeled| peeled.id);
    Some(Candidate { name: name.to_owned(), object, commit, pointer: Some(pointer.to_owned()) })
}

fn named(refs: &[RemoteRef], name: &str, pointer: &str) -> Result<Candidate, Error> {
    candidate(refs, name, pointer).ok_or_else(|| Error::RefNotFound { name: name.to_owned() })
}

fn by_name(refs: &[RemoteRef], name: &str) -> Result<Plan, Error> {
    if name.starts_with('/') || name.ends_with('/') {
        return Err(Error::NameInvalid { name: name.to_owned() });
    }
    let plain = name.strip_suffix(PEELED).unwrap_or(name);
    candidate(refs, plain, name).map(Plan::one).ok_or_else(|| Error::NameNotFound { name: name.to_owned() })
}

fn by_short_name(refs: &[RemoteRef], name: &str) -> Result<Plan, Error> {
    if name.parse::<ObjectId>().is_ok() {
        return by_commit(refs, name, None, None);
    }
    let found = PLACES.iter().find_map(|(start, end)| candidate(refs, &format!("{start}{name}{end}"), name));
    found.map(Plan::one).ok_or_else(|| Error::RefNotFound { name: name.to_owned() })
}

fn by_range(refs: &[RemoteRef], range: &str) -> Result<Plan, Error> {
    let constraint = Constraint::parse(range)?;
    let tags = refs.iter().filter_map(|reference| reference.name.strip_prefix(TAGS));
    let mut matching: Vec<(Version, &str)> = tags
        .filter(|tag| !tag.ends_with(PEELED))
        .filter_map(|tag| Some((Version::parse_tag(tag).ok()?, tag)))
        .filter(|(version, _)| constraint.matches(version))
        .collect();
    matching.sort_by(|(a, _), (b, _)| b.cmp(a));
    let Some((highest, _)) = matching.first().cloned() else {
        return Err(Error::NoMatch { range: range.to_owned() });
    };
    let ties = matching.iter().take_while(|(version, _)| *version == highest);
    // The newest one is known only once they are all there, so that none may be left out.
    if ties.clone().count() > MAX_TIES {
        return Err(Error::Limit {
            what: "number of tags of one version".to_owned(),
            limit: MAX_TIES as u64,
        });
    }
    let candidates =
        ties.map(|(_, tag)| named(refs, &format!("{TAGS}{tag}"), tag)).collect::<Result<_, _>>()?;
    Ok(Plan { candidates, depth: Depth::Shallow })
}

fn by_commit(refs: &[RemoteRef], id: &str, branch: Option<&str>, name: Option<&str>) -> Result<Plan, Error> {
    let invalid = || Error::CommitNotFound { id: id.to_owned(), reason: "object not found".to_owned() };
    let commit: ObjectId = id.parse().map_err(|_| invalid())?;
    let pointer = name.or(branch).map(str::to_owned);
    let on_branch = branch.map(|branch| named(refs, &format!("{HEADS}{branch}"), branch)).transpose()?;
    // A tip can be had shallow by its name; anything else has to be looked for.
    let is_tip = |reference: &&RemoteRef| reference.id == commit && reference.name.starts_with("refs/");
    let tip = refs.iter().find(is_tip).filter(|_| on_branch.as_ref().is_none_or(|tip| tip.commit == commit));
    let (name, depth) = match tip {
        Some(tip) => (tip.name.trim_end_matches(PEELED).to_owned(), Depth::Shallow),
        None => {
            let within = on_branch.as_ref().map(|tip| tip.commit);
            (id.to_owned(), Depth::History { tips: tips(refs, on_branch), within })
        }
    };
    Ok(Plan { candidates: vec![Candidate { name, object: commit, commit, pointer }], depth })
}

/// The tips whose history may hold a commit.
fn tips(refs: &[RemoteRef], branch: Option<Candidate>) -> Vec<ObjectId> {
    match branch {
        Some(branch) => vec![branch.object],
        None => refs
            .iter()
            .filter(|reference| reference.name.starts_with(HEADS))
            .map(|reference| reference.id)
            .collect(),
    }
}

#[cfg(test)]
mod tests;
