//! Credentials in decryption Secrets, for the servers that keep keys (KS-DEC-2).

use std::sync::Arc;

use secrecy::{ExposeSecret, SecretSlice, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::azure::{Application, Proof};
use crate::credentials::{Credentials, Login, secret};
use crate::error::LoginError;
use crate::gcp::{KeyFile, ServiceAccountError};
use crate::held::Held;
use crate::identity::Caller;
use crate::logins::Logins;

/// Bytes of an entry. The largest, a certificate with its chain and key, has some ten thousand.
const MAX_ENTRY: usize = 256 << 10;

/// An entry that is traded for a token of Google or Azure.
#[derive(Debug, Clone)]
pub struct KeyLogin(Held);

/// Errors in an entry. Nothing of its content is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyLoginError {
    /// Neither UTF-8 nor UTF-16.
    #[error("failed to decode Azure authentication file bytes: they are neither UTF-8 nor UTF-16")]
    Encoding,
    /// No YAML with such fields.
    #[error("failed to unmarshal Azure authentication file: it is no YAML or JSON with texts for its fields")]
    Azure,
    /// Too few fields.
    #[error(
        "invalid data: requires a 'clientId' field, a combination of 'tenantId', 'clientId' and 'clientSecret', or \
         'tenantId', 'clientId' and 'clientCertificate'"
    )]
    AzureFields,
    /// No YAML with such fields.
    #[error("failed to unmarshal AWS credentials file: it is no YAML with texts for its fields")]
    Aws,
    /// No key of Google's.
    #[error(transparent)]
    Google(#[from] ServiceAccountError),
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct AzureFile {
    tenant_id: String,
    client_id: String,
    #[serde(deserialize_with = "secret")]
    client_secret: SecretString,
    #[serde(deserialize_with = "secret")]
    client_certificate: SecretString,
    #[serde(deserialize_with = "secret")]
    client_certificate_password: SecretString,
    client_certificate_send_chain: bool,
    authority_host: String,
    /// These three as `az` writes them.
    tenant: String,
    app_id: String,
    #[serde(deserialize_with = "secret")]
    password: SecretString,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct AwsFile {
    aws_access_key_id: String,
    #[serde(deserialize_with = "secret")]
    aws_secret_access_key: SecretString,
    #[serde(deserialize_with = "secret")]
    aws_session_token: SecretString,
}

impl KeyLogin {
    /// Reads the key of a service account, or a person's credentials, of Google's.
    ///
    /// # Errors
    /// It is neither. Those of other kinds name files and programs of this machine.
    pub fn gcp(json: &[u8]) -> Result<Self, KeyLoginError> {
        Ok(Self(match KeyFile::parse(json.trim_ascii())? {
            KeyFile::Account(account) => Held::Google(account),
            KeyFile::User(user) => Held::User(user),
        }))
    }

    /// Reads an application or a managed identity of Azure.
    ///
    /// # Errors
    /// It is none.
    pub fn azure(bytes: &[u8]) -> Result<Self, KeyLoginError> {
        let text = decoded(bytes).ok_or(KeyLoginError::Encoding)?;
        let file: AzureFile = yaml(text.as_bytes()).ok_or(KeyLoginError::Azure)?;
        let is_set = |secret: &SecretString| !secret.expose_secret().is_empty();
        let authority = Some(file.authority_host).filter(|host| !host.is_empty());
        let application =
            |tenant, client, proof| Held::Application(Application { tenant, client, authority, proof });
        let has_ids = !file.tenant_id.is_empty() && !file.client_id.is_empty();
        Ok(Self(if has_ids && is_set(&file.client_secret) {
            application(file.tenant_id, file.client_id, Proof::Secret(file.client_secret))
        } else if has_ids && is_set(&file.client_certificate) {
            let pem = file.client_certificate.expose_secret().as_bytes().to_vec();
            let proof = Proof::Certificate {
                file: SecretSlice::from(pem),
                password: file.client_certificate_password,
                send_chain: file.client_certificate_send_chain,
            };
            application(file.tenant_id, file.client_id, proof)
        } else if !file.tenant.is_empty() && !file.app_id.is_empty() && is_set(&file.password) {
            application(file.tenant, file.app_id, Proof::Secret(file.password))
        } else if !file.client_id.is_empty() {
            Held::Machine(file.client_id)
        } else {
            return Err(KeyLoginError::AzureFields);
        }))
    }
}

impl Credentials {
    /// Reads keys of AWS.
    ///
    /// # Errors
    /// The text is no YAML with them.
    pub fn aws(yaml_text: &[u8]) -> Result<Self, KeyLoginError> {
        let file: AwsFile = yaml(yaml_text).ok_or(KeyLoginError::Aws)?;
        let has_token = !file.aws_session_token.expose_secret().is_empty();
        Ok(Self::Aws {
            access_key_id: file.aws_access_key_id,
            secret_access_key: file.aws_secret_access_key,
            session_token: has_token.then_some(file.aws_session_token),
        })
    }
}

impl Logins {
    /// The token for `scope` that a provider gives for an entry of a decryption Secret.
    ///
    /// # Errors
    /// When it cannot be used or the provider refuses.
    pub async fn key_login(
        &self,
        caller: &Caller<'_>,
        login: &KeyLogin,
        scope: &str,
    ) -> Result<Arc<Login>, LoginError> {
        self.held(caller, &login.0, scope).await
    }
}

fn yaml<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    (text.len() <= MAX_ENTRY).then(|| serde_saphyr::from_slice(text).ok()).flatten()
}

/// Text that is UTF-8, or what its byte order mark says.
fn decoded(bytes: &[u8]) -> Option<String> {
    let units = |rest: &[u8], unit: fn([u8; 2]) -> u16| -> Option<String> {
        let units = rest.chunks_exact(2).filter_map(|pair| Some(unit(pair.try_into().ok()?)));
        String::from_utf16(&units.collect::<Vec<_>>()).ok()
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => units(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => units(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        _ => String::from_utf8(bytes.to_vec()).ok(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn kind(text: &[u8]) -> Result<&'static str, String> {
        match KeyLogin::azure(text) {
            Ok(KeyLogin(Held::Application(Application { proof: Proof::Secret(_), .. }))) => Ok("secret"),
            Ok(KeyLogin(Held::Application(_))) => Ok("certificate"),
            Ok(KeyLogin(Held::Machine(_))) => Ok("machine"),
            Ok(_) => Ok("another"),
            Err(error) => Err(error.to_string()),
        }
    }

    /// KS-DEC-2: the first that matches.
    #[rstest]
    #[case("tenantId: t\nclientId: c\nclientSecret: s\nclientCertificate: p", "secret")]
    #[case("tenantId: t\nclientId: c\nclientCertificate: p\nclientCertificateSendChain: true", "certificate")]
    #[case(r#"{"tenant": "t", "appId": "a", "password": "s", "displayName": "x"}"#, "secret")]
    #[case("tenantId: t\nclientId: c", "machine")]
    fn azure(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(kind(text.as_bytes()).as_deref(), Ok(expected));
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(kind(&[b"\xff\xfe".as_slice(), &little].concat()).as_deref(), Ok(expected));
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(kind(&[b"\xfe\xff".as_slice(), &big].concat()).as_deref(), Ok(expected));
    }

    #[rstest]
    #[case(b"tenantId: t\nclientSecret: hunter2", "invalid data: requires a 'clientId' field")]
    #[case(b"hunter2", "failed to unmarshal Azure authentication file")]
    #[case(b"clientId: [hunter2]", "failed to unmarshal Azure authentication file")]
    #[case(b"\xff\xff", "failed to decode Azure authentication file bytes")]
    fn refused(#[case] text: &[u8], #[case] begin: &str) {
        let error = kind(text).unwrap_err();
        assert!(error.starts_with(begin) && !error.contains("hunter2"), "{error}");
    }

    #[rstest]
    #[case("aws_access_key_id: A\naws_secret_access_key: S\n", Some(false))]
    #[case("aws_access_key_id: A\naws_secret_access_key: S\naws_session_token: T\n", Some(true))]
    #[case("hunter2", None)]
    fn aws(#[case] text: &str, #[case] has_token: Option<bool>) {
        let found = Credentials::aws(text.as_bytes()).ok().map(|keys| match keys {
            Credentials::Aws { session_token, .. } => session_token.is_some(),
            other => panic!("{other:?}"),
        });
        assert_eq!(found, has_token);
    }

    #[rstest]
    #[case(r#"{"type":"authorized_user","client_id":"i","client_secret":"s","refresh_token":"r"}"#, None)]
    #[case(
        r#"{"type":"external_account","credential_source":{"file":"/etc/passwd"}}"#,
        Some("its type is not")
    )]
    #[case("hunter2", Some("it is not a JSON"))]
    fn gcp(#[case] text: &str, #[case] error: Option<&str>) {
        match (KeyLogin::gcp(text.as_bytes()), error) {
            (Ok(_), None) => {}
            (Err(found), Some(begin)) => assert!(found.to_string().starts_with(begin), "{found}"),
            (found, _) => panic!("{found:?}"),
        }
    }
}
