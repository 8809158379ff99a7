#![allow(clippy::unwrap_used)]

use rstest::rstest;
use secrecy::ExposeSecret;

use super::*;

/// SRC-PRX-1: `ALL_PROXY` counts for SSH, but for the hosts of `NO_PROXY`.
#[rstest]
#[case("socks5://proxy:1080", "", Some("socks5://proxy:1080"))]
#[case("http://proxy:3128", "other.example.com", Some("http://proxy:3128"))]
#[case("proxy:3128", "", Some("http://proxy:3128"))]
#[case("socks5://proxy:1080", "example.com", None)]
#[case("socks5://proxy:1080", ".example.com, 10.0.0.0/8", None)]
#[case("socks5://proxy:1080", "*", None)]
#[case("", "", None)]
fn the_environment_decides(#[case] all: &str, #[case] exceptions: &str, #[case] expected: Option<&str>) {
    let chosen = choose(all, exceptions, "git.example.com");
    assert_eq!(
        chosen.map(|proxy| proxy.address.as_str().trim_end_matches('/').to_owned()),
        expected.map(str::to_owned)
    );
}

#[test]
fn the_environment_may_name_user_and_password() {
    let proxy = choose("socks5://me:p%40ss@proxy", "", "git.example.com").unwrap();
    let (user, password) = proxy.credentials.unwrap();
    assert_eq!((user.as_str(), password.expose_secret()), ("me", "p@ss"));
    assert_eq!(proxy.address.as_str(), "socks5://proxy");
}
