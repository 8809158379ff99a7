//! Signed requests of services whose SDK is not worth its size (signature version 4).

use std::time::{Duration, SystemTime};

use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SignatureLocation, SigningInstructions, SigningSettings, sign,
};
use aws_sigv4::sign::v4;
use url::Url;

use super::Session;
use crate::error::{ProviderError, words};

/// A request to be signed.
pub(super) struct Unsigned<'a> {
    /// Name of the service, as signatures have it.
    pub(super) service: &'static str,
    /// Its region.
    pub(super) region: &'a str,
    pub(super) method: &'static str,
    pub(super) url: &'a str,
    /// The headers that are signed; the host always is.
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: &'a [u8],
}

impl Unsigned<'_> {
    /// Returns the headers that sign the request.
    pub(super) fn headers(&self, session: &Session) -> Result<Vec<(String, String)>, ProviderError> {
        let signed = self.sign(session, SigningSettings::default())?;
        Ok(signed.headers().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Returns the URL with a signature in its query, which whoever has it can use for so long.
    pub(super) fn presigned(&self, session: &Session, life: Duration) -> Result<Url, ProviderError> {
        let mut settings = SigningSettings::default();
        settings.signature_location = SignatureLocation::QueryParams;
        settings.expires_in = Some(life);
        let signed = self.sign(session, settings)?;
        let mut url = Url::parse(self.url).map_err(|error| failed(words(&error)))?;
        url.query_pairs_mut().extend_pairs(signed.params());
        Ok(url)
    }

    fn sign(
        &self,
        session: &Session,
        settings: SigningSettings,
    ) -> Result<SigningInstructions, ProviderError> {
        let identity = session.keys.clone().into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(self.region)
            .name(self.service)
            .time(SystemTime::now())
            .settings(settings)
            .build()
            .map_err(|error| failed(words(&error)))?;
        let body = SignableBody::Bytes(self.body);
        let signable = SignableRequest::new(self.method, self.url, self.headers.iter().copied(), body);
        let signable = signable.map_err(|error| failed(words(&error)))?;
        let signed = sign(signable, &parameters.into()).map_err(|error| failed(words(&error)))?;
        Ok(signed.into_parts().0)
    }
}

fn failed(reason: String) -> ProviderError {
    ProviderError::Library { what: "failed to sign a request", reason }
}
