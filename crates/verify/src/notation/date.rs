//! Times in messages, in the form of RFC 1123 as Notation writes them. The current time is never written, so that a
//! message stays the same until something changes.

use jiff::Timestamp;
use x509_parser::time::ASN1Time;

/// Writes a time: `Mon, 02 Jan 2006 15:04:05 +0000`.
pub(super) fn written(time: Timestamp) -> String {
    time.strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()
}

/// Writes a time of a certificate.
pub(super) fn of_certificate(time: ASN1Time) -> String {
    Timestamp::from_second(time.timestamp()).map_or_else(|_| time.to_string(), written)
}
