//! `azureeventhub`: the event itself as an event of a hub of Azure's, over REST (spec 5.8). A token that is not in the Secret comes
//! from [`super::login`].

use base64::prelude::{BASE64_STANDARD, Engine};
use hmac::{Hmac, KeyInit, Mac};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use jiff::{SignedDuration, Timestamp};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::Sha256;
use url::Url;

use super::address::SEGMENT;
use super::{Delivery, InitError, Message, Notifier, RenderError, Settings};
use crate::event::Event;

const SHARED_KEY: &str = "SharedAccessKey";
const BINARY: HeaderValue = HeaderValue::from_static("application/octet-stream");
/// Life of a signature: longer than a delivery with all its tries takes.
const SIGNATURE_LIFE: SignedDuration = SignedDuration::from_hours(1);

pub(super) struct AzureEventHub {
    url: Url,
    authorization: Option<HeaderValue>,
}

impl AzureEventHub {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        check(settings)
            .map_err(|reason| InitError::Address(format!("invalid authentication options: {reason}")))?;
        if !has_shared_key(&settings.address) {
            let host = qualified(&settings.channel, &settings.authority_host);
            return Ok(Self { url: place(&host, &settings.address)?, authorization: settings.bearer()? });
        }
        let connection = Connection::parse(&settings.address).map_err(|reason| {
            InitError::Address(format!("failed to create a eventhub using SAS: {reason}"))
        })?;
        let url = place(&connection.host, &connection.hub)?;
        let signature = connection.signature.unwrap_or_else(|| {
            signature(&url, &connection.key_name, &connection.key, settings.now + SIGNATURE_LIFE)
        });
        Ok(Self { url, authorization: settings.authorization("", &signature)? })
    }
}

impl Notifier for AzureEventHub {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let message = Message::post_bytes(&self.url, event.to_bytes())
            .with(CONTENT_TYPE, BINARY)
            .authorized(self.authorization.as_ref());
        Ok(message.failing_with("failed to send msg: ").into())
    }
}

/// Returns true for an address that is a connection string.
pub(super) fn has_shared_key(address: &str) -> bool {
    address.contains(SHARED_KEY)
}

/// Refuses two ways to log in at the same time, and a Provider without an address.
fn check(settings: &Settings) -> Result<(), &'static str> {
    let (has_account, has_token) = (!settings.account.is_empty(), settings.has_static_token);
    match (settings.address.is_empty(), has_shared_key(&settings.address)) {
        (true, _) => Err("endpoint URL cannot be empty"),
        (_, true) if has_account => {
            Err("serviceAccountName and SAS authentication cannot be set at the same time")
        }
        (_, true) if has_token => Err("jwt token and SAS authentication cannot be set at the same time"),
        (_, false) if has_account && has_token => {
            Err("serviceAccountName and jwt token authentication cannot be set at the same time")
        }
        _ => Ok(()),
    }
}

/// Returns the host of a namespace, in the cloud of the authority that gives the tokens.
fn qualified(namespace: &str, authority_host: &str) -> String {
    if namespace.contains(".servicebus.") {
        return namespace.to_owned();
    }
    let cloud = if authority_host.contains("chinacloudapi.cn") {
        "chinacloudapi.cn"
    } else if authority_host.contains("microsoftonline.us") {
        "usgovcloudapi.net"
    } else {
        "windows.net"
    };
    format!("{namespace}.servicebus.{cloud}")
}

fn place(host: &str, hub: &str) -> Result<Url, InitError> {
    let hub = utf8_percent_encode(hub, SEGMENT);
    Url::parse(&format!("https://{host}/{hub}/messages"))
        .map_err(|error| InitError::Address(format!("invalid Event Hubs namespace {host:?}: {error}")))
}

/// Returns the `Authorization` header of the owner of a shared access key.
fn signature(url: &Url, key_name: &str, key: &str, until: Timestamp) -> String {
    let resource = utf8_percent_encode(url.as_str(), NON_ALPHANUMERIC).to_string();
    let expiry = until.as_second();
    // It does not fail: keys of HMAC may have any length.
    let signed = Hmac::<Sha256>::new_from_slice(key.as_bytes()).map(|mut mac| {
        mac.update(format!("{resource}\n{expiry}").as_bytes());
        BASE64_STANDARD.encode(mac.finalize().into_bytes())
    });
    let signed = signed.unwrap_or_default();
    let signed = utf8_percent_encode(&signed, NON_ALPHANUMERIC);
    format!("SharedAccessSignature sr={resource}&sig={signed}&se={expiry}&skn={key_name}")
}

/// The parts of a connection string.
#[derive(Default)]
struct Connection {
    host: String,
    hub: String,
    key_name: String,
    key: String,
    signature: Option<String>,
}

impl Connection {
    /// Reads `Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=…;EntityPath=…`, in any order.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let mut connection = Self::default();
        for part in text.split(';').filter(|part| !part.is_empty()) {
            let (name, value) = part
                .split_once('=')
                .ok_or("failed parsing connection string due to unmatched key value separated by '='")?;
            let value = value.to_owned();
            match name.to_ascii_lowercase().as_str() {
                "endpoint" => {
                    let host = Url::parse(&value).ok().and_then(|url| url.host_str().map(str::to_owned));
                    connection.host = host.ok_or(
                        "failed parsing connection string due to an incorrectly formatted Endpoint value",
                    )?;
                }
                "sharedaccesskeyname" => connection.key_name = value,
                "sharedaccesskey" => connection.key = value,
                "sharedaccesssignature" => connection.signature = Some(value),
                "entitypath" => connection.hub = value,
                _ => {}
            }
        }
        let Self { host, hub, key_name, key, signature } = &connection;
        match (host.is_empty(), signature, key_name.is_empty(), key.is_empty(), hub.is_empty()) {
            (true, ..) => Err("key \"Endpoint\" must not be empty"),
            (_, None, true, ..) => Err("key \"SharedAccessKeyName\" must not be empty"),
            (_, None, _, true, _) => {
                Err("key \"SharedAccessKey\" or \"SharedAccessSignature\" cannot both be empty")
            }
            (.., true) => {
                Err("connection string does not contain an EntityPath. eventHub cannot be an empty string")
            }
            _ => Ok(connection),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("ops", "", "ops.servicebus.windows.net")]
    #[case("ops", "https://login.chinacloudapi.cn/", "ops.servicebus.chinacloudapi.cn")]
    #[case("ops", "https://login.microsoftonline.us/", "ops.servicebus.usgovcloudapi.net")]
    #[case("ops.servicebus.example", "", "ops.servicebus.example")]
    fn namespaces(#[case] channel: &str, #[case] authority: &str, #[case] host: &str) {
        assert_eq!(qualified(channel, authority), host);
    }

    #[rstest]
    #[case("", "", false, "endpoint URL cannot be empty")]
    #[case(
        "SharedAccessKey=k",
        "sa",
        false,
        "serviceAccountName and SAS authentication cannot be set at the same time"
    )]
    #[case("SharedAccessKey=k", "", true, "jwt token and SAS authentication cannot be set at the same time")]
    #[case(
        "hub",
        "sa",
        true,
        "serviceAccountName and jwt token authentication cannot be set at the same time"
    )]
    fn ways_exclude_each_other(
        #[case] address: &str,
        #[case] account: &str,
        #[case] has_static_token: bool,
        #[case] reason: &str,
    ) {
        let (address, account) = (address.to_owned(), account.to_owned());
        let settings = Settings { address, account, has_static_token, ..Settings::default() };
        assert_eq!(check(&settings), Err(reason));
    }

    #[rstest]
    #[case("SharedAccessKey", "unmatched key value")]
    #[case("Endpoint=x;SharedAccessKey=k", "incorrectly formatted Endpoint")]
    #[case("SharedAccessKey=k", "\"Endpoint\" must not be empty")]
    #[case("Endpoint=sb://h/;SharedAccessKey=k", "\"SharedAccessKeyName\" must not be empty")]
    #[case("Endpoint=sb://h/;SharedAccessKeyName=n", "cannot both be empty")]
    #[case(
        "Endpoint=sb://h/;SharedAccessKeyName=n;SharedAccessKey=k",
        "does not contain an EntityPath. eventHub cannot be an empty string"
    )]
    fn connection_strings_that_lack_something(#[case] text: &str, #[case] reason: &str) {
        let refused = Connection::parse(text).err().unwrap();
        assert!(refused.contains(reason), "{refused}");
    }

    /// The signature covers the encoded address and the second in which it ends.
    #[test]
    fn signatures() {
        let url = "https://ns.servicebus.windows.net/hub/messages".parse().unwrap();
        let signature = signature(&url, "send", "secret=", "2026-01-02T03:04:05Z".parse().unwrap());
        let resource = "https%3A%2F%2Fns%2Eservicebus%2Ewindows%2Enet%2Fhub%2Fmessages";
        // Made with Python's hmac.
        let digest = "7ohNZVlrZXXVS2ksSWcEtsAU%2FXypmmoLrtSydq2Fg1A%3D";
        let expected = format!("SharedAccessSignature sr={resource}&sig={digest}&se=1767323045&skn=send");
        assert_eq!(signature, expected);
    }
}
