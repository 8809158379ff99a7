//! Receivers that believe tokens of an identity provider: `generic-oidc`, and the checks that `gcr` shares
//! (NTF-101 … NTF-104).

pub mod issuer;
pub mod rules;
pub mod token;

use serde_json::Value;
use weir_api::notification::OidcProvider;

use self::issuer::Issuers;
use self::token::Demand;
use super::{Call, Refusal};

/// Audience where a provider gives none.
const AUDIENCE: &str = "notification-controller";
/// Bytes of a token; those of real providers have about two KiB.
const MAX_TOKEN: usize = 16 * 1024;

/// The bearer token of a call.
pub(super) fn bearer<'a>(call: Call<'a>) -> Result<&'a str, Refusal> {
    let header = call.header("Authorization");
    let refused = |text: &str| Err(Refusal::Oidc(text.to_owned()));
    let Some(token) = header.strip_prefix("Bearer ").map(str::trim) else {
        return refused("the Authorization header is missing or malformed");
    };
    match token.len() {
        0 => refused("the Authorization header is missing a bearer token"),
        1..=MAX_TOKEN => Ok(token),
        _ => refused("the bearer token is too long"),
    }
}

/// Verifies that the call's token is one of a configured provider, and that all of its rules hold. Returns the token's claims.
///
/// # Errors
/// When no provider vouches for the token, or one of its rules does not hold.
pub async fn verify(
    call: Call<'_>,
    providers: &[OidcProvider],
    issuers: &Issuers,
    now: jiff::Timestamp,
) -> Result<Value, Refusal> {
    let token = bearer(call)?;
    let issuer = token::issuer_of(token)
        .map_err(|error| Refusal::Oidc(format!("failed to parse bearer token: {error}")))?;
    let provider = providers
        .iter()
        .find(|provider| provider.issuer_url == issuer)
        .ok_or_else(|| Refusal::Oidc(format!("no oidcProvider configured for issuer {issuer:?}")))?;
    let audience = if provider.audience.is_empty() { AUDIENCE } else { &provider.audience };
    let demand = Demand { audience, issuers: &[&provider.issuer_url], now };
    let claims = issuers
        .verify(&provider.issuer_url, token, demand)
        .await
        .map_err(|error| Refusal::Oidc(error.for_issuer(&issuer)))?;
    rules::check(provider, claims.clone()).await.map_err(Refusal::Oidc)?;
    Ok(claims)
}
