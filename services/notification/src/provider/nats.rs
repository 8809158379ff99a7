//! `nats`: the event itself, published under a subject (spec 5.8).

use std::borrow::Cow;

use secrecy::{ExposeSecret, SecretSlice, SecretString};
use url::Url;

use super::{Delivery, InitError, Notifier, RenderError, Settings};
use crate::event::Event;

const SCHEMES: [&str; 3] = ["nats", "tls", "tcp"];
/// Servers of one address that are tried; a cluster has three or five.
const MAX_SERVERS: usize = 16;

/// One event on its way to a NATS server.
pub struct Publication {
    /// The servers; the first that answers gets the message.
    pub servers: Vec<Url>,
    /// The subject.
    pub subject: String,
    /// The event.
    pub payload: Vec<u8>,
    /// The identity where the server's address names none.
    pub user: User,
}

impl Publication {
    /// Returns the text that is put before the text of a failure.
    pub fn failure_prefix(&self) -> Cow<'static, str> {
        format!("error publishing event to subject {}: ", self.subject).into()
    }
}

/// An identity at a NATS server.
#[derive(Clone, Default)]
pub enum User {
    /// None.
    #[default]
    Nobody,
    /// A user and a password.
    Password(String, SecretString),
    /// The seed of a key.
    Key(SecretString),
    /// A token of the server's operator and the seed of the key that it is for.
    Credentials(SecretString, SecretString),
}

pub(super) struct Nats {
    servers: Vec<Url>,
    subject: String,
    user: User,
}

impl Nats {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        if settings.address.is_empty() {
            return Err(InitError::Address("NATS server (address) cannot be empty".to_owned()));
        }
        let subject = &settings.channel;
        if subject.is_empty() {
            return Err(InitError::Channel("NATS subject (channel) cannot be empty".to_owned()));
        }
        if subject.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(InitError::Channel("NATS subject (channel) cannot have white space".to_owned()));
        }
        let servers = settings.address.split(',').map(server).collect::<Result<Vec<_>, _>>()?;
        if servers.len() > MAX_SERVERS {
            return Err(InitError::Address(format!(
                "NATS server (address) names {} servers, {MAX_SERVERS} at most",
                servers.len()
            )));
        }
        Ok(Self { servers, subject: subject.clone(), user: user(settings)? })
    }
}

impl Notifier for Nats {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        Ok(Delivery::Publication(Box::new(Publication {
            servers: self.servers.clone(),
            subject: self.subject.clone(),
            payload: event.to_bytes(),
            user: self.user.clone(),
        })))
    }
}

/// Reads one address; without a scheme it is `nats`. No error shows it, since it may hold a password.
fn server(address: &str) -> Result<Url, InitError> {
    let address = address.trim();
    let whole = if address.contains("://") { address.to_owned() } else { format!("nats://{address}") };
    let url = Url::parse(&whole).ok().filter(|url| url.host().is_some());
    let url =
        url.ok_or_else(|| InitError::Address("invalid NATS server (address): it is no URL".to_owned()))?;
    if SCHEMES.contains(&url.scheme()) {
        return Ok(url);
    }
    let schemes = SCHEMES.join(", ");
    Err(InitError::Address(format!(
        "invalid NATS server (address): the scheme must be one of {schemes}, got '{}'",
        url.scheme()
    )))
}

/// Returns the first identity that the Secret has: `creds`, `nkey`, or user and password.
fn user(settings: &Settings) -> Result<User, InitError> {
    let Settings { creds, nkey, username, password, .. } = settings;
    if !creds.is_empty() {
        return credentials(creds).ok_or(InitError::Credentials);
    }
    if !nkey.is_empty() {
        return Ok(User::Key(String::from_utf8_lossy(nkey).trim().into()));
    }
    if username.is_empty() || password.is_empty() {
        return Ok(User::Nobody);
    }
    Ok(User::Password(username.clone(), password.as_str().into()))
}

/// Reads a file of credentials as `nsc` writes it: a token and a seed, each below a line of dashes.
fn credentials(file: &[u8]) -> Option<User> {
    let text = SecretSlice::from(file.to_vec());
    let text = str::from_utf8(text.expose_secret()).ok()?;
    let lines = text.lines().map(str::trim).zip(text.lines().skip(1).map(str::trim));
    let mut marked = lines.filter(|(above, _)| above.starts_with("---")).map(|(_, line)| line);
    let token = marked.next().filter(|token| !token.is_empty())?;
    let seed = marked.find(|line| line.starts_with('S'))?;
    Some(User::Credentials(token.into(), seed.into()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn built(address: &str, channel: &str) -> Result<Nats, String> {
        let (address, channel) = (address.to_owned(), channel.to_owned());
        Nats::new(&Settings { address, channel, ..Settings::default() }).map_err(|error| error.to_string())
    }

    #[rstest]
    #[case("", "s", "NATS server (address) cannot be empty")]
    #[case("h", "", "NATS subject (channel) cannot be empty")]
    #[case("h", "a b", "NATS subject (channel) cannot have white space")]
    #[case("h", "a\r\nPUB b 0", "NATS subject (channel) cannot have white space")]
    #[case(
        "ws://u:hunter2@h",
        "s",
        "invalid NATS server (address): the scheme must be one of nats, tls, tcp, got 'ws'"
    )]
    #[case(&["a"; 17].join(","), "s", "NATS server (address) names 17 servers, 16 at most")]
    #[case("nats://u:hunter2@", "s", "invalid NATS server (address): it is no URL")]
    fn refused(#[case] address: &str, #[case] channel: &str, #[case] reason: &str) {
        assert_eq!(built(address, channel).err().as_deref(), Some(reason));
    }

    #[test]
    fn an_address_names_several_servers() {
        let servers = built("a, nats://u:p@b:1,tls://c,tcp://d", "s").unwrap().servers;
        let texts: Vec<_> = servers.iter().map(Url::as_str).collect();
        assert_eq!(texts, ["nats://a", "nats://u:p@b:1", "tls://c", "tcp://d"]);
    }

    const CREDS: &str = "-----BEGIN NATS USER JWT-----\neyJ0\n------END NATS USER JWT------\n\n*** IMPORTANT ***\n\n\
                         -----BEGIN USER NKEY SEED-----\nSUAX\n------END USER NKEY SEED------\n";

    #[rstest]
    #[case(CREDS, "SUNK", "u", "eyJ0 SUAX")]
    #[case("", "SUNK\n", "u", "SUNK")]
    #[case("", "", "u", "u p")]
    #[case("", "", "", "")]
    fn the_best_identity_is_taken(
        #[case] creds: &str,
        #[case] nkey: &str,
        #[case] username: &str,
        #[case] expected: &str,
    ) {
        let settings = Settings {
            creds: creds.into(),
            nkey: nkey.into(),
            username: username.into(),
            password: "p".into(),
            ..Settings::default()
        };
        let texts = match user(&settings).unwrap() {
            User::Nobody => String::new(),
            User::Password(name, password) => format!("{name} {}", password.expose_secret()),
            User::Key(seed) => seed.expose_secret().to_owned(),
            User::Credentials(token, seed) => format!("{} {}", token.expose_secret(), seed.expose_secret()),
        };
        assert_eq!(texts, expected);
    }

    #[rstest]
    #[case("hunter2")]
    #[case("---\nhunter2\n---\n")]
    #[case("---")]
    fn credentials_that_are_none(#[case] creds: &str) {
        let settings = Settings { creds: creds.into(), ..Settings::default() };
        let refused = user(&settings).err().unwrap().to_string();
        assert_eq!(refused, "the entry 'creds' of the secret holds no JWT with a seed");
    }
}
