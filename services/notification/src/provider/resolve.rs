//! From a Provider and its Secrets to what a delivery works with (NTF-39, NTF-42 … NTF-50).

use std::collections::BTreeMap;

use secrecy::SecretString;
use url::Url;
use weir_access::{ReadError, Secret, Secrets};
use weir_api::Provider;
use weir_http::{Profile, Proxy, SecretError};
use weir_runtime::ObjectKey;
use weir_yaml::{Limits, Node, Source, Value, parse_first_document, yaml11_value};

use super::github_app::{INSTALLATION, KEY as PRIVATE_KEY, OWNER as INSTALLATION_OWNER};
use super::{GIT_STATUS_TYPES, Settings};

/// Bytes of an address in a Secret, as the API admits for `spec.address`.
const MAX_ADDRESS: usize = 2048;
/// Bytes of the `headers` map; more than any server takes.
const MAX_HEADERS: usize = 64 * 1024;

/// Variable that names the cloud of Azure (NTF-115).
const AUTHORITY_HOST: &str = "AZURE_AUTHORITY_HOST";

/// Entries of a Secret with a GitHub App.
const APP_ID: &str = "githubAppID";

/// Errors in the references of a Provider that keep settings from being made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ResolveError {
    /// A Secret cannot be read.
    #[error("failed to get secret '{place}': {0}", place = .0.place)]
    Secret(#[from] ReadError),
    /// The Secret's address is longer than the API admits.
    #[error("invalid address in secret: address exceeds maximum length of {MAX_ADDRESS} bytes")]
    AddressLength,
    /// `headers` is no map of texts.
    #[error("failed to read headers from secret: {0}")]
    Headers(String),
    /// The deprecated key `proxy`.
    #[error("invalid 'proxy' in secret '{0}'")]
    OldProxy(String),
    /// The deprecated `spec.proxy`.
    #[error("failed to get proxy URL: {0}")]
    Address(#[from] url::ParseError),
    /// The Secret of the proxy.
    #[error("failed to get proxy URL: {0}")]
    Proxy(#[source] SecretError),
    /// The Secret of the TLS material.
    #[error("failed to get TLS config: {0}")]
    Tls(#[source] SecretError),
    /// No installation of a GitHub App is named, or two are.
    #[error(
        "failed to get TLS config: secret '{0}' must contain exactly one of '{INSTALLATION_OWNER}' or '{INSTALLATION}'"
    )]
    Installation(String),
}

/// Everything for one delivery.
#[derive(Clone, Default)]
pub struct Resolved {
    /// Settings for the provider's type.
    pub settings: Settings,
    /// TLS material and proxy of its service.
    pub profile: Profile,
    /// Secret with a GitHub App, if there is one (NTF-76).
    pub app: Option<Secret>,
    /// Secrets, which no text may show.
    pub secrets: Vec<SecretString>,
}

/// Reads the Secrets, all from the Provider's own namespace (NTF-129).
///
/// # Errors
/// When a Secret cannot be read, or its content cannot be used.
pub async fn resolve(
    secrets: &Secrets,
    provider: &Provider,
    commit_status: String,
) -> Result<Resolved, ResolveError> {
    let spec = &provider.spec;
    let namespace = provider.metadata.namespace.as_deref().unwrap_or_default();
    let mut resolved = from_spec(provider, commit_status)?;
    let main = secrets.find(namespace, spec.secret_ref.as_ref()).await?;
    if let Some(secret) = &main {
        add_credentials(&mut resolved, secret)?;
    }
    if let Some(Secret { place, data, .. }) = secrets.find(namespace, spec.proxy_secret_ref.as_ref()).await? {
        resolved.profile.proxy = Some(Proxy::from_secret(&place, &data).map_err(ResolveError::Proxy)?);
    }
    match (secrets.find(namespace, spec.cert_secret_ref.as_ref()).await?, main) {
        (Some(Secret { place, data, .. }), _) => {
            let certificates = Profile::from_secret(&place, &data).map_err(ResolveError::Tls)?;
            resolved.profile =
                Profile { ca: certificates.ca, certificate: certificates.certificate, ..resolved.profile };
        }
        // Git services take their TLS material from the one Secret; half a pair is not used then.
        (None, Some(secret)) if GIT_STATUS_TYPES.contains(&spec.type_.as_str()) => {
            check_installation(&secret)?;
            resolved.profile.add_whole_tls(&secret.data);
        }
        _ => {}
    }
    if let Some(proxy) = &resolved.profile.proxy {
        resolved.secrets.extend(proxy.told());
    }
    resolved.secrets.extend(resolved.settings.secrets());
    Ok(resolved)
}

/// Checks that a GitHub App has one installation. Flux asks for it where it reads the TLS material, for other types later.
fn check_installation(secret: &Secret) -> Result<(), ResolveError> {
    let has = |key: &str| secret.data.contains_key(key);
    if has(APP_ID) && has(PRIVATE_KEY) && has(INSTALLATION_OWNER) == has(INSTALLATION) {
        return Err(ResolveError::Installation(secret.place.clone()));
    }
    Ok(())
}

fn from_spec(provider: &Provider, commit_status: String) -> Result<Resolved, ResolveError> {
    let spec = &provider.spec;
    let settings = Settings {
        provider_type: spec.type_.clone(),
        provider_uid: provider.metadata.uid.clone().unwrap_or_default(),
        address: spec.address.clone().unwrap_or_default(),
        channel: spec.channel.clone().unwrap_or_default(),
        username: spec.username.clone().unwrap_or_default(),
        account: spec.service_account_name.clone().unwrap_or_default(),
        authority_host: std::env::var(AUTHORITY_HOST).unwrap_or_default(),
        host: weir_runtime::hostname(),
        commit_status,
        ..Settings::default()
    };
    let proxy = match spec.proxy.as_deref().filter(|proxy| !proxy.is_empty()) {
        Some(proxy) => {
            let provider = ObjectKey::of(provider);
            tracing::warn!(%provider, "the provider uses the deprecated field spec.proxy, use spec.proxySecretRef");
            Some(Proxy::from_url(Url::parse(proxy)?))
        }
        None => None,
    };
    // A Provider's own authorities are the only ones that it trusts (NTF-49).
    let profile = Profile { proxy, ca_alone: true, ..Profile::default() };
    Ok(Resolved { settings, profile, ..Resolved::default() })
}

/// Each key is read by itself: one that is missing does not hide the others (NTF-43).
fn add_credentials(resolved: &mut Resolved, secret: &Secret) -> Result<(), ResolveError> {
    let Secret { place, data, .. } = secret;
    let text = |name: &str| data.get(name).map(|value| String::from_utf8_lossy(value).trim().to_owned());
    let settings = &mut resolved.settings;
    if let Some(address) = text("address") {
        if address.len() > MAX_ADDRESS {
            return Err(ResolveError::AddressLength);
        }
        resolved.secrets.push(address.as_str().into());
        settings.address = address;
    }
    settings.token = text("token").unwrap_or_default();
    settings.has_static_token = !settings.token.is_empty();
    settings.hmac_key = data.get("token").cloned().unwrap_or_default();
    settings.creds = data.get("creds").cloned().unwrap_or_default();
    settings.nkey = data.get("nkey").cloned().unwrap_or_default();
    settings.password = text("password").unwrap_or_default();
    if let Some(username) = text("username").filter(|username| !username.is_empty()) {
        settings.username = username;
    }
    if data.contains_key(APP_ID) {
        resolved.app = Some(secret.clone());
    }
    if let Some(headers) = data.get("headers") {
        settings.headers = headers_of(headers)?;
    }
    let proxy = text("proxy");
    if proxy.is_some() {
        tracing::warn!(
            secret = place,
            "the secret of a provider has the deprecated key proxy, use spec.proxySecretRef"
        );
    }
    match proxy.as_deref() {
        None => {}
        // As in Flux, it goes before `spec.proxy` also then.
        Some("") => resolved.profile.proxy = None,
        Some(proxy) => {
            let url = Url::parse(proxy).ok().filter(Url::has_host);
            let url = url.ok_or_else(|| ResolveError::OldProxy(place.clone()))?;
            resolved.profile.proxy = Some(Proxy::from_url(url));
        }
    }
    Ok(())
}

fn headers_of(yaml: &[u8]) -> Result<BTreeMap<String, String>, ResolveError> {
    let limits = Limits {
        bytes: MAX_HEADERS,
        depth: 8,
        documents: 1,
        alias_nodes: 64,
        alias_bytes: MAX_HEADERS,
        ..Limits::default()
    };
    let bad = |error: weir_yaml::YamlError| {
        ResolveError::Headers(format!("error converting YAML to JSON: {error}"))
    };
    let source = Source::read("headers", yaml.to_vec(), &limits).map_err(bad)?;
    let Some(node) = parse_first_document(&source, &limits).map_err(bad)? else { return Ok(BTreeMap::new()) };
    // As Flux's library reads it: `on` is true, and a date is the text that it is.
    let node = node.before_text().as_yaml11();
    if node.is_null() {
        return Ok(BTreeMap::new());
    }
    let map = node.as_map().ok_or_else(|| wrong_kind(&node, "map[string]string"))?;
    let header = |(name, value): (&str, &Node)| match value.as_scalar() {
        // A header like `X-Scope-OrgID: 1` is a text for those who write it.
        Some(scalar) => Ok((name.to_owned(), yaml11_value(scalar).into_text())),
        // The value may be a secret: only its kind is shown.
        None => Err(wrong_kind(value, "string")),
    };
    map.iter().map(header).collect()
}

/// Makes the error of Go's decoder about a value of another kind than what is needed.
fn wrong_kind(node: &Node, needed: &str) -> ResolveError {
    let kind = match node.as_scalar().map(yaml11_value) {
        Some(Value::Bool(_)) => "bool",
        Some(Value::Int(_) | Value::Uint(_) | Value::Float(_)) => "number",
        Some(_) => "string",
        None if node.as_map().is_some() => "object",
        None => "array",
    };
    ResolveError::Headers(format!(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go value of type {needed}"
    ))
}

#[cfg(test)]
mod tests;
