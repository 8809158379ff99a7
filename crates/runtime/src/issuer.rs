//! A certificate for the services of a namespace, from an authority of our own making, for where nobody brings one.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rcgen::{KeyUsagePurpose, date_time_ymd};
use tokio::io::AsyncReadExt;
use x509_parser::extensions::GeneralName;

use crate::args::RuntimeArgs;
use crate::client;
use crate::environment::Environment;

/// Time between two looks at the Secret.
const PAUSE: Duration = Duration::from_secs(3600);

/// Time after which a look that failed is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

/// Validity of a certificate, of which the last third is there for renewals that fail.
const CERTIFICATE: SignedDuration = SignedDuration::from_hours(90 * 24);
const RENEWED_BEFORE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Validity of the authority.
const AUTHORITY: SignedDuration = SignedDuration::from_hours(10 * 365 * 24);

/// Settings of a Pod's resolver, where kubelet writes the domain of the cluster.
const RESOLVER: &str = "/etc/resolv.conf";

/// Longest settings that are read, in bytes; Kubernetes allows 2 KiB of search domains.
const MAX_RESOLVER_LEN: u64 = 64 * 1024;

/// Domain of a cluster that does not say another.
const DOMAIN: &str = "cluster.local";

/// Keys of the Secret: as cert-manager names them, and the authority's own key, which only we have.
const CERTIFICATE_KEY: &str = "tls.crt";
const PRIVATE_KEY: &str = "tls.key";
const AUTHORITY_KEY: &str = "ca.crt";
const AUTHORITY_PRIVATE_KEY: &str = "ca.key";

/// Failures to make a certificate.
#[derive(Debug, thiserror::Error)]
enum IssueError {
    #[error("the Secret cannot be read or written: {0}")]
    Secret(String),
    #[error("a certificate cannot be made: {0}")]
    Make(#[from] rcgen::Error),
    #[error("the Secret has no '{AUTHORITY_PRIVATE_KEY}', so that somebody else made it: it is left alone")]
    Foreign,
}

impl From<kube::Error> for IssueError {
    fn from(error: kube::Error) -> Self {
        Self::Secret(client::reason(error))
    }
}

type Data = BTreeMap<String, ByteString>;

/// The task that `--grpc-tls-issue-secret` asks for, if given, which goes on until the stop.
pub(crate) fn task(
    args: &RuntimeArgs,
    env: &Environment,
) -> Option<impl Future<Output = Option<()>> + Send + use<>> {
    let secret = args.grpc_tls_issue_secret.clone()?;
    let work = keep_issued(env.client.clone(), env.runtime_namespace.clone(), secret, env.clock);
    Some(env.shutdown.clone().run_until_cancelled_owned(work))
}

/// Keeps a valid certificate in a Secret for as long as it is polled.
async fn keep_issued(client: kube::Client, namespace: String, name: String, now: fn() -> Timestamp) {
    let secrets: Api<Secret> = Api::namespaced(client, &namespace);
    let names = names(&namespace, &resolver().await);
    loop {
        let pause = match keep_once(&secrets, &names, &name, now()).await {
            Ok(()) => PAUSE,
            Err(error) => {
                tracing::warn!(%error, secret = name, namespace, "no certificate was issued");
                RETRY_PAUSE
            }
        };
        #[expect(clippy::disallowed_methods, reason = "no run waits for a certificate")]
        tokio::time::sleep(pause).await;
    }
}

/// Looks once. Another replica that does the same at the same time makes one of both fail, which then finds the other's.
async fn keep_once(
    secrets: &Api<Secret>,
    names: &[String],
    name: &str,
    now: Timestamp,
) -> Result<(), IssueError> {
    let known = secrets.get_opt(name).await?;
    let data = known.as_ref().map(|secret| secret.data.clone().unwrap_or_default());
    let Some(issued) = issue(data, names, now)? else { return Ok(()) };
    match known {
        Some(known) => {
            secrets.replace(name, &PostParams::default(), &Secret { data: Some(issued), ..known }).await?
        }
        None => {
            let mut secret = Secret { data: Some(issued), ..Secret::default() };
            secret.metadata.name = Some(name.to_owned());
            secret.type_ = Some("kubernetes.io/tls".to_owned());
            secrets.create(&PostParams::default(), &secret).await?
        }
    };
    tracing::info!(secret = name, ?names, "issued a certificate for the services");
    Ok(())
}

/// Decides what the Secret should hold; `None` when that is what it does.
fn issue(known: Option<Data>, names: &[String], now: Timestamp) -> Result<Option<Data>, IssueError> {
    let known = known.unwrap_or_default();
    if !known.is_empty() && !known.contains_key(AUTHORITY_PRIVATE_KEY) {
        return Err(IssueError::Foreign);
    }
    let lasts = |key, time| known.get(key).and_then(ends).is_some_and(|end| end > now + time);
    let is_ours = known.get(CERTIFICATE_KEY).is_some_and(|certificate| has_names(certificate, names));
    if is_ours && lasts(CERTIFICATE_KEY, RENEWED_BEFORE) && lasts(AUTHORITY_KEY, RENEWED_BEFORE) {
        return Ok(None);
    }
    let former = known.get(AUTHORITY_PRIVATE_KEY).filter(|_| lasts(AUTHORITY_KEY, CERTIFICATE));
    let former = former.and_then(|key| KeyPair::from_pem(str::from_utf8(&key.0).ok()?).ok());
    let authority = authority(now)?;
    let (authority_key, authority_pem) = match (former, known.get(AUTHORITY_KEY)) {
        (Some(key), Some(pem)) => (key, pem.0.clone()),
        _ => {
            let key = KeyPair::generate()?;
            let pem = authority.self_signed(&key)?.pem().into_bytes();
            (key, pem)
        }
    };
    let key = KeyPair::generate()?;
    let authority_key_pem = authority_key.serialize_pem();
    let certificate = server(names, now)?.signed_by(&key, &Issuer::new(authority, authority_key))?;
    let data = [
        (CERTIFICATE_KEY, certificate.pem().into_bytes()),
        (PRIVATE_KEY, key.serialize_pem().into_bytes()),
        (AUTHORITY_KEY, authority_pem),
        (AUTHORITY_PRIVATE_KEY, authority_key_pem.into_bytes()),
    ];
    Ok(Some(data.into_iter().map(|(key, value)| (key.to_owned(), ByteString(value))).collect()))
}

fn authority(now: Timestamp) -> Result<CertificateParams, rcgen::Error> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    authority.distinguished_name.push(DnType::CommonName, "weir");
    valid(&mut authority, now, AUTHORITY);
    Ok(authority)
}

/// Reads the settings of this Pod's resolver; outside of a Pod they name no cluster.
async fn resolver() -> String {
    let mut text = String::new();
    if let Ok(file) = tokio::fs::File::open(RESOLVER).await {
        let read = file.take(MAX_RESOLVER_LEN).read_to_string(&mut text).await;
        if let Err(error) = read {
            tracing::warn!(%error, "{RESOLVER} is not read: the domain of the cluster is taken for {DOMAIN}");
        }
    }
    text
}

/// Returns the names of every service of the namespace, and of those that are reached by `kubectl port-forward`.
///
/// A cluster's domain need not be `cluster.local`. Pods search `<namespace>.svc.<domain>` first.
fn names(namespace: &str, resolver: &str) -> Vec<String> {
    let services = format!("{namespace}.svc.");
    let lines = resolver.lines().map(str::split_whitespace);
    let mut searched = lines.filter_map(|mut line| (line.next() == Some("search")).then_some(line)).flatten();
    let domain = searched.find_map(|searched| searched.strip_prefix(&services));
    let domain = domain.map_or(DOMAIN, |domain| domain.trim_end_matches('.'));
    vec![format!("*.{services}{domain}"), format!("*.{namespace}.svc"), "localhost".to_owned()]
}

fn server(names: &[String], now: Timestamp) -> Result<CertificateParams, rcgen::Error> {
    let mut server = CertificateParams::new(names)?;
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server.distinguished_name.push(DnType::CommonName, "weir services");
    valid(&mut server, now, CERTIFICATE);
    Ok(server)
}

/// From yesterday, for clocks that differ, until the day on which the time is over.
fn valid(params: &mut CertificateParams, now: Timestamp, time: SignedDuration) {
    let day = |at: Timestamp| {
        let date = at.to_zoned(TimeZone::UTC).date();
        date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
    };
    params.not_before = day(now - SignedDuration::from_hours(24));
    params.not_after = day(now + time);
}

/// Returns true when a certificate is for all names.
fn has_names(pem: &ByteString, names: &[String]) -> bool {
    let has_all = || {
        let (_, pem) = x509_parser::pem::parse_x509_pem(&pem.0).ok()?;
        let certificate = pem.parse_x509().ok()?;
        let alternatives = &certificate.subject_alternative_name().ok()??.value.general_names;
        let is_there = |name: &String| alternatives.contains(&GeneralName::DNSName(name));
        Some(names.iter().all(is_there))
    };
    has_all().unwrap_or_default()
}

/// Returns the end of a certificate's validity.
fn ends(pem: &ByteString) -> Option<Timestamp> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(&pem.0).ok()?;
    Timestamp::from_second(pem.parse_x509().ok()?.validity().not_after.timestamp()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(day: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap() + SignedDuration::from_hours(24 * day)
    }

    fn flux_system() -> Vec<String> {
        names("flux-system", "")
    }

    #[rstest::rstest]
    #[case("", "cluster.local")]
    #[case(
        "nameserver 10.96.0.10\nsearch flux-system.svc.corp.local svc.corp.local corp.local\n",
        "corp.local"
    )]
    #[case("search flux-system.svc.corp.local.\n", "corp.local")]
    #[case("# search flux-system.svc.a\nsearch example.org other.svc.b\n", "cluster.local")]
    fn names_have_the_domain_of_the_cluster(#[case] resolver: &str, #[case] domain: &str) {
        let expected = [&format!("*.flux-system.svc.{domain}"), "*.flux-system.svc", "localhost"];
        assert_eq!(names("flux-system", resolver), expected);
    }

    #[test]
    fn a_certificate_for_other_names_is_made_anew() {
        let first = issue(None, &flux_system(), day(0)).unwrap().unwrap();
        let moved = names("flux-system", "search flux-system.svc.corp.local");
        let second = issue(Some(first.clone()), &moved, day(1)).unwrap().unwrap();
        assert_ne!(first[CERTIFICATE_KEY], second[CERTIFICATE_KEY]);
        assert_eq!(first[AUTHORITY_KEY], second[AUTHORITY_KEY]);
        assert!(issue(Some(second), &moved, day(1)).unwrap().is_none());
    }

    #[test]
    fn certificates_are_renewed_in_time_and_authorities_stay() {
        let first = issue(None, &flux_system(), day(0)).unwrap().unwrap();
        assert!(issue(Some(first.clone()), &flux_system(), day(59)).unwrap().is_none());
        let second = issue(Some(first.clone()), &flux_system(), day(61)).unwrap().unwrap();
        assert_ne!(first[CERTIFICATE_KEY], second[CERTIFICATE_KEY]);
        assert_ne!(first[PRIVATE_KEY], second[PRIVATE_KEY]);
        assert_eq!(first[AUTHORITY_KEY], second[AUTHORITY_KEY]);
        // A certificate never outlives its authority.
        let last = issue(Some(second.clone()), &flux_system(), day(10 * 365 - 80)).unwrap().unwrap();
        assert_ne!(second[AUTHORITY_KEY], last[AUTHORITY_KEY]);
    }

    #[test]
    fn a_secret_of_somebody_else_is_left_alone() {
        let mut theirs = issue(None, &flux_system(), day(0)).unwrap().unwrap();
        theirs.remove(AUTHORITY_PRIVATE_KEY);
        let error = issue(Some(theirs), &flux_system(), day(1000)).unwrap_err();
        assert!(matches!(error, IssueError::Foreign), "{error}");
    }

    #[test]
    fn what_is_broken_is_made_anew() {
        let mut broken = issue(None, &flux_system(), day(0)).unwrap().unwrap();
        broken.insert(AUTHORITY_KEY.to_owned(), ByteString(b"?".to_vec()));
        let repaired = issue(Some(broken), &flux_system(), day(1)).unwrap().unwrap();
        assert!(issue(Some(repaired), &flux_system(), day(1)).unwrap().is_none());
    }
}
