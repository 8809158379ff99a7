//! Revocation of certificates (SRC-OCI-26). Each certificate names who knows of it: servers that are asked (OCSP), and lists
//! (CRLs) for when no server says it. Without an answer the state is unknown; a certificate that names nobody cannot be
//! revoked.

mod crl;
mod list;
mod ocsp;

use std::time::Duration;

use jiff::Timestamp;
use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{
    DistributionPointName, FromDer, GeneralName, ParsedExtension, X509Certificate, X509Extension,
};

use super::chain::rules::Purpose;
use super::inquiry::Inquiry;
use super::name;

/// `authorityInfoAccess`.
const ACCESS: &str = "1.3.6.1.5.5.7.1.1";
/// `cRLDistributionPoints`.
const POINTS: &str = "2.5.29.31";
/// Method by which a certificate names an OCSP server; the issuer's certificate is named in the same place.
const OCSP: &str = "1.3.6.1.5.5.7.48.1";

/// The standing of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Standing {
    /// It was not taken back.
    Good,
    /// It names nobody who would know.
    Unrevocable,
    /// It was taken back.
    Revoked,
    /// Those whom it names do not say.
    Unknown(String),
    /// They are to be asked.
    Pending,
}

/// Reasons for which a chain does not count, or not yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RevocationError {
    #[error("unable to check revocation status, err: certificate cannot be read")]
    Malformed,
    #[error("{} certificate with subject \"{subject}\" is revoked", who(.purpose))]
    Revoked { purpose: Purpose, subject: String },
    #[error("{} certificate with subject \"{subject}\" revocation status is unknown: {reason}", who(.purpose))]
    Unknown { purpose: Purpose, subject: String, reason: String },
    /// The inquiry is open.
    #[error("revocation is not known yet")]
    Pending,
}

/// A certificate, that of its issuer, and the times for which its standing is asked.
struct Link<'a> {
    certificate: X509Certificate<'a>,
    issuer: X509Certificate<'a>,
    moment: Moment,
}

/// The times on which a verdict depends.
#[derive(Clone, Copy)]
struct Moment {
    now: Timestamp,
    /// When it was signed, if somebody vouches for that: what a certificate did before it became invalid counts.
    signed_at: Option<Timestamp>,
}

impl Moment {
    /// Returns true when it was signed before a time, for all that is known.
    fn is_before(&self, time: Option<Timestamp>) -> bool {
        self.signed_at.zip(time).is_some_and(|(signed_at, time)| signed_at < time)
    }
}

/// Checks that no certificate of a chain that keeps the rules, leaf first, was taken back. The root, which only
/// itself could take back, never is.
pub(super) fn check(
    chain: &[CertificateDer<'_>],
    purpose: Purpose,
    signed_at: Option<Timestamp>,
    now: Timestamp,
    inquiry: &mut Inquiry<'_>,
) -> Result<(), RevocationError> {
    let moment = Moment { now, signed_at };
    let links = chain.windows(2).filter_map(|two| two.as_array()).map(|[certificate, issuer]| {
        let read = |der| X509Certificate::from_der(der).map(|(_, read)| read);
        Ok(Link { certificate: read(certificate)?, issuer: read(issuer)?, moment })
    });
    let links: Result<Vec<_>, x509_parser::nom::Err<x509_parser::prelude::X509Error>> = links.collect();
    let links = links.map_err(|_| RevocationError::Malformed)?;
    // All questions are put down before one is waited for.
    let standings = links.iter().map(|link| {
        let standing = standing(link, inquiry);
        (name::written(link.certificate.subject()), standing)
    });
    let standings: Vec<_> = standings.collect();
    verdict(&standings, purpose)
}

/// Returns the verdict about a chain from the standing of its certificates: a revoked one outweighs those of unknown
/// standing.
fn verdict(standings: &[(String, Standing)], purpose: Purpose) -> Result<(), RevocationError> {
    let found = |wanted: fn(&Standing) -> bool| standings.iter().find(|(_, standing)| wanted(standing));
    if found(|standing| *standing == Standing::Pending).is_some() {
        return Err(RevocationError::Pending);
    }
    if let Some((subject, _)) = found(|standing| *standing == Standing::Revoked) {
        return Err(RevocationError::Revoked { purpose, subject: subject.clone() });
    }
    if let Some((subject, Standing::Unknown(reason))) =
        found(|standing| matches!(standing, Standing::Unknown(_)))
    {
        let (subject, reason) = (subject.clone(), reason.clone());
        return Err(RevocationError::Unknown { purpose, subject, reason });
    }
    Ok(())
}

fn standing(link: &Link<'_>, inquiry: &mut Inquiry<'_>) -> Standing {
    let (servers, lists) = match (servers(&link.certificate), lists(&link.certificate)) {
        (Ok(servers), Ok(lists)) => (servers, lists),
        (Err(error), _) | (_, Err(error)) => return Standing::Unknown(error),
    };
    let asked = ocsp::standing(&servers, link, inquiry);
    if !matches!(asked, Standing::Unknown(_) | Standing::Unrevocable) {
        return asked;
    }
    either(asked, crl::standing(&lists, link, inquiry))
}

/// Returns the standing from the lists where servers did not give it.
fn either(asked: Standing, listed: Standing) -> Standing {
    match (asked, listed) {
        (Standing::Unknown(why), Standing::Unrevocable) => Standing::Unknown(why),
        (Standing::Unknown(why), Standing::Unknown(other)) => Standing::Unknown(format!("{why}; {other}")),
        (_, listed) => listed,
    }
}

/// The OCSP servers that a certificate names.
fn servers<'a>(certificate: &'a X509Certificate<'a>) -> Result<Vec<&'a str>, String> {
    let mut found = Vec::new();
    for extension in extensions(certificate, ACCESS) {
        let ParsedExtension::AuthorityInfoAccess(access) = extension.parsed_extension() else {
            return Err("those who know of the certificate cannot be read".to_owned());
        };
        let methods = access.accessdescs.iter().filter(|one| one.access_method.to_id_string() == OCSP);
        found.extend(methods.filter_map(|one| location(&one.access_location)));
    }
    Ok(found)
}

/// The lists that a certificate or a list names. Names of other kinds end what is read of a point, as with Flux.
fn lists<'a>(certificate: &'a X509Certificate<'a>) -> Result<Vec<&'a str>, String> {
    let mut found = Vec::new();
    for extension in extensions(certificate, POINTS) {
        let ParsedExtension::CRLDistributionPoints(points) = extension.parsed_extension() else {
            return Err("the lists that know of the certificate cannot be read".to_owned());
        };
        for point in points.iter() {
            if let Some(DistributionPointName::FullName(names)) = &point.distribution_point {
                found.extend(names.iter().map_while(location));
            }
        }
    }
    Ok(found)
}

fn extensions<'a>(
    certificate: &'a X509Certificate<'a>,
    kind: &'static str,
) -> impl Iterator<Item = &'a X509Extension<'a>> {
    certificate.extensions().iter().filter(move |extension| extension.oid.to_id_string() == kind)
}

fn timestamp(since_1970: Duration) -> Option<Timestamp> {
    Timestamp::from_second(i64::try_from(since_1970.as_secs()).ok()?).ok()
}

fn location<'a>(name: &GeneralName<'a>) -> Option<&'a str> {
    match name {
        GeneralName::URI(location) => Some(location),
        _ => None,
    }
}

fn who(purpose: &Purpose) -> &'static str {
    match purpose {
        Purpose::CodeSigning => "signing",
        Purpose::Timestamping => "timestamping",
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::Standing::{Good, Pending, Revoked, Unrevocable};
    use super::*;

    fn unknown(why: &str) -> Standing {
        Standing::Unknown(why.to_owned())
    }

    #[rstest]
    #[case(&[], None)]
    #[case(&[Good, Unrevocable], None)]
    #[case(&[Good, Revoked], Some("signing certificate with subject \"1\" is revoked"))]
    #[case(&[unknown("a"), Revoked], Some("signing certificate with subject \"1\" is revoked"))]
    #[case(&[Revoked, Revoked], Some("signing certificate with subject \"0\" is revoked"))]
    #[case(&[Good, unknown("a")], Some("signing certificate with subject \"1\" revocation status is unknown: a"))]
    #[case(&[unknown("a"), unknown("b")], Some("signing certificate with subject \"0\" revocation status is unknown: a"))]
    #[case(&[Revoked, Pending], Some("revocation is not known yet"))]
    fn chains(#[case] standings: &[Standing], #[case] expected: Option<&str>) {
        let named: Vec<_> =
            standings.iter().enumerate().map(|(at, one)| (at.to_string(), one.clone())).collect();
        let found = verdict(&named, Purpose::CodeSigning).err().map(|error| error.to_string());
        assert_eq!(found.as_deref(), expected);
    }

    #[rstest]
    #[case(Unrevocable, Unrevocable, Unrevocable)]
    #[case(Unrevocable, Good, Good)]
    #[case(Unrevocable, Revoked, Revoked)]
    #[case(Unrevocable, unknown("l"), unknown("l"))]
    #[case(unknown("s"), Unrevocable, unknown("s"))]
    #[case(unknown("s"), Good, Good)]
    #[case(unknown("s"), Revoked, Revoked)]
    #[case(unknown("s"), Pending, Pending)]
    #[case(unknown("s"), unknown("l"), unknown("s; l"))]
    fn lists_speak_where_servers_do_not(
        #[case] asked: Standing,
        #[case] listed: Standing,
        #[case] expected: Standing,
    ) {
        assert_eq!(either(asked, listed), expected);
    }
}
