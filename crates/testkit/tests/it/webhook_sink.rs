use std::time::Duration;

use axum::http::StatusCode;
use weir_testkit::{Error, SinkAnswer, WebhookSink};

const DEADLINE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn requests_are_recorded_whole() {
    let sink = WebhookSink::start().await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.put(sink.url("/hook?a=1")).header("x-signature", "abc").body(r#"{"text":"hi"}"#);
    assert_eq!(request.send().await.unwrap().status(), 200);

    let seen = sink.wait_for("the hook", DEADLINE, |request| request.path == "/hook").await.unwrap();
    assert_eq!((seen.method.as_str(), seen.query.as_str()), ("PUT", "a=1"));
    assert_eq!((seen.header("x-signature"), seen.json()["text"].as_str()), ("abc", Some("hi")));

    sink.forget();
    assert!(sink.requests().is_empty());
}

#[tokio::test]
async fn answers_are_what_the_test_says() {
    let sink = WebhookSink::start().await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    sink.answer(StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(client.get(sink.url("/")).send().await.unwrap().status(), 503);
    sink.answer_with(|request| SinkAnswer { body: request.path.clone().into(), ..SinkAnswer::default() });
    assert_eq!(client.get(sink.url("/echo")).send().await.unwrap().text().await.unwrap(), "/echo");
    assert_eq!(sink.requests().len(), 2);
}

#[tokio::test]
async fn waiting_in_vain_tells_what_came() {
    let sink = WebhookSink::start().await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    client.post(sink.url("/one")).body("body").send().await.unwrap();
    let error = sink.wait_for_requests(2, Duration::from_millis(200)).await.unwrap_err();
    assert!(matches!(error, Error::Deadline { last, .. } if last == "POST /one body"));
}
