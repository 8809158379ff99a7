use rstest::rstest;
use secrecy::ExposeSecret;

use super::*;

fn ring(configs: &[&str]) -> Keyring {
    let mut ring = Keyring::default();
    for config in configs {
        ring.add(DockerConfig::parse(config.as_bytes()).unwrap());
    }
    ring
}

fn passwords(found: &[RegistryCredentials]) -> Vec<String> {
    let password = |credentials: &'_ RegistryCredentials| match credentials {
        RegistryCredentials::Basic { password, .. } => password.expose_secret().to_owned(),
        _ => "-".to_owned(),
    };
    found.iter().map(password).collect()
}

#[rstest]
#[case::exact("ghcr.io", "ghcr.io", "a/b", true)]
#[case::other_host("ghcr.io", "quay.io", "a/b", false)]
#[case::scheme("https://ghcr.io", "ghcr.io", "a/b", true)]
#[case::scheme_and_version("https://ghcr.io/v1/", "ghcr.io", "a/b", true)]
#[case::port("r.example.com:5000", "r.example.com:5000", "a", true)]
#[case::other_port("r.example.com:5000", "r.example.com", "a", false)]
#[case::default_port("r.example.com:443", "r.example.com", "a", false)]
#[case::path("ghcr.io/org", "ghcr.io", "org/app", true)]
#[case::part_of_a_component("ghcr.io/org", "ghcr.io", "organisation/app", true)]
#[case::slash_at_the_end("ghcr.io/org/", "ghcr.io", "organisation/app", false)]
#[case::version_and_path("https://ghcr.io/v2/org", "ghcr.io", "org/app", true)]
#[case::whole_path("ghcr.io/org/app", "ghcr.io", "org/app", true)]
#[case::star("*.example.com", "r.example.com", "a", true)]
#[case::star_in_a_label("*-docker.pkg.dev", "europe-docker.pkg.dev", "a", true)]
#[case::star_is_one_label("*.example.com", "a.r.example.com", "a", false)]
#[case::docker_hub("https://index.docker.io/v1/", "docker.io", "library/alpine", true)]
#[case::docker_hub_short("docker.io", "index.docker.io", "library/alpine", true)]
#[case::pattern_for_docker_hub("*.docker.io", "index.docker.io", "library/alpine", true)]
#[case::pattern_for_another_name_of_docker_hub("*.io", "index.docker.io", "library/alpine", false)]
fn keys(#[case] key: &str, #[case] registry: &str, #[case] repository: &str, #[case] found: bool) {
    let config = format!(r#"{{"auths":{{"{key}":{{"username":"u","password":"p"}}}}}}"#);
    assert_eq!(ring(&[&config]).lookup(registry, repository).len(), usize::from(found));
}

#[test]
fn longest_path_first_then_the_order_of_secrets() {
    let first = r#"{"auths":{"r.io":{"username":"u","password":"host1"}}}"#;
    let second = r#"{"auths":{"r.io":{"username":"u","password":"host2"},"r.io/a":{"username":"u","password":"path"}}}"#;
    let found = ring(&[first, second]).lookup("r.io", "a/b");
    assert_eq!(passwords(&found), ["path", "host1", "host2"]);
}

/// The library that Flux uses sorts the keys as texts, from the last to the first.
#[test]
fn the_last_key_first() {
    let config = r#"{"auths":{"*.io":{"username":"u","password":"star"},"r.io":{"username":"u","password":"host"},
        "r.io/a/long/path":{"username":"u","password":"long"},"r.io/b":{"username":"u","password":"b"},
        "r.io/":{"username":"u","password":"slash"}}}"#;
    let ring = ring(&[config]);
    assert_eq!(passwords(&ring.lookup("r.io", "a/long/path")), ["long", "host", "slash", "star"]);
    assert_eq!(passwords(&ring.lookup("r.io", "b")), ["b", "host", "slash", "star"]);
    assert_eq!(passwords(&ring.lookup("q.io", "b")), ["star"]);
}

#[test]
fn many_stars_cost_little() {
    let pattern = "*a".repeat(40) + "*b";
    let config = format!(r#"{{"auths":{{"{pattern}.io":{{"username":"u","password":"p"}}}}}}"#);
    let ring = ring(&[&config]);
    assert!(ring.lookup(&format!("{}.io", "a".repeat(60)), "x").is_empty());
    assert_eq!(ring.lookup(&format!("{}b.io", "a".repeat(60)), "x").len(), 1);
}

#[rstest]
#[case::pair(r#"{"auths":{"r.io":{"username":"u","password":"p"}}}"#, "p")]
#[case::auth(r#"{"auths":{"r.io":{"auth":"dTpwOnE="}}}"#, "p:q")]
#[case::old_format(r#"{"r.io":{"auth":"dTpw","email":"e"}}"#, "p")]
#[case::identity_token(r#"{"auths":{"r.io":{"auth":"dTpw","identitytoken":"t"}}}"#, "-")]
fn forms(#[case] config: &str, #[case] password: &str) {
    assert_eq!(passwords(&ring(&[config]).lookup("r.io", "a")), [password]);
}

/// Templates leave nulls, and Docker's client has settings of its own.
#[rstest]
#[case(r#"{"auths":null}"#)]
#[case(r#"{"auths":{"r.io":null}}"#)]
#[case(r#"{"auths":{"r.io":{"username":null,"password":null,"auth":null}}}"#)]
#[case(r#"{"credsStore":"desktop","HttpHeaders":{"User-Agent":"x"}}"#)]
fn configurations_without_credentials(#[case] config: &str) {
    let found = ring(&[config]).lookup("r.io", "a");
    assert!(passwords(&found).iter().all(|password| password == "-"), "{config}");
}

#[rstest]
#[case::no_json("nonsense")]
#[case::wrong_form(r#"{"auths":[]}"#)]
#[case::bad_auth(r#"{"auths":{"r.io":{"auth":"%%%"}}}"#)]
#[case::auth_without_colon(r#"{"auths":{"r.io":{"auth":"dXNlcg=="}}}"#)]
fn refused(#[case] config: &str) {
    assert!(DockerConfig::parse(config.as_bytes()).is_err());
}

#[test]
fn nothing_secret_is_shown() {
    let ring = ring(&[r#"{"auths":{"r.io":{"username":"u","password":"hunter2"}}}"#]);
    assert!(!format!("{ring:?}").contains("hunter2"));
    let error = DockerConfig::parse(br#"{"auths":{"r.io":{"auth":"hunter2"}}}"#).unwrap_err();
    assert!(!error.to_string().contains("hunter2"));
}
