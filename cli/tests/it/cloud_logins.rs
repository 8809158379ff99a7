//! Logins of people and CI jobs to registries of clouds: by the files and the programs that they have (CLI-ART04).

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use axum::http::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use weir_testkit::{Cloud, Folder};

use crate::weir::Weir;

const GOOGLES: &str = "europe-west1-docker.pkg.dev";
const AZURES: &str = "weir.azurecr.io";
const AMAZONS: &str = "123456789012.dkr.ecr.eu-west-1.amazonaws.com";
const JOB: &str = "token.actions.example.com";
const HOSTS: [&str; 8] = [
    GOOGLES,
    AZURES,
    AMAZONS,
    JOB,
    "oauth2.googleapis.com",
    "sts.googleapis.com",
    "iamcredentials.googleapis.com",
    "api.ecr.eu-west-1.amazonaws.com",
];
const PORTAL: &str = "portal.sso.eu-west-1.amazonaws.com";
const URL: &str = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/ci@p.iam.gserviceaccount.com:generateAccessToken";

fn answers(request: &str) -> (StatusCode, Value) {
    let later = "2099-01-01T00:00:00Z";
    let keys = json!({"accessKeyId": "ASIASSO", "secretAccessKey": "s", "sessionToken": "t", "expiration": 4_070_908_800_000_u64});
    let answer = match request {
        _ if request.contains(JOB) => json!({"value": "token-of-the-job"}),
        _ if request.contains(" iamcredentials.") => {
            json!({"accessToken": "impersonated", "expireTime": later})
        }
        _ if request.contains("/oauth2/exchange") => json!({"refresh_token": "refresh"}),
        _ if request.contains(" api.ecr.") => {
            json!({"authorizationData": [{"authorizationToken": "QVdTOmh1bnRlcjI=", "expiresAt": 4_070_908_800_u64}]})
        }
        _ if request.contains(PORTAL) => json!({"roleCredentials": keys}),
        _ if request.contains("googleapis.com") => json!({"access_token": "direct", "expires_in": 3600}),
        _ => json!({"name": "app", "tags": []}),
    };
    (StatusCode::OK, answer)
}

/// A person with a home directory and a folder of programs.
struct Person {
    cloud: Cloud,
    home: Folder,
    weir: Weir,
}

impl Person {
    async fn new() -> Self {
        let hosts = [HOSTS.as_slice(), &[PORTAL]].concat();
        let cloud = Cloud::start(&hosts, answers).await.unwrap();
        let home = Folder::new("person").unwrap();
        let authorities = home.write("authorities.pem", cloud.ca_pem()).unwrap();
        let weir = Weir::default()
            .with_env("HOME", home.path().to_str().unwrap())
            .with_env("PATH", &format!("{}:/usr/bin:/bin", home.path().display()))
            .with_env("SSL_CERT_FILE", authorities.to_str().unwrap())
            .with_env("HTTPS_PROXY", &format!("http://{}", cloud.proxy()));
        Self { cloud, home, weir }
    }

    fn has(&self, name: &str, content: &str) -> String {
        let path = self.home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    fn has_program(&self, name: &str, script: &str) -> String {
        let path = self.has(name, &format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(Path::new(&path), PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    fn with_env(&mut self, name: &'static str, value: &str) {
        self.weir = self.weir.clone().with_env(name, value);
    }

    /// Logs in, and returns what went to the cloud before the registry was asked.
    async fn logs_in(&self, provider: &str, registry: &str) -> Vec<String> {
        let command = format!("list artifacts oci://{registry}/p/app --provider {provider}");
        let shown = self.weir.transcript(&[&command]).await;
        let requests = self.cloud.requests();
        assert!(!requests.is_empty(), "{shown}");
        requests
    }
}

fn users() -> Value {
    json!({"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "of-a-person"})
}

fn external() -> Value {
    json!({
        "type": "external_account",
        "audience": "//iam.googleapis.com/pool",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "service_account_impersonation_url": URL,
        "credential_source": {
            "url": format!("https://{JOB}/idtoken?audience=x"),
            "headers": {"Authorization": "Bearer of-the-runner"},
            "format": {"type": "json", "subject_token_field_name": "value"},
        },
    })
}

#[tokio::test]
async fn azure_by_its_command_line() {
    let person = Person::new().await;
    let token = r#"{"accessToken": "from-az", "expires_on": 4070908800, "tokenType": "Bearer"}"#;
    person.has_program("az", &format!("echo \"$@\" > \"$HOME/arguments\"\necho '{token}'"));
    let requests = person.logs_in("azure", AZURES).await;
    let exchange = format!("POST {AZURES} /oauth2/exchange");
    assert!(
        requests[0].starts_with(&exchange) && requests[0].contains("access_token=from-az"),
        "{requests:?}"
    );
    let arguments = std::fs::read_to_string(person.home.join("arguments")).unwrap();
    assert!(arguments.contains("account get-access-token"), "{arguments}");
}

#[tokio::test]
async fn azure_by_powershell() {
    let person = Person::new().await;
    person.has_program("az", "echo \"ERROR: Please run 'az login' to setup account.\" >&2\nexit 1");
    let answer = r#"{"token":"from-pwsh","expires":4070908800}"#;
    let keeps = "for word; do script=$word; done; echo \"$script\" | base64 -d > \"$HOME/script\"";
    person.has_program("pwsh", &format!("{keeps}\necho '{answer}'"));
    let requests = person.logs_in("azure", AZURES).await;
    assert!(requests[0].contains("access_token=from-pwsh"), "{requests:?}");
    let script = std::fs::read_to_string(person.home.join("script")).unwrap().replace('\0', "");
    let asks = "Get-AzAccessToken -ResourceUrl 'https://containerregistry.azure.net'";
    assert!(script.contains(asks), "{script}");
}

#[tokio::test]
async fn azure_without_a_login() {
    let person = Person::new().await;
    person.has_program("az", "echo \"ERROR: Please run 'az login' to setup account.\" >&2\nexit 1");
    let command = format!("list artifacts oci://{AZURES}/p/app --provider azure");
    let shown = person.weir.transcript(&[&command]).await;
    assert!(shown.contains("Please run 'az login'"), "{shown}");
}

#[tokio::test]
async fn google_by_the_file_of_gcloud() {
    let mut person = Person::new().await;
    person.has(".config/gcloud/application_default_credentials.json", &users().to_string());
    let requests = person.logs_in("gcp", GOOGLES).await;
    assert!(requests[0].contains("refresh_token=of-a-person"), "{requests:?}");
    let impersonated = json!({
        "type": "impersonated_service_account", "service_account_impersonation_url": URL,
        "delegates": ["a"], "source_credentials": users(),
    });
    let folder = person.home.join("elsewhere").display().to_string();
    person.has("elsewhere/application_default_credentials.json", &impersonated.to_string());
    person.with_env("CLOUDSDK_CONFIG", &folder);
    let requests = person.logs_in("gcp", GOOGLES).await;
    let asked = requests.iter().find(|request| request.contains(":generateAccessToken")).unwrap();
    assert!(asked.contains("Bearer direct ") && asked.contains(r#""delegates":["a"]"#), "{asked}");
}

#[tokio::test]
async fn google_by_the_token_of_a_job() {
    let mut person = Person::new().await;
    let file = person.has("job.json", &external().to_string());
    person.with_env("GOOGLE_APPLICATION_CREDENTIALS", &file);
    let requests = person.logs_in("gcp", GOOGLES).await;
    assert!(
        requests[0].starts_with(&format!("GET {JOB} /idtoken?audience=x Bearer of-the-runner")),
        "{requests:?}"
    );
    assert!(requests[1].contains("subject_token=token-of-the-job"), "{requests:?}");
    assert!(requests[2].contains(":generateAccessToken Bearer direct "), "{requests:?}");
}

/// The program is only run where the person allows it, and its last answer counts until it ends.
#[tokio::test]
async fn google_by_a_program() {
    let mut person = Person::new().await;
    let answer = json!({"version": 1, "success": true, "expiration_time": 4_070_908_800_u64,
        "token_type": "urn:ietf:params:oauth:token-type:id_token", "id_token": "of-a-program"});
    let told = "echo \"$@ $GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE $GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL\"";
    let keeps = "tee \"$GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE\"";
    let script = format!("{told} >> \"$HOME/told\"\necho '{answer}' | {keeps}");
    let program = person.has_program("token", &script);
    let mut file = external();
    file["credential_source"] = json!({"executable": {"command": format!("{program} --of job"), "output_file": person.home.join("kept")}});
    let file = person.has("job.json", &file.to_string());
    person.with_env("GOOGLE_APPLICATION_CREDENTIALS", &file);
    let refused =
        person.weir.transcript(&[&format!("list artifacts oci://{GOOGLES}/p/app --provider gcp")]).await;
    assert!(refused.contains("which GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1 allows to run"), "{refused}");
    person.with_env("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1");
    for _ in 0..2 {
        let requests = person.logs_in("gcp", GOOGLES).await;
        assert!(requests[0].contains("subject_token=of-a-program"), "{requests:?}");
    }
    let told = std::fs::read_to_string(person.home.join("told")).unwrap();
    assert_eq!(told, "--of job //iam.googleapis.com/pool ci@p.iam.gserviceaccount.com\n");
}

#[tokio::test]
async fn google_by_keys_of_amazon() {
    let mut person = Person::new().await;
    let mut file = external();
    file["credential_source"] = json!({"environment_id": "aws1"});
    file["subject_token_type"] = json!("urn:ietf:params:aws:token-type:aws4_request");
    let file = person.has("job.json", &file.to_string());
    let variables = [
        ("GOOGLE_APPLICATION_CREDENTIALS", file.as_str()),
        ("AWS_ACCESS_KEY_ID", "AKIAJOB"),
        ("AWS_SECRET_ACCESS_KEY", "hush"),
        ("AWS_REGION", "eu-west-1"),
    ];
    for (name, value) in variables {
        person.with_env(name, value);
    }
    let requests = person.logs_in("gcp", GOOGLES).await;
    let exchange = &requests[0];
    assert!(exchange.contains("sts.googleapis.com /v1/token"), "{exchange}");
    for part in ["aws4_request", "sts.eu-west-1.amazonaws.com", "AKIAJOB", "x-goog-cloud-target-resource"] {
        assert!(exchange.contains(part), "{part}: {exchange}");
    }
    assert!(!exchange.contains("hush"), "{exchange}");
}

#[tokio::test]
async fn amazon_by_its_login() {
    let person = Person::new().await;
    let session = "arn:aws:iam::123456789012:user/me";
    let config = format!("[default]\nlogin_session = {session}\nregion = eu-west-1\n");
    person.has(".aws/config", &config);
    let name = hex::encode(Sha256::digest(session));
    let kept = json!({
        "accessToken": {
            "accessKeyId": "ASIALOGIN", "secretAccessKey": "s", "sessionToken": "t",
            "accountId": "123456789012", "expiresAt": "2099-01-01T00:00:00Z",
        },
        "tokenType": "aws_sigv4", "refreshToken": "r", "idToken": "i",
        "clientId": "arn:aws:signin:::devtools/same-device", "dpopKey": "none is needed yet",
    });
    person.has(&format!(".aws/login/cache/{name}.json"), &kept.to_string());
    let requests = person.logs_in("aws", AMAZONS).await;
    assert!(requests[0].contains("Credential=ASIALOGIN/"), "{requests:?}");
}

#[tokio::test]
async fn amazon_by_a_program_and_by_single_sign_on() {
    let person = Person::new().await;
    let keys = r#"{"Version": 1, "AccessKeyId": "ASIAPROGRAM", "SecretAccessKey": "s", "SessionToken": "t"}"#;
    let program = person.has_program("keys", &format!("echo '{keys}'"));
    person.has(".aws/config", &format!("[default]\ncredential_process = {program}\n"));
    let requests = person.logs_in("aws", AMAZONS).await;
    assert!(requests[0].contains("Credential=ASIAPROGRAM/"), "{requests:?}");
    let config = "[default]\nsso_session = s\nsso_account_id = 1\nsso_role_name = r\nregion = eu-west-1\n\
                  [sso-session s]\nsso_region = eu-west-1\nsso_start_url = https://s.awsapps.com/start\n";
    person.has(".aws/config", config);
    let token = json!({
        "accessToken": "of-sso", "expiresAt": "2099-01-01T00:00:00Z", "region": "eu-west-1",
        "startUrl": "https://s.awsapps.com/start",
    });
    // The name is the SHA-1 of the session's.
    let cached = ".aws/sso/cache/a0f1490a20d0211c997b44bc357e1972deab8ae3.json";
    person.has(cached, &token.to_string());
    let requests = person.logs_in("aws", AMAZONS).await;
    assert!(requests.iter().any(|request| request.contains("Credential=ASIASSO/")), "{requests:?}");
}
