//! Tokens of another issuer that a program prints.

use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use tokio::process::Command;

use super::default_credentials::{read, unusable};
use crate::error::ProviderError;
use crate::{program, rest};

/// Variable in which a person allows it: the file that names the program may come from anyone.
const ALLOWED: &str = "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES";
/// Time for a program to which the file gives none, and the bounds of what a file may give, as in Google's libraries.
const TIME: Duration = Duration::from_secs(30);
const SHORTEST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(120);
/// Newest version of answers that is known.
const VERSION: u64 = 1;
/// Kind of the tokens that are no JWTs.
const SAML: &str = "urn:ietf:params:oauth:token-type:saml2";

/// A program that prints a token.
#[derive(Deserialize)]
pub(super) struct Executable {
    command: String,
    timeout_millis: Option<u64>,
    /// File in which the program keeps its last answer.
    output_file: Option<PathBuf>,
}

/// The identity that the token is for, as the program is told.
pub(super) struct Wanted<'a> {
    pub(super) audience: &'a str,
    pub(super) token_type: &'a str,
    /// Service account of which Google gives a token in the end.
    pub(super) email: Option<&'a str>,
}

/// The answer of a program.
#[derive(Deserialize)]
struct Answer {
    version: u64,
    success: bool,
    #[serde(default)]
    token_type: String,
    id_token: Option<String>,
    saml_response: Option<String>,
    /// Seconds since 1970.
    expiration_time: Option<u64>,
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

impl Executable {
    /// Returns the token of the last answer, or else runs the program.
    pub(super) async fn token(&self, wanted: &Wanted<'_>) -> Result<SecretString, ProviderError> {
        if std::env::var(ALLOWED).ok().as_deref() != Some("1") {
            return Err(unusable(format!("it names a program, which {ALLOWED}=1 allows to run")));
        }
        if let Some(path) = &self.output_file
            && let Some(token) = kept(path).await
        {
            return Ok(token);
        }
        let mut words = self.command.split_whitespace();
        let name = words.next().ok_or_else(|| unusable("it names an empty program".to_owned()))?;
        let mut command = Command::new(name);
        command.args(words).env("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE", wanted.audience);
        command.env("GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE", wanted.token_type);
        command.env("GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE", "0");
        if let Some(email) = wanted.email {
            command.env("GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL", email);
        }
        if let Some(path) = &self.output_file {
            command.env("GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE", path);
        }
        let printed = program::printed(&mut command, self.time()?).await;
        let printed = printed.map_err(|reason| unusable(format!("its program '{name}': {reason}")))?;
        token(&printed).map_err(|reason| unusable(format!("its program '{name}' {reason}")))
    }

    fn time(&self) -> Result<Duration, ProviderError> {
        let time = self.timeout_millis.map_or(TIME, Duration::from_millis);
        if (SHORTEST..=LONGEST).contains(&time) {
            return Ok(time);
        }
        Err(unusable("its timeout_millis is not between 5000 and 120000".to_owned()))
    }
}

/// Returns the token of the last answer, if it is still good.
async fn kept(path: &Path) -> Option<SecretString> {
    let text = read(path).await.ok()?;
    let answer: Answer = serde_json::from_slice(&text).ok()?;
    answer.expiration_time?;
    token(&text).ok()
}

/// Returns the token of an answer, or what is wrong with it. Nothing of the answer but the program's own message is told.
fn token(text: &[u8]) -> Result<SecretString, String> {
    let answer: Answer =
        serde_json::from_slice(text).map_err(|_| "has printed no answer of the known form".to_owned())?;
    if answer.version > VERSION {
        return Err(format!("answers in version {}, and {VERSION} is known", answer.version));
    }
    if !answer.success {
        return Err(format!("refuses: {} {}", answer.code, answer.message));
    }
    if answer.expiration_time.is_some_and(|end| end <= rest::seconds_now()) {
        return Err("gives a token that has ended".to_owned());
    }
    let token = if answer.token_type == SAML { answer.saml_response } else { answer.id_token };
    let token = token.filter(|token| !token.is_empty());
    token.map(Into::into).ok_or_else(|| "gives no token".to_owned())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[rstest::rstest]
    #[case(r#"{"version":1,"success":true,"token_type":"urn:ietf:params:oauth:token-type:id_token","id_token":"a.b.c"}"#, Ok("a.b.c"))]
    #[case(r#"{"version":1,"success":true,"token_type":"urn:ietf:params:oauth:token-type:saml2","saml_response":"s"}"#, Ok("s"))]
    #[case(
        r#"{"version":1,"success":true,"id_token":"a","expiration_time":1}"#,
        Err("gives a token that has ended")
    )]
    #[case(r#"{"version":1,"success":true,"id_token":"a","expiration_time":4070908800}"#, Ok("a"))]
    #[case(r#"{"version":1,"success":true,"saml_response":"a"}"#, Err("gives no token"))]
    #[case(
        r#"{"version":1,"success":false,"code":"401","message":"log in first"}"#,
        Err("refuses: 401 log in first")
    )]
    #[case(r#"{"version":2,"success":true,"id_token":"a"}"#, Err("answers in version 2, and 1 is known"))]
    #[case("secret", Err("has printed no answer of the known form"))]
    fn answers_of_programs(#[case] printed: &str, #[case] expected: Result<&str, &str>) {
        let token = token(printed.as_bytes()).map(|token| token.expose_secret().to_owned());
        assert_eq!(token, expected.map(str::to_owned).map_err(str::to_owned));
    }

    #[rstest::rstest]
    #[case(None, Some(TIME))]
    #[case(Some(5000), Some(SHORTEST))]
    #[case(Some(4999), None)]
    #[case(Some(120_001), None)]
    fn the_time_of_a_program_has_bounds(
        #[case] timeout_millis: Option<u64>,
        #[case] expected: Option<Duration>,
    ) {
        let executable = Executable { command: String::new(), timeout_millis, output_file: None };
        assert_eq!(executable.time().ok(), expected);
    }
}
