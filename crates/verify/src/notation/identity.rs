//! The names that may sign: distinguished names of which a certificate's subject must have every part.

use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::name::{self, Parts};

const ANYONE: &str = "*";
/// The kind of identity that is a certificate's subject. All others are for plugins.
const SUBJECT: &str = "x509.subject";
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
    parts: Parts,
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

    /// Checks that the certificate's subject is one of the identities, which are those of the statement with a name.
    ///
    /// # Errors
    /// Fails when it is none of them, could be read in two ways, or cannot be read.
    pub(super) fn contain(&self, leaf: &CertificateDer<'_>, statement: &str) -> Result<(), String> {
        let Self::Named(names) = self else { return Ok(()) };
        if names.is_empty() {
            return Err(format!(
                "no x509 trusted identities are configured in the trust policy \"{statement}\""
            ));
        }
        let (_, certificate) = X509Certificate::from_der(leaf).map_err(|error| error.to_string())?;
        let subject = name::parse(&name::written(certificate.subject())).map_err(|fault| {
            format!(
                "error while parsing the certificate subject from the digital signature. error : {fault:?}"
            )
        })?;
        if names.iter().any(|name| name.is_part_of(&subject)) {
            return Ok(());
        }
        let names: Vec<_> = names.iter().map(Name::listed).collect();
        Err(format!(
            "signing certificate from the digital signature does not match the X.509 trusted identities [{}] defined in the \
             trust policy \"{statement}\"",
            names.join(" ")
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
                let invalid = |fault| failed(format!("with invalid identity value: {fault}"));
                let parts = name::parse(name).map_err(invalid)?;
                Ok(Some(Self { written: identity.to_owned(), parts }))
            }
            Some(_) => Ok(None),
        }
    }

    /// Returns true when a subject has all parts of the name. A part that is empty is one that is missing.
    fn is_part_of(&self, subject: &Parts) -> bool {
        let has = |(kind, value): (&String, &String)| subject.get(kind).map_or("", String::as_str) == value;
        self.parts.iter().all(has)
    }

    /// The parts as Go prints a map.
    fn listed(&self) -> String {
        let parts: Vec<_> = self.parts.iter().map(|(key, value)| format!("{key:?}:{value:?}")).collect();
        format!("map[{}]", parts.join(" "))
    }
}
