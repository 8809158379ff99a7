//! Tokens are anybody's text, and documents of keys are an issuer's: of all tokens, those alone are believed that the key
//! has signed, which nobody has any more.
#![no_main]

use std::sync::LazyLock;

use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, jwk::Jwk};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use weir_notification_controller::receiver::Call;
use weir_notification_controller::receiver::oidc::{self, issuer::Issuers, token};

/// The claims of the one signed token; it is among the seeds.
const SUBJECT: &str = "seed";
const ISSUER: &str = "https://issuer.example";
const KEY: &str = r#"{"kty":"EC","crv":"P-256","alg":"ES256","kid":"one","x":"YgGJB_oj4_-OfeO8OA9s0MnSH-glXuiLpMiUb7l3Bbs","y":"5-QTQneJiLkFbzIXMMZfaOgbtUtAKS_6fuzdlr7dHAs"}"#;

/// The key, of which it is certain that the one token is believed with it.
static KEYS: LazyLock<[Jwk; 1]> = LazyLock::new(|| {
    let keys = [serde_json::from_str(KEY).expect("a key")];
    let seed = include_str!("../seeds/oidc/believed");
    let token = seed.split('\u{1f}').next().expect("a token");
    assert_eq!(verify(token, &keys).expect("a good token")["sub"], SUBJECT);
    keys
});
static ISSUERS: LazyLock<Issuers> = LazyLock::new(|| {
    weir_runtime::service::install_crypto();
    Issuers::new().expect("a client")
});

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(3, |byte| *byte == 0x1f);
    let [token, advertised, keys] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    let text = String::from_utf8_lossy(token);
    if let Ok(claims) = verify(&text, KEYS.as_slice()) {
        assert_eq!(claims["sub"], SUBJECT, "a stranger's token is believed");
    }

    let advertised: Vec<String> = String::from_utf8_lossy(advertised).lines().map(str::to_owned).collect();
    let admitted = token::admitted(&advertised);
    assert!(admitted.iter().all(|algorithm| !format!("{algorithm:?}").starts_with("HS")));
    let keys: Vec<Jwk> = serde_json::from_slice(keys).unwrap_or_default();
    let _verdict = token::verify(&text, &keys, &admitted, demand());

    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_bytes(token) {
        headers.insert(AUTHORIZATION, value);
    }
    // There is no provider to ask, so that this ends without a call.
    let call = Call { headers: &headers, body: &[] };
    let refused = futures::executor::block_on(oidc::verify(call, &[], &ISSUERS, demand().now));
    assert!(refused.is_err());
});

fn demand() -> token::Demand<'static> {
    let now = Timestamp::from_second(1_800_000_000).expect("a time");
    token::Demand { audience: "weir", issuers: &[ISSUER], now }
}

fn verify(text: &str, keys: &[Jwk]) -> Result<Value, token::Fault> {
    let algorithms = [Algorithm::ES256, Algorithm::RS256, Algorithm::PS512, Algorithm::EdDSA];
    token::verify(text, keys, &algorithms, demand())
}
