//! Texts of failed requests, as the clients have them that Flux uses for each service: people search for them.

use crate::provider::{Accept, Message};

/// The end of a delivery that took too long.
pub(super) const DEADLINE: &str = "failed to execute request: context deadline exceeded";
const TIME_OVER: &str = "context deadline exceeded";

/// Every try got an answer that may change.
pub(super) fn gave_up(message: &Message, attempts: u32) -> String {
    let (prefix, method, place) = (message.client.unanswered_prefix, &message.method, message.place());
    format!("{prefix}{method} {place} giving up after {attempts} attempt(s)")
}

/// The last try got no answer, for this reason.
pub(super) fn unanswered(message: &Message, reason: &str, attempts: u32) -> String {
    let method = message.method.as_str();
    let (first, rest) = method.split_at_checked(1).unwrap_or_default();
    let text = format!("{first}{} \"{}\": {reason}", rest.to_lowercase(), message.place());
    if message.client.gives_up { format!("{}: {text}", gave_up(message, attempts)) } else { text }
}

/// The time was over during a try.
pub(super) fn late(message: &Message, attempts: u32) -> String {
    if message.client.names_late_requests {
        unanswered(message, TIME_OVER, attempts)
    } else if message.client.gives_up {
        format!("{}: {TIME_OVER}", gave_up(message, attempts))
    } else {
        TIME_OVER.to_owned()
    }
}

/// The time was over between two tries.
pub(super) fn late_waiting(message: &Message) -> String {
    format!("{}{TIME_OVER}", message.client.unanswered_prefix)
}

/// Adds the failure of the last try that had an end: the end of the time alone does not show what to mend. It comes last: a secret
/// that was cut off is found only at the end of a text (NTF-54).
pub(super) fn after(text: String, last_try: Option<&str>) -> String {
    match last_try {
        Some(last_try) => format!("{text}; last try: {last_try}"),
        None => text,
    }
}

/// An answer is no JSON, for this reason, or empty.
pub(super) fn no_json(message: &Message, error: Option<&serde_json::Error>, body: &[u8]) -> String {
    let begins_value = |byte: u8| b"{[\"-0123456789tfn".contains(&byte);
    let text = match (error, body.trim_ascii_start().first()) {
        (Some(_), Some(first)) if !begins_value(*first) => {
            format!("invalid character {:?} looking for beginning of value", char::from(*first))
        }
        (Some(error), _) => error.to_string(),
        (None, _) => message.client.empty_answer.unwrap_or_default().to_owned(),
    };
    if message.accept == Accept::SlackOk {
        return format!("request failed: unable to unmarshal response body: {text}");
    }
    text
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::Value;
    use url::Url;

    use super::*;
    use crate::provider::client::{ClientProfile, HOOK};
    use crate::provider::{bitbucket_server, datadog, gitea, github, gitlab};

    fn message(client: &'static ClientProfile) -> Message {
        let url = Url::parse("https://me:pin@git.example/api/x%2Fy?a=b").unwrap();
        Message::get(&url).with_client(client)
    }

    #[rstest]
    #[case(&github::CLIENT, "<html>", "invalid character '<' looking for beginning of value")]
    #[case(&datadog::CLIENT, " ok", "invalid character 'o' looking for beginning of value")]
    #[case(&gitlab::CLIENT, "[", "EOF while parsing a list at line 1 column 1")]
    #[case(&gitlab::CLIENT, "", "EOF")]
    #[case(&gitea::CLIENT, " ", "unexpected end of JSON input")]
    fn answers_that_are_no_json(
        #[case] client: &'static ClientProfile,
        #[case] body: &str,
        #[case] expected: &str,
    ) {
        let first = serde_json::Deserializer::from_str(body).into_iter::<Value>().next();
        let error = first.map(|parsed| parsed.unwrap_err());
        assert_eq!(no_json(&message(client), error.as_ref(), body.as_bytes()), expected);
    }

    #[rstest]
    #[case(
        &HOOK,
        "failed to execute request: GET https://git.example giving up after 2 attempt(s): Get \"https://git.example\": no",
        "failed to execute request: GET https://git.example giving up after 2 attempt(s): context deadline exceeded"
    )]
    #[case(&github::CLIENT, "Get \"https://git.example/api/x%2Fy?a=b\": no", "context deadline exceeded")]
    #[case(
        &gitea::CLIENT,
        "Get \"https://git.example/api/x%2Fy?a=b\": no",
        "Get \"https://git.example/api/x%2Fy?a=b\": context deadline exceeded"
    )]
    #[case(
        &bitbucket_server::CLIENT,
        "GET https://git.example/api/x%2Fy?a=b giving up after 2 attempt(s): Get \"https://git.example/api/x%2Fy?a=b\": no",
        "GET https://git.example/api/x%2Fy?a=b giving up after 2 attempt(s): context deadline exceeded"
    )]
    fn failures_without_an_answer(
        #[case] client: &'static ClientProfile,
        #[case] no_answer: &str,
        #[case] too_late: &str,
    ) {
        assert_eq!(unanswered(&message(client), "no", 2), no_answer);
        assert_eq!(late(&message(client), 2), too_late);
    }
}
