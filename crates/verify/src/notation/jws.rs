//! JSON envelopes: JSON Web Signatures with the certificates beside them.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rustls_pki_types::CertificateDer;
use serde::Deserialize;

use super::envelope::{Protected, Sealed};

#[derive(Deserialize)]
struct Jws {
    payload: String,
    protected: String,
    header: Unprotected,
    signature: String,
}

#[derive(Deserialize)]
struct Unprotected {
    x5c: Vec<String>,
    #[serde(rename = "io.cncf.notary.timestampSignature")]
    timestamp: Option<String>,
}

pub(super) fn read(bytes: &[u8]) -> Result<Sealed, String> {
    let jws: Jws = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|error| error.to_string());
    let protected: Protected =
        serde_json::from_slice(&decode(&jws.protected)?).map_err(|error| error.to_string())?;
    let chain = jws.header.x5c.iter().map(|text| STANDARD.decode(text).map(CertificateDer::from));
    let timestamp = jws.header.timestamp.filter(|text| !text.is_empty()).map(|text| STANDARD.decode(text));
    Ok(Sealed {
        chain: chain.collect::<Result<_, _>>().map_err(|error| error.to_string())?,
        protected,
        signed: format!("{}.{}", jws.protected, jws.payload).into_bytes(),
        signature: decode(&jws.signature)?,
        payload: decode(&jws.payload)?,
        timestamp: timestamp.transpose().map_err(|error| error.to_string())?,
    })
}
