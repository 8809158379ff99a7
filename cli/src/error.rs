//! Errors of the command, with the messages that users of Flux know.

use std::error::Error as StdError;
use std::io::ErrorKind;

use crate::kind::Kind;

/// The errors of a command; printed after `✗`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The namespace cannot be one (CLI-G03).
    #[error("namespace must be a valid DNS label: \"{0}\"")]
    Namespace(String),
    /// No cluster to talk to.
    #[error("kubernetes configuration load failed: {0}")]
    KubeConfig(String),
    /// A file that a flag names cannot be opened and read as text, in Flux's words.
    #[error("{} {path}: {}", if cause.kind() == ErrorKind::IsADirectory { "read" } else { "open" }, opening(cause))]
    Open {
        /// The file.
        path: String,
        /// Cause.
        cause: std::io::Error,
    },
    /// A file or folder cannot be read or written.
    #[error("{path}: {cause}")]
    File {
        /// The file.
        path: String,
        /// Cause.
        cause: std::io::Error,
    },
    /// A SOPS file that cannot be decrypted, or keys that are none.
    #[error("{0}")]
    Sops(String),
    /// Answer of the API server, or the reason for which there is none.
    #[error("{0}")]
    Api(String),
    /// Answer of the API server to somebody who has no right to ask.
    #[error("{0}")]
    Forbidden(String),
    /// The API server does not answer; the place where it was looked for is added by [`Error::at`].
    #[error("cannot reach the API server: {0}")]
    Unreachable(String),
    /// The API server does not answer.
    #[error(
        "cannot reach the API server {server}: {cause}; the address comes from {origin}; is the cluster running? \
         --context chooses another one, `kubectl config get-contexts` lists them"
    )]
    NoServer {
        /// Its address.
        server: String,
        /// Place that names the address.
        origin: String,
        /// Cause.
        cause: String,
    },
    /// The kind's CRD is not installed.
    #[error("no matches for kind \"{}\" in version \"{}/{}\"\n  try: weir check", .0.name, .0.group, .0.version)]
    NoSuchKind(&'static Kind),
    /// The object is not there.
    #[error("{}.{} \"{name}\" not found", kind.plural, kind.group)]
    NotFound {
        /// Its kind.
        kind: &'static Kind,
        /// Its name.
        name: String,
    },
    /// The operation took longer than `--timeout` (CLI-G20).
    #[error("context deadline exceeded")]
    Deadline,
    /// An object did not get ready within `--timeout` (CLI-G20).
    #[error("context deadline exceeded: waited for {kind} {namespace}/{name}; {said}")]
    TooLate {
        /// Kind of the object.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Its namespace.
        namespace: String,
        /// State in which it was last.
        said: String,
    },
    /// The watch took as long as `--timeout` lets it.
    #[error("timed out waiting for the condition")]
    WatchEnded,
    /// `get` finds nothing (CLI-GET02).
    #[error("{0}")]
    NothingFound(String),
    /// `--status-selector` is not one (CLI-GET03).
    #[error("expected status selector in type=status or type!=status format, but found: {0}")]
    StatusSelector(String),
    /// `-l` is not a selector (CLI-GET04).
    #[error("unable to parse label selector: couldn't parse the selector string \"{selector}\": {reason}")]
    LabelSelector {
        /// The value of the flag.
        selector: String,
        /// Answer of the API server.
        reason: String,
    },
    /// `--watch` on several kinds (CLI-GET05).
    #[error("expected a single resource type, but found all")]
    WatchAll,
    /// A name is missing (CLI-REC01, CLI-SUS01).
    #[error("{0} name is required")]
    NameRequired(&'static str),
    /// `--all` finds nothing (CLI-SUS01).
    #[error("no objects found")]
    NoObjects,
    /// A suspended object is not reconciled (CLI-REC01).
    #[error("resource is suspended")]
    Suspended,
    /// By kstatus the object will not get there by itself (CLI-G21).
    #[error("{0}")]
    Stalled(String),
    /// The object has no status (CLI-REC02).
    #[error("status can't be determined")]
    NoStatus,
    /// The reconciliation was done and failed (CLI-REC02).
    #[error("{0}")]
    ReconcileFailed(String),
    /// `--with-source` for a kind of source that cannot be reconciled (CLI-REC03).
    #[error("cannot reconcile source of kind {0}")]
    SourceKind(String),
    /// Some of the resumed objects are not ready (CLI-SUS02).
    #[error("reconciliation failed for {count} {kind}(s)")]
    Resume {
        /// Number of them.
        count: usize,
        /// Their kind.
        kind: &'static str,
    },
    /// `weir version` without anything installed (CLI-VER01).
    #[error("no deployments found in {0} namespace\n  try: weir version --client")]
    NoDeployments(String),
    /// A container's image has no tag (CLI-VER01).
    #[error("missing image tag in image {0}")]
    ImageTag(String),
    /// The kustomization cannot be built.
    #[error("{0}")]
    Build(String),
    /// `--path` is no directory (CLI-BLD01).
    #[error("invalid resource path \"{0}\"")]
    ResourcePath(String),
    /// `--kustomization-file` is no file.
    #[error("invalid kustomization file \"{0}\"")]
    KustomizationFile(String),
    /// `--dry-run` without anything that has a spec.
    #[error("dry-run mode requires a kustomization file")]
    DryRunWithoutFile,
    /// The Kustomization is not in the cluster, or not in the file (CLI-BLD01).
    #[error("failed to get kustomization object: {0}")]
    KustomizationObject(String),
    /// `--local-sources` lacks a source (CLI-BLD03).
    #[error("cannot get local path for {source_ref} of kustomization {name}")]
    LocalSource {
        /// The source, as the flag has to name it.
        source_ref: String,
        /// The Kustomization.
        name: String,
    },
    /// `diff` or `plan` has found something that would change (CLI-G11).
    #[error("identified at least one change, exiting with non-zero exit code")]
    Changed,
    /// `diff` or `plan` could not compare (CLI-G11).
    #[error("{0}")]
    Diff(Box<Self>),
    /// There is no token to show to the services.
    #[error(
        "no bearer token: the kubeconfig has none for this user; give one with --token, for example --token \"$(kubectl create token <service account>)\""
    )]
    NoToken,
    /// The address of the services is not one, or their certificate is not readable.
    #[error("'{address}' is not usable as --grpc-addr: {cause}")]
    GrpcAddress {
        /// The flag's value.
        address: String,
        /// Cause.
        cause: tonic::transport::Error,
    },
    /// The services answered with an error.
    #[error("{address}: {}", grpc_text(status))]
    Grpc {
        /// Address of the server.
        address: String,
        /// Status.
        status: Box<tonic::Status>,
    },
    /// A kind that Weir does not have.
    #[error("'{word}' is not a kind; kinds are: {known}")]
    UnknownKind {
        /// Word that the user wrote.
        word: String,
        /// Words that the user could have written.
        known: String,
    },
    /// The services do not start, or end with an error.
    #[error(transparent)]
    Service(#[from] weir_runtime::ServiceError),
    /// A flag is missing, wrong, or does not fit to another one.
    #[error("{0}")]
    Flags(String),
    /// An artifact cannot be packed, pushed, pulled, or is not what it should be (CLI-ART).
    #[error("{0}")]
    Artifact(String),
    /// A plugin cannot be found, installed or removed (CLI-PLG01).
    #[error("{0}")]
    Plugin(String),
    /// The installation has stopped (CLI-INS04).
    #[error("install failed{0}")]
    Install(String),
    /// The installation is kept by Git (CLI-INS04).
    #[error(
        "this cluster has already been bootstrapped with Flux {0}! Please use 'weir bootstrap' to upgrade"
    )]
    Bootstrapped(String),
    /// A step of a bootstrap has failed (CLI-BST).
    #[error("{0}")]
    Bootstrap(String),
    /// A step of the demo has failed, or a program of it does not run.
    #[error("{0}")]
    Demo(String),
    /// A check has found something (CLI-CHK01).
    #[error("check failed")]
    Check,
    /// Something that was to be taken away is still there.
    #[error("uninstall is not complete: see the failures above")]
    Uninstall,
    /// The person at the terminal did not agree.
    #[error("aborting")]
    Aborted,
    /// `--all` finds nothing to export (CLI-EXP01).
    #[error("no objects found in {0} namespace")]
    NothingToExport(String),
    /// A new object is ready and has no artifact (CLI-CRE).
    #[error("{0}")]
    NoArtifact(String),
    /// Whoever read the output of a command that goes on has gone away.
    #[error("nobody reads the output any more")]
    ReaderGone,
    /// stdout is gone or full.
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
}

impl Error {
    /// Adds to an error of the connection, which server it was and where its address comes from.
    pub(crate) fn at(self, (server, origin): (String, String)) -> Self {
        match self {
            Self::Unreachable(cause) => Self::NoServer { server, origin, cause },
            Self::Diff(error) => Self::diff(error.at((server, origin))),
            other => other,
        }
    }

    /// Returns true when nothing is there of a kind: it is another service's, or has no definition in the cluster.
    pub(crate) fn is_about_unknown_kind(&self) -> bool {
        match self {
            Self::Grpc { status, .. } => status.code() == tonic::Code::NotFound,
            Self::NoSuchKind(_) => true,
            _ => false,
        }
    }

    /// Returns true when the user has no right to what was asked for.
    pub(crate) fn is_forbidden(&self) -> bool {
        match self {
            Self::Grpc { status, .. } => status.code() == tonic::Code::PermissionDenied,
            Self::Forbidden(_) => true,
            _ => false,
        }
    }

    /// The error of a `diff` or `plan` that could not compare.
    pub(crate) fn diff(error: Self) -> Self {
        Self::Diff(Box::new(error))
    }

    /// Returns the exit code of the command: 1, but for a `diff` or `plan` that could not compare (CLI-G11).
    pub(crate) fn exit_code(&self) -> u8 {
        if let Self::Diff(_) = self { 2 } else { 1 }
    }

    /// Says before an error of a request what was tried.
    pub(crate) fn prefixed(self, tried: &str) -> Self {
        match self {
            Self::Api(reason) => Self::Api(format!("{tried}: {reason}")),
            Self::Forbidden(reason) => Self::Forbidden(format!("{tried}: {reason}")),
            other => other,
        }
    }

    /// An answer of the API server to a request for objects of a kind.
    pub(crate) fn api(kind: &'static Kind, error: kube::Error) -> Self {
        match error {
            // A missing object is a Status of reason NotFound; a missing kind is a bare 404.
            kube::Error::Api(status) if status.code == 404 && status.reason != "NotFound" => {
                Self::NoSuchKind(kind)
            }
            other => Self::from(other),
        }
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 401 => Self::Api(UNAUTHENTICATED.to_owned()),
            kube::Error::Api(status) if status.code == 403 && !status.message.is_empty() => {
                Self::Forbidden(status.message.clone())
            }
            kube::Error::Api(status) if !status.message.is_empty() => Self::Api(status.message.clone()),
            unreachable @ (kube::Error::Service(_) | kube::Error::HyperError(_)) => {
                Self::Unreachable(connection(&unreachable))
            }
            other => Self::Api(chain(&other)),
        }
    }
}

const UNAUTHENTICATED: &str = "the server has asked for the client to provide credentials: is the login of the kubeconfig \
     still valid? `kubectl auth whoami` tells";

/// Words that the layers of the client put around the reason for which there is no connection.
const LAYERS: [&str; 4] =
    ["ServiceError: ", "HyperError: ", "client error (Connect): ", "tcp connect error: "];

fn connection(error: &dyn StdError) -> String {
    LAYERS.iter().fold(chain(error), |text, layer| text.replace(layer, ""))
}

/// An error with its causes, outermost first; parts that repeat their cause are left out.
pub(crate) fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

fn grpc_text(status: &tonic::Status) -> String {
    match status.source() {
        Some(source) => chain(source),
        None => status.message().to_owned(),
    }
}

/// The reason for which a file cannot be opened, as the system's own tools tell it.
pub(crate) fn opening(cause: &std::io::Error) -> String {
    match cause.kind() {
        ErrorKind::NotFound => "no such file or directory".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "is a directory".to_owned(),
        _ => cause.to_string(),
    }
}
