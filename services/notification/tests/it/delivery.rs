//! The sender against a real HTTP server: tries, answers, redirects, proxies, limits.

use std::time::Duration;

use http::header::{AUTHORIZATION, LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use url::Url;
use weir_http::{Profile, Proxy};
use weir_notification_controller::delivery::{Retry, Sender};
use weir_notification_controller::event::Event;
use weir_notification_controller::provider::client::{ClientProfile, HOOK};
use weir_notification_controller::provider::{
    Accept, Delivery, Message, Notifier, Settings, build, datadog, gitea, github, gitlab,
};
use weir_testkit::{FaultProxy, SinkAnswer, WebhookSink};

const QUICK: Retry = Retry { first: Duration::from_millis(10) };
const TIMEOUT: Duration = Duration::from_secs(10);

fn message(url: &str) -> Message {
    Message::post_json(&Url::parse(url).unwrap(), &serde_json::json!({"a": 1}))
        .with(AUTHORIZATION, HeaderValue::from_static("Bearer sesame"))
        .with(HeaderName::from_static("x-user"), HeaderValue::from_static("secret"))
}

async fn send(message: Message, timeout: Duration) -> Result<(), String> {
    send_via(message, Profile::default(), timeout).await
}

async fn send_via(message: Message, profile: Profile, timeout: Duration) -> Result<(), String> {
    weir_runtime::service::install_crypto();
    let sent = Sender::new(QUICK).deliver(Delivery::from(message), &profile, timeout).await;
    sent.map_err(|error| error.to_string())
}

fn answer(status: StatusCode, body: &'static str) -> SinkAnswer {
    SinkAnswer { status, body: body.into(), ..SinkAnswer::default() }
}

#[tokio::test]
async fn passing_failures_are_tried_five_times() {
    let sink = WebhookSink::start().await.unwrap();
    sink.answer(StatusCode::INTERNAL_SERVER_ERROR);
    let error = send(message(&sink.url("/secret-path?token=x")), TIMEOUT).await.unwrap_err();
    let origin = sink.url("");
    assert_eq!(
        error,
        format!(
            "postMessage failed: failed to execute request: POST {origin} giving up after 5 attempt(s); \
             last try: 500 Internal Server Error"
        )
    );
    assert_eq!(sink.requests().len(), 5);
}

#[tokio::test]
async fn a_service_that_recovers_gets_the_same_bytes() {
    let sink = WebhookSink::start().await.unwrap();
    let left = std::sync::atomic::AtomicUsize::new(2);
    sink.answer_with(move |_| {
        let is_down = left.fetch_update(
            std::sync::atomic::Ordering::SeqCst,
            std::sync::atomic::Ordering::SeqCst,
            |n| n.checked_sub(1),
        );
        answer(if is_down.is_ok() { StatusCode::BAD_GATEWAY } else { StatusCode::OK }, "")
    });
    send(message(&sink.url("/x")), TIMEOUT).await.unwrap();
    let bodies: Vec<String> = sink.requests().iter().map(|request| request.text()).collect();
    assert_eq!(bodies, [r#"{"a":1}"#; 3]);
}

#[tokio::test]
async fn final_failures_are_quoted_without_control_characters() {
    let sink = WebhookSink::start().await.unwrap();
    sink.answer_with(|_| answer(StatusCode::NOT_FOUND, "no\u{1b}[31m such\r\nhook"));
    let error = send(message(&sink.url("/x")), TIMEOUT).await.unwrap_err();
    assert_eq!(
        error,
        "postMessage failed: request failed: request failed with status code 404: no[31m suchhook"
    );
    assert_eq!(sink.requests().len(), 1);
}

#[tokio::test]
async fn the_deadline_covers_all_tries() {
    let sink = WebhookSink::start().await.unwrap();
    sink.answer_with(|_| SinkAnswer {
        status: StatusCode::SERVICE_UNAVAILABLE,
        headers: HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static("3600"))]),
        body: "in maintenance\n".into(),
    });
    let error = send(message(&sink.url("/x")), Duration::from_secs(3)).await.unwrap_err();
    assert_eq!(
        error,
        "postMessage failed: failed to execute request: context deadline exceeded; \
         last try: 503 Service Unavailable: in maintenance"
    );
}

#[tokio::test]
async fn slacks_api_is_judged_by_its_body() {
    let sink = WebhookSink::start().await.unwrap();
    let slack = || {
        let mut message = message(&sink.url("/api/chat.postMessage"));
        message.accept = Accept::SlackOk;
        message
    };
    sink.answer_with(|_| answer(StatusCode::OK, r#"{"ok":true}"#));
    assert_eq!(send(slack(), TIMEOUT).await, Ok(()));
    sink.answer_with(|_| answer(StatusCode::OK, r#"{"ok":false,"error":"channel_not_found"}"#));
    let refused = "postMessage failed: request failed: Slack responded with error: channel_not_found";
    assert_eq!(send(slack(), TIMEOUT).await, Err(refused.to_owned()));
    // Slack repeats the message.
    let repeated: &'static str =
        format!(r#"{{"ok":true,"message":{{"text":"{}"}}}}"#, "x".repeat(100_000)).leak();
    sink.answer_with(move |_| answer(StatusCode::OK, repeated));
    assert_eq!(send(slack(), TIMEOUT).await, Ok(()));
    sink.answer_with(|_| answer(StatusCode::OK, "ok"));
    let no_json = "postMessage failed: request failed: unable to unmarshal response body: \
                   invalid character 'o' looking for beginning of value";
    assert_eq!(send(slack(), TIMEOUT).await, Err(no_json.to_owned()));
}

/// Something else than the service may answer with a good status: a proxy, or a page that asks for a login.
#[rstest::rstest]
#[case(&datadog::CLIENT, "ok", Some("invalid character 'o' looking for beginning of value"))]
#[case(&datadog::CLIENT, "", None)]
#[case(&github::CLIENT, "", None)]
#[case(&github::CLIENT, "<html>", Some("invalid character '<' looking for beginning of value"))]
#[case(&gitlab::CLIENT, "", Some("EOF"))]
#[case(&gitea::CLIENT, "{}", None)]
#[case(&HOOK, "ok", None)]
#[tokio::test]
async fn clients_of_services_read_the_answer(
    #[case] client: &'static ClientProfile,
    #[case] body: &'static str,
    #[case] expected: Option<&str>,
) {
    let sink = WebhookSink::start().await.unwrap();
    sink.answer_with(move |_| answer(StatusCode::OK, body));
    let sent = send(message(&sink.url("/x")).with_client(client).failing_with(""), TIMEOUT).await;
    assert_eq!(sent.err().as_deref(), expected);
}

#[tokio::test]
async fn security_redirects_to_another_host_carry_no_headers_of_ours() {
    let (first, second) = (WebhookSink::start().await.unwrap(), WebhookSink::start().await.unwrap());
    let target = second.url("/moved");
    first.answer_with(move |request| {
        let location = if request.path == "/start" { "/same-host".to_owned() } else { target.clone() };
        SinkAnswer {
            status: StatusCode::TEMPORARY_REDIRECT,
            headers: HeaderMap::from_iter([(LOCATION, HeaderValue::from_str(&location).unwrap())]),
            ..SinkAnswer::default()
        }
    });
    send(message(&first.url("/start")), TIMEOUT).await.unwrap();
    let same_host = &first.requests()[1];
    assert_eq!((same_host.header("authorization"), same_host.header("x-user")), ("Bearer sesame", "secret"));
    let moved = &second.requests()[0];
    assert_eq!((moved.method.as_str(), moved.text().as_str()), ("POST", r#"{"a":1}"#));
    assert_eq!((moved.header("authorization"), moved.header("x-user")), ("", ""));
}

#[tokio::test]
async fn redirects_end() {
    let sink = WebhookSink::start().await.unwrap();
    sink.answer_with(|_| SinkAnswer {
        status: StatusCode::FOUND,
        headers: HeaderMap::from_iter([(LOCATION, HeaderValue::from_static("/again"))]),
        ..SinkAnswer::default()
    });
    let error = send(message(&sink.url("/x")), TIMEOUT).await.unwrap_err();
    assert!(error.ends_with("stopped after 10 redirects"), "{error}");
    let requests = sink.requests();
    assert_eq!(requests.len(), 10);
    // Without a body there is none whose type could be named.
    let told = |number: usize| (requests[number].method.as_str(), requests[number].header("content-type"));
    assert_eq!([told(0), told(1)], [("POST", "application/json"), ("GET", "")]);
}

#[tokio::test]
async fn a_proxy_gets_the_request_with_its_credentials() {
    let proxy = WebhookSink::start().await.unwrap();
    let mut url = Url::parse(&proxy.url("")).unwrap();
    url.set_username("u").unwrap();
    url.set_password(Some("p")).unwrap();
    let profile = Profile { proxy: Some(Proxy::from_url(url)), ..Profile::default() };
    send_via(message("http://one.example/x"), profile, TIMEOUT).await.unwrap();
    assert_eq!(proxy.requests()[0].header("proxy-authorization"), "Basic dTpw");
}

#[tokio::test]
async fn a_service_that_is_away_is_named_by_host_only() {
    let port = weir_testkit::free_port().unwrap();
    let error = send(message(&format!("http://127.0.0.1:{port}/secret-path")), TIMEOUT).await.unwrap_err();
    assert!(error.starts_with(&format!(
        "postMessage failed: failed to execute request: POST http://127.0.0.1:{port} giving up after 5 attempt(s)"
    )));
    assert!(!error.contains("secret-path"), "{error}");
}

#[tokio::test]
async fn bad_tls_material_is_told() {
    let profile = Profile { ca: Some(b"no certificate".to_vec()), ..Profile::default() };
    let error = send_via(message("https://one.example/x"), profile, TIMEOUT).await.unwrap_err();
    assert_eq!(error, "failed to get TLS config: failed to parse CA certificate");
}

#[tokio::test]
async fn a_silent_service_is_given_up_when_the_time_is_over() {
    let silent = FaultProxy::silent().await.unwrap();
    let url = format!("http://{}", silent.address());
    let error = send(message(&url), Duration::from_millis(300)).await.unwrap_err();
    assert_eq!(
        error,
        format!(
            "postMessage failed: failed to execute request: POST {url} giving up after 1 attempt(s): context deadline exceeded"
        )
    );
}

#[tokio::test]
async fn the_end_of_the_time_is_told_of_the_request_that_was_under_way() {
    let (sink, silent) = (WebhookSink::start().await.unwrap(), FaultProxy::silent().await.unwrap());
    let second = message(&format!("http://{}", silent.address())).failing_with("second: ");
    let both = Delivery::Messages(vec![message(&sink.url("/x")), second]);
    weir_runtime::service::install_crypto();
    let sent = Sender::new(QUICK).deliver(both, &Profile::default(), Duration::from_millis(300)).await;
    let error = sent.unwrap_err().to_string();
    assert!(error.starts_with("second: ") && error.ends_with("context deadline exceeded"), "{error}");
}

#[rstest::rstest]
#[case(
    "github",
    1,
    "could not list commit statuses: GET {url}/api/v3/repos/org/repo/commits/{commit}/statuses?per_page=50: 502  []"
)]
#[case(
    "gitlab",
    6,
    "unable to list commit status: GET {url}/api/v4/projects/org%2Frepo/repository/commits/{commit}/statuses: 502"
)]
#[case(
    "gitea",
    1,
    "failed creating Gitea client: unknown API error: 502\nRequest: '/api/v1/version' with 'GET' method and '' body"
)]
#[case("azuredevops", 1, "could not list commit statuses: Request returned status: 502 Bad Gateway")]
#[tokio::test]
async fn forges_are_asked_as_often_as_by_their_clients(
    #[case] kind: &str,
    #[case] tries: usize,
    #[case] expected: &str,
) {
    let sink = WebhookSink::start().await.unwrap();
    sink.answer(StatusCode::BAD_GATEWAY);
    let path = if kind == "azuredevops" { "/org/project/_git/repo" } else { "/org/repo" };
    let error = notify(kind, &sink.url(path)).await.unwrap_err();
    assert_eq!(error, expected.replace("{url}", &sink.url("")).replace("{commit}", COMMIT));
    assert_eq!(sink.requests().len(), tries);
}

const COMMIT: &str = "5394cb7f48332b2de7c17dd8b8384bbc84b7e736";

/// Makes a notifier, asks its questions and delivers an event with it.
async fn notify(kind: &str, address: &str) -> Result<(), String> {
    weir_runtime::service::install_crypto();
    let sender = Sender::new(QUICK);
    let mut notifier = notifier(kind, address);
    let answer = sender.ask(&notifier.questions(), &Profile::default(), TIMEOUT).await;
    notifier.answered(&answer.map_err(|error| error.to_string())?);
    let delivery = notifier.render(&event()).unwrap();
    sender.deliver(delivery, &Profile::default(), TIMEOUT).await.map_err(|error| error.to_string())
}

fn notifier(kind: &str, address: &str) -> Box<dyn Notifier> {
    let token = if kind == "bitbucketserver" { "t" } else { "u:p" };
    let settings = Settings {
        provider_type: kind.into(),
        address: address.into(),
        token: token.into(),
        commit_status: "kustomization/web".into(),
        provider_uid: "uid".into(),
        ..Settings::default()
    };
    build(&settings).unwrap()
}

fn event() -> Event {
    let revision = format!("main@sha1:{COMMIT}");
    Event {
        severity: "info".into(),
        reason: "ReconciliationSucceeded".into(),
        metadata: [("revision".to_owned(), revision), ("change_request".to_owned(), "12".to_owned())].into(),
        ..Event::default()
    }
}

fn methods(sink: &WebhookSink) -> Vec<String> {
    sink.requests().into_iter().map(|request| request.method).collect()
}

#[tokio::test]
async fn a_status_that_is_there_already_is_not_written_again() {
    let sink = WebhookSink::start().await.unwrap();
    let current =
        r#"[{"context":"kustomization/web","state":"success","description":"reconciliation succeeded"}]"#;
    sink.answer_with(move |_| answer(StatusCode::OK, current));
    notify("github", &sink.url("/org/repo")).await.unwrap();
    assert_eq!(methods(&sink), ["GET"]);
    sink.forget();
    sink.answer_with(|_| answer(StatusCode::OK, "[]"));
    notify("github", &sink.url("/org/repo")).await.unwrap();
    assert_eq!(methods(&sink), ["GET", "POST"]);
}

#[tokio::test]
async fn a_missing_status_is_no_failure_where_the_service_answers_404() {
    let sink = WebhookSink::start().await.unwrap();
    sink.answer_with(|request| {
        let status = if request.method == "GET" { StatusCode::NOT_FOUND } else { StatusCode::NO_CONTENT };
        answer(status, "")
    });
    notify("bitbucketserver", &sink.url("/ctx/scm/p/r.git")).await.unwrap();
    assert_eq!(methods(&sink), ["GET", "POST"]);
    sink.forget();
    let error = notify("github", &sink.url("/org/repo")).await.unwrap_err();
    assert!(
        error.starts_with("could not list commit statuses: GET http") && error.ends_with("404  []"),
        "{error}"
    );
}

#[tokio::test]
async fn a_comment_of_ours_is_updated_and_those_of_others_are_left_alone() {
    let sink = WebhookSink::start().await.unwrap();
    let comment = |author: &str| {
        let body = "<!-- flux-pr-comment-key:uid/// -->";
        serde_json::json!([{"id": 5, "body": body, "user": {"login": author}}]).to_string()
    };
    for (author, expected) in [("bot", "PATCH"), ("someone", "POST")] {
        let comments = comment(author);
        sink.answer_with(move |request| SinkAnswer {
            body: if request.path.ends_with("/user") {
                r#"{"login":"bot"}"#.into()
            } else {
                comments.clone().into()
            },
            ..SinkAnswer::default()
        });
        notify("githubpullrequestcomment", &sink.url("/org/repo")).await.unwrap();
        assert_eq!(methods(&sink), ["GET", "GET", expected]);
        sink.forget();
    }
}
