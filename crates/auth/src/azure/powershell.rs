//! Tokens of a person who has logged in with Azure PowerShell (`Connect-AzAccount`).

use std::time::{Duration, SystemTime};

use azure_core::credentials::AccessToken;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use tokio::process::Command;

use crate::error::ProviderError;
use crate::program;

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
    let answer: Option<Answer> = serde_json::from_slice(&printed).ok();
    let moment = |answer: &Answer| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(answer.expires));
    let answer = answer.and_then(|answer| Some((moment(&answer)?, answer.token)));
    let (end, token) = answer.ok_or_else(|| failed(format!("'{PROGRAM}' has printed no token")))?;
    Ok(AccessToken::new(token, end.into()))
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

    #[test]
    fn scripts_are_written_in_utf_16() {
        assert_eq!(encoded("ab"), "YQBiAA==");
    }
}
