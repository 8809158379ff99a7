//! The errors between us and a Git server, with the messages that conditions carry (SRC-GIT-7).

use std::io;
use std::time::Duration;

use secrecy::SecretString;

use crate::conversation::error::ConversationError;
use crate::known_hosts::KnownHostsError;
use crate::ssh_key::IdentityError;
use crate::submodule::PlaceError;
use crate::submodule::modules::ModulesError;

/// A failed Git operation. [`Error::clone_message`] gives the text for a condition.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server wants credentials, or better ones.
    #[error("authentication required: {detail}")]
    AuthenticationRequired {
        /// The server's message.
        detail: String,
    },
    /// The server knows us and refuses.
    #[error("authorization failed: {detail}")]
    AuthorizationFailed {
        /// The server's message.
        detail: String,
    },
    /// No such repository, over HTTP.
    #[error("repository not found: {detail}")]
    RepositoryNotFound {
        /// The server's message.
        detail: String,
    },
    /// No such repository, over SSH.
    #[error("repository not found")]
    SshRepositoryNotFound,
    /// Any other answer of an HTTP server.
    #[error("unexpected client error: unexpected requesting \"{url}\" status code: {status}")]
    UnexpectedStatus {
        /// URL of the request, without its password.
        url: String,
        /// The answer.
        status: u16,
        /// Time for which the server wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// The answer is not that of a smart HTTP server.
    #[error("\"{url}\" is no smart Git server: content type '{content_type}'")]
    NotSmart {
        /// URL of the request, without its password.
        url: String,
        /// Type of the answer.
        content_type: String,
    },
    /// The HTTP request got no answer.
    #[error("{method} \"{url}\": {reason}")]
    Request {
        /// `Get` or `Post`.
        method: &'static str,
        /// URL of the request, without its password.
        url: String,
        /// Cause.
        reason: String,
    },
    /// The HTTP client could not be made from the given certificate authority or proxy.
    #[error(transparent)]
    HttpClient(#[from] weir_http::ClientError),
    /// The SSH server cannot be reached.
    #[error("dial tcp{place}: {reason}")]
    Dial {
        /// Its address behind a space; empty where its name is not known.
        place: String,
        /// Cause.
        reason: String,
    },
    /// The connection could not be made, or it broke.
    #[error("ssh: {0}")]
    Ssh(#[from] SshError),
    /// The SSH server ended the session before it sent anything. The text is Flux's, known from keys that may only read.
    #[error("unknown error: {said}")]
    SshEnded {
        /// Text on the server's error stream.
        said: String,
    },
    /// Credentials that cannot be used.
    #[error("unable to construct auth method with options: {0}")]
    Identity(#[from] IdentityError),
    /// Host keys that cannot be read.
    #[error("unable to construct auth method with options: knownhosts: {0}")]
    KnownHosts(#[from] KnownHostsError),
    /// An SSH URL without SSH credentials, or the other way round.
    #[error("transport '{scheme}' cannot be used with the given credentials")]
    Credentials {
        /// Scheme of the repository's URL.
        scheme: String,
    },
    /// The scheme is none that we speak.
    #[error("unsupported transport '{scheme}'")]
    Scheme {
        /// Scheme of the repository's URL.
        scheme: String,
    },
    /// The server was not understood, or refuses.
    #[error(transparent)]
    Conversation(#[from] ConversationError),
    /// A file outside the part that was fetched.
    #[error("blob {id} was not fetched: it is outside the part of the tree that is wanted")]
    NotFetched {
        /// The blob.
        id: String,
    },
    /// The remote has no references at all.
    #[error("git repository is empty")]
    Empty,
    /// The branch, tag or name is not there.
    #[error("couldn't find remote ref \"{name}\"")]
    RefNotFound {
        /// The full reference.
        name: String,
    },
    /// `ref.name` leads nowhere (SRC-GIT-5).
    #[error("unable to resolve ref '{name}' to a specific commit")]
    NameNotFound {
        /// The reference as written.
        name: String,
    },
    /// `ref.name` is no reference.
    #[error("ref {name} is invalid; Git refs cannot begin or end with a slash '/'")]
    NameInvalid {
        /// The reference as written.
        name: String,
    },
    /// The commit is not there (SRC-GIT-6).
    #[error("unable to resolve commit object for '{id}': {reason}")]
    CommitNotFound {
        /// The commit as written.
        id: String,
        /// Cause.
        reason: String,
    },
    /// The range cannot be read.
    #[error("semver parse error: {0}")]
    Range(#[from] weir_policy::semver::SemverError),
    /// No tag lies in the range.
    #[error("no match found for semver: {range}")]
    NoMatch {
        /// The range as written.
        range: String,
    },
    /// A reference points at something that is no commit.
    #[error("'{name}' does not point at a commit")]
    NotACommit {
        /// The reference.
        name: String,
    },
    /// A path in a tree or an edit cannot be used.
    #[error("invalid path '{path}' in Git tree")]
    Path {
        /// The path.
        path: String,
    },
    /// The repository names its objects by SHA-256, which the library that writes does not know (DEP-GIT-8).
    #[error(
        "the repository uses SHA-256 object names, which can be read but not written; push to a SHA-1 repository"
    )]
    ObjectFormat,
    /// An object is not there.
    #[error("object {id} is missing from the repository")]
    Missing {
        /// Its id.
        id: String,
    },
    /// An object does not have the hash in its name.
    #[error("object {id} is damaged in the repository")]
    Damaged {
        /// Its id.
        id: String,
    },
    /// An object cannot be read.
    #[error("a Git object cannot be read: {0}")]
    Objects(#[from] gix_error::Error),
    /// `.gitmodules` cannot be read.
    #[error(transparent)]
    Modules(#[from] ModulesError),
    /// A submodule is at a place that is not asked.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A submodule cannot be fetched.
    #[error("submodule '{path}': {source}")]
    Submodule {
        /// Its path in the tree.
        path: String,
        /// Cause.
        #[source]
        source: Box<Self>,
    },
    /// A quantity in the repository is beyond its cap.
    #[error("{what} exceeds {limit}")]
    Limit {
        /// Name of the thing that is too large.
        what: String,
        /// The cap.
        limit: u64,
    },
    /// An object of a download would take too much memory.
    #[error("{what} exceeds {limit}")]
    TooLarge {
        /// Name of the thing that is too large.
        what: String,
        /// The cap.
        limit: u64,
    },
    /// An object of a download is not packed as it should be.
    #[error("an object of the download cannot be unpacked")]
    Unpack,
    /// Someone else moved the branch since it was read (DEP-GIT-4).
    #[error("reference '{refname}' has changed since it was read: expected {expected}, found {found}")]
    LeaseLost {
        /// The reference that was to be pushed.
        refname: String,
        /// Commit that it was expected to name.
        expected: String,
        /// Commit that it names.
        found: String,
    },
    /// The server refused the push.
    #[error("push of '{refname}' was rejected: {reason}{}", remote_lines(said))]
    PushRejected {
        /// The reference.
        refname: String,
        /// The server's words.
        reason: String,
        /// Lines that the server's hooks have printed before it refused; most give the reason.
        said: Vec<String>,
    },
    /// Push options were given and the server takes none (DEP-GIT-5).
    #[error("push options are not supported by the Git server")]
    PushOptionsUnsupported,
    /// The commit could not be signed.
    #[error("failed to sign commit: {reason}")]
    Sign {
        /// The signer's words.
        reason: String,
    },
    /// The time given for the operation is over.
    #[error("context deadline exceeded")]
    Deadline,
    /// The time given for the operation is over, and an HTTP request has no answer.
    #[error("{method} \"{url}\": context deadline exceeded")]
    Late {
        /// `Get` or `Post`.
        method: &'static str,
        /// URL of the request, without its password.
        url: String,
    },
    /// The operation was given up by its caller.
    #[error("context canceled")]
    Cancelled,
    /// Work directory trouble.
    #[error("failed to create Git work directory: {source}")]
    WorkDirectory {
        /// The file system's words.
        #[source]
        source: io::Error,
    },
    /// The download could not be stored.
    #[error("failed to keep fetched Git objects: {source}")]
    Keep {
        /// The file system's words, or the library's about it.
        #[source]
        source: io::Error,
    },
    /// Any other error of libgit2.
    #[error("{}", source.message())]
    Library {
        /// The library's error.
        #[from]
        source: git2::Error,
    },
}

/// Errors on the way to an SSH server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SshError {
    /// No connection.
    #[error("{reason}")]
    Connect {
        /// Cause.
        reason: String,
    },
    /// The host is known with other keys.
    #[error("handshake failed: knownhosts: key mismatch")]
    HostKeyMismatch,
    /// Nothing is known of the host.
    #[error("handshake failed: knownhosts: key is unknown")]
    HostKeyUnknown,
    /// The host's key is known to be compromised.
    #[error("handshake failed: knownhosts: key is revoked")]
    HostKeyRevoked,
    /// The server takes none of our keys.
    #[error(
        "handshake failed: ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain"
    )]
    NotAuthenticated,
    /// The agent does not answer, or holds no key.
    #[error("SSH agent at {socket}: {reason}")]
    Agent {
        /// Its socket.
        socket: String,
        /// Cause.
        reason: String,
    },
    /// The handshake failed otherwise, or the connection broke later.
    #[error("{reason}")]
    Protocol {
        /// The library's words.
        reason: String,
    },
}

impl Error {
    /// Returns the same without the secrets that the server got and repeated (SRC-SCK-11).
    pub(crate) fn without(self, secrets: &[SecretString]) -> Self {
        let clean = |words: String| weir_http::redact(&words, secrets, weir_http::REDACTED);
        match self {
            Self::AuthenticationRequired { detail } => Self::AuthenticationRequired { detail: clean(detail) },
            Self::AuthorizationFailed { detail } => Self::AuthorizationFailed { detail: clean(detail) },
            Self::RepositoryNotFound { detail } => Self::RepositoryNotFound { detail: clean(detail) },
            Self::NotSmart { url, content_type } => Self::NotSmart { url, content_type: clean(content_type) },
            Self::Conversation(error) => Self::Conversation(error.map_words(clean)),
            Self::Ssh(SshError::Connect { reason }) => SshError::Connect { reason: clean(reason) }.into(),
            Self::SshEnded { said } => Self::SshEnded { said: clean(said) },
            Self::LeaseLost { refname, expected, found } => {
                Self::LeaseLost { refname, expected, found: clean(found) }
            }
            Self::PushRejected { refname, reason, said } => {
                let said = said.into_iter().map(clean).collect();
                Self::PushRejected { refname, reason: clean(reason), said }
            }
            // libgit2 repeats what servers say to a push.
            Self::Library { source } => {
                git2::Error::new(source.code(), source.class(), clean(source.message().to_owned())).into()
            }
            other => other,
        }
    }

    /// Returns true when what was fetched cannot be read: a kept repository is of no more use then. To a new one, large
    /// files come as they are, and not as differences.
    #[must_use]
    pub fn is_of_store(&self) -> bool {
        matches!(
            self,
            Self::Library { .. }
                | Self::Objects(_)
                | Self::Unpack
                | Self::TooLarge { .. }
                | Self::Missing { .. }
                | Self::Damaged { .. }
        )
    }

    /// Returns the time for which the server wants to be left alone, if it has named one.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::UnexpectedStatus { retry_after, .. } => *retry_after,
            Self::Submodule { source, .. } => source.retry_after(),
            _ => None,
        }
    }

    /// Returns true when it is the disk that failed, and not the remote.
    #[must_use]
    pub fn is_of_disk(&self) -> bool {
        match self {
            Self::WorkDirectory { .. } | Self::Keep { .. } => true,
            Self::Submodule { source, .. } => source.is_of_disk(),
            _ => false,
        }
    }

    /// The text of a failed clone of `url`, as conditions carry it behind `failed to checkout and determine revision: `.
    /// User info of the URL is not repeated.
    #[must_use]
    pub fn clone_message(&self, url: &str) -> String {
        let url = without_password(url);
        match self {
            Self::SshRepositoryNotFound => format!("unable to clone: {self}: git repository: '{url}'"),
            Self::NameNotFound { .. }
            | Self::NameInvalid { .. }
            | Self::CommitNotFound { .. }
            | Self::Range(_)
            | Self::NoMatch { .. }
            | Self::Identity(_)
            | Self::KnownHosts(_)
            | Self::Empty => self.to_string(),
            _ => format!("unable to clone '{url}': {self}"),
        }
    }

    /// As [`Error::clone_message`], of a fetch that begins with a look at the references.
    #[must_use]
    pub fn list_message(&self, url: &str) -> String {
        let shown = without_password(url);
        match self {
            Self::Empty => format!("unable to list remote for '{shown}': remote repository is empty"),
            Self::AuthenticationRequired { .. }
            | Self::AuthorizationFailed { .. }
            | Self::RepositoryNotFound { .. }
            | Self::SshRepositoryNotFound
            | Self::UnexpectedStatus { .. }
            | Self::NotSmart { .. }
            | Self::Request { .. }
            | Self::Late { .. }
            | Self::Dial { .. }
            | Self::Ssh(_)
            | Self::SshEnded { .. } => format!("unable to list remote for '{shown}': {self}"),
            _ => self.clone_message(url),
        }
    }
}

/// Queries of Git's protocol.
const PROTOCOL_QUERIES: [&str; 2] = ["service=git-upload-pack", "service=git-receive-pack"];

/// A URL as it may be shown: without user info, query and fragment, except for the user of an SSH URL without password.
#[must_use]
pub fn without_password(text: &str) -> String {
    let Ok(mut url) = url::Url::parse(text) else { return text.to_owned() };
    // Over HTTP the user alone may be a token, and so may what stands in the query, unless the protocol put it there.
    let has_user = url.scheme().starts_with("http") && !url.username().is_empty();
    let has_query = url.query().is_some_and(|query| !PROTOCOL_QUERIES.contains(&query));
    if !has_query && url.password().is_none() && !has_user && url.fragment().is_none() {
        return text.to_owned();
    }
    url.set_fragment(None);
    if has_query {
        url.set_query(Some("..."));
    }
    let cleared = url.set_password(None).and_then(|()| url.set_username(""));
    if cleared.is_ok() { url.to_string() } else { String::new() }
}

/// Returns the lines of a server as Git shows them.
fn remote_lines(said: &[String]) -> String {
    said.iter().map(|line| format!("\n  remote: {line}")).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const SAID: &str = "you sent hunter2";

    /// Answers of servers to a push and over SSH, and the rest that no server of the tests repeats.
    #[rstest]
    #[case(Error::PushRejected { refname: "r".into(), reason: SAID.into(), said: Vec::new() })]
    #[case(Error::PushRejected { refname: "r".into(), reason: String::new(), said: vec![SAID.into()] })]
    #[case(Error::LeaseLost { refname: "r".into(), expected: "e".into(), found: SAID.into() })]
    #[case(git2::Error::from_str(SAID).into())]
    #[case(Error::NotSmart { url: "u".into(), content_type: SAID.into() })]
    #[case(Error::SshEnded { said: SAID.into() })]
    #[case(SshError::Connect { reason: SAID.into() }.into())]
    #[case(ConversationError::Unexpected { line: SAID.into() }.into())]
    #[case(ConversationError::Reference { line: SAID.into() }.into())]
    fn words_of_servers(#[case] error: Error) {
        assert!(error.to_string().contains(SAID), "{error}");
        let shown = error.without(&["hunter2".into()]).to_string();
        assert!(shown.contains("you sent <redacted>"), "{shown}");
    }

    #[rstest]
    #[case("https://u:p@h/a.git?x=y#z", "https://h/a.git?...")]
    #[case("https://h/a.git#z", "https://h/a.git")]
    #[case("https://h/a/info/refs?service=git-upload-pack", "https://h/a/info/refs?service=git-upload-pack")]
    #[case("ssh://git@h/a", "ssh://git@h/a")]
    fn urls(#[case] url: &str, #[case] expected: &str) {
        assert_eq!(without_password(url), expected);
    }
}
