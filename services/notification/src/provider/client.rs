//! The clients that Flux uses for services: how often they try a request, and how its failures read (NTF-52, NTF-53, NTF-55).
//! The profile of a service that has a client of its own stands in the file of its type.

use http::StatusCode;

use super::Message;

/// Tries of one request, where most clients try again.
pub(super) const MAX_TRIES: u32 = 5;
/// Bytes of an answer that an error quotes (NTF-55); more than any error page needs to be understood.
const MAX_QUOTED: usize = 4 * 1024;

/// The habits of a client.
#[derive(Debug)]
pub struct ClientProfile {
    /// Tries of one request.
    pub tries: Tries,
    /// True where errors show scheme and host of a URL only: paths of webhooks are secrets (NTF-53).
    pub hides_paths: bool,
    /// Put before the text about the last try, where none got a good answer in time.
    pub unanswered_prefix: &'static str,
    /// True where the last failure of several tries reads as giving up, whatever the last answer was.
    pub gives_up: bool,
    /// True where the error of a request that took too long names the request.
    pub names_late_requests: bool,
    /// True where the client reads JSON also when it has written something: whatever else answers is not the service.
    pub reads_answers: bool,
    /// The error of an empty answer where JSON is read; none where it counts as null.
    pub empty_answer: Option<&'static str>,
    /// Returns the error of an answer that is a failure and final.
    pub refused: fn(&Message, &Reply) -> String,
}

/// The number of tries, and the waits between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tries {
    /// One try.
    Once,
    /// Waits of 2 s, 4 s, 8 s …
    Doubling {
        /// Number of tries.
        most: u32,
    },
    /// Waits of 0.8 s, 1.6 s, 2.4 s …
    Rising {
        /// Number of tries.
        most: u32,
    },
}

/// An answer of a service.
pub struct Reply {
    /// Status.
    pub status: StatusCode,
    /// Header `Retry-After`, where it counts.
    pub wait: Option<String>,
    /// True for plain text.
    pub is_text: bool,
    /// The start of the body.
    pub body: Vec<u8>,
}

/// The client of webhooks, and of most other types.
pub static HOOK: ClientProfile = HOOK_CLIENT;

/// The habits of that client, for types that differ from it in a few.
pub(super) const HOOK_CLIENT: ClientProfile = ClientProfile {
    tries: Tries::Doubling { most: MAX_TRIES },
    hides_paths: true,
    unanswered_prefix: "failed to execute request: ",
    gives_up: true,
    names_late_requests: false,
    reads_answers: false,
    empty_answer: Some("EOF"),
    refused: |_, reply| {
        let (code, body) = (reply.status.as_u16(), quoted(&reply.body));
        format!("request failed: request failed with status code {code}: {body}")
    },
};

/// The habits that most clients of an API have in common.
pub(super) const API_CLIENT: ClientProfile = ClientProfile {
    tries: Tries::Once,
    hides_paths: false,
    unanswered_prefix: "",
    gives_up: false,
    names_late_requests: true,
    reads_answers: false,
    empty_answer: Some("EOF"),
    refused: |_, reply| reply.line(),
};

impl Reply {
    /// Returns code and text of the status, for example `404 Not Found`.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.status.as_u16(), self.status.canonical_reason().unwrap_or_default())
    }
}

/// Returns the start of a text without control characters. It has to end the message: a secret that was cut off is found only there.
pub(crate) fn quoted(body: &[u8]) -> String {
    let plain = |text: &[u8]| -> String {
        String::from_utf8_lossy(text).chars().filter(|c| !c.is_control()).collect()
    };
    match body.split_at_checked(MAX_QUOTED) {
        // Half of a character would follow the secret.
        Some((start, [_, ..])) => plain(start).trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned(),
        _ => plain(body),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use url::Url;

    use super::super::{
        azure_devops, bitbucket, bitbucket_server, datadog, gitea, github, gitlab, googlepubsub,
    };
    use super::*;

    /// NTF-54.
    #[rstest]
    #[case(&HOOK, "SECRET")]
    #[case(&github::CLIENT, r#"{"message":"m","errors":["SECRET"]}"#)]
    #[case(&github::CLIENT, r#"{"message":"SECRET","errors":[{"code":"SECRET"}]}"#)]
    #[case(&gitlab::CLIENT, r#"{"message":{"name":["SECRET"]}}"#)]
    #[case(&gitea::CLIENT, "SECRET")]
    #[case(&azure_devops::CLIENT, r#"{"message":"SECRET"}"#)]
    #[case(&googlepubsub::CLIENT, r#"{"error":{"message":"SECRET","status":"SECRET"}}"#)]
    fn security_no_half_of_a_secret_stays(#[case] client: &'static ClientProfile, #[case] body: &str) {
        let body = body.replace("SECRET", &"hünter2-".repeat(1000)).into_bytes();
        let url = Url::parse("https://git.example/api").unwrap();
        let reply = Reply { status: http::StatusCode::BAD_REQUEST, wait: None, is_text: true, body };
        let refused = (client.refused)(&Message::get(&url).with_client(client), &reply);
        let told = weir_http::redact(&refused, &["hünter2-".into()], "***");
        assert!(told.len() > 1000 && !told.contains("hün"), "{told}");
    }

    #[rstest]
    #[case(
        &HOOK,
        404,
        "no\u{1b}[31m such\r\nhook",
        "request failed: request failed with status code 404: no[31m suchhook"
    )]
    #[case(
        &github::CLIENT,
        401,
        r#"{"message":"Bad credentials"}"#,
        "GET https://git.example/api/x%2Fy?a=b: 401 Bad credentials []"
    )]
    #[case(
        &github::CLIENT,
        422,
        r#"{"message":"No","errors":[{"resource":"Status","code":"custom","message":"m"},"x"]}"#,
        "GET https://git.example/api/x%2Fy?a=b: 422 No [{Resource:Status Field: Code:custom Message:m} {Resource: Field: Code: Message:x}]"
    )]
    #[case(&github::CLIENT, 502, "<html>", "GET https://git.example/api/x%2Fy?a=b: 502  []")]
    #[case(
        &gitlab::CLIENT,
        401,
        r#"{"message":"401 Unauthorized"}"#,
        "GET https://git.example/api/x%2Fy: 401 {message: 401 Unauthorized}"
    )]
    #[case(
        &gitlab::CLIENT,
        400,
        r#"{"message":{"name":["too long"]},"error":"e"}"#,
        "GET https://git.example/api/x%2Fy: 400 {error: e}, {message: {name: [too long]}}"
    )]
    #[case(&gitlab::CLIENT, 404, r#"{"message":"404 Project Not Found"}"#, "404 Not Found")]
    #[case(&gitlab::CLIENT, 502, "", "GET https://git.example/api/x%2Fy: 502")]
    #[case(&gitea::CLIENT, 401, r#"{"message":"token is required"}"#, "token is required")]
    #[case(&gitea::CLIENT, 401, r#"{"a":1}"#, r#"401 Unauthorized: {"a":1}"#)]
    #[case(
        &gitea::CLIENT,
        502,
        "bad",
        "unknown API error: 502\nRequest: '/api/x%2Fy' with 'GET' method and 'bad' body"
    )]
    #[case(&bitbucket::CLIENT, 401, "{}", "401 Unauthorized")]
    #[case(&bitbucket_server::CLIENT, 401, "{}", "401 - Unauthorized")]
    #[case(&azure_devops::CLIENT, 400, r#"{"message":"TF400813"}"#, "TF400813")]
    #[case(&azure_devops::CLIENT, 401, "", "Request returned status: 401 Unauthorized")]
    #[case(&datadog::CLIENT, 403, "{}", "403 Forbidden")]
    #[case(
        &googlepubsub::CLIENT,
        403,
        r#"{"error":{"code":403,"message":"User not authorized.","status":"PERMISSION_DENIED"}}"#,
        "rpc error: code = PermissionDenied desc = User not authorized."
    )]
    #[case(
        &googlepubsub::CLIENT,
        403,
        "<html>",
        "request failed: request failed with status code 403: <html>"
    )]
    fn refusals(
        #[case] client: &'static ClientProfile,
        #[case] code: u16,
        #[case] body: &str,
        #[case] expected: &str,
    ) {
        let url = Url::parse("https://me:pin@git.example/api/x%2Fy?a=b").unwrap();
        let status = StatusCode::from_u16(code).unwrap();
        let reply = Reply { status, wait: None, is_text: false, body: body.as_bytes().to_vec() };
        assert_eq!((client.refused)(&Message::get(&url).with_client(client), &reply), expected);
    }
}
