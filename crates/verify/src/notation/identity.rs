//! The names that may sign: distinguished names of which a certificate's subject must have every part.

use std::collections::BTreeMap;

use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

const ANYONE: &str = "*";
const SUBJECT: &str = "x509.subject:";
/// Parts that a name must have at least.
const MANDATORY: [&str; 3] = ["C", "ST", "O"];
/// Attributes by their object identifiers.
const ATTRIBUTES: [(&str, &str); 9] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.5", "SERIALNUMBER"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "STREET"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.17", "POSTALCODE"),
];

/// Returns true when an identity of a policy can be understood.
pub(super) fn check(written: &str) -> Result<(), String> {
    if written == ANYONE { Ok(()) } else { parse(written).map(drop) }
}

/// Returns true when the certificate's subject is one of the identities.
pub(super) fn is_trusted(identities: &[String], leaf: &CertificateDer<'_>) -> Result<(), String> {
    if identities.iter().any(|identity| identity == ANYONE) {
        return Ok(());
    }
    let (_, certificate) = X509Certificate::from_der(leaf).map_err(|error| error.to_string())?;
    let mut subject = BTreeMap::new();
    for attribute in certificate.subject().iter_attributes() {
        let oid = attribute.attr_type().to_id_string();
        let name = ATTRIBUTES.iter().find(|(id, _)| *id == oid).map(|(_, name)| (*name).to_owned());
        if let (Some(name), Ok(value)) = (name, attribute.as_str()) {
            subject.insert(name, value.to_owned());
        }
    }
    let is_part = |wanted: BTreeMap<String, String>| {
        wanted.iter().all(|(name, value)| subject.get(name) == Some(value))
    };
    if identities.iter().filter_map(|identity| parse(identity).ok()).any(is_part) {
        return Ok(());
    }
    Err(format!(
        "signing certificate from the digital signature does not match the X.509 trusted identities {identities:?} defined \
         in the trust policy"
    ))
}

/// The parts of `x509.subject: C=US, ST=WA, O=acme`.
fn parse(written: &str) -> Result<BTreeMap<String, String>, String> {
    let name = written.strip_prefix(SUBJECT).ok_or_else(|| format!("without the prefix '{SUBJECT}'"))?;
    let mut parts = BTreeMap::new();
    for part in split(name) {
        let (key, value) =
            part.split_once('=').ok_or_else(|| format!("whose part '{part}' is no key=value"))?;
        let key = match key.trim().to_uppercase() {
            short if short == "S" => "ST".to_owned(),
            key => key,
        };
        if parts.insert(key.clone(), value.trim().to_owned()).is_some() {
            return Err(format!("with more than one '{key}'"));
        }
    }
    match MANDATORY.iter().find(|wanted| !parts.contains_key(**wanted)) {
        Some(missing) => Err(format!("without the mandatory attribute '{missing}'")),
        None => Ok(parts),
    }
}

/// The parts between commas; a backslash takes its meaning from the character behind it.
fn split(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = name.chars();
    while let Some(character) = characters.next() {
        let last = parts.len() - 1;
        match (character, parts.get_mut(last)) {
            (',', _) => parts.push(String::new()),
            ('\\', Some(part)) => part.extend(characters.next()),
            (other, Some(part)) => part.push(other),
            (_, None) => {}
        }
    }
    parts
}
