//! The errors of a login, with the messages that conditions carry. Credentials are never among them.

use std::sync::Arc;
use std::time::Duration;

use crate::certificate_error::CertificateError;

/// Errors that leave an object without a login.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LoginError {
    /// The object names a ServiceAccount, and identities of objects are not enabled. A person has to change that.
    #[error(
        "to use spec.serviceAccountName for provider authentication please enable the ObjectLevelWorkloadIdentity \
         feature gate in the controller"
    )]
    GateDisabled,
    /// The ServiceAccount cannot be read.
    #[error("failed to get service account '{place}': {reason}")]
    Account {
        /// `namespace/name`.
        place: String,
        /// The API server's words.
        reason: String,
    },
    /// The ServiceAccount of objects that name none is not in their namespace (SRC-CLD-3).
    #[error(
        "failed to get service account '{place}': the specified default service account does not exist in the object \
         namespace. your cluster is subject to multi-tenant workload identity lockdown, reach out to your cluster \
         administrator for help"
    )]
    Lockdown {
        /// `namespace/name`.
        place: String,
    },
    /// The host is not one of the provider's registries. Asked before anything is requested (IR-25).
    #[error("invalid {provider} registry: '{host}'. must match {pattern}")]
    Registry {
        /// The provider as it calls itself.
        provider: &'static str,
        /// The host.
        host: String,
        /// Pattern that it must match.
        pattern: &'static str,
    },
    /// The provider has no Git servers of this name.
    #[error("invalid AWS CodeCommit Git URL: {host}")]
    CodeCommit {
        /// The host.
        host: String,
    },
    /// The provider's Git servers take passwords over TLS alone.
    #[error("AWS CodeCommit authentication requires an HTTPS Git URL")]
    CodeCommitScheme,
    /// The provider has no Git servers.
    #[error("provider '{provider}' does not support Git authentication")]
    NoGit {
        /// The provider.
        provider: &'static str,
    },
    /// STS at a place that is not Amazon's (SRC-CLD-6).
    #[error("invalid STS endpoint: '{endpoint}'. must match {pattern}")]
    StsEndpoint {
        /// The place.
        endpoint: String,
        /// Pattern that it must match.
        pattern: &'static str,
    },
    /// The name of a cluster has another form in its cloud (KS-IMP-8).
    #[error("invalid {kind}: '{name}'. must match {pattern}")]
    ClusterName {
        /// The thing that it should be the name of.
        kind: &'static str,
        /// The name.
        name: String,
        /// Pattern that it must match.
        pattern: &'static str,
    },
    /// The address of a cluster is none, or not safe (KS-IMP-9).
    #[error("{0}")]
    ClusterAddress(String),
    /// The identity could not be traded for the token that all else needs.
    #[error("failed to get access token for {what}: {cause}")]
    AccessToken {
        /// Kind of the server that the token is for.
        what: &'static str,
        /// Cause.
        cause: Box<Self>,
    },
    /// Certificates or proxy cannot be used.
    #[error(transparent)]
    Client(#[from] Arc<weir_http::ClientError>),
    /// The provider refused.
    #[error("{0}")]
    Provider(Arc<ProviderError>),
    /// The object's time is over.
    #[error("login took longer than {limit:?}")]
    Deadline {
        /// The time.
        limit: Duration,
    },
}

/// Errors of a provider.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// For the pod's identity.
    #[error("failed to create provider access token for the controller: {0}")]
    Pod(#[source] Box<Self>),
    /// For the person who runs a command.
    #[error("failed to create provider access token: {0}")]
    Person(#[source] Box<Self>),
    /// For a ServiceAccount.
    #[error("failed to create provider access token for service account '{place}': {source}")]
    Account {
        /// `namespace/name`.
        place: String,
        /// Cause.
        #[source]
        source: Box<Self>,
    },
    /// Credentials of a registry, after the access token was issued.
    #[error("failed to create artifact registry credentials: {0}")]
    Registry(#[source] Box<Self>),
    /// Kubernetes gives no token for the ServiceAccount.
    #[error("failed to create kubernetes token for service account '{place}': {reason}")]
    KubernetesToken {
        /// `namespace/name`.
        place: String,
        /// The API server's words.
        reason: String,
    },
    /// This process is no ServiceAccount of a cluster, so that it cannot have tokens of one.
    #[error("the controller's own user '{user}' is not a service account")]
    NoServiceAccount {
        /// Its user name; empty outside of clusters.
        user: String,
    },
    /// The token for a cluster (KS-IMP-7).
    #[error("failed to get access token for cluster: {0}")]
    ClusterToken(#[source] Box<Self>),
    /// A cloud refuses something about one of its resources (KS-IMP-8, KS-SOPS-5).
    #[error("{what} '{resource}': {reason}")]
    Resource {
        /// The attempt that failed.
        what: &'static str,
        /// The resource as the object names it.
        resource: String,
        /// Cause.
        reason: String,
    },
    /// An annotation of the ServiceAccount does not say who it is.
    #[error("invalid {key} annotation: '{value}'. must match {pattern}")]
    Annotation {
        /// The annotation.
        key: &'static str,
        /// Its value.
        value: String,
        /// Pattern that it must match.
        pattern: &'static str,
    },
    /// The annotations of a ServiceAccount do not say who it is.
    #[error("failed to get provider identity from service account '{place}' annotations: {source}")]
    Identity {
        /// `namespace/name`.
        place: String,
        /// The fault in them.
        #[source]
        source: Box<Self>,
    },
    /// Nobody knows for whom the tokens of Kubernetes have to be.
    #[error("failed to get provider audience: {0}")]
    Audience(#[source] Box<Self>),
    /// An annotation that must be there.
    #[error("{what} is not set in the service account annotation {key}")]
    NoAnnotation {
        /// The meaning of its value.
        what: &'static str,
        /// The annotation.
        key: &'static str,
    },
    /// No region is known for the pod.
    #[error(
        "AWS_REGION environment variable is not set in the Flux controller. if you have properly configured IAM Roles for \
         Service Accounts (IRSA) or EKS Pod Identity, please delete/replace the controller pod so the EKS admission \
         controllers can inject this environment variable, or set it manually if the cluster is not EKS"
    )]
    NoPodRegion,
    /// No region is known for the object.
    #[error(
        "an AWS region is required for authenticating with a service account. please configure one in the object spec"
    )]
    NoRegion,
    /// A library of the provider failed; causes included.
    #[error("{what}: {reason}")]
    Library {
        /// The attempt that failed.
        what: &'static str,
        /// The library's words.
        reason: String,
    },
    /// No answer.
    #[error(transparent)]
    Transport(weir_http::Unanswered),
    /// A refusal.
    #[error("received non 2xx response status \"{status}\" when fetching {url}{words}")]
    Refused {
        /// URL of the request, without its query.
        url: String,
        /// The status.
        status: reqwest::StatusCode,
        /// The reason in the answer, after `: `; empty where it has none.
        words: String,
    },
    /// A refusal of GitHub's, in the words of its library; errors of single fields, behind the message, are not shown.
    #[error("{method} {url}: {} {message} []", status.as_u16())]
    GitHub {
        /// Method of the request.
        method: reqwest::Method,
        /// URL of the request, without its query.
        url: String,
        /// The status.
        status: reqwest::StatusCode,
        /// The reason in the answer; may be empty.
        message: String,
    },
    /// An answer without the requested value.
    #[error("{what} answered without a usable {missing}")]
    Answer {
        /// Name of the provider.
        what: &'static str,
        /// Name of the missing thing.
        missing: &'static str,
    },
    /// An application cannot prove itself with its certificate.
    #[error("failed to parse client certificates: {0}")]
    Certificate(#[from] CertificateError),
    /// A key or configuration file that cannot be used; its content is not repeated.
    #[error("{what} cannot be used: {reason}")]
    Unusable {
        /// The key, file or other thing.
        what: &'static str,
        /// The fault in it.
        reason: String,
    },
}

impl LoginError {
    /// Returns the same error as one of the token for a server of the kind `what`, unless it came after that. A closed gate has
    /// nothing to do with tokens.
    pub(crate) fn of_token(self, what: &'static str) -> Self {
        match self {
            gate @ Self::GateDisabled => gate,
            Self::Provider(error) if matches!(*error, ProviderError::Registry(_)) => Self::Provider(error),
            cause => Self::AccessToken { what, cause: Box::new(cause) },
        }
    }
}

impl From<ProviderError> for LoginError {
    fn from(error: ProviderError) -> Self {
        Self::Provider(Arc::new(error))
    }
}

/// An error with its causes; the SDKs' own texts are only the kind of error.
pub(crate) fn words(error: &dyn std::error::Error) -> String {
    let mut words: Vec<String> = Vec::new();
    for cause in std::iter::successors(Some(error), |error| error.source()) {
        let cause = cause.to_string();
        // Some repeat their cause in their own text.
        if words.last().is_none_or(|last| !last.contains(&cause)) {
            words.push(cause);
        }
    }
    words.join(": ")
}
