//! Users who log in by `auth-provider: oidc` (CLI-G02). As with kubectl, a token whose time is over is renewed, and what the issuer gives is
//! kept in the kubeconfig: many issuers take each refresh token once.

mod bearer;

use std::collections::HashMap;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use kube::config::{AuthProviderConfig, Kubeconfig};
use reqwest::{Client, RequestBuilder, Url};
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use url::form_urlencoded::byte_serialize;
use weir_auth::rest;
use weir_http::{Clients, Profile};
use weir_runtime::client::kubeconfig;

pub(super) use self::bearer::{Bearing, Login};
use crate::error::Error;
use crate::input;
use crate::output::manifest;

const ISSUER: &str = "idp-issuer-url";
const CLIENT: &str = "client-id";
const CLIENT_SECRET: &str = "client-secret";
const AUTHORITY: &str = "idp-certificate-authority";
const AUTHORITY_DATA: &str = "idp-certificate-authority-data";
const ID_TOKEN: &str = "id-token";
const REFRESH_TOKEN: &str = "refresh-token";

/// Seconds before its end from which on a token counts as ended, as in client-go: clocks differ.
const LEEWAY: f64 = 10.0;

/// The settings of a login, by the keys of the kubeconfig.
pub(super) type Settings = HashMap<String, String>;

/// The part of an issuer's metadata that is used.
#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    token_endpoint: String,
}

/// The tokens of an issuer.
#[derive(Deserialize)]
struct Issued {
    id_token: Option<String>,
    refresh_token: Option<String>,
}

/// The end of a token's life; one that names none has ended.
#[derive(Deserialize)]
struct Claims {
    #[serde(default)]
    exp: f64,
}

/// Returns the token, unless it has ended.
fn valid_token(settings: &Settings, now: Timestamp) -> Result<Option<&str>, Error> {
    let Some(token) = filled(settings, ID_TOKEN) else { return Ok(None) };
    let claims = weir_auth::unverified_claims::<Claims>(token);
    let end = claims.ok_or_else(|| refused(settings, "the id-token is no valid JWT"))?.exp;
    Ok(Some(token).filter(|_| end > now.as_second() as f64 + LEEWAY))
}

/// Returns the reason for which a user is not logged in.
fn refused(settings: &Settings, reason: &str) -> Error {
    let issuer = filled(settings, ISSUER).unwrap_or_default();
    Error::KubeConfig(format!("the user of the kubeconfig logs in at '{issuer}': {reason}"))
}

fn filled<'s>(settings: &'s Settings, key: &str) -> Option<&'s str> {
    settings.get(key).map(String::as_str).filter(|text| !text.is_empty())
}

/// Asks the issuer for new tokens, and waits for so long: all requests of the command wait too.
async fn renew(settings: &mut Settings, longest: Duration) -> Result<(), Error> {
    if filled(settings, REFRESH_TOKEN).is_none() {
        let reason = "No valid id-token, and cannot refresh without refresh-token";
        return Err(refused(settings, reason));
    }
    let issued = timeout(longest, issued(settings)).await;
    let issued = issued.unwrap_or_else(|_| Err(format!("no answer within {longest:?}")));
    let issued = issued.map_err(|reason| refused(settings, &reason))?;
    let missing = || refused(settings, "token response did not contain an id_token");
    settings.insert(ID_TOKEN.to_owned(), issued.id_token.ok_or_else(missing)?);
    if let Some(token) = issued.refresh_token.filter(|token| !token.is_empty()) {
        settings.insert(REFRESH_TOKEN.to_owned(), token);
    }
    Ok(())
}

async fn issued(settings: &Settings) -> Result<Issued, String> {
    let required = |key| filled(settings, key).ok_or_else(|| format!("Must provide {key}"));
    let (issuer, id, refresh) = (required(ISSUER)?, required(CLIENT)?, required(REFRESH_TOKEN)?);
    let secret = filled(settings, CLIENT_SECRET).unwrap_or_default();
    let secrets = [refresh, secret].map(SecretString::from);
    let client = client(settings)?;
    let metadata = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
    let Metadata { token_endpoint } = answer(client.get(url(&metadata)?), &secrets).await?;
    let request = || Ok::<_, String>(client.post(url(&token_endpoint)?));
    let form = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
    // Issuers read the client in one of two places, and none says in which.
    let [user, password] = [id, secret].map(|text| byte_serialize(text.as_bytes()).collect::<String>());
    if let Ok(issued) = answer(request()?.basic_auth(user, Some(password)).form(&form), &secrets).await {
        return Ok(issued);
    }
    let client =
        [("client_id", id), ("client_secret", secret)].into_iter().filter(|(_, value)| !value.is_empty());
    let form: Vec<_> = form.into_iter().chain(client).collect();
    let issued = answer(request()?.form(&form), &secrets).await;
    issued.map_err(|reason| format!("failed to refresh token: {reason}"))
}

fn url(text: &str) -> Result<Url, String> {
    text.parse().map_err(|error| format!("'{text}' is no URL: {error}"))
}

/// A client that trusts the authority of the settings, or those of the system; proxies are those of the environment.
fn client(settings: &Settings) -> Result<Client, String> {
    let ca = match (filled(settings, AUTHORITY_DATA), filled(settings, AUTHORITY)) {
        (Some(data), _) => Some(STANDARD.decode(data).map_err(|error| format!("{AUTHORITY_DATA}: {error}"))?),
        (None, Some(path)) => Some(input::content(path).map_err(|error| error.to_string())?),
        (None, None) => None,
    };
    let profile = Profile { ca, ca_alone: true, secret_bodies: true, ..Profile::default() };
    Clients::new("weir").get(&profile).map_err(|error| error.to_string())
}

/// Returns the answer to a request, or the reason why there is none.
async fn answer<T: DeserializeOwned>(request: RequestBuilder, secrets: &[SecretString]) -> Result<T, String> {
    rest::json_hiding("issuer", request, secrets).await.map_err(|error| error.to_string())
}

/// Writes the tokens of a user into the file that the user comes from, the first of `paths` that has one of that name.
fn keep(paths: &[PathBuf], user: &str, settings: &Settings) -> Result<(), String> {
    let (path, mut file) = file_of(paths, user)?;
    if let Some(login) = login_of(&mut file, user) {
        login.config.extend(tokens(settings));
    }
    let value = serde_json::to_value(&file).map_err(|error| error.to_string())?;
    let text = manifest::yaml(&value).map_err(|error| error.to_string())?;
    replace(path, &text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the tokens of a user as the kubeconfig has them now.
fn stored(paths: &[PathBuf], user: &str) -> Option<Settings> {
    let (_, mut file) = file_of(paths, user).ok()?;
    login_of(&mut file, user).map(|login| tokens(&login.config))
}

fn file_of<'p>(paths: &'p [PathBuf], user: &str) -> Result<(&'p Path, Kubeconfig), String> {
    for path in paths {
        let text = match kubeconfig::text(path) {
            Err(kubeconfig::Error::Unreadable { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                continue;
            }
            text => text.map_err(|error| error.to_string())?,
        };
        let mut file = kubeconfig::parse(&text).map_err(|error| error.to_string())?;
        if login_of(&mut file, user).is_some() {
            return Ok((path, file));
        }
    }
    Err(format!("no file has the user '{user}'"))
}

fn login_of<'f>(file: &'f mut Kubeconfig, user: &str) -> Option<&'f mut AuthProviderConfig> {
    let named = file.auth_infos.iter_mut().find(|named| named.name == user)?;
    named.auth_info.as_mut()?.auth_provider.as_mut()
}

fn tokens(settings: &Settings) -> Settings {
    let token = |key: &str| Some((key.to_owned(), settings.get(key)?.clone()));
    [ID_TOKEN, REFRESH_TOKEN].into_iter().filter_map(token).collect()
}

/// Replaces a file at once. Its owner and the bits of its mode stay, and a link stays one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = path.canonicalize()?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    let old = path.metadata()?;
    fchown(file.as_file(), Some(old.uid()), Some(old.gid()))?;
    file.as_file().set_permissions(old.permissions())?;
    file.as_file().sync_all()?;
    file.persist(&path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    fn token(claims: &str) -> String {
        format!("e30.{}.", URL_SAFE_NO_PAD.encode(claims))
    }

    #[rstest::rstest]
    #[case(Some(token("{\"exp\":1000}")), Some(true))]
    #[case(Some(token("{\"exp\":110.5}")), Some(true))]
    #[case(Some(token("{\"exp\":110}")), Some(false))]
    #[case(Some(token("{}")), Some(false))]
    #[case(Some(String::new()), Some(false))]
    #[case(Some("none".to_owned()), None)]
    #[case(None, Some(false))]
    fn a_token_is_good_until_shortly_before_its_end(
        #[case] id_token: Option<String>,
        #[case] expected: Option<bool>,
    ) {
        let settings = id_token.map(|token| (ID_TOKEN.to_owned(), token)).into_iter().collect();
        let token = valid_token(&settings, Timestamp::from_second(100).unwrap());
        assert_eq!(token.ok().map(|token| token.is_some()), expected);
    }

    #[tokio::test]
    async fn an_issuer_that_stays_silent_is_not_waited_for() {
        weir_runtime::service::install_crypto();
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = format!("http://{}", silent.local_addr().unwrap());
        let settings = [(ISSUER, issuer.as_str()), (CLIENT, "weir"), (REFRESH_TOKEN, "r")];
        let mut settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let error = renew(&mut settings, Duration::from_millis(100)).await.unwrap_err().to_string();
        assert!(error.ends_with("no answer within 100ms"), "{error}");
    }

    #[test]
    fn tokens_are_kept_in_the_file_of_their_user() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let text = |user: &str| {
            format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: x\nmore: {{a: b}}\nusers:\n- name: {user}\n  user:\n    \
                 auth-provider: {{name: oidc, config: {{id-token: old, refresh-token: old, client-id: '1'}}}}\n"
            )
        };
        for (name, user) in [("first", "other"), ("second", "u")] {
            std::fs::write(path(name), text(user)).unwrap();
            std::fs::set_permissions(path(name), PermissionsExt::from_mode(0o640)).unwrap();
        }
        std::os::unix::fs::symlink(path("second"), path("link")).unwrap();
        let paths = ["missing", "first", "link"].map(path);
        let settings = [(ID_TOKEN, "new"), (REFRESH_TOKEN, "newer")];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        keep(&paths, "u", &settings).unwrap();
        let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
        let expected = "apiVersion: v1\nclusters: []\ncontexts: []\ncurrent-context: x\nkind: Config\nmore:\n  a: b\nusers:\n- \
                        name: u\n  user:\n    auth-provider:\n      config:\n        client-id: \"1\"\n        \
                        id-token: new\n        refresh-token: newer\n      name: oidc\n";
        assert_eq!(read("second"), expected);
        assert_eq!(path("second").metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert!(path("link").is_symlink());
        assert_eq!(read("first"), text("other"));
        assert!(keep(&paths, "nobody", &settings).is_err());
    }
}
