use std::path::PathBuf;
use std::time::Duration;

/// Errors while a test's world is set up or watched.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program that the kit starts is not installed; `hint` has the way to get it.
    #[error("{program} is missing: {hint}")]
    ProgramMissing {
        /// The program's name or path.
        program: String,
        /// Command that installs it.
        hint: &'static str,
    },
    /// A test lacks what it needs where no test may be left out.
    #[error("{what} is not available, and WEIR_TESTS_MUST_NOT_SKIP is set: {reason}")]
    MustNotSkip {
        /// Thing that the test needs.
        what: String,
        /// Reason why it is not there.
        reason: String,
    },
    /// A variable of the environment leads to no file.
    #[error("{variable} names {}, which is not there", path.display())]
    NamesNothing {
        /// The variable.
        variable: String,
        /// Its value.
        path: PathBuf,
        /// The reason.
        #[source]
        source: std::io::Error,
    },
    /// This machine cannot run a node.
    #[error(
        "a cluster with a node needs {missing}; `make cluster MODE=control-plane` gives an API server without a node, \
         which needs none of it"
    )]
    NoNode {
        /// Rights and programs that are missing.
        missing: String,
    },
    /// An image for the cluster could not be made.
    #[error("make an image")]
    Image(#[from] weir_image::Error),
    /// A child process could not be started.
    #[error("start {program}")]
    Spawn {
        /// The program's name or path.
        program: String,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// A child process ended although it was still needed.
    #[error("{name} ended early ({status}), its last lines:\n{tail}")]
    Exited {
        /// Its name.
        name: String,
        /// Its exit status.
        status: String,
        /// The end of its output.
        tail: String,
    },
    /// A command ran and failed.
    #[error("{command} failed ({status}): {output}")]
    Command {
        /// The command line.
        command: String,
        /// Its exit status.
        status: String,
        /// Text on standard error.
        output: String,
    },
    /// The condition that a test waited for did not come.
    #[error("gave up after {deadline:?} waiting for {what}; last seen: {last}")]
    Deadline {
        /// Condition that the test waited for.
        what: String,
        /// Time that was waited.
        deadline: Duration,
        /// The state when the time was up.
        last: String,
    },
    /// A file could not be read or written.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// No free loopback port was found.
    #[error("no free loopback port found")]
    NoPort,
    /// A listener could not be bound.
    #[error("listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// A certificate or key could not be made.
    #[error("make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// A TLS server could not be set up.
    #[error("set up TLS")]
    Tls(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The Kubernetes API refused a request.
    #[error("{what}")]
    Kube {
        /// Name of the action.
        what: String,
        /// Cause.
        #[source]
        source: Box<kube::Error>,
    },
    /// A kubeconfig that the kit wrote itself cannot be used.
    #[error("read kubeconfig")]
    Kubeconfig(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A watch ended with an error.
    #[error("watch for {what}")]
    Watch {
        /// Condition that the test waited for.
        what: String,
        /// Cause.
        #[source]
        source: Box<kube::runtime::wait::Error>,
    },
    /// Text of a test is not YAML.
    #[error("parse YAML: {0}")]
    Yaml(String),
    /// A document of a test is not a Kubernetes object.
    #[error("not a Kubernetes object: {0}")]
    NotAnObject(String),
    /// The API server serves no such kind.
    #[error("no kind {kind} in {api_version}")]
    UnknownKind {
        /// Group and version in the request.
        api_version: String,
        /// Kind in the request.
        kind: String,
    },
    /// A request to a test server failed.
    #[error("{what}")]
    Http {
        /// Name of the action.
        what: String,
        /// Cause.
        #[source]
        source: reqwest::Error,
    },
    /// A test server answered with something that is not the JSON expected.
    #[error("{what}")]
    NotJson {
        /// Name of the action.
        what: String,
        /// The fault in it.
        #[source]
        source: serde_json::Error,
    },
    /// A test server answered with an unexpected status.
    #[error("{what}: {status}: {body}")]
    Status {
        /// Name of the action.
        what: String,
        /// The HTTP status.
        status: u16,
        /// The answer's body.
        body: String,
    },
}

impl Error {
    pub(crate) fn kube(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let what = what.into();
        move |source| Self::Kube { what, source: Box::new(source) }
    }

    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    pub(crate) fn tls(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Tls(Box::new(error))
    }

    pub(crate) fn http(what: impl Into<String>) -> impl FnOnce(reqwest::Error) -> Self {
        let what = what.into();
        move |source| Self::Http { what, source }
    }
}
