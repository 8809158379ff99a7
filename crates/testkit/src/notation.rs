//! Notation's signatures, made here from the documented format.

mod authority;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ciborium::Value as Cbor;
use rcgen::{
    Certificate, CertificateParams, CrlDistributionPoint, ExtendedKeyUsagePurpose, KeyPair, SigningKey,
    date_time_ymd,
};
use serde_json::{Map, Value, json};

pub use self::authority::{NotationAuthority, ocsp_servers};
use crate::Error;

/// Media type of the signed payload.
const PAYLOAD: &str = "application/vnd.cncf.notary.payload.v1+json";
/// URLs in a signer's certificate: the authority's server, and its list.
const OCSP: &str = "http://ca.test";
const LIST: &str = "http://crl.test/list";
/// Time of signing: 2021-06-01, in seconds since 1970.
const MADE: i64 = 1_622_505_600;

/// Someone who signs, with a certificate of an authority.
#[derive(Debug)]
pub struct NotationSigner {
    key: KeyPair,
    /// The signer's certificate and that of its authority.
    chain: Vec<Certificate>,
}

/// Settings of a signer's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotationCertificate {
    /// By an authority, for years.
    Good,
    /// By an authority, and over since 2022.
    Expired,
    /// By an authority that publishes what it takes back.
    Revocable,
    /// By an authority that answers questions about revocation.
    Ocsp,
    /// By an authority that names the place of its own certificate, and in that the place of its list.
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
        let change = |params: &mut CertificateParams| match kind {
            NotationCertificate::Good | NotationCertificate::SelfSigned => {}
            NotationCertificate::Expired => params.not_after = date_time_ymd(2022, 1, 1),
            NotationCertificate::Revocable => params.crl_distribution_points = revocations(),
            NotationCertificate::Ocsp => params.custom_extensions.push(ocsp_servers(&[OCSP])),
            NotationCertificate::Locatable => {
                params.custom_extensions.push(authority::access(2, &["http://ca.test"]));
            }
            NotationCertificate::ForServers => {
                params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            }
        };
        if kind == NotationCertificate::SelfSigned {
            let key = KeyPair::generate()?;
            let chain = vec![authority::signer().self_signed(&key)?];
            return Ok(Self { key, chain });
        }
        let authority = NotationAuthority::create(|params| {
            if kind == NotationCertificate::Locatable {
                params.crl_distribution_points = revocations();
            }
        })?;
        authority.signer(change)
    }

    /// A signer with certificates that somebody else made, its own first.
    #[must_use]
    pub fn new(key: KeyPair, chain: Vec<Certificate>) -> Self {
        Self { key, chain }
    }

    /// The same signer with other certificates.
    #[must_use]
    pub fn with_chain(mut self, change: impl FnOnce(&mut Vec<Certificate>)) -> Self {
        change(&mut self.chain);
        self
    }

    /// Its certificate and that of its authority.
    #[must_use]
    pub fn chain(&self) -> &[Certificate] {
        &self.chain
    }

    /// Its key, as PEM.
    #[must_use]
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// A signature with ECDSA and SHA-256 of anything.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub fn sign_bytes(&self, content: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(self.key.sign(content)?)
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

    /// Makes a signature of the manifest with a digest, dated 2021. `more` replaces or adds to its attributes.
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

/// Returns the signed payload: a manifest with its digest.
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

/// Servers that publish what an authority takes back.
fn revocations() -> Vec<CrlDistributionPoint> {
    vec![CrlDistributionPoint { uris: vec![LIST.to_owned()] }]
}

/// Returns the two numbers of a signature on P-256, 32 bytes each: a sequence of two integers has them in another
/// form.
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
