//! Applications of Microsoft's identity platform, with a secret or a certificate.

use super::{ASSERTION_LIFE, MAX_SESSION_BYTES, Session, read_token, seconds, token};
use crate::error::Error;
use crate::send::Sender;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::header::HeaderValue;
use reqwest::{Client, Method, Request};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use sha1::Digest;
use std::time::SystemTime;
use url::Url;

/// What the token is good for.
const SCOPE: &str = "https://storage.azure.com/.default";
/// The public cloud's authority.
const AUTHORITY: &str = "https://login.microsoftonline.com/";
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Where an Azure machine tells who it is, and the variable that names another place.
const MACHINE: &str = "http://169.254.169.254";
const MACHINE_VARIABLE: &str = "AZURE_POD_IDENTITY_AUTHORITY_HOST";
const RESOURCE: &str = "https://storage.azure.com/";
/// Certificates of a chain that are sent along.
const MAX_CHAIN: usize = 10;

/// An application and how it proves who it is.
#[derive(Debug, Clone)]
pub struct Application {
    /// The tenant in which it is registered.
    pub tenant: String,
    /// Its id.
    pub client: String,
    /// Where it logs in; the public cloud when there is none.
    pub authority: Option<String>,
    /// The proof.
    pub proof: Proof,
}

/// What an application proves its identity with.
#[derive(Debug, Clone)]
pub enum Proof {
    /// A shared secret.
    Secret(SecretString),
    /// A certificate with its key, in PEM.
    Certificate {
        /// Both, in any order.
        pem: SecretString,
        /// Whether the chain is sent, for authorities that trust its issuer instead of the certificate itself.
        send_chain: bool,
    },
}

#[derive(Serialize)]
struct Claims<'a> {
    aud: &'a str,
    iss: &'a str,
    sub: &'a str,
    jti: String,
    nbf: u64,
    exp: u64,
}

impl Application {
    /// A token for storage.
    ///
    /// # Errors
    /// When the proof cannot be used or the authority says no.
    pub async fn token(&self, http: &Client) -> Result<Session<SecretString>, Error> {
        let url = self.token_url()?;
        let mut form =
            vec![("grant_type", "client_credentials"), ("client_id", self.client.as_str()), ("scope", SCOPE)];
        let proof = match &self.proof {
            Proof::Secret(secret) => secret.clone(),
            Proof::Certificate { pem, send_chain } => self.assertion(pem, *send_chain, &url)?.into(),
        };
        match &self.proof {
            Proof::Secret(_) => form.push(("client_secret", proof.expose_secret())),
            Proof::Certificate { .. } => form.extend([
                ("client_assertion_type", ASSERTION_TYPE),
                ("client_assertion", proof.expose_secret()),
            ]),
        }
        token(http, &url, &form, vec![proof.clone()]).await
    }

    fn token_url(&self) -> Result<Url, Error> {
        let refuse = |reason: &str| Error::Credential { what: "'authorityHost'", reason: reason.to_owned() };
        let authority = self.authority.as_deref().unwrap_or(AUTHORITY).trim_end_matches('/');
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
        if self.tenant.is_empty() || !self.tenant.bytes().all(is_name) {
            return Err(Error::Credential {
                what: "'tenantId'",
                reason: "it holds other characters than letters, digits, '-' and '.'".to_owned(),
            });
        }
        let url = Url::parse(&format!("{authority}/{}/oauth2/v2.0/token", self.tenant));
        let url = url.map_err(|_| refuse("it is no URL"))?;
        if url.scheme() != "https" && !matches!(url.host_str(), Some("127.0.0.1" | "localhost")) {
            return Err(refuse("it is not https"));
        }
        Ok(url)
    }

    /// The statement that the application makes about itself, signed with its certificate's key.
    fn assertion(&self, pem: &SecretString, send_chain: bool, url: &Url) -> Result<String, Error> {
        let refuse =
            |reason: &str| Error::Credential { what: "'clientCertificate'", reason: reason.to_owned() };
        let text = pem.expose_secret();
        let chain: Vec<CertificateDer<'_>> = CertificateDer::pem_slice_iter(text.as_bytes())
            .take(MAX_CHAIN)
            .collect::<Result<_, _>>()
            .map_err(|_| refuse("it is not PEM"))?;
        let leaf = chain.first().ok_or_else(|| refuse("it holds no certificate"))?;
        let mut header = Header::new(Algorithm::PS256);
        header.x5t = Some(URL_SAFE_NO_PAD.encode(sha1::Sha1::digest(leaf)));
        header.x5t_s256 = Some(URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(leaf)));
        header.x5c = send_chain.then(|| chain.iter().map(|found| STANDARD.encode(found)).collect());
        let now = SystemTime::now();
        let claims = Claims {
            aud: url.as_str(),
            iss: &self.client,
            sub: &self.client,
            jti: format!("{}-{:?}", self.client, now),
            nbf: seconds(now),
            exp: seconds(now + ASSERTION_LIFE),
        };
        let key = private_key(text).ok_or_else(|| refuse("it holds no private key, or an encrypted one"))?;
        let key = EncodingKey::from_rsa_pem(key.as_bytes()).map_err(|_| refuse("its key is no RSA key"))?;
        jsonwebtoken::encode(&header, &claims, &key).map_err(|_| refuse("its key cannot sign"))
    }
}

/// A token for storage, of an identity that was given to this machine.
///
/// # Errors
/// When the machine cannot be asked, or has no such identity.
pub async fn managed_identity(http: &Client, client: &str) -> Result<Session<SecretString>, Error> {
    let host = std::env::var(MACHINE_VARIABLE).unwrap_or_else(|_| MACHINE.to_owned());
    managed_identity_at(http, &host, client).await
}

async fn managed_identity_at(
    http: &Client,
    host: &str,
    client: &str,
) -> Result<Session<SecretString>, Error> {
    let url = Url::parse(&format!("{}/metadata/identity/oauth2/token", host.trim_end_matches('/')));
    let mut url = url.map_err(|error| Error::malformed("identity endpoint", error))?;
    url.query_pairs_mut().extend_pairs([
        ("api-version", "2018-02-01"),
        ("resource", RESOURCE),
        ("client_id", client),
    ]);
    let make = || {
        let mut request = Request::new(Method::GET, url.clone());
        request.headers_mut().insert("metadata", HeaderValue::from_static("true"));
        Ok(request)
    };
    let body = Sender::new(http.clone(), Vec::new()).body("token", MAX_SESSION_BYTES, make).await?;
    read_token(&body)
}

/// The part of a PEM text that is a private key.
fn private_key(pem: &str) -> Option<&str> {
    ["PRIVATE KEY", "RSA PRIVATE KEY"].iter().find_map(|label| {
        let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
        let from = pem.find(&begin)?;
        let length = pem.get(from..)?.find(&end)? + end.len();
        pem.get(from..from + length)
    })
}
