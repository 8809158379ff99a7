//! Applications of Microsoft's identity platform that a Secret describes, with a secret or a certificate (SRC-BKT-11).

use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, Header};
use reqwest::Client;
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use serde::{Deserialize, Serialize};
use sha2::Digest;
use url::Url;

use super::certificate::ClientCertificate;
use crate::cache::fingerprint;
use crate::certificate_error::CertificateError;
use crate::credentials::Login;
use crate::error::ProviderError;
use crate::rest;

/// The public cloud's authority.
const AUTHORITY: &str = "https://login.microsoftonline.com/";
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Life of the statement that an application makes about itself, in seconds; as short as clocks allow.
const STATEMENT_LIFE: u64 = 10 * 60;

/// An application and how it proves who it is.
#[derive(Debug, Clone)]
pub(crate) struct Application {
    /// The tenant in which it is registered.
    pub(crate) tenant: String,
    /// Its id.
    pub(crate) client: String,
    /// URL at which it logs in; that of the public cloud when there is none.
    pub(crate) authority: Option<String>,
    /// The proof.
    pub(crate) proof: Proof,
}

/// The proof of an application's identity.
#[derive(Debug, Clone)]
pub(crate) enum Proof {
    /// A shared secret.
    Secret(SecretString),
    /// A certificate with its key.
    Certificate {
        /// Both, in PEM or PKCS#12.
        file: SecretSlice<u8>,
        /// Opens PKCS#12.
        password: SecretString,
        /// True when the chain is sent, for authorities that trust its issuer instead of the certificate itself.
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

#[derive(Deserialize)]
struct Answer {
    access_token: String,
    expires_in: u64,
}

impl Application {
    /// Returns the cache key of its tokens, made of everything that they depend on. The proof is part of it, so that
    /// the ids alone give nobody a token.
    pub(crate) fn key(&self) -> String {
        let authority = self.authority.as_deref().unwrap_or_default();
        let (kind, proof, password) = match &self.proof {
            Proof::Secret(secret) => ("secret", secret.expose_secret().as_bytes(), ""),
            Proof::Certificate { file, password, send_chain } => {
                let kind = if *send_chain { "chain" } else { "certificate" };
                (kind, file.expose_secret(), password.expose_secret())
            }
        };
        let texts = [&self.tenant, &self.client, authority, kind, password].map(str::as_bytes);
        fingerprint(texts.into_iter().chain([proof]))
    }

    /// A token for `scope`, as a login.
    pub(crate) async fn login(&self, http: &Client, scope: &str) -> Result<Login, ProviderError> {
        let (token, expires) = self.token(http, scope).await?;
        Ok(Login::bearer(token, expires))
    }

    /// A token for `scope`, and its end.
    pub(crate) async fn token(
        &self,
        http: &Client,
        scope: &str,
    ) -> Result<(SecretString, SystemTime), ProviderError> {
        let url = self.token_url()?;
        let mut form =
            vec![("grant_type", "client_credentials"), ("client_id", self.client.as_str()), ("scope", scope)];
        let proof = match &self.proof {
            Proof::Secret(secret) => secret.clone(),
            Proof::Certificate { file, password, send_chain } => {
                let certificate = ClientCertificate::open(file, password).await?;
                self.statement(&certificate, *send_chain, &url)?
            }
        };
        match &self.proof {
            Proof::Secret(_) => form.push(("client_secret", proof.expose_secret())),
            Proof::Certificate { .. } => form.extend([
                ("client_assertion_type", ASSERTION_TYPE),
                ("client_assertion", proof.expose_secret()),
            ]),
        }
        let request = http.post(url).form(&form);
        let answer: Answer = rest::json_hiding("Microsoft", request, std::slice::from_ref(&proof)).await?;
        Ok((answer.access_token.into(), rest::in_seconds(answer.expires_in)))
    }

    fn token_url(&self) -> Result<Url, ProviderError> {
        let refuse = |what, reason: &str| Err(ProviderError::Unusable { what, reason: reason.to_owned() });
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
        if self.tenant.is_empty() || !self.tenant.bytes().all(is_name) {
            return refuse("'tenantId'", "it holds other characters than letters, digits, '-' and '.'");
        }
        let authority = self.authority.as_deref().unwrap_or(AUTHORITY).trim_end_matches('/');
        match Url::parse(&format!("{authority}/{}/oauth2/v2.0/token", self.tenant)) {
            Ok(url) if rest::may_be_told_secrets(&url) => Ok(url),
            Ok(_) => refuse("'authorityHost'", "it is not https"),
            Err(_) => refuse("'authorityHost'", "it is no URL"),
        }
    }

    /// Returns the application's statement about itself, signed with its certificate's key.
    fn statement(
        &self,
        certificate: &ClientCertificate,
        send_chain: bool,
        url: &Url,
    ) -> Result<SecretString, ProviderError> {
        let mut header = Header::new(Algorithm::PS256);
        header.x5t = Some(URL_SAFE_NO_PAD.encode(sha1::Sha1::digest(certificate.leaf())));
        header.x5t_s256 = Some(URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(certificate.leaf())));
        header.x5c = send_chain.then(|| certificate.chain().map(|found| STANDARD.encode(found)).collect());
        let now = rest::seconds_now();
        let claims = Claims {
            aud: url.as_str(),
            iss: &self.client,
            sub: &self.client,
            jti: format!("{}-{:?}", self.client, SystemTime::now()),
            nbf: now,
            exp: now + STATEMENT_LIFE,
        };
        let signed = jsonwebtoken::encode(&header, &claims, certificate.key());
        signed.map(Into::into).map_err(|_| CertificateError::Failed.into())
    }
}
