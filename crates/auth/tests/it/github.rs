//! GitHub Apps: by id, by owner, on a server of one's own.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::http::StatusCode;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use weir_auth::{Credentials, GitLogin};

use crate::world::Cloud;

static KEY: LazyLock<String> = LazyLock::new(|| {
    let size = rcgen::RsaKeySize::_2048;
    rcgen::KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size).unwrap().serialize_pem()
});

fn secret(pairs: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    let mut data = BTreeMap::from([
        ("githubAppID".to_owned(), b"123".to_vec()),
        ("githubAppPrivateKey".to_owned(), KEY.as_bytes().to_vec()),
    ]);
    data.extend(pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())));
    data
}

fn github(request: &str) -> (StatusCode, Value) {
    let not_found = (StatusCode::NOT_FOUND, json!({"message": "Not Found"}));
    match request.split(' ').nth(2).unwrap() {
        "/app/installations/42/access_tokens" | "/api/v3/app/installations/42/access_tokens" => {
            (StatusCode::CREATED, json!({"token": "ghs_hunter2", "expires_at": "2099-01-01T00:00:00Z"}))
        }
        "/users/octocat/installation" => (StatusCode::OK, json!({"id": 42})),
        _ => not_found,
    }
}

async fn token(cloud: &Cloud, pairs: &[(&str, &str)]) -> Result<String, String> {
    let data = secret(pairs);
    let login = GitLogin::of(Some("github"), "ns/s", Some(&data)).map_err(|error| error.to_string())?;
    let url = "https://github.com/org/app".parse().unwrap();
    let found = cloud.logins(false, "").await.git(&login, &cloud.caller(None), &url).await;
    match &found.map_err(|error| error.to_string())?.unwrap().credentials {
        Credentials::Basic { username, password } => {
            assert_eq!(username, "x-access-token");
            Ok(password.expose_secret().to_owned())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn installations() {
    let cloud = Cloud::start(&["api.github.com", "ghes.example.com"], github).await;
    let by_id = token(&cloud, &[("githubAppInstallationID", "42")]).await;
    assert_eq!(by_id.unwrap(), "ghs_hunter2");
    let by_owner = token(&cloud, &[("githubAppInstallationOwner", "octocat")]).await;
    assert_eq!(by_owner.unwrap(), "ghs_hunter2");
    let base = ("githubAppBaseURL", "https://ghes.example.com/api/v3");
    let own = token(&cloud, &[("githubAppInstallationID", "42"), base]).await;
    assert_eq!(own.unwrap(), "ghs_hunter2");
    let paths: Vec<String> =
        cloud.requests().iter().map(|line| line.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        paths,
        [
            "POST api.github.com /app/installations/42/access_tokens",
            "GET api.github.com /orgs/octocat/installation",
            "GET api.github.com /users/octocat/installation",
            "POST api.github.com /app/installations/42/access_tokens",
            "POST ghes.example.com /api/v3/app/installations/42/access_tokens",
        ]
    );
    let claims = crate::world::claims(&cloud.requests()[0], "Bearer ");
    assert_eq!(claims["iss"], "123");
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 120);
}

#[tokio::test]
async fn refusals() {
    let cloud = Cloud::start(&["api.github.com"], github).await;
    let unknown = token(&cloud, &[("githubAppInstallationID", "7")]).await.unwrap_err();
    let expected = "POST https://api.github.com/app/installations/7/access_tokens: 404 Not Found []";
    assert_eq!(unknown, expected);
    let nobody = token(&cloud, &[("githubAppInstallationOwner", "nobody")]).await.unwrap_err();
    let expected = "failed to find organization installation: GET https://api.github.com/orgs/nobody/installation: 404 \
                    Not Found []\nfailed to find user installation: GET \
                    https://api.github.com/users/nobody/installation: 404 Not Found []";
    assert_eq!(nobody, expected);
    let key = ("githubAppPrivateKey", "hunter2");
    let unusable = token(&cloud, &[("githubAppInstallationID", "42"), key]).await.unwrap_err();
    let expected = "could not parse private key: invalid key: Key must be a PEM encoded PKCS1 or PKCS8 key";
    assert_eq!(unusable, expected);
}
