use super::GitRepo;
use crate::Error;

/// 2026-01-02T03:04:05Z: commits of the same content have the same id in every run.
const TIME: &str = "1767323045 +0000";

/// A commit in the making; [`Change::commit`] writes it.
///
/// It goes through `git fast-import`, which needs no work tree and one process.
#[derive(Debug)]
pub struct Change<'a> {
    repo: &'a GitRepo,
    branch: &'a str,
    message: String,
    author: String,
    time: String,
    edits: Vec<Edit>,
}

#[derive(Debug)]
enum Edit {
    Write { mode: &'static str, path: String, content: Vec<u8> },
    Submodule { path: String, commit: String },
    Delete { path: String },
}

impl<'a> Change<'a> {
    pub(super) fn new(repo: &'a GitRepo, branch: &'a str) -> Self {
        let author = "dev <dev@example.com>".into();
        Self { repo, branch, message: "change".into(), author, time: TIME.into(), edits: Vec::new() }
    }

    /// The commit's message.
    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        self.message = message.into();
        self
    }

    /// Sets the author; the default is `dev <dev@example.com>`.
    #[must_use]
    pub fn author(mut self, name: &str, email: &str) -> Self {
        self.author = format!("{name} <{email}>");
        self
    }

    /// Sets the time, in seconds since 1970; the default is always the same moment.
    #[must_use]
    pub fn at(mut self, seconds: u64) -> Self {
        self.time = format!("{seconds} +0000");
        self
    }

    /// Adds or replaces a file.
    #[must_use]
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.write("100644", path, content.as_ref())
    }

    /// Adds or replaces an executable file.
    #[must_use]
    pub fn executable(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.write("100755", path, content.as_ref())
    }

    /// Adds or replaces a symbolic link.
    #[must_use]
    pub fn symlink(self, path: &str, target: &str) -> Self {
        self.write("120000", path, target.as_bytes())
    }

    /// Adds or moves a submodule; its `.gitmodules` is a file like others.
    #[must_use]
    pub fn submodule(mut self, path: &str, commit: &str) -> Self {
        self.edits.push(Edit::Submodule { path: path.into(), commit: commit.into() });
        self
    }

    /// Removes a file or folder.
    #[must_use]
    pub fn delete(mut self, path: &str) -> Self {
        self.edits.push(Edit::Delete { path: path.into() });
        self
    }

    fn write(mut self, mode: &'static str, path: &str, content: &[u8]) -> Self {
        self.edits.push(Edit::Write { mode, path: path.into(), content: content.into() });
        self
    }

    /// Writes the commit on top of the branch and returns its id.
    ///
    /// # Errors
    /// When `git` refuses.
    pub fn commit(self) -> Result<String, Error> {
        let reference = format!("refs/heads/{}", self.branch);
        let parent = self.repo.head(&reference).ok();
        let mut stream = format!(
            "commit {reference}\nmark :1\nauthor {author} {time}\ncommitter {author} {time}\n",
            author = self.author,
            time = self.time
        )
        .into_bytes();
        push_data(&mut stream, self.message.as_bytes());
        if let Some(parent) = parent {
            stream.extend(format!("from {parent}\n").bytes());
        }
        for edit in &self.edits {
            match edit {
                Edit::Write { mode, path, content } => {
                    stream.extend(format!("M {mode} inline {path}\n").bytes());
                    push_data(&mut stream, content);
                }
                Edit::Submodule { path, commit } => {
                    stream.extend(format!("M 160000 {commit} {path}\n").bytes());
                }
                Edit::Delete { path } => stream.extend(format!("D {path}\n").bytes()),
            }
        }
        stream.extend(b"\nget-mark :1\n");
        Ok(self.repo.git_with_input(&["fast-import", "--quiet"], &stream)?.trim().to_owned())
    }
}

fn push_data(stream: &mut Vec<u8>, content: &[u8]) {
    stream.extend(format!("data {}\n", content.len()).bytes());
    stream.extend_from_slice(content);
    stream.push(b'\n');
}
