//! Logins against stand-ins that check what they are sent.

use axum::Router;
use axum::extract::{Form, Path};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use rcgen::{CertificateParams, KeyPair};
use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};
use tokio::task::JoinSet;
use weir_bucket::Buckets;
use weir_bucket::login::{Application, Proof, ServiceAccount, ldap};
use weir_http::Profile;

/// A key with its certificate.
static IDENTITY: LazyLock<(KeyPair, String)> = LazyLock::new(|| {
    let key = KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, rcgen::RsaKeySize::_2048).unwrap();
    let certificate = CertificateParams::new(vec!["weir".to_owned()]).unwrap().self_signed(&key).unwrap();
    (key, certificate.pem())
});

async fn serve() -> (String, JoinSet<()>) {
    let routes = Router::new()
        .route("/sts", post(sts))
        .route("/google", post(google))
        .route("/{tenant}/oauth2/v2.0/token", post(microsoft));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, routes).await.unwrap() });
    (base, tasks)
}

type Fields = Form<HashMap<String, String>>;

async fn sts(Form(form): Fields) -> Response {
    let (action, who) = ("AssumeRoleWithLDAPIdentity", &form["LDAPPassword"]);
    assert_eq!(form["Action"], action);
    if who != "hunter2" || form["Version"] != "2011-06-15" {
        let page = format!(
            "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no {who}</Message></Error></ErrorResponse>"
        );
        return (StatusCode::FORBIDDEN, page).into_response();
    }
    format!(
        "<?xml version=\"1.0\"?><{action}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><{action}Result>\
         <Credentials><AccessKeyId>AKID</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>\
         <Expiration>2126-01-01T00:00:00Z</Expiration><SessionToken>token</SessionToken></Credentials></{action}Result>\
         <ResponseMetadata/></{action}Response>"
    )
    .into_response()
}

fn claims(jwt: &str) -> serde_json::Value {
    let key = jsonwebtoken::DecodingKey::from_rsa_pem(IDENTITY.0.public_key_pem().as_bytes()).unwrap();
    let header = jsonwebtoken::decode_header(jwt).unwrap();
    let mut validation = jsonwebtoken::Validation::new(header.alg);
    validation.validate_aud = false;
    jsonwebtoken::decode(jwt, &key, &validation).unwrap().claims
}

async fn google(Form(form): Fields) -> Response {
    let claims = claims(&form["assertion"]);
    assert_eq!(claims["iss"], "flux@project.iam.gserviceaccount.com");
    assert_eq!(claims["scope"], "https://www.googleapis.com/auth/devstorage.read_only");
    "{\"access_token\":\"t\",\"expires_in\":3600}".into_response()
}

async fn microsoft(Path(tenant): Path<String>, Form(form): Fields) -> Response {
    assert_eq!(form["scope"], "https://storage.azure.com/.default");
    if let Some(assertion) = form.get("client_assertion") {
        let header = jsonwebtoken::decode_header(assertion).unwrap();
        assert!(header.x5t.is_some() && header.x5c.is_some());
        assert_eq!(claims(assertion)["sub"], "client");
    } else if form["client_secret"] != "hunter2" {
        let error = r#"{"error":"invalid_client","error_description":"AADSTS7000215: hunter3"}"#;
        return (StatusCode::UNAUTHORIZED, error).into_response();
    }
    format!("{{\"access_token\":\"{tenant}\",\"expires_in\":60}}").into_response()
}

fn http() -> reqwest::Client {
    Buckets::default().client(&Profile::default()).unwrap()
}

#[tokio::test]
async fn security_token_services() {
    let (base, _tasks) = serve().await;
    let sts = format!("{base}/sts").parse().unwrap();
    let keys = ldap(&http(), &sts, "user", &"hunter2".into()).await.unwrap();
    assert_eq!(keys.credential.id, "AKID");
    assert!(
        keys.credential.session_token.is_some()
            && keys.expires > SystemTime::now() + Duration::from_secs(3600)
    );
    let error = ldap(&http(), &sts, "user", &"hunter3".into()).await.unwrap_err().to_string();
    assert!(!error.contains("hunter3"), "{error}");
}

#[tokio::test]
async fn google_service_accounts() {
    let (base, _tasks) = serve().await;
    let key = serde_json::json!({
        "type": "service_account", "client_email": "flux@project.iam.gserviceaccount.com", "private_key_id": "k",
        "private_key": IDENTITY.0.serialize_pem(), "token_uri": format!("{base}/google"),
    });
    let account = ServiceAccount::parse(key.to_string().as_bytes()).unwrap();
    assert!(!format!("{account:?}").contains("PRIVATE"));
    let token = account.token(&http()).await.unwrap();
    assert!(token.expires > SystemTime::now() + Duration::from_secs(3000));
}

#[tokio::test]
async fn azure_applications() {
    let (key, certificate) = &*IDENTITY;
    let (base, _tasks) = serve().await;
    let application = |proof| Application {
        tenant: "tenant".to_owned(),
        client: "client".to_owned(),
        authority: Some(base.clone()),
        proof,
    };
    let proof =
        Proof::Certificate { pem: format!("{certificate}{}", key.serialize_pem()).into(), send_chain: true };
    assert!(application(proof).token(&http()).await.is_ok());
    assert!(application(Proof::Secret("hunter2".into())).token(&http()).await.is_ok());
    let error = application(Proof::Secret("hunter3".into())).token(&http()).await.unwrap_err();
    assert_eq!(error.to_string(), "invalid_client");
    let keyless = Proof::Certificate { pem: certificate.clone().into(), send_chain: false };
    let error = application(keyless).token(&http()).await.unwrap_err().to_string();
    assert_eq!(error, "'clientCertificate': it holds no private key, or an encrypted one");
}
