//! An authority that gives certificates for identities (Fulcio), with the log of certificates that vouches for them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CustomExtension, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData, SanType, SerialNumber, SigningKey, date_time_ymd,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::trusted_key;
use crate::Error;

/// Extension that names the issuer of an identity.
const ISSUER: &[u64] = &[1, 3, 6, 1, 4, 1, 57264, 1, 8];
/// Extension with the timestamps of certificate logs.
const TIMESTAMPS: &[u64] = &[1, 3, 6, 1, 4, 1, 11129, 2, 4, 2];
/// Time at which the certificate log saw the certificate, in milliseconds: 2021-01-01.
const SEEN: u64 = 1_609_459_200_000;

#[derive(Debug)]
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
    log: KeyPair,
    last_year: i32,
}

impl Authority {
    /// Certificates are valid from 2020 to the start of `last_year`.
    pub(super) fn create(last_year: i32) -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2050, 1, 1);
        params.distinguished_name.push(rcgen::DnType::CommonName, "test authority");
        let key = KeyPair::generate().map_err(Error::Certificate)?;
        let certificate = params.self_signed(&key).map_err(Error::Certificate)?;
        let log = KeyPair::generate().map_err(Error::Certificate)?;
        Ok(Self { issuer: Issuer::new(params, key), certificate, log, last_year })
    }

    pub(super) fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// The authority as trusted roots have it.
    pub(super) fn trusted(&self) -> Value {
        json!({
            "subject": {"organization": "test", "commonName": "test"}, "uri": "https://fulcio.test",
            "certChain": {"certificates": [{"rawBytes": STANDARD.encode(self.certificate.der())}]},
            "validFor": {"start": "2020-01-01T00:00:00Z"},
        })
    }

    /// The certificate log as trusted roots have it.
    pub(super) fn trusted_log(&self) -> Value {
        let (public, id) = trusted_key(&self.log);
        json!({
            "baseUrl": "https://ct.test", "hashAlgorithm": "SHA2_256", "publicKey": public,
            "logId": {"keyId": STANDARD.encode(id)},
        })
    }

    /// A fresh key with a certificate for `subject`, for whom `issuer` vouched.
    pub(super) fn issue(&self, subject: &str, issuer: &str) -> Result<(KeyPair, Certificate), Error> {
        let key = KeyPair::generate().map_err(Error::Certificate)?;
        let name = subject.try_into().map_err(Error::Certificate)?;
        let mut params = CertificateParams::default();
        params.serial_number = Some(SerialNumber::from(1_u64));
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(self.last_year, 1, 1);
        params.subject_alt_names =
            vec![if subject.contains("://") { SanType::URI(name) } else { SanType::Rfc822Name(name) }];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
        let mut utf8 = vec![0x0c, u8::try_from(issuer.len()).unwrap_or(u8::MAX)];
        utf8.extend_from_slice(issuer.as_bytes());
        params.custom_extensions = vec![CustomExtension::from_oid_content(ISSUER, utf8)];
        let before = params.signed_by(&key, &self.issuer).map_err(Error::Certificate)?;
        let timestamps = self.timestamps(signed_part(before.der()))?;
        params.custom_extensions.push(CustomExtension::from_oid_content(TIMESTAMPS, timestamps));
        let certificate = params.signed_by(&key, &self.issuer).map_err(Error::Certificate)?;
        Ok((key, certificate))
    }

    /// The certificate log's word that it saw the certificate (RFC 6962, 3.2 and 3.3).
    fn timestamps(&self, certificate: &[u8]) -> Result<Vec<u8>, Error> {
        let issuer = Sha256::digest(self.issuer.key().subject_public_key_info());
        let mut signed = vec![0, 0];
        signed.extend(SEEN.to_be_bytes());
        signed.extend([0, 1]);
        signed.extend(issuer);
        signed.extend(certificate.len().to_be_bytes().iter().skip(5));
        signed.extend_from_slice(certificate);
        signed.extend([0, 0]);
        let signature = self.log.sign(&signed).map_err(Error::Certificate)?;
        let (_, id) = trusted_key(&self.log);
        let mut one = vec![0];
        one.extend(id);
        one.extend(SEEN.to_be_bytes());
        one.extend([0, 0, 4, 3]);
        one.extend(prefixed(&signature));
        let list = prefixed(&prefixed(&one));
        // An octet string; of up to 127 bytes, which one signature never exceeds, its length is one byte.
        let mut octets = vec![0x04, u8::try_from(list.len()).unwrap_or(u8::MAX)];
        octets.extend(list);
        Ok(octets)
    }
}

/// Bytes with their number in front.
fn prefixed(bytes: &[u8]) -> Vec<u8> {
    let mut all = u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_be_bytes().to_vec();
    all.extend_from_slice(bytes);
    all
}

/// The part of a certificate that its signature is over: the first element of the outer sequence.
fn signed_part(certificate: &[u8]) -> &[u8] {
    let inner = certificate.get(header(certificate)..).unwrap_or_default();
    inner.get(..length(inner)).unwrap_or_default()
}

/// Bytes of an element's head.
fn header(element: &[u8]) -> usize {
    match element.get(1) {
        Some(long) if long & 0x80 != 0 => 2 + usize::from(long & 0x7f),
        _ => 2,
    }
}

/// Bytes of a whole element.
fn length(element: &[u8]) -> usize {
    let head = header(element);
    let content = match element.get(1) {
        Some(short) if short & 0x80 == 0 => usize::from(*short),
        _ => element.iter().take(head).skip(2).fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
    };
    head + content
}
