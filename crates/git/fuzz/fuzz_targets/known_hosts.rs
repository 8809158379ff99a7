//! `known_hosts`: any text is parsed or refused, any host is judged by it without a panic, and what must never be believed is
//! not: a key that is revoked, a certificate without an authority of its host, one that names another host.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use ssh_key::{Certificate, PublicKey};
use weir_git::{HostVerdict, KnownHosts};

const AUTHORITY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmYkzhF2nM0RAUdvY0cY5bF3EPzxQ9qmrM4YIS2y0oJ";
const HOST: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK1FA/+RGWrRc4Wt7MJEHjgLOhMldUBlSm+KwfCJWWrZ";
/// Certificate without an end date that the authority gave to the host `example.com` and its key.
const CERTIFICATE: &str = "ssh-ed25519-cert-v01@openssh.com \
    AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29tAAAAIMXIMIm587gz2fdxkhjxgdLNtpL5uwGCc+Qud/rsfiPmAAAAIK1FA/+RGWrR\
    c4Wt7MJEHjgLOhMldUBlSm+KwfCJWWrZAAAAAAAAAAAAAAACAAAABGZ1enoAAAAPAAAAC2V4YW1wbGUuY29tAAAAAAAAAAD//////////wAAAAAA\
    AAAAAAAAAAAAADMAAAALc3NoLWVkMjU1MTkAAAAgmZiTOEXaczREBR29jRxjlsXcQ/PFD2qaszhghLbLSgkAAABTAAAAC3NzaC1lZDI1NTE5AAAA\
    QCrbr8CFqwRyKNc7rQ/2dEsikhzo1BhhQV+RMU9Ag4DzSx8V2QTCueQGdoym+jo940JuF7o1hyt351NEaUudMA8=";
const NAME: &str = "example.com";

static KEY: LazyLock<PublicKey> = LazyLock::new(|| PublicKey::from_openssh(HOST).unwrap());
static CERTIFIED: LazyLock<Certificate> = LazyLock::new(|| Certificate::from_openssh(CERTIFICATE).unwrap());

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(5, |byte| *byte == 0x1f);
    let [text, names, host, port, key] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    let [text, names, host, port] =
        [text, names, host, port].map(|part| str::from_utf8(part).unwrap_or_default());
    let port = port.parse().unwrap_or(22);
    if let Ok(hosts) = KnownHosts::parse(text) {
        judge(&hosts, host, port, &KEY, &CERTIFIED);
        if let Ok(key) = PublicKey::from_bytes(key) {
            judge(&hosts, host, port, &key, &CERTIFIED);
        }
        if let Ok(certificate) = Certificate::from_bytes(key) {
            judge(&hosts, host, port, &KEY, &certificate);
        }
        let Ok(revoked) = KnownHosts::parse(&format!("{text}\n@revoked * {HOST}\n")) else { return };
        assert_eq!(revoked.check(host, port, &KEY), HostVerdict::Revoked);
        assert_eq!(revoked.check_certificate(host, port, &CERTIFIED), HostVerdict::Revoked);
    }
    // A line that is whole but for its names, which are what a file may hide most in.
    for (marker, key) in [("", HOST), ("@cert-authority ", AUTHORITY)] {
        if let Ok(hosts) = KnownHosts::parse(&format!("{marker}{names} {key}")) {
            judge(&hosts, host, port, &KEY, &CERTIFIED);
        }
    }
    let all = KnownHosts::parse(&format!("@cert-authority [*]:* {AUTHORITY}")).unwrap();
    assert_eq!(all.check_certificate(NAME, port, &CERTIFIED), HostVerdict::Known);
    judge(&all, host, port, &KEY, &CERTIFIED);
});

fn judge(hosts: &KnownHosts, host: &str, port: u16, key: &PublicKey, certificate: &Certificate) {
    let _asked = hosts.algorithms(host, port);
    let _of_key = hosts.check(host, port, key);
    if hosts.check_certificate(host, port, certificate) == HostVerdict::Known {
        assert!(hosts.has_authority(host, port), "believed without an authority");
        let names_host = |name: &String| name.eq_ignore_ascii_case(host);
        assert!(certificate.valid_principals().iter().any(names_host), "believed for {host}");
    }
}
