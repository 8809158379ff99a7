//! The kinds of Secrets, one row each.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use weir_notification_controller::receiver::path::webhook_path;
use weir_oci::Reference;
use weir_verify::notation::{PolicyError, TrustPolicy};

use super::super::address;
use super::super::credentials::{self, Entries};
use super::super::flag::{Flag, Flags, list, one_of, secret, text};
use super::super::recipe::RECEIVER_TYPE;
use super::{Draft, Recipe};
use crate::error::Error;
use crate::input;

/// Annotation with the address of a webhook.
const WEBHOOK: &str = "notification.toolkit.fluxcd.io/webhook";

/// Characters that Go's JSON escapes, and how.
const ESCAPED: [(char, &str); 5] =
    [('&', "\\u0026"), ('<', "\\u003c"), ('>', "\\u003e"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];

/// Random bytes of a webhook's token.
const TOKEN_BYTES: usize = 32;

const TLS: &[Flag] = &[
    text("tls-crt-file", "", "File with a client certificate"),
    text("tls-key-file", "", "File with the key of the client certificate"),
    text("ca-crt-file", "", "File with the certificate of the server's authority"),
];
const TLS_FLAGS: TlsFlags =
    TlsFlags { certificate: "tls-crt-file", key: "tls-key-file", authority: "ca-crt-file" };

/// Names of flags with files about TLS.
#[derive(Debug, Clone, Copy)]
pub(in crate::command::create) struct TlsFlags {
    pub(in crate::command::create) certificate: &'static str,
    pub(in crate::command::create) key: &'static str,
    pub(in crate::command::create) authority: &'static str,
}

/// All kinds.
pub(super) static ALL: [Recipe; 8] = [
    Recipe {
        word: "git",
        human: "git",
        about: "Create or update a Secret for Git repositories",
        example: "podinfo-auth --url ssh://git@github.com/stefanprodan/podinfo --export",
        flags: &[
            &[
                text("url", "", "Address of the repository"),
                secret("bearer-token", "Bearer token"),
                text("ca-crt-file", "", "File with the certificate of the server's authority"),
            ],
            credentials::LOGIN,
            credentials::KEYS,
        ],
        make: git,
    },
    Recipe {
        word: "githubapp",
        human: "githubapp",
        about: "Create or update a Secret for GitHub apps",
        example: "app --app-id 1 --app-installation-id 2 --app-private-key app.pem --export",
        flags: &[&[
            text("app-id", "", "ID of the app"),
            text("app-installation-id", "", "ID of the installation"),
            text("app-installation-owner", "", "User or organization that the app is installed for"),
            text("app-private-key", "", "File with the app's private key"),
            text("app-base-url", "", "Address of a GitHub server of one's own"),
        ]],
        make: github_app,
    },
    Recipe {
        word: "helm",
        human: "helm",
        about: "Create or update a Secret for Helm repositories",
        example: "repo-auth --username me --password secret --export",
        flags: &[TLS, credentials::LOGIN],
        make: |flags, draft| helm(flags, draft, TLS_FLAGS),
    },
    Recipe {
        word: "notation",
        human: "notation configuration",
        about: "Create or update a Secret for signatures by Notation",
        example: "notation-cfg --trust-policy-file policy.json --ca-cert-file ca.crt --export",
        flags: &[&[
            text("trust-policy-file", "", "File with the trust policy"),
            list("ca-cert-file", "", "File with an authority's certificate; may be given several times"),
        ]],
        make: notation,
    },
    Recipe {
        word: "oci",
        human: "oci",
        about: "Create or update a Secret for OCI registries",
        example: "ghcr-auth --url ghcr.io --username me --password secret --export",
        flags: &[&[text("url", "", "Registry, and path in it")], credentials::LOGIN],
        make: oci,
    },
    Recipe {
        word: "proxy",
        human: "proxy",
        about: "Create or update a Secret for proxies",
        example: "my-proxy --address https://proxy.example.com:8080 --export",
        flags: &[&[text("address", "", "Address of the proxy")], credentials::LOGIN],
        make: |flags, mut draft| {
            address::check(flags.required("address", "address is required")?, "invalid proxy address")?;
            copy(flags, &mut draft.entries, &[("address", "address"), ("username", "username")]);
            draft.entries.extend(flags.secret("password").map(|it| ("password".to_owned(), it.clone())));
            Ok(Draft { type_: Some("Opaque"), ..draft })
        },
    },
    Recipe {
        word: "receiver",
        human: "receiver",
        about: "Create or update a Secret for webhook receivers",
        example: "github-receiver --type github --hostname flux.example.com --export",
        flags: &[&[
            one_of("type", "", RECEIVER_TYPE, "Type of the receiver"),
            text("hostname", "", "Host of the webhook's URL"),
            secret("token", "Token; without it, one is made"),
            text("email-claim", "", "Email address of the account that calls, for type gcr"),
            text("audience-claim", "", "Audience of the caller's token, for type gcr; without it, the URL"),
        ]],
        make: receiver,
    },
    Recipe {
        word: "tls",
        human: "tls",
        about: "Create or update a Secret for TLS",
        example: "certs --tls-crt-file tls.crt --tls-key-file tls.key --ca-crt-file ca.crt --export",
        flags: &[TLS],
        make: |flags, draft| {
            let draft = tls(flags, draft, TLS_FLAGS)?;
            match draft.entries.is_empty() {
                true => Err(Error::Flags("no CA certificate or client certificate pair found".to_owned())),
                false => Ok(draft),
            }
        },
    },
];

/// Copies the flags that are given.
fn copy(flags: &Flags<'_>, entries: &mut Entries, names: &[(&str, &str)]) {
    for (flag, entry) in names {
        if let Some(value) = flags.text(flag) {
            entries.insert((*entry).to_owned(), value.into());
        }
    }
}

fn git(flags: &Flags<'_>, mut draft: Draft) -> Result<Draft, Error> {
    let url = flags.required("url", "url is required")?;
    if credentials::git_scheme(url)? == "ssh" {
        let (identity, entries) = credentials::key_pair(flags)?;
        let (host, public_key) = (Some(credentials::ssh_host(url)?), Some(identity.public));
        return Ok(Draft { entries, host, public_key, ..draft });
    }
    let entries = match (credentials::login(flags), flags.secret("bearer-token")) {
        (Some(_), Some(_)) => {
            let reason = "user credentials and bearer token cannot be used together";
            return Err(Error::Flags(reason.to_owned()));
        }
        (Some(login), None) => login,
        (None, Some(token)) => Entries::from([("bearerToken".to_owned(), token.clone())]),
        (None, None) => {
            let reason = "for Git over HTTP/S the username and password, or a bearer token is required";
            return Err(Error::Flags(reason.to_owned()));
        }
    };
    draft.entries.extend(entries);
    draft.entries.extend(credentials::authority(flags, "ca-crt-file")?);
    Ok(draft)
}

fn github_app(flags: &Flags<'_>, mut draft: Draft) -> Result<Draft, Error> {
    let file = flags.text("app-private-key").unwrap_or_default();
    let key = input::text_or(file, "unable to read private key file")?;
    flags.required("app-id", "githubAppID is required")?;
    if key.is_empty() {
        return Err(Error::Flags("githubAppPrivateKey is required".to_owned()));
    }
    if flags.text("app-installation-owner").is_some() == flags.text("app-installation-id").is_some() {
        let reason = "exactly one of githubAppInstallationOwner or githubAppInstallationID must be provided";
        return Err(Error::Flags(reason.to_owned()));
    }
    let names = [
        ("app-id", "githubAppID"),
        ("app-installation-owner", "githubAppInstallationOwner"),
        ("app-installation-id", "githubAppInstallationID"),
        ("app-base-url", "githubAppBaseURL"),
    ];
    copy(flags, &mut draft.entries, &names);
    draft.entries.insert("githubAppPrivateKey".to_owned(), key.into());
    Ok(Draft { type_: Some("Opaque"), ..draft })
}

/// The client certificate, the authority, or both.
fn tls(flags: &Flags<'_>, mut draft: Draft, names: TlsFlags) -> Result<Draft, Error> {
    let pair = credentials::client_certificate(flags, names.certificate, names.key)?;
    draft.type_ = Some(if pair.is_some() { "kubernetes.io/tls" } else { "Opaque" });
    draft.entries.extend(pair.unwrap_or_default());
    draft.entries.extend(credentials::authority(flags, names.authority)?);
    Ok(draft)
}

/// A client certificate, or else a user with a password; with either, or alone, the authority.
pub(in crate::command::create) fn helm(
    flags: &Flags<'_>,
    draft: Draft,
    names: TlsFlags,
) -> Result<Draft, Error> {
    let mut draft = tls(flags, draft, names)?;
    if draft.entries.contains_key("tls.crt") {
        return Ok(draft);
    }
    if let Some(login) = credentials::whole_login(flags)? {
        draft.entries.extend(login);
        draft.type_ = Some("kubernetes.io/basic-auth");
    }
    if draft.entries.is_empty() {
        draft.type_ = None;
    }
    Ok(draft)
}

fn notation(flags: &Flags<'_>, mut draft: Draft) -> Result<Draft, Error> {
    let certificates = flags.list("ca-cert-file");
    if certificates.is_empty() {
        return Err(Error::Flags("--ca-cert-file is required".to_owned()));
    }
    let file = flags.required("trust-policy-file", "--trust-policy-file is required")?;
    let policy = input::text_or(file, "unable to read trust policy file")?;
    TrustPolicy::parse(policy.as_bytes()).map_err(|error| {
        Error::Flags(match error {
            PolicyError::Malformed { reason } => format!("failed to unmarshal trust policy {file}: {reason}"),
            error => format!("invalid trust policy: {error}"),
        })
    })?;
    draft.entries.insert("trustpolicy.json".to_owned(), policy.into());
    let mut refusals = Vec::new();
    for file in certificates {
        let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.ends_with(".crt") && !name.ends_with(".pem") {
            refusals.push(format!("{name} must end with either .crt or .pem"));
            continue;
        }
        match input::text_or(file, "unable to read TLS CA file") {
            Ok(certificate) => drop(draft.entries.insert(name, certificate.into())),
            Err(error) => refusals.push(error.to_string()),
        }
    }
    if !refusals.is_empty() {
        return Err(Error::Flags(refusals.join("\n")));
    }
    Ok(draft)
}

fn oci(flags: &Flags<'_>, draft: Draft) -> Result<Draft, Error> {
    let url = flags.required("url", "--url is required")?;
    let username = flags.required("username", "--username is required")?;
    let password = flags.secret("password");
    let password = password.ok_or_else(|| Error::Flags("--password is required".to_owned()))?;
    if !is_reference(url) {
        return Err(Error::Flags(format!("error parsing url: 'could not parse reference: {url}'")));
    }
    pull_secret(draft, url, username, password.expose_secret())
}

/// Returns true for the name of an image, and for an address with a scheme, of which Flux's library takes the scheme for a registry.
fn is_reference(url: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_./".contains(&byte);
    match url.split_once("://") {
        Some((_, rest)) => {
            let is_digest = |digest: &str| Reference::from_url(&format!("oci://h/r@{digest}")).is_ok();
            let rest = match rest.split_once('@') {
                Some((name, digest)) if is_digest(digest) => name,
                _ => rest,
            };
            let tagged = rest.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'));
            let (rest, tag) = tagged.unwrap_or((rest, "latest"));
            let is_tag = Reference::from_url(&format!("oci://h/r:{tag}")).is_ok();
            !rest.is_empty() && rest.bytes().all(is_legal) && is_tag
        }
        None => Reference::from_url(&format!("oci://{url}")).is_ok(),
    }
}

/// A Secret for pulling from one registry.
pub(super) fn pull_secret(
    mut draft: Draft,
    url: &str,
    username: &str,
    password: &str,
) -> Result<Draft, Error> {
    let auth = STANDARD.encode(format!("{username}:{password}"));
    let config = json!({ "auths": { url: { "username": username, "password": password, "auth": auth } } });
    let config = serde_json::to_string_pretty(&config).map_err(std::io::Error::from)?;
    // As Go writes JSON; these characters stand in texts only.
    let config = ESCAPED.iter().fold(config, |config, (char, escape)| config.replace(*char, escape));
    draft.entries.insert(".dockerconfigjson".to_owned(), config.into());
    Ok(Draft { type_: Some("kubernetes.io/dockerconfigjson"), ..draft })
}

fn receiver(flags: &Flags<'_>, mut draft: Draft) -> Result<Draft, Error> {
    let type_ = flags.required("type", "--type is required")?;
    let hostname = flags.required("hostname", "--hostname is required")?;
    if type_ == "gcr" {
        flags.required("email-claim", "--email-claim is required for gcr receiver type")?;
    }
    let token = match flags.secret("token") {
        Some(token) => token.clone(),
        None => SecretString::from(hex::encode(rand::random::<[u8; TOKEN_BYTES]>())),
    };
    let path = webhook_path(token.expose_secret().as_bytes(), &draft.name, &draft.namespace);
    let url = format!("https://{hostname}{path}");
    if type_ == "gcr" {
        copy(flags, &mut draft.entries, &[("email-claim", "email")]);
        let audience = flags.text("audience-claim").unwrap_or(&url);
        draft.entries.insert("audience".to_owned(), audience.into());
    }
    draft.entries.insert("token".to_owned(), token);
    draft.annotations.insert(WEBHOOK.to_owned(), url);
    Ok(draft)
}
