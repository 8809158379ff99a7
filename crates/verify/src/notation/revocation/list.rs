//! A list of certificates that were taken back (RFC 5280, 5). Its entries are read one by one and not kept: the longest
//! lists have hundreds of thousands.

use der::asn1::{AnyRef, GeneralizedTime, ObjectIdentifier, Uint};
use der::oid::AssociatedOid;
use der::oid::db::rfc5280;
use der::{Decode, Reader, SliceReader, Tag, TagMode, TagNumber};
use jiff::Timestamp;
use x509_cert::Version;
use x509_cert::crl::RevokedCert;
use x509_cert::ext::pkix::name::{DistributionPointName, GeneralName};
use x509_cert::ext::pkix::{BaseCrlNumber, CrlNumber, CrlReason, FreshestCrl, IssuingDistributionPoint};
use x509_cert::ext::{Extension, Extensions};
use x509_cert::time::Time;

use super::super::signed::Signed;
use super::timestamp;

/// A list, taken apart and not yet believed.
pub(super) struct List<'a> {
    pub(super) signed: Signed<'a>,
    pub(super) until: Option<Timestamp>,
    entries: &'a [u8],
    extensions: Extensions,
}

/// The reason for which a certificate came into a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) revoked_at: Timestamp,
    pub(super) reason: CrlReason,
    /// Since when its key may be in other hands.
    pub(super) invalid_from: Option<Timestamp>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ListError {
    #[error("list is malformed: {0}")]
    Malformed(#[from] der::Error),
    #[error("list is not of version 2")]
    Version,
    #[error("the list has a date that is out of range")]
    Time,
    #[error("list has a critical extension {0} that is not supported")]
    Critical(ObjectIdentifier),
}

impl<'a> List<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, ListError> {
        let signed = Signed::read(bytes)?;
        let parts = AnyRef::from_der(signed.content)?.sequence(|parts| {
            let version: Version = parts.decode()?;
            let (_algorithm, _issuer): (AnyRef<'_>, AnyRef<'_>) = (parts.decode()?, parts.decode()?);
            let (_since, until): (Time, Option<Time>) = (parts.decode()?, parts.decode()?);
            let has_entries = !parts.is_finished() && parts.peek_tag()? == Tag::Sequence;
            let entries = if has_entries { parts.decode::<AnyRef<'a>>()?.value() } else { &[] };
            let extensions = parts.context_specific::<Extensions>(TagNumber::N0, TagMode::Explicit)?;
            Ok((version, until, entries, extensions.unwrap_or_default()))
        });
        let (version, until, entries, extensions) = parts?;
        // Version 2 is written as 1.
        if version != Version::V2 {
            return Err(ListError::Version);
        }
        let until = until.map(|until| moment(until.to_unix_duration())).transpose()?;
        Ok(List { signed, until, entries, extensions })
    }

    /// The entries of the certificate with a serial number, as it is encoded.
    pub(super) fn entries_of(&self, serial: &[u8]) -> Result<Vec<Entry>, ListError> {
        let mut rest = SliceReader::new(self.entries)?;
        let mut found = Vec::new();
        while !rest.is_finished() {
            let entry: RevokedCert = rest.decode()?;
            if entry.serial_number.as_bytes() == serial {
                found.push(Entry::read(&entry)?);
            }
        }
        Ok(found)
    }

    /// Its number among the lists of its issuer.
    pub(super) fn number(&self) -> Result<Option<Uint>, ListError> {
        Ok(self.extension::<CrlNumber>()?.map(|number| number.0))
    }

    /// The number of the list that it adds to, if it is not a whole one.
    pub(super) fn base(&self) -> Result<Option<Uint>, ListError> {
        Ok(self.extension::<BaseCrlNumber>()?.map(|number| number.0))
    }

    /// URLs of lists that add to this one.
    pub(super) fn additions(&self) -> Result<Vec<String>, ListError> {
        let points = self.extension::<FreshestCrl>()?.unwrap_or_default().0;
        let names = points.into_iter().filter_map(|point| point.distribution_point);
        Ok(names.flat_map(|name| locations(&name)).collect())
    }

    /// Returns true when certificates that name the lists at `named`, authorities or not, are within what it covers.
    pub(super) fn covers(&self, named: &[&str], is_authority: bool) -> Result<bool, ListError> {
        let Some(scope) = self.extension::<IssuingDistributionPoint>()? else { return Ok(true) };
        let is_excluded =
            if is_authority { scope.only_contains_user_certs } else { scope.only_contains_ca_certs };
        let is_named = scope
            .distribution_point
            .is_none_or(|name| locations(&name).iter().any(|location| named.contains(&location.as_str())));
        Ok(is_named && !is_excluded && !scope.indirect_crl && !scope.only_contains_attribute_certs)
    }

    /// Refuses what must be understood and is not.
    pub(super) fn is_understood(&self) -> Result<(), ListError> {
        let understood = [rfc5280::ID_CE_ISSUING_DISTRIBUTION_POINT, rfc5280::ID_CE_DELTA_CRL_INDICATOR];
        are_understood(&self.extensions, &understood)
    }

    fn extension<T: AssociatedOid + for<'b> Decode<'b>>(&self) -> Result<Option<T>, ListError> {
        // The library has another extension's identifier here.
        let scope = T::OID == IssuingDistributionPoint::OID;
        let kind = if scope { rfc5280::ID_CE_ISSUING_DISTRIBUTION_POINT } else { T::OID };
        Ok(find(&self.extensions, kind).map(|found| T::from_der(found.extn_value.as_bytes())).transpose()?)
    }
}

impl Entry {
    fn read(entry: &RevokedCert) -> Result<Self, ListError> {
        let extensions = entry.crl_entry_extensions.as_deref().unwrap_or_default();
        are_understood(extensions, &[rfc5280::ID_CE_INVALIDITY_DATE])?;
        let invalid = find(extensions, rfc5280::ID_CE_INVALIDITY_DATE);
        let invalid =
            invalid.map(|found| GeneralizedTime::from_der(found.extn_value.as_bytes())).transpose()?;
        let reason = find(extensions, rfc5280::ID_CE_CRL_REASONS);
        let reason = reason.map(|found| CrlReason::from_der(found.extn_value.as_bytes())).transpose()?;
        Ok(Self {
            revoked_at: moment(entry.revocation_date.to_unix_duration())?,
            reason: reason.unwrap_or(CrlReason::Unspecified),
            invalid_from: invalid.map(|invalid| moment(invalid.to_unix_duration())).transpose()?,
        })
    }
}

fn find(extensions: &[Extension], kind: ObjectIdentifier) -> Option<&Extension> {
    extensions.iter().find(|extension| extension.extn_id == kind)
}

fn are_understood(extensions: &[Extension], understood: &[ObjectIdentifier]) -> Result<(), ListError> {
    let mut critical = extensions.iter().filter(|extension| extension.critical);
    match critical.find(|extension| !understood.contains(&extension.extn_id)) {
        Some(other) => Err(ListError::Critical(other.extn_id)),
        None => Ok(()),
    }
}

fn locations(name: &DistributionPointName) -> Vec<String> {
    let DistributionPointName::FullName(names) = name else { return Vec::new() };
    let location = |name: &GeneralName| match name {
        GeneralName::UniformResourceIdentifier(location) => Some(location.to_string()),
        _ => None,
    };
    names.iter().map_while(location).collect()
}

fn moment(since_1970: std::time::Duration) -> Result<Timestamp, ListError> {
    timestamp(since_1970).ok_or(ListError::Time)
}
