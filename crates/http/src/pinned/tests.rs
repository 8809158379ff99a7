use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use rstest::rstest;

use super::*;

/// Seconds since 1970: a day in 2027, one before the certificates are valid, and one after.
const TODAY: u64 = 1_800_000_000;
const TOO_EARLY: u64 = 1_500_000_000;
const TOO_LATE: u64 = 2_000_000_000;

/// A certificate for `localhost` from 2020 to 2030, before anything is changed.
fn params(names: &[&str]) -> CertificateParams {
    let mut params =
        CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2030, 1, 1));
    params
}

fn of_its_own(params: &CertificateParams, key: &KeyPair) -> CertificateDer<'static> {
    params.self_signed(key).unwrap().der().clone()
}

fn made(change: impl FnOnce(&mut CertificateParams)) -> CertificateDer<'static> {
    let mut params = params(&["localhost"]);
    change(&mut params);
    of_its_own(&params, &KeyPair::generate().unwrap())
}

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

/// The verdict about a server that shows `shown` to those who believe `believed`.
fn verdict(
    believed: &[&CertificateDer<'static>],
    shown: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    name: &str,
) -> Result<(), Error> {
    let verifier = crate::verifier(believed.iter().map(|certificate| (*certificate).clone())).unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    verifier.verify_server_cert(shown, intermediates, &name, &[], at(TODAY)).map(drop)
}

#[rstest]
#[case::good("localhost", TODAY, &[], None)]
#[case::for_servers("localhost", TODAY, &[ExtendedKeyUsagePurpose::ServerAuth], None)]
#[case::for_anything("localhost", TODAY, &[ExtendedKeyUsagePurpose::Any], None)]
#[case::for_clients("localhost", TODAY, &[ExtendedKeyUsagePurpose::ClientAuth], Some("InvalidPurpose"))]
#[case::other_name("example.com", TODAY, &[], Some("not valid for name"))]
#[case::not_yet("localhost", TOO_EARLY, &[], Some("NotValidYet"))]
#[case::expired("localhost", TOO_LATE, &[], Some("Expired"))]
fn a_pinned_certificate_must_be_good_itself(
    #[case] name: &str,
    #[case] seconds: u64,
    #[case] purposes: &[ExtendedKeyUsagePurpose],
    #[case] expected: Option<&str>,
) {
    let certificate = made(|params| params.extended_key_usages = purposes.to_vec());
    let name = ServerName::try_from(name.to_owned()).unwrap();
    match (expected, check_pinned(&certificate, &name, at(seconds))) {
        (None, found) => assert_eq!(found, Ok(())),
        (Some(expected), Err(error)) => assert!(error.to_string().contains(expected), "{error}"),
        (Some(expected), Ok(())) => panic!("accepted in spite of {expected}"),
    }
}

#[rstest]
#[case::says_nothing(IsCa::NoCa, &[], false)]
#[case::says_no(IsCa::ExplicitNoCa, &[], false)]
#[case::says_yes(IsCa::Ca(BasicConstraints::Unconstrained), &[], true)]
#[case::for_signing(IsCa::Ca(BasicConstraints::Unconstrained), &[KeyUsagePurpose::KeyCertSign], true)]
#[case::for_something_else(IsCa::Ca(BasicConstraints::Unconstrained), &[KeyUsagePurpose::DigitalSignature], false)]
fn authorities_say_that_they_are_some(
    #[case] is_ca: IsCa,
    #[case] usages: &[KeyUsagePurpose],
    #[case] expected: bool,
) {
    let certificate = made(|params| (params.is_ca, params.key_usages) = (is_ca, usages.to_vec()));
    assert_eq!(is_authority(&certificate), Some(expected));
}

#[test]
fn certificates_that_cannot_be_read_are_passed_over() {
    let (odd, good) = (CertificateDer::from(vec![0; 9]), made(|_| {}));
    assert_eq!(is_authority(&odd), None);
    assert!(crate::verifier([odd.clone()]).is_none());
    assert_eq!(verdict(&[&odd, &good], &good, &[], "localhost"), Ok(()));
}

/// Whoever has the key of one server that is believed does not speak for others.
#[test]
fn a_pinned_certificate_vouches_for_no_other() {
    let authority = made(|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    let (pinned_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let pinned = of_its_own(&params(&["localhost"]), &pinned_key);
    let signer = Issuer::new(params(&["localhost"]), pinned_key);
    let forged = params(&["other.example"]).signed_by(&key, &signer).unwrap().der().clone();
    for believed in [vec![&pinned], vec![&authority, &pinned]] {
        assert_eq!(verdict(&believed, &pinned, &[], "localhost"), Ok(()));
        for intermediates in [vec![], vec![pinned.clone()]] {
            assert!(verdict(&believed, &forged, &intermediates, "other.example").is_err());
        }
    }
}

#[test]
fn authorities_vouch_for_others() {
    let mut ca = params(&[]);
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let (ca_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let authority = of_its_own(&ca, &ca_key);
    let server = params(&["localhost"]).signed_by(&key, &Issuer::new(ca, ca_key)).unwrap().der().clone();
    assert_eq!(verdict(&[&authority], &server, &[], "localhost"), Ok(()));
    let unknown = Err(CertificateError::UnknownIssuer.into());
    assert_eq!(verdict(&[&made(|_| {})], &server, &[], "localhost"), unknown);
}
