//! The names that may sign: distinguished names of which a certificate's subject must have every part.

use std::collections::BTreeMap;

use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

const ANYONE: &str = "*";
/// The kind of identity that is a certificate's subject. All others are for plugins.
const SUBJECT: &str = "x509.subject";
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
/// Attributes of which a subject may have several, the last counts.
const REPEATABLE: [&str; 2] = ["CN", "SERIALNUMBER"];

/// The signers that a statement trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Identities {
    /// Everybody with a certificate of a trusted authority.
    Anyone,
    /// Those whose subjects have all parts of one of these names.
    Named(Vec<Name>),
}

/// A distinguished name in a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    written: String,
    parts: BTreeMap<String, String>,
}

impl Identities {
    /// Reads the identities of a statement. Those for plugins, which are not supported, trust nobody.
    ///
    /// # Errors
    /// Fails when an identity is malformed, or when two of them overlap. The message continues a sentence whose subject is the statement.
    pub(super) fn parse(written: &[String]) -> Result<Self, String> {
        if let [only] = written
            && only == ANYONE
        {
            return Ok(Self::Anyone);
        }
        if written.iter().any(|identity| identity == ANYONE) {
            let fault = "uses a wildcard trusted identity '*', a wildcard identity cannot be used in conjunction with other \
                         values";
            return Err(fault.to_owned());
        }
        let mut names = Vec::new();
        for identity in written {
            names.extend(Name::parse(identity)?);
        }
        match overlap(&names) {
            None => Ok(Self::Named(names)),
            Some((one, other)) => Err(format!(
                "has overlapping x509 trustedIdentities, \"{}\" overlaps with \"{}\"",
                one.written, other.written
            )),
        }
    }

    /// Checks that the certificate's subject is one of the identities.
    ///
    /// # Errors
    /// Fails when it is none of them, or cannot be read.
    pub(super) fn contain(&self, leaf: &CertificateDer<'_>) -> Result<(), String> {
        let Self::Named(names) = self else { return Ok(()) };
        if names.is_empty() {
            return Err("no x509 trusted identities are configured in the trust policy".to_owned());
        }
        let (_, certificate) = X509Certificate::from_der(leaf).map_err(|error| error.to_string())?;
        let subject = subject(&certificate)?;
        if names.iter().any(|name| name.is_part_of(&subject)) {
            return Ok(());
        }
        let names: Vec<_> = names.iter().map(|name| &name.written).collect();
        Err(format!(
            "signing certificate from the digital signature does not match the X.509 trusted identities {names:?} defined \
             in the trust policy"
        ))
    }
}

/// Returns two names of which one includes the other: its parts are among the other's.
fn overlap(names: &[Name]) -> Option<(&Name, &Name)> {
    let others = |at: usize| names.iter().enumerate().filter(move |(other, _)| *other != at);
    names.iter().enumerate().find_map(|(at, name)| {
        others(at).find(|(_, other)| name.is_part_of(&other.parts)).map(|(_, other)| (name, other))
    })
}

/// Returns the parts of a certificate's subject. One that is no text counts as empty.
///
/// # Errors
/// When it has several parts of a kind, any of which could be meant, or one that no policy can name.
fn subject(certificate: &X509Certificate<'_>) -> Result<BTreeMap<String, String>, String> {
    let mut subject = BTreeMap::new();
    for attribute in certificate.subject().iter_attributes() {
        let oid = attribute.attr_type().to_id_string();
        let Some((_, name)) = ATTRIBUTES.iter().find(|(id, _)| *id == oid) else {
            return Err(format!(
                "subject of the signing certificate has an attribute {oid} that no trusted identity can have"
            ));
        };
        let value = attribute.as_str().unwrap_or_default().to_owned();
        if subject.insert((*name).to_owned(), value).is_some() && !REPEATABLE.contains(name) {
            return Err(format!("subject of the signing certificate has more than one '{name}'"));
        }
    }
    Ok(subject)
}

impl Name {
    /// Reads an identity such as `x509.subject: C=US, ST=WA, O=acme`; none when it is for plugins.
    fn parse(identity: &str) -> Result<Option<Self>, String> {
        if identity.is_empty() {
            return Err("has an empty trusted identity".to_owned());
        }
        let failed = |fault: String| format!("has trusted identity \"{identity}\" {fault}");
        match identity.split_once(':') {
            None => Err(failed("missing separator".to_owned())),
            Some((SUBJECT, "")) => Err(failed("without an identity value".to_owned())),
            Some((SUBJECT, name)) => {
                let parts = parts(name).map_err(failed)?;
                Ok(Some(Self { written: identity.to_owned(), parts }))
            }
            Some(_) => Ok(None),
        }
    }

    /// Returns true when a subject has all parts of the name. A part that is empty is one that is missing.
    fn is_part_of(&self, subject: &BTreeMap<String, String>) -> bool {
        let has = |(kind, value): (&String, &String)| subject.get(kind).map_or("", String::as_str) == value;
        self.parts.iter().all(has)
    }
}

/// The parts of `C=US, ST=WA, O=acme`.
fn parts(name: &str) -> Result<BTreeMap<String, String>, String> {
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
    match MANDATORY.iter().find(|wanted| parts.get(**wanted).is_none_or(String::is_empty)) {
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
