//! The requests of each type: one snapshot of request and body, for good and for bad news.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use http::HeaderMap;
use regex::Regex;
use rstest::rstest;

use super::*;
use crate::event::ObjectReference;

static RANDOM: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b([0-9a-f]{32}|[0-9a-f]{16})\b").unwrap());
const COMMIT: &str = "5394cb7f48332b2de7c17dd8b8384bbc84b7e736";

pub(super) fn event(severity: &str) -> Event {
    let is_error = severity == "error";
    Event {
        involved_object: ObjectReference {
            kind: "Kustomization".into(),
            namespace: "flux-system".into(),
            name: "web".into(),
            uid: "7d0cdc51-ddcf-4743-b223-83ca5c699632".into(),
            api_version: "kustomize.toolkit.fluxcd.io/v1".into(),
            resource_version: "1".into(),
            field_path: String::new(),
        },
        severity: severity.into(),
        timestamp: Some("2026-01-02T03:04:05Z".parse().unwrap()),
        message: if is_error { "it <b>failed</b>\nsecond \"line\"".into() } else { "all good".into() },
        reason: if is_error { "HealthCheckFailed".into() } else { "ReconciliationSucceeded".into() },
        metadata: [
            ("revision", format!("main@sha1:{COMMIT}").as_str()),
            ("summary", "short"),
            ("change_request", "12"),
        ]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into(),
        reporting_controller: "kustomize-controller".into(),
        reporting_instance: "kc-0".into(),
    }
}

fn settings(kind: &str) -> Settings {
    Settings {
        provider_type: kind.into(),
        provider_uid: "0c9c2e41-d2f9-4f9b-9c41-bebc1984d67a".into(),
        address: match kind {
            "github" | "githubdispatch" | "githubpullrequestcomment" => "https://github.com/org/repo".into(),
            "gitea" | "giteapullrequestcomment" => "https://gitea.example/org/repo".into(),
            "bitbucket" => "https://bitbucket.org/org/repo".into(),
            "bitbucketserver" => "https://example.com/context/scm/project/repo.git".into(),
            "azuredevops" => "https://dev.azure.com/org/project/_git/repo".into(),
            "googlepubsub" => "project".into(),
            "azureeventhub" => "hub".into(),
            "sentry" => "https://key@sentry.example/42".into(),
            "gitlab" | "gitlabmergerequestcomment" => "https://gitlab.example/group/sub/repo.git".into(),
            _ => format!("https://example.com/{kind}"),
        },
        channel: if kind == "zulip" { "ops/alerts".into() } else { "general".into() },
        username: "bot".into(),
        password: "p".into(),
        token: if kind == "bitbucket" { "u:sesame9".into() } else { "sesame9".into() },
        hmac_key: b"sesame9".to_vec(),
        commit_status: "kustomization/web/0c9c2e41".into(),
        host: "notification-controller-0".into(),
        ..Settings::default()
    }
}

fn headers(headers: &HeaderMap) -> String {
    let line = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        format!("{name}: {}\n", value.to_str().unwrap())
    };
    headers.iter().map(line).collect()
}

fn text(message: &Message) -> String {
    let body = match serde_json::from_slice::<serde_json::Value>(&message.body) {
        Ok(json) => serde_json::to_string_pretty(&json).unwrap(),
        Err(_) => String::from_utf8(message.body.clone()).unwrap(),
    };
    // Ids of traces, spans and events are random.
    let body = RANDOM.replace_all(&body, "<random>");
    format!("{} {}\n{}\n{body}\n", message.method, message.url, headers(&message.headers))
}

fn rendered(kind: &str, severity: &str) -> String {
    let notifier = build(&settings(kind)).unwrap_or_else(|error| panic!("{kind}: {error}"));
    let delivery = match notifier.render(&event(severity)).unwrap() {
        Delivery::Nothing => "nothing".to_owned(),
        Delivery::Messages(messages) => messages.iter().map(text).collect::<Vec<_>>().join("\n"),
        Delivery::CommitStatus(status) => format!("{}\n{}", text(&status.read), text(&status.write)),
        Delivery::Publication(_) => "a publication".to_owned(),
        Delivery::Comment(comment) => {
            let messages = [&comment.list, &comment.create, &(comment.update)(7)];
            messages.map(text).join("\n")
        }
    };
    let questions: Vec<String> = notifier.questions().iter().map(text).collect();
    [questions, vec![delivery]].concat().join("\n")
}

#[rstest]
fn requests(
    #[values(
        "generic",
        "generic-hmac",
        "slack",
        "discord",
        "rocket",
        "msteams",
        "googlechat",
        "webex",
        "telegram",
        "lark",
        "matrix",
        "zulip",
        "zoom",
        "opsgenie",
        "pagerduty",
        "incident.io",
        "alertmanager",
        "grafana",
        "datadog",
        "sentry",
        "googlepubsub",
        "azureeventhub",
        "github",
        "gitlab",
        "githubdispatch",
        "gitea",
        "bitbucket",
        "bitbucketserver",
        "azuredevops",
        "githubpullrequestcomment",
        "giteapullrequestcomment",
        "gitlabmergerequestcomment"
    )]
    kind: &str,
) {
    let both = format!("# good news\n{}\n# bad news\n{}", rendered(kind, "info"), rendered(kind, "error"));
    insta::with_settings!({snapshot_suffix => kind, omit_expression => true}, {
        insta::assert_snapshot!(both);
    });
}

/// Rooms that people have encoded for Flux, which takes them as they are.
#[rstest]
#[case("!abc:matrix.org")]
#[case("%21abc%3Amatrix.org")]
fn rooms_of_matrix_are_encoded_once(#[case] channel: &str) {
    let notifier = build(&Settings { channel: channel.to_owned(), ..settings("matrix") }).unwrap();
    let Ok(Delivery::Messages(messages)) = notifier.render(&Event::default()) else {
        panic!("nothing to send")
    };
    let url = messages[0].url.as_str();
    assert!(url.contains("/rooms/%21abc%3Amatrix.org/send/"), "{url}");
}

#[test]
fn the_signature_is_over_the_very_bytes() {
    let event = Event {
        involved_object: ObjectReference {
            kind: "GitRepository".into(),
            namespace: "gitops-system".into(),
            name: "webapp".into(),
            ..Default::default()
        },
        severity: "info".into(),
        timestamp: Some("2022-09-30T06:40:29Z".parse().unwrap()),
        message: "message".into(),
        reason: "reason".into(),
        metadata: [("test".to_owned(), "metadata".to_owned())].into(),
        reporting_controller: "source-controller".into(),
        reporting_instance: "source-controller-xyz".into(),
    };
    let hmac_key = b"7152fed34dd6149a7c75a276c510da27cb6f82b0".to_vec();
    let notifier = build(&Settings { hmac_key, ..settings("generic-hmac") }).unwrap();
    let Ok(Delivery::Messages(messages)) = notifier.render(&event) else { panic!("nothing to send") };
    let signature = "sha256=65b018549b1254e7226d1c08f9567ee45bc9de0fc4e7b1a40253f9a018b08be7";
    assert_eq!(messages[0].headers["x-signature"], signature);
}

/// NTF-57: the header is there without a controller, too, as in Flux.
#[test]
fn the_header_of_an_event_without_a_controller_is_empty() {
    let event = Event { reporting_controller: String::new(), ..event("info") };
    let rendered = build(&settings("generic")).unwrap().render(&event);
    let Ok(Delivery::Messages(messages)) = rendered else { panic!("nothing to send") };
    assert_eq!(messages[0].headers["gotk-component"], "");
}

#[test]
fn security_headers_of_the_user_cannot_forge_signature_or_framing() {
    let mut settings = settings("generic-hmac");
    for (name, value) in
        [("X-Signature", "forged"), ("Content-Length", "1"), ("Host", "evil"), ("gotk-component", "mine")]
    {
        settings.headers.insert(name.into(), value.into());
    }
    let Ok(Delivery::Messages(messages)) = build(&settings).unwrap().render(&event("info")) else { panic!() };
    let headers = &messages[0].headers;
    assert!(headers["x-signature"].to_str().unwrap().starts_with("sha256="));
    assert_eq!((headers.get("content-length"), headers.get("host")), (None, None));
    assert_eq!(headers["gotk-component"], "mine");
    settings.headers.insert("X-Bad".into(), "a\r\nX-Injected: b".into());
    assert_eq!(build(&settings).err(), Some(InitError::Header("X-Bad".into())));
    let event = Event { reporting_controller: "a\nb".into(), ..event("info") };
    let rendered = build(&self::settings("generic")).unwrap().render(&event);
    assert_eq!(rendered.err(), Some(RenderError::Header("gotk-component".into())));
}

#[rstest]
#[case("generic", "", "invalid hook URL : parse \"\": empty url")]
#[case("generic", "hello", "invalid hook URL hello: parse \"hello\": invalid URI for request")]
#[case("slack", "::", "invalid Slack hook URL ::: 'parse \"::\": missing protocol scheme'")]
#[case("slack", "", "invalid Slack hook URL : 'parse \"\": empty url'")]
#[case(
    "slack",
    "http://a b/",
    "invalid Slack hook URL http://a b/: 'parse \"http://a b/\": invalid character \" \" in host name'"
)]
#[case(
    "slack",
    "http://h:x/",
    "invalid Slack hook URL http://h:x/: 'parse \"http://h:x/\": invalid port \":x\" after host'"
)]
#[case(
    "slack",
    "http://[::1",
    "invalid Slack hook URL http://[::1: 'parse \"http://[::1\": missing ']' in host'"
)]
#[case(
    "slack",
    "http://h/%zz",
    "invalid Slack hook URL http://h/%zz: 'parse \"http://h/%zz\": invalid URL escape \"%zz\"'"
)]
#[case(
    "generic",
    "http://h/a%2",
    "invalid hook URL http://h/a%2: parse \"http://h/a%2\": invalid URL escape \"%2\""
)]
#[case("github", "https://github.com/a/b/c", "invalid repository id: 'a/b/c'")]
#[case("github", "", "invalid repository id: ''")]
#[case("github", "hello", "invalid repository id: 'hello'")]
#[case("gitea", "hello", "invalid repository id \"hello\"")]
#[case("gitea", "https://git.example.com/a", "invalid repository id \"a\"")]
#[case(
    "bitbucketserver",
    "",
    "could not parse git address: unsupported scheme type in address: . Must be http or https"
)]
#[case(
    "pagerduty",
    "hello",
    "invalid PagerDuty endpoint URL \"hello\": 'parse \"hello\": invalid URI for request'"
)]
#[case(
    "bitbucketserver",
    "https://git.example.com/scm/a",
    "could not parse git address: invalid repository id \"a\""
)]
#[case("nats", "", "NATS server (address) cannot be empty")]
#[case("carrier-pigeon", "https://h", "provider carrier-pigeon not supported")]
#[case("sentry", "", "DSN cannot be empty")]
#[case("sentry", "hello", "[Sentry] DsnParseError: invalid scheme")]
#[case("googlepubsub", "", "GCP project ID cannot be empty")]
#[case("azureeventhub", "", "invalid authentication options: endpoint URL cannot be empty")]
#[case("otel", "", "invalid OTLP URL : 'parse \"\": empty url'")]
fn addresses_that_cannot_work(#[case] kind: &str, #[case] address: &str, #[case] expected: &str) {
    let settings = Settings { address: address.into(), ..settings(kind) };
    assert_eq!(build(&settings).err().unwrap().to_string(), expected);
}

#[rstest]
#[case("generic-hmac", "HMAC key is empty")]
#[case("telegram", "empty Telegram token")]
#[case("opsgenie", "empty Opsgenie apikey/token")]
#[case("zoom", "empty Zoom verification token")]
#[case("incident.io", "empty incident.io API token")]
#[case("datadog", "token cannot be empty")]
#[case("github", "github token or github app details must be specified")]
#[case("gitlab", "gitlab token cannot be empty")]
#[case("gitea", "gitea token cannot be empty")]
#[case("bitbucket", "bitbucket token cannot be empty")]
fn tokens_that_are_needed(#[case] kind: &str, #[case] expected: &str) {
    let settings =
        Settings { token: String::new(), password: String::new(), hmac_key: Vec::new(), ..settings(kind) };
    assert_eq!(build(&settings).err().unwrap().to_string(), expected);
}

/// NTF-77.
#[rstest]
#[case("no-colon")]
#[case("one:two:three")]
fn tokens_of_bitbucket_are_a_user_and_a_password(#[case] token: &str) {
    let settings = Settings { token: token.into(), ..settings("bitbucket") };
    let expected = "invalid token format, expected to be <user>:<password>";
    assert_eq!(build(&settings).err().unwrap().to_string(), expected);
}

#[test]
fn the_exact_address_of_slacks_api_is_judged_by_its_body() {
    for (address, accept) in [
        ("https://slack.com/api/chat.postMessage", Accept::SlackOk),
        ("https://slack.com/api/chat.postMessage/", Accept::Status),
        ("https://hooks.slack.com/services/x", Accept::Status),
    ] {
        let settings = Settings { address: address.into(), ..settings("slack") };
        let Ok(Delivery::Messages(messages)) = build(&settings).unwrap().render(&event("info")) else {
            panic!()
        };
        assert_eq!(messages[0].accept, accept, "{address}");
    }
}

#[rstest]
#[case("https://discord.com/api/webhooks/1/x", "https://discord.com/api/webhooks/1/x/slack")]
#[case("https://discord.com/api/webhooks/1/x/slack", "https://discord.com/api/webhooks/1/x/slack")]
#[case(
    "https://discord.com/api/webhooks/1/x?wait=true",
    "https://discord.com/api/webhooks/1/x/slack?wait=true"
)]
fn discord_is_spoken_to_as_slack(#[case] address: &str, #[case] url: &str) {
    let settings = Settings { address: address.into(), ..settings("discord") };
    let Ok(Delivery::Messages(messages)) = build(&settings).unwrap().render(&event("info")) else { panic!() };
    assert_eq!(messages[0].url.as_str(), url);
}

#[rstest]
fn work_in_progress_is_no_incident(#[values("pagerduty", "incident.io", "github", "gitlab")] kind: &str) {
    let event = Event { reason: "Progressing".into(), ..event("info") };
    assert!(matches!(build(&settings(kind)).unwrap().render(&event), Ok(Delivery::Nothing)));
}

#[rstest]
#[case("gitea", "failed to extract commit hash from 'main@sha1:abc' revision")]
#[case(
    "bitbucketserver",
    "could not parse revision: failed to extract commit hash from 'main@sha1:abc' revision"
)]
fn a_revision_without_a_commit_is_refused(#[case] kind: &str, #[case] expected: &str) {
    let metadata = [("revision".to_owned(), "main@sha1:abc".to_owned())].into();
    let refused = build(&settings(kind)).unwrap().render(&Event { metadata, ..event("info") });
    assert_eq!(refused.err().unwrap().to_string(), expected);
}

#[test]
fn a_commit_status_is_written_only_if_the_latest_one_differs() {
    let notifier = build(&settings("github")).unwrap();
    let Ok(Delivery::CommitStatus(status)) = notifier.render(&event("info")) else { panic!() };
    let one = |state: &str| serde_json::json!({"context": "kustomization/web/0c9c2e41", "state": state, "description": "reconciliation succeeded"});
    assert!((status.is_current)(&serde_json::json!([one("success"), one("failure")])));
    assert!(!(status.is_current)(&serde_json::json!([one("failure"), one("success")])));
    assert!(!(status.is_current)(&serde_json::json!([])));
}

#[test]
fn security_markup_is_escaped_where_the_service_renders_it() {
    let event = Event { message: "a*b [x](http://y) <z>".into(), ..event("info") };
    let Ok(Delivery::Messages(messages)) = build(&settings("telegram")).unwrap().render(&event) else {
        panic!()
    };
    let body = String::from_utf8(messages[0].body.clone()).unwrap();
    assert!(body.contains(r"a\\*b \\[x\\]\\(http://y\\) \u003cz\\\u003e"), "{body}");
}

#[rstest]
#[case("githubpullrequestcomment", "x", "strconv.Atoi: parsing \"x\": invalid syntax")]
#[case(
    "gitlabmergerequestcomment",
    "9999999999999999999",
    "strconv.ParseInt: parsing \"9999999999999999999\": value out of range"
)]
fn change_requests_are_numbers(#[case] kind: &str, #[case] number: &str, #[case] reason: &str) {
    let metadata = [("change_request".to_owned(), number.to_owned())].into();
    let refused = build(&settings(kind)).unwrap().render(&Event { metadata, ..event("info") });
    let expected = format!("invalid \"change_request\" metadata value {number:?}: {reason}");
    assert_eq!(refused.err().unwrap().to_string(), expected);
}

#[rstest]
fn a_commit_status_has_a_name(#[values("github", "azuredevops")] kind: &str) {
    let unnamed = Settings { commit_status: String::new(), ..settings(kind) };
    assert_eq!(build(&unnamed).err(), Some(InitError::CommitStatus));
}

#[rstest]
#[case("gitlab", "can't convert to gitlab state")]
#[case(
    "bitbucketserver",
    "couldn't convert to bitbucket server state: bitbucket server state generated on info or error events only"
)]
fn a_severity_may_have_no_state(#[case] kind: &str, #[case] expected: &str) {
    let refused = build(&settings(kind)).unwrap().render(&event("trace"));
    assert_eq!(refused.err().unwrap().to_string(), expected);
}

#[test]
fn the_first_status_of_azure_with_the_same_genre_and_name_decides() {
    let Ok(Delivery::CommitStatus(status)) = build(&settings("azuredevops")).unwrap().render(&event("info"))
    else {
        panic!()
    };
    let sent: Value = serde_json::from_slice(&status.write.body).unwrap();
    let with = |state: &str, genre: &str| {
        let mut one = sent.clone();
        one["state"] = state.into();
        one["context"]["genre"] = genre.into();
        one
    };
    let (same, failed) = (with("succeeded", "fluxcd:short"), with("error", "fluxcd:short"));
    let other = with("error", "fluxcd");
    let current = |list: &[&Value]| (status.is_current)(&serde_json::json!({"value": list}));
    assert!(current(&[&other, &same, &failed]));
    assert!(!current(&[&failed, &same]));
    assert!(!current(&[&other]));
}

/// Returns the only message of a type with these settings.
fn only_message(settings: &Settings, event: &Event) -> Message {
    let Ok(Delivery::Messages(messages)) = build(settings).unwrap().render(event) else {
        panic!("nothing to send")
    };
    messages.into_iter().next().unwrap()
}

/// Forms and queries have the bytes that Go makes of them.
#[test]
fn zulip_gets_the_form_of_go() {
    let settings = Settings {
        address: "https://zulip.example/any/path?a=b".into(),
        channel: "ops/a~b c".into(),
        ..settings("zulip")
    };
    let message = only_message(&settings, &event("info"));
    assert_eq!(message.url.as_str(), "https://zulip.example/api/v1/messages?a=b");
    let body = String::from_utf8(message.body).unwrap();
    assert!(body.contains("%2A+%60revision%60%3A+main%40sha1%3A"), "{body}");
    assert!(body.ends_with("&to=ops&topic=a~b+c&type=stream"), "{body}");
}

#[rstest]
#[case("", "", None)]
#[case("u", "", Some("Basic dTo="))]
#[case("", "p", Some("Basic OnA="))]
#[case("u", "p", Some("Basic dTpw"))]
fn zulip_is_logged_in_to_with_what_there_is(
    #[case] username: &str,
    #[case] password: &str,
    #[case] expected: Option<&str>,
) {
    let settings = Settings { username: username.into(), password: password.into(), ..settings("zulip") };
    let message = only_message(&settings, &event("info"));
    let header = message.headers.get(http::header::AUTHORIZATION);
    assert_eq!(header.map(|value| value.to_str().unwrap()), expected);
}

#[rstest]
#[case("https://zoom.example/h", "https://zoom.example/h?format=full")]
#[case("https://zoom.example/h?b=x~y&a=1 *", "https://zoom.example/h?a=1+%2A&b=x~y&format=full")]
#[case("https://zoom.example/h?format=&a=1", "https://zoom.example/h?a=1&format=full")]
#[case("https://zoom.example/h?format=message&a=1", "https://zoom.example/h?format=message&a=1")]
fn zoom_is_asked_for_the_whole_format(#[case] address: &str, #[case] expected: &str) {
    let settings = Settings { address: address.into(), ..settings("zoom") };
    assert_eq!(only_message(&settings, &event("info")).url.as_str(), expected);
}

/// A service that refuses long messages would refuse those about the largest failures.
#[rstest]
#[case("telegram", "/text", 4096, |text: &str| text.encode_utf16().count())]
#[case("webex", "/markdown", 7439, str::len)]
fn long_messages_are_cut(
    #[case] kind: &str,
    #[case] place: &str,
    #[case] most: usize,
    #[case] length: fn(&str) -> usize,
) {
    let sent = |event: &Event| {
        let body: Value = serde_json::from_slice(&only_message(&settings(kind), event).body).unwrap();
        let text = body.pointer(place).unwrap().as_str().unwrap().replace('\\', "");
        let length = length(&text);
        assert!(length <= most && length > most - 150, "{length}: {text}");
        text
    };
    let event = Event { message: "ä-💫".repeat(most), ..event("error") };
    let text = sent(&event);
    assert!(text.contains("…\n") && text.ends_with("short\n"), "{text}");
    let metadata: BTreeMap<_, _> =
        [("a", "b".repeat(most)), ("c", "d".repeat(most))].map(|(key, value)| (key.to_owned(), value)).into();
    let text = sent(&Event { metadata: metadata.clone(), ..event.clone() });
    assert!(text.matches('ä').count() > most / 30 && text.ends_with("b…\n"), "{text}");
    let text = sent(&Event { metadata, message: "short".to_owned(), ..event });
    assert!(text.contains("\nshort\n") && text.ends_with("b…\n"), "{text}");
}

/// As [`long_messages_are_cut`], by the bytes of the whole message or the characters of its text.
#[rstest]
#[case("msteams", "https://example.com/", 28 * 1024)]
#[case("msteams", "https://example.webhook.office.com/", 28 * 1024)]
#[case("googlechat", "https://example.com/", 32_000)]
#[case("lark", "https://example.com/", 20 * 1024)]
#[case("discord", "https://example.com/", 4096 * 7)]
fn long_events_are_cut(
    #[case] kind: &str,
    #[case] address: &str,
    #[case] most: usize,
    #[values("a", "<", "\"", "💫")] character: &str,
) {
    let settings = Settings { address: address.into(), ..settings(kind) };
    let body = |event: &Event| String::from_utf8(only_message(&settings, event).body).unwrap();
    let long = Event { message: character.repeat(most), ..event("error") };
    let metadata = (0..30).map(|key| (format!("key-{key}"), character.repeat(most))).collect();
    for event in [&long, &Event { metadata, ..long.clone() }] {
        let body = body(event);
        assert!(body.len() <= most && body.len() > most / 8 && body.contains('…'), "{}: {body}", body.len());
    }
    let fitting = Event { message: character.repeat(300), ..long };
    assert!(!body(&fitting).contains('…'));
}

#[rstest]
#[case("1", None)]
#[case("1:", None)]
#[case("1:2", Some("2"))]
fn telegram_knows_threads(#[case] channel: &str, #[case] thread: Option<&str>) {
    let settings = Settings { channel: channel.into(), ..settings("telegram") };
    let body: Value = serde_json::from_slice(&only_message(&settings, &event("info")).body).unwrap();
    assert_eq!(body["chat_id"], "1");
    assert_eq!(body.get("message_thread_id").and_then(Value::as_str), thread);
    // In the order of Flux's: the bytes are the same.
    let keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = ["chat_id", "message_thread_id", "text", "parse_mode"];
    assert_eq!(
        keys,
        expected
            .into_iter()
            .filter(|key| thread.is_some() || *key != "message_thread_id")
            .collect::<Vec<_>>()
    );
}

#[test]
fn an_empty_summary_is_an_annotation_of_alertmanager() {
    let metadata = [("summary".to_owned(), String::new())].into();
    let message = only_message(&settings("alertmanager"), &Event { metadata, ..event("info") });
    let body: Value = serde_json::from_slice(&message.body).unwrap();
    assert_eq!(body[0]["annotations"]["summary"], "");
    assert!(body[0]["labels"].get("summary").is_none());
}

/// NTF-75.
#[rstest]
#[case("https://github.com/org/repo", "https://api.github.com/repos/org/repo/")]
#[case("https://ghes.example/org/repo", "https://ghes.example/api/v3/repos/org/repo/")]
#[case("https://api.tenant.ghe.com/org/repo", "https://api.tenant.ghe.com/repos/org/repo/")]
fn apis_of_github(#[case] address: &str, #[case] expected: &str) {
    let settings = Settings { address: address.into(), ..settings("github") };
    let Ok(Delivery::CommitStatus(status)) = build(&settings).unwrap().render(&event("info")) else {
        panic!("nothing to send")
    };
    assert!(status.write.url.as_str().starts_with(expected), "{}", status.write.url);
}

/// As Go writes headers: without the blank behind the scheme.
#[rstest]
fn an_empty_token_leaves_the_scheme(#[values("webex", "matrix")] kind: &str) {
    let settings = Settings { token: String::new(), ..settings(kind) };
    assert_eq!(only_message(&settings, &event("info")).headers[http::header::AUTHORIZATION], "Bearer");
}

#[rstest]
#[case("msteams", "/attachments/0/content/body/0/items/1/text")]
#[case("zoom", "/content/body/0/text")]
#[case("pagerduty", "/dedup_key")]
#[case("incident.io", "/description")]
fn empty_texts_are_left_out(#[case] kind: &str, #[case] pointer: &str) {
    let body = |event: &Event| -> Value {
        serde_json::from_slice(&only_message(&settings(kind), event).body).unwrap()
    };
    let full = event("error");
    assert!(body(&full).pointer(pointer).is_some());
    let mut empty = Event { message: String::new(), ..full };
    empty.involved_object.uid.clear();
    assert_eq!(body(&empty).pointer(pointer), None);
}

/// NTF-65.
#[rstest]
#[case("HealthCheckFailed", "FluxKustomizationHealthcheckfailed")]
#[case("two words", "FluxKustomizationTwo Words")]
#[case("a_b-c", "FluxKustomizationA_b-C")]
#[case("1st", "FluxKustomization1St")]
#[case("HTTPError404x", "FluxKustomizationHttperror404x")]
fn names_of_alerts(#[case] reason: &str, #[case] expected: &str) {
    let event = Event { reason: reason.into(), ..event("error") };
    let body: Value = serde_json::from_slice(&only_message(&settings("alertmanager"), &event).body).unwrap();
    assert_eq!(body[0]["labels"]["alertname"], expected);
}
