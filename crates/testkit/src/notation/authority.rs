//! Authorities that make the certificates of signers, and of those who say the time or what was revoked.

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CustomExtension, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SerialNumber, SigningKey, date_time_ymd,
};

use super::NotationSigner;
use crate::Error;

/// An authority, from 2020 until 2050.
#[derive(Debug)]
pub struct NotationAuthority {
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
    /// The certificates of those above it.
    above: Vec<Certificate>,
}

impl NotationAuthority {
    /// Makes an authority with a certificate of its own making. `change` has a say in it.
    ///
    /// # Errors
    /// When keys cannot be made.
    pub fn create(change: impl FnOnce(&mut CertificateParams)) -> Result<Self, Error> {
        let mut params = authority("notation authority");
        change(&mut params);
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        Ok(Self { issuer: Issuer::new(params, key), certificate, above: Vec::new() })
    }

    /// Makes an authority below this one, called `CN=authority below` and with the serial number 5.
    ///
    /// # Errors
    /// When keys cannot be made.
    pub fn below(&self, change: impl FnOnce(&mut CertificateParams)) -> Result<Self, Error> {
        let mut params = authority("authority below");
        params.serial_number = Some(SerialNumber::from(5));
        change(&mut params);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Self { issuer: Issuer::new(params, key), certificate, above: self.chain() })
    }

    /// Makes a signer of artifacts called `C=US, ST=WA, O=weir, CN=signer`, from 2020 until 2040 and with the serial number
    /// 7. `change` has a say in its certificate.
    ///
    /// # Errors
    /// When keys cannot be made.
    pub fn signer(&self, change: impl FnOnce(&mut CertificateParams)) -> Result<NotationSigner, Error> {
        let mut params = signer();
        change(&mut params);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(NotationSigner { key, chain: [vec![certificate], self.chain()].concat() })
    }

    /// Its certificate, and those of who is above it.
    fn chain(&self) -> Vec<Certificate> {
        [std::slice::from_ref(&self.certificate), &self.above].concat()
    }

    /// Returns the authority that signs certificates and lists.
    #[must_use]
    pub fn issuer(&self) -> &Issuer<'static, KeyPair> {
        &self.issuer
    }

    /// Its certificate.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Its key, as PEM.
    #[must_use]
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// A signature with ECDSA and SHA-256.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub fn sign(&self, content: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(self.issuer.key().sign(content)?)
    }
}

/// The certificate of an authority.
fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2050, 1, 1);
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// The certificate of a signer.
pub(super) fn signer() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.serial_number = Some(SerialNumber::from(7));
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2040, 1, 1);
    for (part, value) in [
        (DnType::CountryName, "US"),
        (DnType::StateOrProvinceName, "WA"),
        (DnType::OrganizationName, "weir"),
        (DnType::CommonName, "signer"),
    ] {
        params.distinguished_name.push(part, value);
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
    params
}

/// Returns the extension that names OCSP servers in a certificate: `authorityInfoAccess` of RFC 5280.
#[must_use]
pub fn ocsp_servers(urls: &[&str]) -> CustomExtension {
    access(1, urls)
}

/// Returns the entry that names the server of the authority (`method` 1) or the URL of its certificate (2).
pub(super) fn access(method: u8, urls: &[&str]) -> CustomExtension {
    let place = |url: &&str| {
        let kind = [0x06, 8, 0x2b, 6, 1, 5, 5, 7, 0x30, method];
        element(0x30, &[&kind[..], &element(0x86, url.as_bytes())].concat())
    };
    let places: Vec<u8> = urls.iter().flat_map(place).collect();
    CustomExtension::from_oid_content(&[1, 3, 6, 1, 5, 5, 7, 1, 1], element(0x30, &places))
}

/// A tag, a length and a content of up to 255 bytes.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap_or(u8::MAX);
    let long = (length >= 0x80).then_some(0x81);
    [tag].into_iter().chain(long).chain([length]).chain(content.iter().copied()).collect()
}
