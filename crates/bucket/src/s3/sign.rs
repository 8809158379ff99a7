//! Signature version 4, by the AWS SDK's signer.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign as sign_v4,
};
use aws_sigv4::sign::v4;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Request};
use secrecy::ExposeSecret;
use weir_http::Unanswered;

use super::AccessKeys;
use crate::error::{Error, shown};

/// Signs a request without body.
pub(super) fn sign(
    request: &mut Request,
    keys: &AccessKeys,
    region: &str,
    now: SystemTime,
) -> Result<(), Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Signature { reason: error.to_string() };
    let token = keys.session_token.as_ref().map(|token| token.expose_secret().to_owned());
    // The signer refuses such a token too, in words of its own.
    if token.as_ref().is_some_and(|token| HeaderValue::from_str(token).is_err()) {
        return Err(unsendable(request, "X-Amz-Security-Token"));
    }
    let identity = Credentials::new(&keys.id, keys.secret.expose_secret(), token, None, "weir").into();
    // S3 signs the path as it is sent.
    let mut settings = SigningSettings::default();
    settings.percent_encoding_mode = PercentEncodingMode::Single;
    settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name("s3")
        .time(now)
        .settings(settings)
        .build()
        .map_err(|error| failed(&error))?
        .into();
    let headers: Vec<(String, String)> = request
        .headers()
        .iter()
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect();
    let signable = SignableRequest::new(
        request.method().as_str(),
        request.url().as_str(),
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())),
        SignableBody::Bytes(&[]),
    );
    let signed = sign_v4(signable.map_err(|error| failed(&error))?, &params);
    let (instructions, _) = signed.map_err(|error| failed(&error))?.into_parts();
    for (name, value) in instructions.headers() {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| failed(&error))?;
        // The other headers are digests and dates.
        let mut value = HeaderValue::from_str(value).map_err(|_| unsendable(request, "Authorization"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(name, value);
    }
    Ok(())
}

/// The error of keys that cannot be part of a header, in Go's words. A line end in a Secret is a common mistake.
fn unsendable(request: &Request, header: &str) -> Error {
    let cause = Unanswered {
        method: if *request.method() == Method::HEAD { "Head" } else { "Get" },
        url: shown(request.url()),
        reason: format!("net/http: invalid header field value for \"{header}\""),
    };
    Error::Transport { cause, is_transient: false }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use url::Url;

    use super::*;

    #[test]
    fn the_example_of_the_documentation() {
        // "GET Object" of Amazon's "Signature Calculations for the Authorization Header", 2013-05-24.
        let url = Url::parse("https://examplebucket.s3.amazonaws.com/test.txt").unwrap();
        let mut request = Request::new(reqwest::Method::GET, url);
        request.headers_mut().insert("range", HeaderValue::from_static("bytes=0-9"));
        let keys = AccessKeys {
            id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
            session_token: None,
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_369_353_600);
        sign(&mut request, &keys, "us-east-1", now).unwrap();
        let authorization = request.headers()["authorization"].to_str().unwrap();
        let signature = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";
        assert!(authorization.ends_with(&format!("Signature={signature}")), "{authorization}");
    }

    #[rstest::rstest]
    #[case::id("AKID\n", None, "Authorization")]
    #[case::session_token("AKID", Some("token\n"), "X-Amz-Security-Token")]
    fn a_line_end_in_a_key_is_told_in_gos_words(
        #[case] id: &str,
        #[case] token: Option<&str>,
        #[case] header: &str,
    ) {
        let url = Url::parse("http://127.0.0.1:9000/apps/?location=").unwrap();
        let mut request = Request::new(Method::GET, url);
        let keys = AccessKeys {
            id: id.to_owned(),
            secret: "hunter2\n".into(),
            session_token: token.map(Into::into),
        };
        let error = sign(&mut request, &keys, "us-east-1", SystemTime::UNIX_EPOCH).unwrap_err();
        let asked = "Get \"http://127.0.0.1:9000/apps/?location=\"";
        let expected = format!("{asked}: net/http: invalid header field value for \"{header}\"");
        assert_eq!(error.to_string(), expected);
    }
}
