//! Providers that log in before they send: to Google by a key, to Azure as a ServiceAccount, to GitHub as an
//! app (NTF-69, NTF-76, NTF-79, NTF-114).

use std::time::Duration;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use http::StatusCode;
use serde_json::{Value, json};
use weir_access::Secret;
use weir_api::Provider;
use weir_auth::Logins;
use weir_http::Profile;
use weir_notification_controller::delivery::{Retry, Sender};
use weir_notification_controller::event::Event;
use weir_notification_controller::provider::login::log_in;
use weir_notification_controller::provider::resolve::Resolved;
use weir_notification_controller::provider::{Settings, build};
use weir_runtime::metrics::Metrics;
use weir_testkit::{Cloud, eventually};

use crate::world::{DEADLINE, Setup};

const TIMEOUT: Duration = Duration::from_secs(20);
const GOOGLE: [&str; 2] = ["oauth2.googleapis.com", "pubsub.googleapis.com"];
const AZURE: [&str; 3] = ["login.microsoftonline.com", "ops.servicebus.windows.net", "dev.azure.com"];

fn through(cloud: &Cloud) -> Profile {
    weir_runtime::service::install_crypto();
    let address = format!("http://{}", cloud.proxy()).parse().unwrap();
    Profile {
        ca: Some(cloud.ca_pem().into()),
        ca_alone: true,
        proxy: Some(weir_http::Proxy { address, credentials: None }),
        ..Profile::default()
    }
}

/// Logs in, builds, renders and sends, as the dispatcher does.
async fn deliver(settings: Settings, app: Option<Secret>, cloud: &Cloud) -> Result<(), String> {
    let mut provider = Provider::default();
    provider.metadata.namespace = Some("apps".to_owned());
    provider.metadata.name = Some("main".to_owned());
    let mut resolved = Resolved { settings, app, profile: through(cloud), ..Resolved::default() };
    let (logins, metrics) = (Logins::of_process().trusting(cloud.ca_pem()), Metrics::default());
    metrics.register(|registry| logins.register(registry));
    log_in(&logins, &provider, &mut resolved, TIMEOUT).await.map_err(|error| error.to_string())?;
    // Notification spec, 7.3.
    let counted = "kind=\"Provider\",name=\"main\",namespace=\"apps\",operation=\"post\"} 1";
    let text = metrics.encode().unwrap();
    assert!(text.contains(counted), "{text}");
    let metadata = [("change_request".to_owned(), "7".to_owned())].into();
    let event = Event { severity: "info".to_owned(), metadata, ..Event::default() };
    let (mut notifier, sender) = (build(&resolved.settings).unwrap(), Sender::new(Retry::default()));
    let answer = sender.ask(&notifier.questions(), &resolved.profile, TIMEOUT).await;
    notifier.answered(&answer.map_err(|error| error.to_string())?);
    let delivery = notifier.render(&event).unwrap();
    let sent = sender.deliver(delivery, &resolved.profile, TIMEOUT).await;
    sent.map_err(|error| error.to_string())
}

fn google(request: &str) -> (StatusCode, Value) {
    if request.contains(" oauth2.") {
        return (StatusCode::OK, json!({"access_token": "google", "expires_in": 3600}));
    }
    let is_known = request.contains("/v1/projects/project/topics/topic:publish Bearer google ");
    let status = if is_known { StatusCode::OK } else { StatusCode::NOT_FOUND };
    (status, json!({"messageIds": ["1"]}))
}

#[tokio::test]
async fn a_key_in_the_secret_publishes_to_a_topic() {
    let cloud = Cloud::start(&GOOGLE, google).await.unwrap();
    let key =
        json!({"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r"});
    let settings = |topic: &str| Settings {
        provider_type: "googlepubsub".to_owned(),
        address: "project".to_owned(),
        channel: topic.to_owned(),
        token: key.to_string(),
        headers: [("team".to_owned(), "a".to_owned())].into(),
        ..Settings::default()
    };
    assert_eq!(deliver(settings("topic"), None, &cloud).await, Ok(()));
    let published = cloud.requests().pop().unwrap();
    let body = published.split_once("Bearer google ").unwrap().1;
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["messages"][0]["attributes"], json!({"team": "a"}));
    let error = deliver(settings("other"), None, &cloud).await.unwrap_err();
    let prefix = "error publishing to GCP Pub/Sub topic projects/project/topics/other: request failed: ";
    assert!(error.starts_with(prefix), "{error}");
}

/// Claims of the token of Kubernetes that a request to Entra shows.
fn claims(request: &str) -> Value {
    let (_, rest) = request.split_once("client_assertion=").unwrap();
    let part = rest.split(['&', ' ']).next().unwrap().split('.').nth(1).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

#[tokio::test]
async fn service_accounts_log_in_to_azure() {
    let answers = |request: &str| match request.split(' ').nth(1) {
        Some("login.microsoftonline.com") => {
            (StatusCode::OK, json!({"token_type": "Bearer", "expires_in": 3600, "access_token": "entra"}))
        }
        _ => (StatusCode::CREATED, json!({"value": []})),
    };
    let cloud = Cloud::start(&AZURE, answers).await.unwrap();
    let mut setup = Setup::new().await;
    setup.flag("--feature-gates=ObjectLevelWorkloadIdentity=true");
    setup.flag("--default-service-account=standard");
    for name in ["standard", "own"] {
        let annotations = json!({
            "azure.workload.identity/tenant-id": "72f988bf-86f1-41af-91ab-2d7cd011db47",
            "azure.workload.identity/client-id": name,
        });
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "annotations": annotations}});
        setup.apply(&account.to_string()).await;
    }
    let address = json!({"address": format!("http://{}", cloud.proxy())});
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "proxy"}, "stringData": address});
    setup.apply(&secret.to_string()).await;
    // Authorities of Providers are not believed at clouds: those of the system have to be other ones.
    let authority = setup.path("authority.pem");
    std::fs::write(&authority, cloud.ca_pem()).unwrap();
    setup.env("SSL_CERT_FILE", authority.to_str().unwrap());
    let reached = |more: Value| {
        let mut fields = json!({"proxySecretRef": {"name": "proxy"}});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fields
    };
    let hub = json!({"address": "hub", "channel": "ops", "serviceAccountName": "own"});
    setup.provider("hub", "azureeventhub", reached(hub)).await;
    let repository = json!({"address": "https://dev.azure.com/org/project/_git/repo"});
    setup.provider("status", "azuredevops", reached(repository)).await;
    let world = setup.start().await;

    assert_eq!(world.post(&world.event("hello", "error")).await, 202);

    let found = |start: &str| cloud.requests().into_iter().find(|request| request.starts_with(start));
    let start = "POST ops.servicebus.windows.net /hub/messages Bearer entra ";
    let sent = eventually("the event in the hub", DEADLINE, || async { found(start) }).await.unwrap();
    assert!(sent.contains("\"message\":\"hello\""), "{sent}");
    let pair = BASE64_STANDARD.encode(":entra");
    let start = format!(
        "GET dev.azure.com /org/project/_apis/git/repositories/repo/commits/5394cb7f48332b2de7c17dd8b8384bbc84b7e736/statuses Basic {pair} "
    );
    eventually("the list of statuses", DEADLINE, || async { found(&start) }).await.unwrap();
    for (scope, account) in [
        ("scope=https%3A%2F%2Feventhubs.azure.net%2F%2F.default", "own"),
        ("scope=499b84ac-1321-427f-aa17-267ca6975798%2F.default", "standard"),
    ] {
        let requests = cloud.requests();
        let login = requests.iter().find(|request| request.contains(scope)).unwrap();
        let user = format!("system:serviceaccount:{}:{account}", world.namespace);
        assert_eq!(claims(login)["sub"], user);
    }
}

fn github(request: &str) -> (StatusCode, Value) {
    let body = match request.split(' ').nth(2).unwrap().split('?').next().unwrap() {
        "/app/installations/42/access_tokens" => {
            json!({"token": "ghs_x", "expires_at": "2099-01-01T00:00:00Z"})
        }
        "/app" => json!({"slug": "weir"}),
        "/repos/org/repo/issues/7/comments" => json!([
            {"id": 4, "user": {"login": "weir"}, "body": "<!-- flux-pr-comment-key:uid/// -->"},
            {"id": 5, "user": {"login": "weir[bot]"}, "body": "<!-- flux-pr-comment-key:uid/// -->"},
        ]),
        _ => json!({}),
    };
    (StatusCode::CREATED, body)
}

#[tokio::test]
async fn an_app_comments_under_its_own_name() {
    let cloud = Cloud::start(&["api.github.com"], github).await.unwrap();
    let key = rcgen::KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, rcgen::RsaKeySize::_2048).unwrap();
    let pem = key.serialize_pem();
    let entries =
        [("githubAppID", "123"), ("githubAppInstallationID", "42"), ("githubAppPrivateKey", pem.as_str())];
    let data = entries.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec())).into();
    let secret = Secret { place: "apps/app".to_owned(), data, ..Secret::default() };
    let settings = |kind: &str| Settings {
        provider_type: kind.to_owned(),
        provider_uid: "uid".to_owned(),
        address: "https://github.com/org/repo".to_owned(),
        ..Settings::default()
    };
    assert_eq!(deliver(settings("githubpullrequestcomment"), Some(secret.clone()), &cloud).await, Ok(()));
    assert_eq!(deliver(settings("githubdispatch"), Some(secret), &cloud).await, Ok(()));
    let requests = cloud.requests();
    let places: Vec<String> =
        requests.iter().map(|line| line.split(['?', ' ']).take(3).collect::<Vec<_>>().join(" ")).collect();
    let login = "POST api.github.com /app/installations/42/access_tokens";
    let expected = [
        login,
        "GET api.github.com /app",
        "GET api.github.com /repos/org/repo/issues/7/comments",
        "PATCH api.github.com /repos/org/repo/issues/comments/5",
        login,
        "POST api.github.com /repos/org/repo/dispatches",
    ];
    assert_eq!(places, expected);
    assert!(requests[1].contains(" Bearer ey") && requests[2].contains(" Bearer ghs_x "), "{requests:?}");
}
