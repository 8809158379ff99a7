//! The token that this process shows to other services, and whom a token is meant for.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tonic::metadata::MetadataValue;
use tonic::service::Interceptor;
use tonic::{Request, Status};

/// The audience of tokens for calls between services. The API server refuses them, so that whoever sees one on its way
/// can do nothing with it in the cluster.
pub const AUDIENCE: &str = "weir";

/// Time for which a token is used before its file is read again; kubelet renews at 80 % of an hour.
const TOKEN_AGE: Duration = Duration::from_secs(60);

/// Largest token file in bytes; tokens of ServiceAccounts have one or two KiB.
const MAX_TOKEN: u64 = 64 * 1024;

/// Failures to get a token for another service.
#[derive(Debug, thiserror::Error)]
pub(super) enum TokenError {
    /// The file is not readable.
    #[error("no token for other services in '{path}' (--peer-token-file): {source}")]
    Read { path: PathBuf, source: io::Error },
    /// The token could be used elsewhere too, or is none.
    #[error(
        "the token in '{path}' (--peer-token-file) is not sent: its only audience must be 'weir', not '{found}'"
    )]
    Audience { path: PathBuf, found: String },
}

/// The bearer token this process shows to its peers.
#[derive(Clone, Debug)]
pub(super) struct PeerToken {
    source: Arc<Source>,
}

#[derive(Debug)]
enum Source {
    /// All services are in this process; the token never leaves it.
    Process(SecretString),
    File {
        path: PathBuf,
        read: Mutex<Option<(Instant, SecretString)>>,
    },
}

impl PeerToken {
    /// A secret of this process that only its own servers know.
    pub(super) fn in_process() -> Self {
        let secret = format!("{}{}", uuid::Uuid::new_v4(), uuid::Uuid::new_v4());
        Self { source: Arc::new(Source::Process(secret.into())) }
    }

    /// A projected ServiceAccount token, which kubelet replaces before it expires.
    pub(super) fn in_file(path: PathBuf) -> Self {
        Self { source: Arc::new(Source::File { path, read: Mutex::default() }) }
    }

    /// True for the secret that is shared inside of this process.
    pub(super) fn is_process_secret(&self, token: &str) -> bool {
        use subtle::ConstantTimeEq;
        match &*self.source {
            Source::Process(secret) => secret.expose_secret().as_bytes().ct_eq(token.as_bytes()).into(),
            Source::File { .. } => false,
        }
    }

    /// Returns the token, but never one that the API server, or anybody but Weir, would take.
    pub(super) fn current(&self) -> Result<SecretString, TokenError> {
        match &*self.source {
            Source::Process(secret) => Ok(secret.clone()),
            Source::File { path, read } => {
                let mut read = read.lock();
                if let Some((at, token)) = &*read
                    && at.elapsed() < TOKEN_AGE
                {
                    return Ok(token.clone());
                }
                let refused = |source| TokenError::Read { path: path.clone(), source };
                let token = read_token(path).map_err(refused)?;
                let audiences = audiences(token.expose_secret());
                if audiences != [AUDIENCE] {
                    return Err(TokenError::Audience { path: path.clone(), found: audiences.join(", ") });
                }
                *read = Some((Instant::now(), token.clone()));
                Ok(token)
            }
        }
    }
}

fn read_token(path: &Path) -> io::Result<SecretString> {
    let mut text = String::new();
    File::open(path)?.take(MAX_TOKEN + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_TOKEN {
        return Err(io::Error::other(format!("more than {MAX_TOKEN} bytes are no token")));
    }
    Ok(text.trim().to_owned().into())
}

/// Adds the token to calls.
#[derive(Clone, Debug)]
pub struct Token(pub(super) PeerToken);

impl Interceptor for Token {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let token = self.0.current().map_err(|error| Status::unauthenticated(error.to_string()))?;
        let value = format!("Bearer {}", token.expose_secret());
        let mut value: MetadataValue<_> = value
            .parse()
            .map_err(|_| Status::unauthenticated("the token for the peer is not a header value"))?;
        value.set_sensitive(true);
        request.metadata_mut().insert("authorization", value);
        Ok(request)
    }
}

/// Returns the audiences that a JSON Web Token claims to have, without verifying it; none for other tokens.
pub(super) fn audiences(token: &str) -> Vec<String> {
    #[derive(Deserialize)]
    struct Claims {
        aud: Audiences,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Audiences {
        One(String),
        Many(Vec<String>),
    }
    match weir_auth::unverified_claims(token) {
        Some(Claims { aud: Audiences::One(audience) }) => vec![audience],
        Some(Claims { aud: Audiences::Many(audiences) }) => audiences,
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use rstest::rstest;

    use super::*;

    fn token(claims: &str) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))
    }

    #[rstest]
    #[case(r#"{"aud":["weir"]}"#, &["weir"])]
    #[case(r#"{"aud":"weir","sub":"x"}"#, &["weir"])]
    #[case(r#"{"aud":["weir","https://kubernetes.default.svc"]}"#, &["weir", "https://kubernetes.default.svc"])]
    #[case("{}", &[])]
    #[case(r#"{"aud":7}"#, &[])]
    #[case("no claims", &[])]
    fn audiences_of_tokens(#[case] claims: &str, #[case] expected: &[&str]) {
        assert_eq!(audiences(&token(claims)), expected);
    }

    #[rstest]
    #[case("opaque")]
    #[case("a.%%%.c")]
    #[case("")]
    fn other_tokens_have_no_audience(#[case] token: &str) {
        assert_eq!(audiences(token), Vec::<String>::new());
    }

    #[rstest]
    #[case(r#"{"aud":"weir"}"#, true)]
    #[case(r#"{"aud":["weir"]}"#, true)]
    #[case(r#"{"aud":["https://kubernetes.default.svc"]}"#, false)]
    #[case(r#"{"aud":["weir","https://kubernetes.default.svc"]}"#, false)]
    #[case("{}", false)]
    fn only_tokens_for_weir_alone_are_sent(#[case] claims: &str, #[case] is_sent: bool) {
        let folder = weir_testkit::Folder::new("peer-token").unwrap();
        let path = folder.write("token", format!("{}\n", token(claims))).unwrap();
        let sent = Token(PeerToken::in_file(path)).call(Request::new(()));
        assert_eq!(sent.is_ok(), is_sent, "{sent:?}");
    }

    #[test]
    fn a_file_that_is_too_large_is_no_token() {
        let folder = weir_testkit::Folder::new("peer-token").unwrap();
        let path = folder.write("token", "x".repeat(MAX_TOKEN as usize + 1)).unwrap();
        let error = PeerToken::in_file(path).current().unwrap_err();
        assert!(error.to_string().ends_with("more than 65536 bytes are no token"), "{error}");
    }

    #[test]
    fn without_the_file_nothing_is_sent() {
        let error = Token(PeerToken::in_file("/nowhere/token".into())).call(Request::new(())).unwrap_err();
        assert!(error.message().contains("'/nowhere/token' (--peer-token-file)"), "{error}");
    }
}
