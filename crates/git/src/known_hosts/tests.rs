use rstest::rstest;

use super::*;

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";
const OTHER: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
const RSA: &str = "AAAAB3NzaC1yc2EAAAADAQABAAABAQDAEAoQPFMlfkxBSgg6/m6CdmG5tyPAODeSxDFGItmFWBca64GTbRYGMy+KjrE52IIPAdEq\
     9nSAfOAzCeHCOerSVgVjBiV+yGq3YIwTjDCpW2BBojC4wWgbudpGIiU21nv/mPi5fBqBeRi/TKOX/HhbsVagYdU4K2su41qo/wif\
     oYo0J2XdLHyo/6CKIzWyuobEVWS6ocKasf75GCCbZAnAlrWsdC2K33NfOFlLui38oZ5+wkQVbElDJCnjsD4kyQHXzDy+EW1zIfL6\
     d2G2UcI0acqgFBa58R9OHJj2OZEIRtkwIh2wvl1YMtZQdHvkt86fVnBIovcVg6o4radcbbIZ";

fn verdict(text: &str, host: &str, port: u16) -> HostVerdict {
    KnownHosts::parse(text).unwrap().check(host, port, &PublicKey::from_openssh(KEY).unwrap())
}

/// SRC-GIT-29; `any_matching_line` is DEV 27.
#[rstest]
#[case::plain(format!("example.com {KEY}"), HostVerdict::Known)]
#[case::with_comment(format!("# c\n\nexample.com {KEY} root@example"), HostVerdict::Known)]
#[case::one_of_many(format!("a.com,Example.COM {KEY}"), HostVerdict::Known)]
#[case::any_matching_line(format!("example.com {OTHER}\nexample.com {KEY}"), HostVerdict::Known)]
#[case::wildcard(format!("*.com {KEY}"), HostVerdict::Known)]
#[case::question_mark(format!("exampl?.com {KEY}"), HostVerdict::Known)]
#[case::negated(format!("*.com,!example.com {KEY}"), HostVerdict::Unknown)]
#[case::other_host(format!("example.org {KEY}"), HostVerdict::Unknown)]
#[case::other_port(format!("[example.com]:2222 {KEY}"), HostVerdict::Unknown)]
#[case::other_key(format!("example.com {OTHER}"), HostVerdict::Mismatch)]
#[case::revoked(format!("example.com {KEY}\n@revoked * {KEY}"), HostVerdict::Revoked)]
#[case::authority_is_no_host_key(format!("@cert-authority example.com {KEY}"), HostVerdict::Unknown)]
#[case::nothing(String::new(), HostVerdict::Unknown)]
fn on_the_default_port(#[case] text: String, #[case] expected: HostVerdict) {
    assert_eq!(verdict(&text, "example.com", 22), expected);
}

#[test]
fn other_ports_are_written_in_brackets() {
    assert_eq!(verdict(&format!("[example.com]:2222 {KEY}"), "example.com", 2222), HostVerdict::Known);
    assert_eq!(verdict(&format!("example.com {KEY}"), "example.com", 2222), HostVerdict::Unknown);
}

#[test]
fn hashed_names() {
    // ssh-keygen -H of "example.com"
    let mut mac = Hmac::<Sha1>::new_from_slice(b"salt").unwrap();
    mac.update(b"example.com");
    let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let line = format!("|1|{}|{} {KEY}", encode(b"salt"), encode(&mac.finalize().into_bytes()));
    assert_eq!(verdict(&line, "example.com", 22), HostVerdict::Known);
    assert_eq!(verdict(&line, "example.org", 22), HostVerdict::Unknown);
}

#[rstest]
#[case("junk", "knownhosts: missing host pattern")]
#[case("example.com ssh-ed25519", "knownhosts: missing host pattern")]
#[case("example.com ssh-ed25519 AAAA", "knownhosts: line 1: invalid key")]
#[case("@trust example.com ssh-ed25519 AAAA", "knownhosts: line 1: unknown marker")]
fn malformed(#[case] text: &str, #[case] message: &str) {
    assert_eq!(KnownHosts::parse(text).unwrap_err().to_string(), message);
}

#[test]
fn algorithms_follow_the_lines_of_the_host() {
    let hosts = KnownHosts::parse(&format!("other.com {OTHER}\nexample.com {KEY}")).unwrap();
    assert_eq!(hosts.algorithms("example.com", 22), [Algorithm::Ed25519]);
    assert_eq!(hosts.algorithms("unknown.com", 22), [Algorithm::Ed25519]);
}

/// SRC-GIT-29, SRC-SCK-3: SHA-1 is requested last, and only of hosts of which nothing but an RSA key is known.
#[test]
fn rsa_is_asked_for_with_sha2_first() {
    let rsa = format!("ssh-rsa {RSA}");
    let with = |hash| Algorithm::Rsa { hash };
    let sha2 = [with(Some(HashAlg::Sha512)), with(Some(HashAlg::Sha256))];
    let only = KnownHosts::parse(&format!("example.com {rsa}")).unwrap();
    assert_eq!(only.algorithms("example.com", 22), [&sha2[..], &[with(None)]].concat());
    let both = KnownHosts::parse(&format!("example.com {rsa}\nexample.com {KEY}")).unwrap();
    assert_eq!(both.algorithms("example.com", 22), [&sha2[..], &[Algorithm::Ed25519]].concat());
}
