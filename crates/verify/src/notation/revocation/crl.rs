//! Lists of what an issuer took back (RFC 5280, 5): whole ones, and those that add to them.

use std::time::Duration;

use der::asn1::Uint;
use x509_cert::ext::pkix::CrlReason;

use super::super::inquiry::{AddressError, Inquiry, Question, Unanswered, address};
use super::list::{Entry, List, ListError};
use super::{Link, Moment, Standing};

/// Bytes of a list, as Flux has it: the largest that are known have half of that.
const MAX_LIST: usize = 32 << 20;
/// Time to fetch a list, as Flux has it.
const TIMEOUT: Duration = Duration::from_secs(5);
/// `freshestCRL`: where a list is that adds to one.
const ADDITIONS: &str = "2.5.29.46";

#[derive(Debug, thiserror::Error)]
enum CrlError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
    #[error(transparent)]
    List(#[from] ListError),
    #[error("list is not signed by the issuer of the certificate")]
    Signature,
    #[error("the issuer of the certificate may not sign lists")]
    Usage,
    #[error("list does not say when the next one comes")]
    NoEnd,
    #[error("list has expired")]
    Expired,
    #[error("list is about other certificates")]
    Scope,
    #[error("the list is a delta CRL, a complete one is needed")]
    Addition,
    #[error("the list is not a delta CRL")]
    NoAddition,
    #[error("the delta CRL does not fit its base CRL: its number is not higher, or it extends a newer base")]
    Number,
    #[error("the extension freshestCRL of a certificate is not supported")]
    Freshest,
}

/// Returns the standing by the lists at `urls`. Each may be about a part of the reasons for revocation, so all are
/// read.
pub(super) fn standing(urls: &[&str], link: &Link<'_>, inquiry: &mut Inquiry<'_>) -> Standing {
    if urls.is_empty() {
        return Standing::Unrevocable;
    }
    for url in urls {
        match is_revoked(url, urls, link, inquiry) {
            Ok(true) => return Standing::Revoked,
            Ok(false) => {}
            Err(CrlError::Unanswered(Unanswered::Pending)) => return Standing::Pending,
            Err(error) => return Standing::Unknown(format!("CRL {url}: {error}")),
        }
    }
    Standing::Good
}

fn is_revoked(
    url: &str,
    named: &[&str],
    link: &Link<'_>,
    inquiry: &mut Inquiry<'_>,
) -> Result<bool, CrlError> {
    let whole = fetch(url, inquiry)?;
    is_good(&whole, named, link)?;
    if whole.base()?.is_some() {
        return Err(CrlError::Addition);
    }
    let addition = addition(&whole, inquiry)?;
    let mut extensions = link.certificate.extensions().iter();
    if addition.is_none() && extensions.any(|extension| extension.oid.to_id_string() == ADDITIONS) {
        return Err(CrlError::Freshest);
    }
    let mut entries = whole.entries_of(link.certificate.raw_serial())?;
    if let Some(addition) = addition {
        is_good(&addition, named, link)?;
        adds_to(addition.number()?, addition.base()?, whole.number()?)?;
        entries.extend(addition.entries_of(link.certificate.raw_serial())?);
    }
    Ok(are_final(&entries, link.moment))
}

fn fetch<'a>(url: &str, inquiry: &mut Inquiry<'a>) -> Result<List<'a>, CrlError> {
    let url = address(url)?.into();
    let answer = inquiry.ask(Question { url, max_answer: MAX_LIST, timeout: TIMEOUT })?;
    Ok(List::read(answer)?)
}

/// Returns the list that adds to another one: the first that can be fetched from the places named in it.
fn addition<'a>(whole: &List<'a>, inquiry: &mut Inquiry<'a>) -> Result<Option<List<'a>>, CrlError> {
    let mut failed = None;
    for url in whole.additions()? {
        match fetch(&url, inquiry) {
            Ok(found) => return Ok(Some(found)),
            Err(CrlError::Unanswered(Unanswered::Pending)) => return Err(Unanswered::Pending.into()),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(None), Err)
}

/// Checks that a list is the issuer's, in force, and about the certificate.
fn is_good(list: &List<'_>, named: &[&str], link: &Link<'_>) -> Result<(), CrlError> {
    let usage = link.issuer.key_usage().ok().flatten();
    if usage.is_some_and(|usage| !usage.value.crl_sign()) {
        return Err(CrlError::Usage);
    }
    if !list.signed.is_by(link.issuer.public_key().raw) {
        return Err(CrlError::Signature);
    }
    if link.moment.now > list.until.ok_or(CrlError::NoEnd)? {
        return Err(CrlError::Expired);
    }
    list.is_understood()?;
    // Flux does not look at this: somebody on the way could answer with the list of other certificates.
    if list.covers(named, link.certificate.is_ca())? { Ok(()) } else { Err(CrlError::Scope) }
}

/// Checks that a list with a number adds, from the list `base` on, to the one that there is.
fn adds_to(number: Option<Uint>, base: Option<Uint>, whole: Option<Uint>) -> Result<(), CrlError> {
    let base = base.ok_or(CrlError::NoAddition)?;
    let (Some(number), Some(whole)) = (number, whole) else { return Err(CrlError::Number) };
    // Leading zeros are gone, so that of two numbers the longer is the greater.
    let size = |number: &Uint| (number.as_bytes().len(), number.as_bytes().to_vec());
    if size(&number) > size(&whole) && size(&base) <= size(&whole) { Ok(()) } else { Err(CrlError::Number) }
}

/// Returns true when a certificate with these entries is revoked. One that is on hold may come back: the latest word
/// counts.
fn are_final(entries: &[Entry], moment: Moment) -> bool {
    let mut latest: Option<&Entry> = None;
    for entry in entries {
        if moment.is_before(entry.invalid_from) {
            return false;
        }
        match entry.reason {
            CrlReason::CertificateHold | CrlReason::RemoveFromCRL => {
                if latest.is_none_or(|latest| latest.revoked_at < entry.revoked_at) {
                    latest = Some(entry);
                }
            }
            _ => return true,
        }
    }
    latest.is_some_and(|entry| entry.reason == CrlReason::CertificateHold)
}

#[cfg(test)]
mod tests {
    use CrlReason::{CertificateHold as Hold, KeyCompromise as Key, RemoveFromCRL as Remove};
    use jiff::Timestamp;
    use rstest::rstest;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Entries by the second they were made, the reason, and the second from which the certificate is invalid.
    #[rstest]
    #[case(&[], None, false)]
    #[case(&[(10, Key, None)], None, true)]
    #[case(&[(10, Key, None)], Some(5), true)]
    #[case(&[(10, Key, Some(7))], Some(6), false)]
    #[case(&[(10, Key, Some(7))], Some(7), true)]
    #[case(&[(10, Key, Some(7))], None, true)]
    #[case(&[(10, Hold, None)], None, true)]
    #[case(&[(10, Hold, None), (20, Remove, None)], None, false)]
    #[case(&[(20, Remove, None), (10, Hold, None)], None, false)]
    #[case(&[(10, Hold, None), (20, Remove, None), (30, Hold, None)], None, true)]
    #[case(&[(10, Hold, None), (20, Remove, None), (30, Key, None)], None, true)]
    fn which_entries_count(
        #[case] entries: &[(i64, CrlReason, Option<i64>)],
        #[case] signed_at: Option<i64>,
        #[case] expected: bool,
    ) {
        let entries = entries.iter().map(|(revoked_at, reason, invalid_from)| Entry {
            revoked_at: at(*revoked_at),
            reason: *reason,
            invalid_from: invalid_from.map(at),
        });
        let moment = Moment { now: at(100), signed_at: signed_at.map(at) };
        assert_eq!(are_final(&entries.collect::<Vec<_>>(), moment), expected);
    }

    #[rstest]
    #[case(Some(2), Some(1), Some(1), true)]
    #[case(Some(0x100), Some(1), Some(0xff), true)]
    #[case(Some(1), Some(1), Some(1), false)]
    #[case(Some(3), Some(2), Some(1), false)]
    #[case(Some(2), None, Some(1), false)]
    #[case(None, Some(1), Some(1), false)]
    #[case(Some(2), Some(1), None, false)]
    fn numbers(
        #[case] number: Option<u64>,
        #[case] base: Option<u64>,
        #[case] whole: Option<u64>,
        #[case] expected: bool,
    ) {
        let [number, base, whole] =
            [number, base, whole].map(|one| one.map(|one| Uint::new(&one.to_be_bytes()).unwrap()));
        assert_eq!(adds_to(number, base, whole).is_ok(), expected);
    }
}
