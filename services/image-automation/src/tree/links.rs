//! Symbolic links of a tree, followed inside it.

use std::collections::BTreeMap;

use weir_git::{Error, GitFile, ObjectId, TreeKind};

/// Symbolic links followed on the way to one file; kernels follow 40.
const MAX_LINKS: usize = 8;
/// Longest target of a symbolic link, in bytes: the longest path that kernels take.
pub(super) const MAX_TARGET: usize = 4096;
/// Longest way through links, in parts of a path, so that a tree of many links with long targets does not hold up a run; kernels take
/// paths of some 2000 parts, and nobody writes one of 256.
const MAX_PARTS: usize = 256;

/// Treatment of a way that leads out of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outside {
    /// It stops at the root of the tree, which is also where absolute paths begin (ST-5).
    Confined,
    /// It leads nowhere (ST-3).
    Refused,
}

/// The files of a tree by path.
pub(super) struct Files<'t, R> {
    by_path: BTreeMap<&'t str, &'t GitFile>,
    read: R,
}

impl<'t, R: Fn(ObjectId) -> Result<Option<Vec<u8>>, Error>> Files<'t, R> {
    /// The files of `all` that setters may see: nothing that is, or is in, something named `.git` (SEC-4). `read` gives the
    /// target of a link, but none that is longer than [`MAX_TARGET`].
    pub(super) fn of(all: &'t [GitFile], read: R) -> Self {
        let is_visible = |path: &str| !path.split('/').any(|part| part.eq_ignore_ascii_case(".git"));
        let visible = all.iter().filter(|file| is_visible(&file.path));
        Self { by_path: visible.map(|file| (file.path.as_str(), file)).collect(), read }
    }

    /// All of them, by path.
    pub(super) fn all(&self) -> impl Iterator<Item = &'t GitFile> {
        self.by_path.values().copied()
    }

    /// The file of that path, with all links on the way to it followed; none when there is none inside the tree.
    pub(super) fn behind(&self, path: &str) -> Result<Option<&'t GitFile>, Error> {
        let real = self.resolve(path, Outside::Refused)?;
        Ok(real.and_then(|real| self.by_path.get(real.as_str()).copied()))
    }

    /// The path without links, `.` and `..`. None when it leads out of the tree and that is refused, over too many links, or through
    /// too many parts.
    pub(super) fn resolve(&self, path: &str, outside: Outside) -> Result<Option<String>, Error> {
        let parts = |path: &str| path.split('/').rev().map(str::to_owned).collect::<Vec<_>>();
        let (mut real, mut rest, mut followed, mut steps) = (String::new(), parts(path), 0, 0);
        while let Some(part) = rest.pop() {
            steps += 1;
            if steps + rest.len() > MAX_PARTS {
                return Ok(None);
            }
            match part.as_str() {
                "" | "." => continue,
                ".." if real.is_empty() && outside == Outside::Refused => return Ok(None),
                ".." => {
                    leave(&mut real);
                    continue;
                }
                _ => enter(&mut real, &part),
            }
            let here = self.by_path.get(real.as_str());
            let Some(link) = here.filter(|file| file.kind == TreeKind::Symlink) else { continue };
            let target = (self.read)(link.id)?;
            followed += 1;
            let target = target.filter(|_| followed <= MAX_LINKS);
            let Some(target) = target.and_then(|target| String::from_utf8(target).ok()) else {
                return Ok(None);
            };
            leave(&mut real);
            if target.starts_with('/') {
                if outside == Outside::Refused {
                    return Ok(None);
                }
                real.clear();
            }
            rest.extend(parts(&target));
        }
        Ok(Some(real))
    }
}

fn enter(path: &mut String, part: &str) {
    if !path.is_empty() {
        path.push('/');
    }
    path.push_str(part);
}

/// Leads to the folder that a path is in; the root of the tree is in itself.
fn leave(path: &mut String) {
    path.truncate(path.rfind('/').unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Files of the tests' tree: a path, and the target of what is a link.
    const TREE: [(&str, Option<&str>); 13] = [
        ("apps/web.yaml", None),
        ("apps/sub/api.yaml", None),
        ("current", Some("apps")),
        ("deep/er", Some("../current/sub")),
        ("absolute", Some("/apps")),
        ("outside", Some("../../apps")),
        ("one.yaml", Some("current/web.yaml")),
        ("two.yaml", Some("one.yaml")),
        ("astray.yaml", Some("/etc/passwd")),
        ("loop", Some("loop")),
        ("git", Some(".GIT")),
        (".GIT/x.yaml", None),
        ("sub/.git/y.yaml", None),
    ];

    fn id(number: usize) -> ObjectId {
        format!("{number:040x}").parse().unwrap()
    }

    fn tree() -> Vec<GitFile> {
        let file = |(number, (path, target)): (usize, &(&str, Option<&str>))| GitFile {
            path: (*path).to_owned(),
            kind: target.map_or(TreeKind::File { executable: false }, |_| TreeKind::Symlink),
            id: id(number),
        };
        TREE.iter().enumerate().map(file).collect()
    }

    fn target(of: ObjectId) -> Result<Option<Vec<u8>>, Error> {
        let found = TREE.iter().enumerate().find(|(number, _)| id(*number) == of);
        Ok(found.and_then(|(_, (_, target))| target.map(Into::into)))
    }

    /// ST-5.
    #[rstest]
    #[case("", Some(""))]
    #[case("./apps", Some("apps"))]
    #[case("../../apps", Some("apps"))]
    #[case("/apps", Some("apps"))]
    #[case("apps/./../apps//sub/", Some("apps/sub"))]
    #[case("none/x", Some("none/x"))]
    #[case("./current", Some("apps"))]
    #[case("current/sub", Some("apps/sub"))]
    #[case("current/web.yaml", Some("apps/web.yaml"))]
    #[case("current/../x", Some("x"))]
    #[case("deep/er", Some("apps/sub"))]
    #[case("deep/er/../web.yaml", Some("apps/web.yaml"))]
    #[case("absolute", Some("apps"))]
    #[case("outside", Some("apps"))]
    #[case("loop", None)]
    fn paths_stay_inside(#[case] path: &str, #[case] real: Option<&str>) {
        let all = tree();
        assert_eq!(Files::of(&all, target).resolve(path, Outside::Confined).unwrap().as_deref(), real);
    }

    #[rstest]
    #[case(MAX_PARTS, true)]
    #[case(MAX_PARTS + 1, false)]
    fn long_ways_lead_nowhere(#[case] parts: usize, #[case] is_followed: bool) {
        let all = tree();
        let path = vec!["a"; parts].join("/");
        let real = Files::of(&all, target).resolve(&path, Outside::Confined).unwrap();
        assert_eq!(real, is_followed.then_some(path));
        // The parts of a link and of its target count together.
        let read = |_| Ok(Some(vec!["."; parts - 1].join("/").into_bytes()));
        let real = Files::of(&all, read).resolve("current", Outside::Confined).unwrap();
        assert_eq!(real.as_deref(), is_followed.then_some(""));
    }

    /// ST-3, SEC-4.
    #[rstest]
    #[case("apps/web.yaml", Some("apps/web.yaml"))]
    #[case("one.yaml", Some("apps/web.yaml"))]
    #[case("two.yaml", Some("apps/web.yaml"))]
    #[case("deep/er/api.yaml", Some("apps/sub/api.yaml"))]
    #[case("current", None)]
    #[case("absolute/web.yaml", None)]
    #[case("outside/web.yaml", None)]
    #[case("astray.yaml", None)]
    #[case("loop", None)]
    #[case(".GIT/x.yaml", None)]
    #[case("git/x.yaml", None)]
    #[case("sub/.git/y.yaml", None)]
    fn links_lead_inside_or_nowhere(#[case] link: &str, #[case] real: Option<&str>) {
        let all = tree();
        let files = Files::of(&all, target);
        assert_eq!(files.behind(link).unwrap().map(|file| file.path.as_str()), real);
        assert!(files.all().all(|file| !file.path.to_lowercase().contains(".git")));
    }
}
