//! Notation's signatures, made here from the documented format.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ciborium::Value as Cbor;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CrlDistributionPoint, CustomExtension, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SigningKey, date_time_ymd,
};
use serde_json::{Map, Value, json};

use crate::Error;

/// What is signed.
const PAYLOAD: &str = "application/vnd.cncf.notary.payload.v1+json";
/// When: 2021-06-01, in seconds since 1970.
const MADE: i64 = 1_622_505_600;

/// Someone who signs, with a certificate of an authority.
#[derive(Debug)]
pub struct NotationSigner {
    key: KeyPair,
    /// The signer's certificate and that of its authority.
    chain: Vec<Certificate>,
}

/// How a signer's certificate is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotationCertificate {
    /// By an authority, for years.
    Good,
    /// By an authority, and over since 2022.
    Expired,
    /// By an authority that publishes what it takes back.
    Revocable,
    /// By an authority that tells whoever asks what it takes back.
    Ocsp,
    /// By an authority that says where its own certificate is, and in that what is taken back.
    Locatable,
    /// By an authority, for servers.
    ForServers,
    /// By the signer.
    SelfSigned,
}

impl NotationSigner {
    /// Makes a signer called `C=US, ST=WA, O=weir, CN=signer`.
    ///
    /// # Errors
    /// When keys cannot be made.
    pub fn create(kind: NotationCertificate) -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        params.not_before = date_time_ymd(2020, 1, 1);
        let last_year = if kind == NotationCertificate::Expired { 2022 } else { 2040 };
        params.not_after = date_time_ymd(last_year, 1, 1);
        for (part, value) in [
            (DnType::CountryName, "US"),
            (DnType::StateOrProvinceName, "WA"),
            (DnType::OrganizationName, "weir"),
            (DnType::CommonName, "signer"),
        ] {
            params.distinguished_name.push(part, value);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![match kind {
            NotationCertificate::ForServers => ExtendedKeyUsagePurpose::ServerAuth,
            _ => ExtendedKeyUsagePurpose::CodeSigning,
        }];
        if kind == NotationCertificate::Revocable {
            params.crl_distribution_points = revocations();
        }
        let access = match kind {
            NotationCertificate::Ocsp => Some(1),
            NotationCertificate::Locatable => Some(2),
            _ => None,
        };
        params.custom_extensions.extend(access.map(access_to_authority));
        let key = KeyPair::generate()?;
        if kind == NotationCertificate::SelfSigned {
            let chain = vec![params.self_signed(&key)?];
            return Ok(Self { key, chain });
        }
        let (issuer, authority) = authority(kind == NotationCertificate::Locatable)?;
        let chain = vec![params.signed_by(&key, &issuer)?, authority];
        Ok(Self { key, chain })
    }

    /// The certificate to trust: the authority's, or the signer's own.
    #[must_use]
    pub fn trusted_pem(&self) -> String {
        self.chain.last().map(Certificate::pem).unwrap_or_default()
    }

    /// The signer's certificate.
    #[must_use]
    pub fn own_pem(&self) -> String {
        self.chain.first().map(Certificate::pem).unwrap_or_default()
    }

    /// A signature of the manifest with a digest, made in 2021. `more` replaces or adds to what it says of itself.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub fn sign(&self, digest: &str, more: &Value) -> Result<Vec<u8>, Error> {
        let protected = json!({
            "alg": "ES256", "cty": PAYLOAD, "crit": ["io.cncf.notary.signingScheme"],
            "io.cncf.notary.signingScheme": "notary.x509",
            "io.cncf.notary.signingTime": "2021-06-01T00:00:00Z",
        });
        let own = protected.as_object().into_iter().flatten();
        let protected: Map<_, _> = own.chain(more.as_object().into_iter().flatten()).map(owned).collect();
        let protected = URL_SAFE_NO_PAD.encode(Value::Object(protected).to_string());
        let payload = URL_SAFE_NO_PAD.encode(payload(digest));
        let signature = self.key.sign(format!("{protected}.{payload}").as_bytes())?;
        let chain: Vec<String> = self.chain.iter().map(|one| STANDARD.encode(one.der())).collect();
        let envelope = json!({
            "payload": payload, "protected": protected,
            "header": {"x5c": chain, "io.cncf.notary.signingAgent": "weir-testkit"},
            "signature": URL_SAFE_NO_PAD.encode(numbers(&signature)),
        });
        Ok(envelope.to_string().into_bytes())
    }
}

impl NotationSigner {
    /// As [`NotationSigner::sign`], in CBOR. `labels` are those that a verifier has to understand.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub fn sign_cose(&self, digest: &str, labels: &[&str]) -> Result<Vec<u8>, Error> {
        let text = |text: &str| Cbor::Text(text.to_owned());
        let protected = Cbor::Map(vec![
            (Cbor::from(1), Cbor::from(-7)),
            (Cbor::from(2), Cbor::Array(labels.iter().map(|label| text(label)).collect())),
            (Cbor::from(3), text(PAYLOAD)),
            (text("io.cncf.notary.signingScheme"), text("notary.x509")),
            (text("io.cncf.notary.signingTime"), Cbor::Tag(1, Box::new(Cbor::from(MADE)))),
        ]);
        let (protected, payload) = (Cbor::Bytes(cbor(&protected)?), Cbor::Bytes(payload(digest)));
        let signed = vec![text("Signature1"), protected.clone(), Cbor::Bytes(Vec::new()), payload.clone()];
        let signature = self.key.sign(&cbor(&Cbor::Array(signed))?)?;
        let chain = self.chain.iter().map(|one| Cbor::Bytes(one.der().to_vec())).collect();
        let unprotected = Cbor::Map(vec![(Cbor::from(33), Cbor::Array(chain))]);
        let parts = vec![protected, unprotected, payload, Cbor::Bytes(numbers(&signature))];
        cbor(&Cbor::Tag(18, Box::new(Cbor::Array(parts))))
    }
}

/// What is signed: that there is a manifest with a digest.
fn payload(digest: &str) -> Vec<u8> {
    json!({"targetArtifact": {
        "mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": 1,
    }})
    .to_string()
    .into_bytes()
}

fn owned((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

fn cbor(value: &Cbor) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes)
        .map_err(|error| Error::file("cbor")(std::io::Error::other(error.to_string())))?;
    Ok(bytes)
}

/// Where it is published what an authority takes back.
fn revocations() -> Vec<CrlDistributionPoint> {
    vec![CrlDistributionPoint { uris: vec!["http://crl.test/list".to_owned()] }]
}

/// Where the authority can be asked (`method` 1) or its certificate is found (2): `authorityInfoAccess` of RFC 5280.
fn access_to_authority(method: u8) -> CustomExtension {
    let place = b"http://ca.test";
    let mut content = vec![0x30, 28, 0x30, 26, 0x06, 8, 0x2b, 6, 1, 5, 5, 7, 0x30, method, 0x86, 14];
    content.extend(place);
    CustomExtension::from_oid_content(&[1, 3, 6, 1, 5, 5, 7, 1, 1], content)
}

fn authority(is_revocable: bool) -> Result<(Issuer<'static, KeyPair>, Certificate), Error> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2050, 1, 1);
    params.distinguished_name.push(DnType::CommonName, "notation authority");
    if is_revocable {
        params.crl_distribution_points = revocations();
    }
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok((Issuer::new(params, key), certificate))
}

/// The two numbers of a signature on P-256, 32 bytes each: a sequence of two integers says them otherwise.
fn numbers(sequence: &[u8]) -> Vec<u8> {
    let mut rest = sequence.get(2..).unwrap_or_default();
    let mut numbers = Vec::new();
    while let [_, length, content @ ..] = rest {
        let (number, more) = content.split_at(usize::from(*length).min(content.len()));
        let number: Vec<u8> = number.iter().copied().skip_while(|byte| *byte == 0).collect();
        numbers.extend(std::iter::repeat_n(0, 32_usize.saturating_sub(number.len())));
        numbers.extend(number);
        rest = more;
    }
    numbers
}
