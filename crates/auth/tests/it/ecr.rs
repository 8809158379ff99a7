//! The login to ECR.

use aws_config::{BehaviorVersion, Region};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};
use weir_auth::RegistryCredentials;

/// A moto server that ends with the test.
struct Moto {
    process: Child,
    endpoint: String,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts moto on a free port; nothing when it is not installed.
async fn moto() -> Option<Moto> {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new("moto_server");
    command.args(["-H", "127.0.0.1", "-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    let process = command.spawn().ok()?;
    let moto = Moto { process, endpoint: format!("http://127.0.0.1:{port}") };
    let deadline = Instant::now() + Duration::from_secs(60);
    while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        assert!(Instant::now() < deadline, "moto does not listen");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Some(moto)
}

fn config(endpoint: &str) -> aws_config::ConfigLoader {
    let credentials = aws_sdk_ecr::config::Credentials::new("AKID", "secret", None, None, "test");
    aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(credentials)
        .endpoint_url(endpoint)
}

#[tokio::test]
async fn login_against_moto() {
    let Some(moto) = moto().await else {
        eprintln!("moto_server is not installed: nothing was tested");
        return;
    };
    let login = weir_auth::ecr::login_with(&config(&moto.endpoint).load().await).await.unwrap();
    let RegistryCredentials::Basic { username, .. } = &login.credentials else { panic!("basic credentials") };
    assert_eq!(username, "AWS");
    // moto's token ended in 2015: the time is the one that was answered, not one of ours.
    assert!(login.expires < SystemTime::now());
}

#[tokio::test]
async fn nobody_answers() {
    let timeouts =
        aws_config::timeout::TimeoutConfig::builder().operation_timeout(Duration::from_secs(5)).build();
    let config = config("http://127.0.0.1:1").timeout_config(timeouts).load().await;
    let error = weir_auth::ecr::login_with(&config).await.unwrap_err();
    assert!(error.to_string().starts_with("failed to get an ECR authorization token: "), "{error}");
}

#[tokio::test]
async fn other_registries_get_no_login() {
    let error = weir_auth::ecr::login("ghcr.io").await.unwrap_err();
    assert!(error.to_string().starts_with("invalid AWS registry: 'ghcr.io'. must match "), "{error}");
}
