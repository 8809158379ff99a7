//! Texts of failed requests, as the clients have them that Flux uses for each service: people search for them.

use serde_json::Value;

use super::answer::Reply;
use crate::provider::{Accept, Dialect, Message};

/// The end of a delivery that took too long.
pub(super) const DEADLINE: &str = "failed to execute request: context deadline exceeded";
const TIME_OVER: &str = "context deadline exceeded";
/// Bytes of an answer that an error quotes (NTF-55); more than any error page needs to be understood.
const MAX_QUOTED: usize = 4 * 1024;

/// The answer is a failure and final.
pub(super) fn refused(message: &Message, reply: &Reply) -> String {
    let code = reply.status.as_u16();
    let line = format!("{code} {}", reply.status.canonical_reason().unwrap_or_default());
    match message.dialect {
        Dialect::Hook => {
            format!("request failed: request failed with status code {code}: {}", quoted(&reply.body))
        }
        Dialect::GitHub => format!("{} {}: {code} {}", message.method, place(message), of_github(reply)),
        Dialect::GitLab => of_gitlab(message, reply, &line),
        Dialect::Gitea => of_gitea(message, reply, &line),
        Dialect::Bitbucket | Dialect::Datadog => line,
        Dialect::BitbucketServer => {
            format!("{code} - {}", reply.status.canonical_reason().unwrap_or_default())
        }
        Dialect::AzureDevOps => of_azure(reply, &line),
    }
}

/// Every try got an answer that may change.
pub(super) fn gave_up(message: &Message, attempts: u32) -> String {
    let text = format!("{} {} giving up after {attempts} attempt(s)", message.method, place(message));
    if message.dialect == Dialect::Hook { format!("failed to execute request: {text}") } else { text }
}

/// The last try got no answer, for this reason.
pub(super) fn unanswered(message: &Message, reason: &str, attempts: u32) -> String {
    let method = message.method.as_str();
    let (first, rest) = method.split_at_checked(1).unwrap_or_default();
    let text = format!("{first}{} \"{}\": {reason}", rest.to_lowercase(), place(message));
    if message.dialect.gives_up() { format!("{}: {text}", gave_up(message, attempts)) } else { text }
}

/// The time was over during a try.
pub(super) fn late(message: &Message, attempts: u32) -> String {
    match message.dialect {
        Dialect::Hook | Dialect::BitbucketServer => format!("{}: {TIME_OVER}", gave_up(message, attempts)),
        Dialect::GitHub | Dialect::GitLab => TIME_OVER.to_owned(),
        _ => unanswered(message, TIME_OVER, attempts),
    }
}

/// The time was over between two tries.
pub(super) fn late_waiting(message: &Message) -> String {
    if message.dialect == Dialect::Hook { DEADLINE.to_owned() } else { TIME_OVER.to_owned() }
}

/// An answer is no JSON, for this reason, or empty.
pub(super) fn no_json(message: &Message, error: Option<&serde_json::Error>, body: &[u8]) -> String {
    let begins_value = |byte: u8| b"{[\"-0123456789tfn".contains(&byte);
    let text = match (error, body.trim_ascii_start().first()) {
        (Some(_), Some(first)) if !begins_value(*first) => {
            format!("invalid character {:?} looking for beginning of value", char::from(*first))
        }
        (Some(error), _) => error.to_string(),
        (None, _) if message.dialect == Dialect::Gitea => "unexpected end of JSON input".to_owned(),
        (None, _) => "EOF".to_owned(),
    };
    if message.accept == Accept::SlackOk {
        return format!("request failed: unable to unmarshal response body: {text}");
    }
    text
}

/// Returns where a request went: scheme and host of a webhook, whose path is a secret (NTF-53), and the URL of other services
/// without user info.
fn place(message: &Message) -> String {
    if message.dialect == Dialect::Hook {
        return message.url.origin().ascii_serialization();
    }
    weir_http::without_user_info(&message.url).to_string()
}

/// Returns the start of a text without control characters.
fn quoted(body: &[u8]) -> String {
    let start = body.get(..MAX_QUOTED).unwrap_or(body);
    String::from_utf8_lossy(start).chars().filter(|c| !c.is_control()).collect()
}

/// Message and list of errors as Go prints them.
fn of_github(reply: &Reply) -> String {
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let text = |value: &Value, key: &str| {
        quoted(value.get(key).and_then(Value::as_str).unwrap_or_default().as_bytes())
    };
    let error = |error: &Value| match error.as_str() {
        Some(message) => format!("{{Resource: Field: Code: Message:{}}}", quoted(message.as_bytes())),
        None => {
            let [resource, field, code, message] =
                ["resource", "field", "code", "message"].map(|key| text(error, key));
            format!("{{Resource:{resource} Field:{field} Code:{code} Message:{message}}}")
        }
    };
    let errors: Vec<String> =
        body.get("errors").and_then(Value::as_array).into_iter().flatten().map(error).collect();
    format!("{} [{}]", text(&body, "message"), errors.join(" "))
}

fn of_gitlab(message: &Message, reply: &Reply, line: &str) -> String {
    if reply.status == http::StatusCode::NOT_FOUND {
        return line.to_owned();
    }
    let mut url = message.url.clone();
    url.set_query(None);
    let said = if reply.body.trim_ascii().is_empty() {
        String::new()
    } else {
        match serde_json::from_slice(&reply.body) {
            Ok(body) => format!(" {}", quoted(nested(&body).as_bytes())),
            Err(_) => format!(" failed to parse unknown error format: {}", quoted(&reply.body)),
        }
    };
    let place = place(&Message { url, ..message.clone() });
    format!("{} {place}: {}{said}", message.method, reply.status.as_u16())
}

/// GitLab nests messages by fields.
fn nested(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(nested).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let mut texts: Vec<String> =
                fields.iter().map(|(key, value)| format!("{{{key}: {}}}", nested(value))).collect();
            texts.sort();
            texts.join(", ")
        }
        Value::Number(_) => "failed to parse unexpected error type: float64".to_owned(),
        Value::Bool(_) => "failed to parse unexpected error type: bool".to_owned(),
        Value::Null => "failed to parse unexpected error type: <nil>".to_owned(),
    }
}

fn of_gitea(message: &Message, reply: &Reply, line: &str) -> String {
    let body = quoted(&reply.body);
    match serde_json::from_slice::<Value>(&reply.body) {
        Ok(Value::Object(fields)) => match fields.get("message") {
            Some(Value::String(text)) => quoted(text.as_bytes()),
            Some(other) => quoted(other.to_string().as_bytes()),
            None => format!("{line}: {body}"),
        },
        _ => format!(
            "unknown API error: {}\nRequest: '{}' with '{}' method and '{body}' body",
            reply.status.as_u16(),
            message.url.path(),
            message.method
        ),
    }
}

fn of_azure(reply: &Reply, line: &str) -> String {
    if reply.is_text && !reply.body.is_empty() {
        return quoted(&reply.body);
    }
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let said = body.get("message").or_else(|| body.pointer("/value/Message")).and_then(Value::as_str);
    said.map_or_else(|| format!("Request returned status: {line}"), |text| quoted(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use rstest::rstest;
    use url::Url;

    use super::*;

    fn message(dialect: Dialect) -> Message {
        let url = Url::parse("https://me:pin@git.example/api/x%2Fy?a=b").unwrap();
        Message::get(&url).speaking(dialect)
    }

    #[rstest]
    #[case(
        Dialect::Hook,
        404,
        "no\u{1b}[31m such\r\nhook",
        "request failed: request failed with status code 404: no[31m suchhook"
    )]
    #[case(
        Dialect::GitHub,
        401,
        r#"{"message":"Bad credentials"}"#,
        "GET https://git.example/api/x%2Fy?a=b: 401 Bad credentials []"
    )]
    #[case(
        Dialect::GitHub,
        422,
        r#"{"message":"No","errors":[{"resource":"Status","code":"custom","message":"m"},"x"]}"#,
        "GET https://git.example/api/x%2Fy?a=b: 422 No [{Resource:Status Field: Code:custom Message:m} {Resource: Field: Code: Message:x}]"
    )]
    #[case(Dialect::GitHub, 502, "<html>", "GET https://git.example/api/x%2Fy?a=b: 502  []")]
    #[case(
        Dialect::GitLab,
        401,
        r#"{"message":"401 Unauthorized"}"#,
        "GET https://git.example/api/x%2Fy: 401 {message: 401 Unauthorized}"
    )]
    #[case(
        Dialect::GitLab,
        400,
        r#"{"message":{"name":["too long"]},"error":"e"}"#,
        "GET https://git.example/api/x%2Fy: 400 {error: e}, {message: {name: [too long]}}"
    )]
    #[case(Dialect::GitLab, 404, r#"{"message":"404 Project Not Found"}"#, "404 Not Found")]
    #[case(Dialect::GitLab, 502, "", "GET https://git.example/api/x%2Fy: 502")]
    #[case(Dialect::Gitea, 401, r#"{"message":"token is required"}"#, "token is required")]
    #[case(Dialect::Gitea, 401, r#"{"a":1}"#, r#"401 Unauthorized: {"a":1}"#)]
    #[case(
        Dialect::Gitea,
        502,
        "bad",
        "unknown API error: 502\nRequest: '/api/x%2Fy' with 'GET' method and 'bad' body"
    )]
    #[case(Dialect::Bitbucket, 401, "{}", "401 Unauthorized")]
    #[case(Dialect::BitbucketServer, 401, "{}", "401 - Unauthorized")]
    #[case(Dialect::AzureDevOps, 400, r#"{"message":"TF400813"}"#, "TF400813")]
    #[case(Dialect::AzureDevOps, 401, "", "Request returned status: 401 Unauthorized")]
    #[case(Dialect::Datadog, 403, "{}", "403 Forbidden")]
    fn refusals(#[case] dialect: Dialect, #[case] code: u16, #[case] body: &str, #[case] expected: &str) {
        let status = StatusCode::from_u16(code).unwrap();
        let reply = Reply { status, wait: None, is_text: false, body: body.as_bytes().to_vec() };
        assert_eq!(refused(&message(dialect), &reply), expected);
    }

    #[rstest]
    #[case(Dialect::GitHub, "<html>", "invalid character '<' looking for beginning of value")]
    #[case(Dialect::Datadog, " ok", "invalid character 'o' looking for beginning of value")]
    #[case(Dialect::GitLab, "[", "EOF while parsing a list at line 1 column 1")]
    #[case(Dialect::GitLab, "", "EOF")]
    #[case(Dialect::Gitea, " ", "unexpected end of JSON input")]
    fn answers_that_are_no_json(#[case] dialect: Dialect, #[case] body: &str, #[case] expected: &str) {
        let first = serde_json::Deserializer::from_str(body).into_iter::<Value>().next();
        let error = first.map(|parsed| parsed.unwrap_err());
        assert_eq!(no_json(&message(dialect), error.as_ref(), body.as_bytes()), expected);
    }

    #[rstest]
    #[case(
        Dialect::Hook,
        "failed to execute request: GET https://git.example giving up after 2 attempt(s): Get \"https://git.example\": no",
        "failed to execute request: GET https://git.example giving up after 2 attempt(s): context deadline exceeded"
    )]
    #[case(Dialect::GitHub, "Get \"https://git.example/api/x%2Fy?a=b\": no", "context deadline exceeded")]
    #[case(
        Dialect::Gitea,
        "Get \"https://git.example/api/x%2Fy?a=b\": no",
        "Get \"https://git.example/api/x%2Fy?a=b\": context deadline exceeded"
    )]
    #[case(
        Dialect::BitbucketServer,
        "GET https://git.example/api/x%2Fy?a=b giving up after 2 attempt(s): Get \"https://git.example/api/x%2Fy?a=b\": no",
        "GET https://git.example/api/x%2Fy?a=b giving up after 2 attempt(s): context deadline exceeded"
    )]
    fn failures_without_an_answer(#[case] dialect: Dialect, #[case] no_answer: &str, #[case] too_late: &str) {
        assert_eq!(unanswered(&message(dialect), "no", 2), no_answer);
        assert_eq!(late(&message(dialect), 2), too_late);
    }
}
