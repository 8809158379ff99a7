//! Publications on a real NATS server: identities, refusals, several servers, TLS (spec 5.8).

use std::time::Duration;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};
use nkeys::KeyPair;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use weir_http::Profile;
use weir_notification_controller::delivery::{Retry, Sender};
use weir_notification_controller::event::Event;
use weir_notification_controller::provider::{Settings, build};
use weir_testkit::{Folder, Identity, NatsServer, free_port};

const TIMEOUT: Duration = Duration::from_secs(20);
const PREFIX: &str = "error publishing event to subject flux.events: ";

fn event() -> Event {
    Event { severity: "info".to_owned(), message: "applied".to_owned(), ..Event::default() }
}

/// Settings for a server, with the password of the user `bot`.
fn settings(address: &str) -> Settings {
    Settings {
        provider_type: "nats".to_owned(),
        address: address.to_owned(),
        channel: "flux.events".to_owned(),
        username: "bot".to_owned(),
        password: "sesame9".to_owned(),
        ..Settings::default()
    }
}

async fn publish(settings: &Settings, event: &Event, profile: &Profile) -> Result<(), String> {
    weir_runtime::service::install_crypto();
    let delivery = build(settings).unwrap().render(event).unwrap();
    let sent = Sender::new(Retry::default()).deliver(delivery, profile, TIMEOUT).await;
    sent.map_err(|error| error.to_string())
}

/// A server with the user `bot`, who may publish below `flux`, the owner of a key, and a reader.
async fn server(key: &KeyPair) -> Option<NatsServer> {
    let users = json!([
        {"user": "bot", "password": "sesame9", "permissions": {"publish": "flux.>"}},
        {"nkey": key.public_key()},
        {"user": "reader", "password": "reader"},
    ]);
    NatsServer::start(&format!("max_payload: 4096\nauthorization: {{users: {users}}}")).await.unwrap()
}

/// A client that reads everything below `flux`.
struct Reader(BufReader<TcpStream>);

impl Reader {
    async fn start(server: &NatsServer) -> Self {
        let mut reader = Self(BufReader::new(TcpStream::connect(server.address()).await.unwrap()));
        let greeting = r#"CONNECT {"verbose":false,"user":"reader","pass":"reader"}"#;
        let requests = format!("{greeting}\r\nSUB flux.> 1\r\nPING\r\n");
        reader.0.write_all(requests.as_bytes()).await.unwrap();
        while reader.line().await != "PONG" {}
        reader
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = tokio::time::timeout(TIMEOUT, self.0.read_line(&mut line)).await.unwrap();
        assert_ne!(read.unwrap(), 0, "the server has closed the connection");
        line.trim_end().to_owned()
    }

    /// Returns the head of the next message, without its size, and its content.
    async fn next(&mut self) -> (String, Vec<u8>) {
        let line = self.line().await;
        let (head, size) = line.rsplit_once(' ').unwrap();
        let mut content = vec![0; size.parse().unwrap()];
        self.0.read_exact(&mut content).await.unwrap();
        assert_eq!(self.line().await, "");
        (head.to_owned(), content)
    }
}

#[tokio::test]
async fn each_identity_publishes_the_event() {
    let key = KeyPair::new_user();
    let Some(server) = server(&key).await else { return };
    let mut reader = Reader::start(&server).await;
    let password = settings(server.address());
    let of_address = Settings {
        address: format!("nats://bot:sesame9@{}", server.address()),
        nkey: b"another".to_vec(),
        ..settings("")
    };
    let of_key = Settings {
        nkey: format!("{}\n", key.seed().unwrap()).into_bytes(),
        username: "nobody".to_owned(),
        ..settings(server.address())
    };
    for settings in [password, of_address, of_key] {
        assert_eq!(publish(&settings, &event(), &Profile::default()).await, Ok(()));
        assert_eq!(reader.next().await, ("MSG flux.events 1".to_owned(), event().to_bytes()));
    }
}

#[tokio::test]
async fn the_reasons_of_a_refusal_are_reported() {
    let Some(server) = server(&KeyPair::new_user()).await else { return };
    let sound = settings(server.address());
    let wrong = Settings { password: "hunter2".to_owned(), ..sound.clone() };
    let stranger = Settings { nkey: KeyPair::new_user().seed().unwrap().into_bytes(), ..sound.clone() };
    let no_seed = Settings { nkey: b"hunter2".to_vec(), ..sound.clone() };
    let nobody = Settings { username: String::new(), ..sound.clone() };
    let refused = "error connecting to server: nats: Authorization Violation";
    for (settings, reason) in [
        (wrong, refused),
        (stranger, refused),
        (nobody, refused),
        (no_seed, "error parsing nkey seed: Invalid key length: Bad seed length: 7"),
    ] {
        let error = publish(&settings, &event(), &Profile::default()).await.unwrap_err();
        assert_eq!(error, format!("{PREFIX}{reason}"));
    }
    let elsewhere = Settings { channel: "ops".to_owned(), ..sound.clone() };
    assert_eq!(
        publish(&elsewhere, &event(), &Profile::default()).await.unwrap_err(),
        "error publishing event to subject ops: error publishing message to server: nats: Permissions Violation for \
         Publish to \"ops\""
    );
    let large = Event { message: "x".repeat(4096), ..event() };
    assert_eq!(
        publish(&sound, &large, &Profile::default()).await.unwrap_err(),
        format!("{PREFIX}error publishing message to server: nats: maximum payload exceeded")
    );
}

#[tokio::test]
async fn the_first_server_that_answers_gets_the_event() {
    let Some(server) = server(&KeyPair::new_user()).await else { return };
    let mut reader = Reader::start(&server).await;
    let absent = format!("127.0.0.1:{}", free_port().unwrap());
    // It takes connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    for other in [absent.clone(), silent.local_addr().unwrap().to_string()] {
        let both = settings(&format!("{other},{}", server.address()));
        assert_eq!(publish(&both, &event(), &Profile::default()).await, Ok(()));
        assert_eq!(reader.next().await.1, event().to_bytes());
    }
    let none = publish(&settings(&absent), &event(), &Profile::default()).await.unwrap_err();
    assert_eq!(
        none,
        format!("{PREFIX}error connecting to server: nats: no servers available for connection")
    );
}

#[tokio::test]
async fn security_certificates_are_checked_and_demanded() {
    weir_runtime::service::install_crypto();
    let (identity, folder) = (Identity::for_names(&[]).unwrap(), Folder::new("nats-tls").unwrap());
    let certificate = folder.write("server.crt", &identity.certificate_pem).unwrap();
    let key = folder.write("server.key", &identity.key_pem).unwrap();
    let config = json!({"cert_file": certificate, "key_file": key});
    let Some(encrypted) = NatsServer::start(&format!("tls: {config}")).await.unwrap() else { return };
    let trusting = |identity: &Identity| Profile {
        ca: Some(identity.ca_pem.clone().into_bytes()),
        ca_alone: true,
        ..Profile::default()
    };
    let address = format!("tls://{}", encrypted.address());
    assert_eq!(publish(&settings(&address), &event(), &trusting(&identity)).await, Ok(()));
    let other = Identity::for_names(&[]).unwrap();
    let error = publish(&settings(&address), &event(), &trusting(&other)).await.unwrap_err();
    assert!(error.starts_with(&format!("{PREFIX}error connecting to server: 127.0.0.1: ")), "{error}");
    // A Provider with an authority makes no connection in plain text.
    let plain = NatsServer::start("").await.unwrap().unwrap();
    let error = publish(&settings(plain.address()), &event(), &trusting(&identity)).await.unwrap_err();
    assert_eq!(error, format!("{PREFIX}error connecting to server: nats: secure connection not available"));
}

/// A token in the form of NATS.
fn token(issuer: &KeyPair, subject: &KeyPair, claims: Value) -> String {
    let head = json!({"typ": "JWT", "alg": "ed25519-nkey"});
    let body = json!({
        "jti": "weir", "iat": 1_700_000_000, "name": "weir",
        "iss": issuer.public_key(), "sub": subject.public_key(), "nats": claims,
    });
    let [head, body] = [head, body].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string()));
    let signature = issuer.sign(format!("{head}.{body}").as_bytes()).unwrap();
    format!("{head}.{body}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

#[tokio::test]
async fn credentials_of_an_operator_are_accepted_and_those_of_another_are_not() {
    let (operator, account) = (KeyPair::new_operator(), KeyPair::new_account());
    let (user, stranger) = (KeyPair::new_user(), KeyPair::new_user());
    let all = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1,
    });
    let of_account = json!({"type": "account", "version": 2, "limits": all});
    let preloaded = json!({account.public_key(): token(&operator, &account, of_account)});
    let of_operator = token(&operator, &operator, json!({"type": "operator", "version": 2}));
    let config = format!("operator: {of_operator}\nresolver: MEMORY\nresolver_preload: {preloaded}");
    let Some(server) = NatsServer::start(&config).await.unwrap() else { return };
    let of_user = json!({"type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1});
    let token = token(&account, &user, of_user);
    for (key, expected) in [(&user, Ok(())), (&stranger, Err("nats: Authorization Violation"))] {
        let seed = key.seed().unwrap();
        let creds = format!(
            "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
                             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        );
        let settings = Settings { creds: creds.into_bytes(), ..settings(server.address()) };
        let expected = expected.map_err(|reason| format!("{PREFIX}error connecting to server: {reason}"));
        assert_eq!(publish(&settings, &event(), &Profile::default()).await, expected);
    }
}
