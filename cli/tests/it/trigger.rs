//! `weir trigger receiver` (CLI-TRG01).

use http::StatusCode;
use weir_testkit::{EchoServer, SinkAnswer, SinkRequest, WebhookSink, flux_program};

use crate::weir::Weir;

const REFUSED: [&str; 12] = [
    "trigger receiver",
    "trigger receiver podinfo",
    "trigger receiver podinfo --url http://127.0.0.1:1",
    "trigger receiver podinfo --url http://127.0.0.1:1 --type github --token t",
    "trigger receiver podinfo --url http://127.0.0.1:1 --token t --oidc-audience a",
    "trigger receiver podinfo --url http://127.0.0.1:1 --type generic-oidc --token t",
    "trigger receiver podinfo --url http://127.0.0.1:1 --type generic-oidc --oidc-provider github --oidc-token t",
    "trigger receiver podinfo --url http://127.0.0.1:1 --type generic-oidc --oidc-provider gitlab",
    "trigger receiver podinfo --url http://127.0.0.1:1 --type generic-oidc --oidc-token t --oidc-audience a",
    "trigger receiver podinfo --url http://127.0.0.1:1 --type generic-oidc",
    "trigger receiver podinfo --url http://127.0.0.1:1 --type generic-oidc --oidc-provider github",
    "trigger receiver podinfo --url nowhere --token t -n Not_A_Label",
];

/// Commands that a receiver hears; URL stands for its address.
const SENT: [&str; 5] = [
    "trigger receiver podinfo --url URL/ --token t0ken",
    "trigger receiver podinfo --url URL/base -n apps --token t0ken --payload {\"a\":1}",
    "trigger receiver podinfo --url URL --type generic-hmac --token t0ken",
    "trigger receiver podinfo --url URL --type generic-oidc --oidc-token identity",
    "trigger receiver podinfo --url URL --type generic-oidc --oidc-provider forgejo",
];

fn weir(sink: &WebhookSink) -> Weir {
    Weir::default()
        .with_env("ACTIONS_ID_TOKEN_REQUEST_URL", &sink.url("/token?a=b"))
        .with_env("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "job")
}

/// A receiver that also gives tokens to jobs.
pub(crate) async fn sink() -> WebhookSink {
    let sink = WebhookSink::start().await.unwrap();
    sink.answer_with(|request| {
        let body = if request.path == "/token" { r#"{"value":"issued"}"# } else { "" };
        SinkAnswer { body: body.into(), ..SinkAnswer::default() }
    });
    sink
}

/// Returns what a receiver checks of a request.
fn shown(request: &SinkRequest) -> String {
    let headers = ["content-type", "x-signature", "authorization"].map(|name| request.header(name));
    format!("{} {}?{} {headers:?} {}\n", request.method, request.path, request.query, request.text())
}

/// Runs the commands; returns what they print and what the receiver hears.
async fn transcript(weir: &Weir, sink: &WebhookSink) -> String {
    let url = sink.url("");
    let commands: Vec<_> =
        SENT.iter().map(|command| command.replace("URL", url.trim_end_matches('/'))).collect();
    let commands: Vec<_> = commands.iter().map(String::as_str).collect();
    let mut transcript = weir.transcript(&commands).await;
    transcript.extend(sink.requests().iter().map(shown));
    transcript.replace(url.trim_end_matches('/'), "URL")
}

#[tokio::test]
async fn a_webhook_proves_who_sends_it() {
    let sink = sink().await;
    insta::assert_snapshot!(transcript(&weir(&sink), &sink).await);
}

#[tokio::test]
async fn a_webhook_names_its_sender_as_flux_does() {
    let sink = sink().await;
    let url = sink.url("");
    weir(&sink).transcript(&[&format!("trigger receiver podinfo --url {url} --token t")]).await;
    let requests = sink.requests();
    let agents: Vec<_> = requests.iter().map(|request| request.header("user-agent")).collect();
    assert_eq!(agents, [concat!("flux/v", env!("CARGO_PKG_VERSION"))]);
}

#[tokio::test]
async fn flux_sends_the_same() {
    let Some(program) = flux_program("FLUX_CLI").unwrap() else { return };
    let (ours, theirs) = (sink().await, sink().await);
    let of_flux = transcript(&weir(&theirs).with_program(&program), &theirs).await;
    assert_eq!(transcript(&weir(&ours), &ours).await, of_flux);
    Weir::default().agrees_wholly_with_flux(&REFUSED[..11]).await;
}

#[tokio::test]
async fn flags_that_do_not_go_together_are_refused() {
    insta::assert_snapshot!(Weir::default().transcript(&REFUSED).await);
}

/// Pages for debugging repeat what they got.
#[tokio::test]
async fn security_tokens_are_not_shown_by_an_answer_that_repeats_them() {
    let echo = EchoServer::start().await.unwrap();
    let url = format!("http://{}", echo.address());
    let weir = Weir::default()
        .with_env("ACTIONS_ID_TOKEN_REQUEST_URL", &url)
        .with_env("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "t0p-secret-of-the-job");
    let trigger = format!("trigger receiver podinfo --retries 0 --url {url} --type generic-oidc");
    let own = format!("{trigger} --oidc-token t0p-secret-of-mine");
    let of_job = format!("{trigger} --oidc-provider github");
    let transcript = weir.transcript(&[&own, &of_job]).await.replace(&own, "");
    let requests: Vec<_> =
        echo.requests().iter().map(|request| request.header("authorization").to_owned()).collect();
    assert_eq!(requests, ["Bearer t0p-secret-of-mine", "bearer t0p-secret-of-the-job"]);
    assert_eq!(transcript.matches("<redacted>").count(), 2, "{transcript}");
    assert!(!transcript.contains("t0p-secret"), "{transcript}");
}

#[tokio::test]
async fn an_answer_that_may_change_is_waited_for() {
    let sink = WebhookSink::start().await.unwrap();
    let (seen, answers) = (std::sync::atomic::AtomicUsize::new(0), [404, 503, 200, 401]);
    sink.answer_with(move |_| {
        let index = seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let status = StatusCode::from_u16(answers[index.min(3)]).unwrap();
        SinkAnswer {
            status,
            body: if index == 1 { "not ready\n".into() } else { Default::default() },
            ..SinkAnswer::default()
        }
    });
    let url = sink.url("");
    let trigger =
        format!("trigger receiver podinfo --token t --retry-delay 10ms --url {}", url.trim_end_matches('/'));
    let gone = "trigger receiver podinfo --token t --retries 1 --retry-delay 1ms --url http://127.0.0.1:1";
    let transcript = Weir::default().transcript(&[&trigger, &trigger, gone]).await;
    insta::assert_snapshot!(transcript.replace(url.trim_end_matches('/'), "URL"));
}
