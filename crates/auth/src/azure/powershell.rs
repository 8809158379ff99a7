//! Tokens of a person who has logged in with Azure PowerShell (`Connect-AzAccount`).

use std::time::Duration;

use azure_core::credentials::AccessToken;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use tokio::process::Command;

use crate::error::ProviderError;
use crate::{program, rest};

const PROGRAM: &str = "pwsh";
/// Time for a token; PowerShell takes some seconds to load its modules.
const TIME: Duration = Duration::from_secs(30);
/// End of scopes; the rest is the resource.
const SCOPE: &str = "/.default";

/// The answer of the script.
#[derive(Deserialize)]
struct Answer {
    token: String,
    /// Seconds since 1970.
    expires: u64,
}

/// Asks PowerShell for a token.
pub(super) async fn token(scope: &str) -> Result<AccessToken, ProviderError> {
    let failed = |reason: String| ProviderError::Library { what: "failed to get an Entra token", reason };
    let script = script(scope).ok_or_else(|| failed(format!("the scope '{scope}' is none of Azure's")))?;
    let mut command = Command::new(PROGRAM);
    command.args(["-NoProfile", "-NonInteractive", "-OutputFormat", "Text", "-EncodedCommand"]);
    let printed = program::printed(command.arg(encoded(&script)), TIME).await;
    let printed = printed.map_err(|reason| failed(format!("'{PROGRAM}': {reason}")))?;
    answered(&printed).ok_or_else(|| failed(format!("'{PROGRAM}' has printed no token")))
}

/// Returns the token of an answer.
fn answered(printed: &[u8]) -> Option<AccessToken> {
    let Answer { token, expires } = serde_json::from_slice(printed).ok()?;
    let life = expires.saturating_sub(rest::seconds_now());
    Some(AccessToken::new(token, rest::in_seconds(life).into()))
}

/// Returns the script. Newer versions of the module give tokens that are not to be printed by chance.
fn script(scope: &str) -> Option<String> {
    let resource = scope.strip_suffix(SCOPE).unwrap_or(scope);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:/".contains(&byte);
    resource.bytes().all(is_plain).then(|| {
        format!(
            "$ErrorActionPreference = 'Stop'\n\
             Import-Module Az.Accounts -MinimumVersion 2.2.0\n\
             $given = Get-AzAccessToken -ResourceUrl '{resource}'\n\
             $token = $given.Token\n\
             if ($token -is [securestring]) {{ $token = ConvertFrom-SecureString $token -AsPlainText }}\n\
             @{{ token = $token; expires = $given.ExpiresOn.ToUnixTimeSeconds() }} | ConvertTo-Json -Compress\n"
        )
    })
}

/// Returns a script as PowerShell takes it on a command line.
fn encoded(script: &str) -> String {
    STANDARD.encode(script.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_no_script() {
        let named = script("https://management.azure.com/.default").unwrap();
        assert!(named.contains("-ResourceUrl 'https://management.azure.com'\n"), "{named}");
        assert_eq!(script("x'; Remove-Item / #/.default"), None);
    }

    /// The library has no moments behind the year 9999.
    #[test]
    fn an_answer_may_name_any_moment() {
        for expires in [0, 4_070_908_800, 300_000_000_000, u64::MAX] {
            let token = answered(format!(r#"{{"token":"t","expires":{expires}}}"#).as_bytes()).unwrap();
            assert_eq!(token.token.secret(), "t", "{expires}");
        }
        assert!(answered(b"no token").is_none());
    }

    #[test]
    fn scripts_are_written_in_utf_16() {
        assert_eq!(encoded("ab"), "YQBiAA==");
    }
}
