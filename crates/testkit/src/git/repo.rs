use std::path::{Path, PathBuf};
use std::process::Command;

use super::Change;
use crate::Error;
use crate::command::output_of;

/// A bare repository on disk, served or not.
#[derive(Debug, Clone)]
pub struct GitRepo {
    path: PathBuf,
}

/// A commit as `git log` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    /// The commit's id.
    pub id: String,
    /// Its parents' ids.
    pub parents: Vec<String>,
    /// Author.
    pub author_name: String,
    /// The author's address.
    pub author_email: String,
    /// The whole message without the line feed at its end.
    pub message: String,
}

impl GitRepo {
    /// Makes an empty bare repository whose default branch is `main`.
    ///
    /// # Errors
    /// When `git` is missing or the folder cannot be written.
    pub fn create(path: &Path) -> Result<Self, Error> {
        Self::create_as(path, "sha1")
    }

    /// The same with another format of ids: `sha256`.
    ///
    /// # Errors
    /// As [`GitRepo::create`].
    pub fn create_as(path: &Path, format: &str) -> Result<Self, Error> {
        std::fs::create_dir_all(path).map_err(Error::file(path))?;
        let repo = Self { path: path.to_owned() };
        repo.git(&["init", "-q", "--bare", "-b", "main", "--object-format", format, "."])?;
        // Requests that hosted Git servers allow.
        for setting in ["http.receivepack", "uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"] {
            repo.git(&["config", setting, "true"])?;
        }
        Ok(repo)
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Commits files on top of a branch, which is made if it does not exist, and returns the commit's id.
    ///
    /// # Errors
    /// When `git` refuses.
    pub fn commit(&self, branch: &str, message: &str, files: &[(&str, &str)]) -> Result<String, Error> {
        let mut change = self.change(branch).message(message);
        for (path, content) in files {
            change = change.file(path, content);
        }
        change.commit()
    }

    /// A commit with more to it than files of text.
    #[must_use]
    pub fn change<'a>(&'a self, branch: &'a str) -> Change<'a> {
        Change::new(self, branch)
    }

    /// The commit that a branch, tag or other revision names.
    ///
    /// # Errors
    /// When there is none.
    pub fn head(&self, revision: &str) -> Result<String, Error> {
        let commit = format!("{revision}^{{commit}}");
        Ok(self.git(&["rev-parse", "--verify", "-q", &commit])?.trim().to_owned())
    }

    /// Makes or moves a lightweight tag.
    ///
    /// # Errors
    /// When `git` refuses.
    pub fn tag(&self, name: &str, revision: &str) -> Result<(), Error> {
        self.git(&["tag", "-f", name, revision]).map(drop)
    }

    /// Makes or moves an annotated tag.
    ///
    /// # Errors
    /// When `git` refuses.
    pub fn annotated_tag(&self, name: &str, revision: &str, message: &str) -> Result<(), Error> {
        self.git(&["tag", "-f", "-a", "-m", message, name, revision]).map(drop)
    }

    /// Points a branch at a commit, whatever it pointed at before.
    ///
    /// # Errors
    /// When there is no such commit.
    pub fn set_branch(&self, branch: &str, revision: &str) -> Result<(), Error> {
        self.git(&["update-ref", &format!("refs/heads/{branch}"), revision]).map(drop)
    }

    /// Deletes a branch.
    ///
    /// # Errors
    /// When there is none.
    pub fn delete_branch(&self, branch: &str) -> Result<(), Error> {
        self.git(&["update-ref", "-d", &format!("refs/heads/{branch}")]).map(drop)
    }

    /// The names of all branches, sorted.
    ///
    /// # Errors
    /// When `git` fails.
    pub fn branches(&self) -> Result<Vec<String>, Error> {
        let names = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// The text of a file at a revision.
    ///
    /// # Errors
    /// When there is no such file.
    pub fn read(&self, revision: &str, path: &str) -> Result<String, Error> {
        self.git(&["show", &format!("{revision}:{path}")])
    }

    /// Returns the changes of a commit, as a patch without context lines.
    ///
    /// # Errors
    /// When there is no such commit.
    pub fn diff(&self, revision: &str) -> Result<String, Error> {
        self.git(&["show", "--format=", "-U0", revision])
    }

    /// The commits of a branch, newest first.
    ///
    /// # Errors
    /// When there is no such branch.
    pub fn log(&self, revision: &str) -> Result<Vec<CommitInfo>, Error> {
        let text =
            self.git(&["log", "--topo-order", "--format=%H%x00%P%x00%an%x00%ae%x00%B%x01", revision])?;
        Ok(text
            .split('\u{1}')
            .filter_map(|entry| CommitInfo::parse(entry.trim_start_matches('\n')))
            .collect())
    }

    /// Runs `git` in the repository and returns what it printed.
    ///
    /// # Errors
    /// [`Error::Command`] with its standard error when it fails.
    pub fn git(&self, arguments: &[&str]) -> Result<String, Error> {
        self.git_with_input(arguments, b"")
    }

    pub(super) fn git_with_input(&self, arguments: &[&str], input: &[u8]) -> Result<String, Error> {
        output_of(git_command().arg("-C").arg(&self.path).args(arguments), input)
    }
}

impl CommitInfo {
    fn parse(entry: &str) -> Option<Self> {
        let mut fields = entry.split('\0').map(str::to_owned);
        Some(Self {
            id: fields.next().filter(|id| !id.is_empty())?,
            parents: fields.next()?.split_whitespace().map(str::to_owned).collect(),
            author_name: fields.next()?,
            author_email: fields.next()?,
            message: fields.next()?.trim_end_matches('\n').to_owned(),
        })
    }
}

/// `git` with nobody's configuration, so that tests do the same on every machine.
pub(super) fn git_command() -> Command {
    let mut command = Command::new("git");
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "dev").env(format!("GIT_{role}_EMAIL"), "dev@example.com");
        command.env(format!("GIT_{role}_DATE"), "2026-01-02T03:04:05Z");
    }
    command
}
