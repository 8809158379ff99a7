//! Submodules, read without a checkout: the commits that a tree names, from the repositories that `.gitmodules` names
//! (SRC-GIT-13).

pub(crate) mod modules;
mod place;

use gix_hash::ObjectId;
use url::Url;

pub use self::modules::{Module, ModulesError, parse_modules};
pub use self::place::{PlaceError, parse_url};
use crate::checkout::{Checkout, TreeKind};
use crate::client::Git;
use crate::error::Error;
use crate::fetch::Fetched;
use crate::reference::Reference;
use crate::remote::Remote;

/// Submodules inside each other, as Flux has it; it ends a repository that contains itself.
const MAX_DEPTH: usize = 10;
/// Submodules of one commit, theirs included. Each costs a connection.
const MAX_SUBMODULES: usize = 200;
/// Names the submodules of a commit; it is read whatever part is wanted.
pub(crate) const MODULES_FILE: &str = ".gitmodules";

/// A fetched submodule.
#[derive(Debug, Clone)]
pub struct Submodule {
    /// Its path in the tree of the outermost commit.
    pub path: String,
    /// URL that it was fetched from.
    pub url: Url,
    /// The commit that the tree names.
    pub checkout: Checkout,
}

/// A commit whose submodules are looked for.
struct Level {
    remote: Remote,
    checkout: Checkout,
    path: String,
    depth: usize,
}

/// A submodule that a tree names.
struct Link {
    path: String,
    url: String,
    commit: ObjectId,
}

impl Git {
    /// Fetches the submodules of a checkout and theirs; each comes before those inside it. `wanted` is asked with every
    /// path; what is below an unwanted path is not looked for.
    ///
    /// # Errors
    /// When `.gitmodules` cannot be read, names a place that must not be asked, or a fetch fails.
    pub async fn submodules(
        &self,
        remote: &Remote,
        checkout: &Checkout,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<Submodule>, Error> {
        let mut found = Vec::new();
        let outermost =
            Level { remote: remote.clone(), checkout: checkout.clone(), path: String::new(), depth: 0 };
        let mut pending = vec![outermost];
        while let Some(level) = pending.pop() {
            for link in level.links().await? {
                let path = below(&level.path, &link.path);
                if !wanted(&path) {
                    continue;
                }
                if level.depth == MAX_DEPTH {
                    return Err(limit("depth of submodules", MAX_DEPTH));
                }
                if found.len() == MAX_SUBMODULES {
                    return Err(limit("number of submodules", MAX_SUBMODULES));
                }
                let (remote, checkout) = self.fetch_link(&level.remote, &path, &link).await?;
                let url = remote.url.clone();
                found.push(Submodule { path: path.clone(), url, checkout: checkout.clone() });
                pending.push(Level { remote, checkout, path, depth: level.depth + 1 });
            }
        }
        Ok(found)
    }

    async fn fetch_link(
        &self,
        parent: &Remote,
        path: &str,
        link: &Link,
    ) -> Result<(Remote, Checkout), Error> {
        let failed = |source: Error| Error::Submodule { path: path.to_owned(), source: Box::new(source) };
        let remote = parent.of_submodule(path, &link.url).map_err(|error| failed(error.into()))?;
        let commit = Reference::Commit { id: link.commit.to_string(), branch: None, name: None };
        match self.fetch(&remote, &commit, None).await.map_err(failed)? {
            Fetched::New(checkout) => Ok((remote, checkout)),
            // Nothing is known, so nothing can be unchanged.
            Fetched::Unchanged { revision } => Err(Error::RefNotFound { name: revision }),
        }
    }
}

impl Level {
    /// The submodules of this commit that its tree and `.gitmodules` agree on.
    async fn links(&self) -> Result<Vec<Link>, Error> {
        let checkout = self.checkout.clone();
        let read = tokio::task::spawn_blocking(move || links(&checkout));
        read.await.map_err(|error| Error::WorkDirectory { source: std::io::Error::other(error) })?
    }
}

fn links(checkout: &Checkout) -> Result<Vec<Link>, Error> {
    let (reader, root) = (checkout.reader()?, checkout.commit().tree);
    let Some(file) = reader.find(root, MODULES_FILE)? else { return Ok(Vec::new()) };
    // A link would be followed by others; nothing good comes of one here.
    if !matches!(file.kind, TreeKind::File { .. }) {
        return Err(Error::Path { path: MODULES_FILE.to_owned() });
    }
    let text = reader.blob(file.id)?;
    let mut links = Vec::new();
    for module in parse_modules(&String::from_utf8_lossy(text.as_ref()))? {
        let path = module.path.trim_end_matches('/');
        if path.split('/').any(|part| matches!(part, "" | "." | "..") || part.eq_ignore_ascii_case(".git")) {
            return Err(Error::Path { path: path.to_owned() });
        }
        // An entry that the tree does not know is left over from a submodule that was removed.
        match reader.find(root, path)? {
            Some(node) if node.kind == TreeKind::Submodule => {
                links.push(Link { path: path.to_owned(), url: module.url, commit: node.id });
            }
            _ => {}
        }
    }
    Ok(links)
}

fn below(directory: &str, path: &str) -> String {
    if directory.is_empty() { path.to_owned() } else { format!("{directory}/{path}") }
}

fn limit(what: &str, limit: usize) -> Error {
    Error::Limit { what: what.to_owned(), limit: limit as u64 }
}
