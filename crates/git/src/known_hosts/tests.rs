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
#[case::revoked_at_another_host(format!("@revoked other.com {KEY}\nexample.com {KEY}"), HostVerdict::Revoked)]
#[case::revoked_by_a_name_that_is_none(format!("example.com {KEY}\n@revoked [x] {KEY}"), HostVerdict::Revoked)]
#[case::another_key_is_revoked(format!("example.com {KEY}\n@revoked example.com {OTHER}"), HostVerdict::Known)]
#[case::with_its_port(format!("[example.com]:22 {KEY}"), HostVerdict::Known)]
#[case::with_its_port_and_no_brackets(format!("example.com:22 {KEY}"), HostVerdict::Known)]
#[case::negated_with_its_port(format!("*.com,![example.com]:22 {KEY}"), HostVerdict::Unknown)]
#[case::negated_at_another_port(format!("*.com,![example.com]:2222 {KEY}"), HostVerdict::Known)]
#[case::only_negated(format!("!other.com {KEY}"), HostVerdict::Unknown)]
#[case::empty_names(format!(",example.com, {KEY}"), HostVerdict::Known)]
#[case::authority_is_no_host_key(format!("@cert-authority example.com {KEY}"), HostVerdict::Unknown)]
#[case::nothing(String::new(), HostVerdict::Unknown)]
fn on_the_default_port(#[case] text: String, #[case] expected: HostVerdict) {
    assert_eq!(verdict(&text, "example.com", 22), expected);
}

/// A name is of one port, 22 if it has none, as in Flux.
#[rstest]
#[case("[example.com]:2222", HostVerdict::Known)]
#[case("example.com:2222", HostVerdict::Known)]
#[case("Example.com:2222", HostVerdict::Known)]
#[case("[*.com]:2222", HostVerdict::Known)]
#[case("*.com:2222", HostVerdict::Known)]
#[case("[example.com]:*", HostVerdict::Known)]
#[case("[*]:2222,!example.com:2222", HostVerdict::Unknown)]
#[case("[*]:2222,!example.com", HostVerdict::Known)]
#[case("example.com", HostVerdict::Unknown)]
#[case("*", HostVerdict::Unknown)]
#[case("[example.com]:22", HostVerdict::Unknown)]
#[case("example.com:", HostVerdict::Unknown)]
#[case("example.com:02222", HostVerdict::Unknown)]
fn on_another_port(#[case] names: &str, #[case] expected: HostVerdict) {
    assert_eq!(verdict(&format!("{names} {KEY}"), "example.com", 2222), expected);
}

/// Colons are of the address unless brackets are around it.
#[rstest]
#[case("::1", 22, HostVerdict::Known)]
#[case("[::1]:22", 22, HostVerdict::Known)]
#[case("[::1]:2222", 2222, HostVerdict::Known)]
#[case("::1", 2222, HostVerdict::Unknown)]
#[case("::1:2222", 2222, HostVerdict::Unknown)]
fn addresses(#[case] name: &str, #[case] port: u16, #[case] expected: HostVerdict) {
    assert_eq!(verdict(&format!("{name} {KEY}"), "::1", port), expected);
}

/// `ssh-keygen -H` hashes a name as it is written for its port.
#[rstest]
#[case("example.com", "example.com", 22, HostVerdict::Known)]
#[case("example.com", "Example.com", 22, HostVerdict::Known)]
#[case("example.com", "example.org", 22, HostVerdict::Unknown)]
#[case("example.com", "example.com", 2222, HostVerdict::Unknown)]
#[case("[example.com]:2222", "example.com", 2222, HostVerdict::Known)]
#[case("::1", "::1", 22, HostVerdict::Known)]
fn hashed_names(#[case] hashed: &str, #[case] host: &str, #[case] port: u16, #[case] expected: HostVerdict) {
    let mut mac = Hmac::<Sha1>::new_from_slice(b"salt").unwrap();
    mac.update(hashed.as_bytes());
    let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let line = format!("|1|{}|{} {KEY}", encode(b"salt"), encode(&mac.finalize().into_bytes()));
    assert_eq!(verdict(&line, host, port), expected);
}

#[rstest]
#[case("junk", "knownhosts: missing host pattern")]
#[case("example.com ssh-ed25519", "knownhosts: missing host pattern")]
#[case("example.com ssh-ed25519 AAAA", "knownhosts: line 1: invalid key")]
#[case("@trust example.com ssh-ed25519 AAAA", "knownhosts: line 1: unknown marker")]
fn malformed(#[case] text: &str, #[case] message: &str) {
    assert_eq!(KnownHosts::parse(text).unwrap_err().to_string(), message);
}

#[rstest]
#[case("[example.com]")]
#[case("[example.com")]
#[case("[example.com]2222")]
#[case("[[example.com]]:22")]
#[case("[example.com]:22:22")]
#[case("example.com,!")]
#[case("|2|c2FsdA==|c2FsdA==")]
#[case("|1|c2FsdA==")]
fn malformed_names(#[case] names: &str) {
    let error = KnownHosts::parse(&format!("# hosts\n{names} {KEY}")).unwrap_err();
    assert_eq!(error.to_string(), "knownhosts: line 2: invalid host pattern");
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
