//! Keys of a directory's user, against a stand-in that checks what it is sent.

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use weir_bucket::Buckets;
use weir_http::Profile;
use weir_testkit::Server;

/// Takes the fields in the order in which Flux sends them.
async fn sts(form: String) -> Response {
    let action = "AssumeRoleWithLDAPIdentity";
    if form != format!("Action={action}&LDAPPassword=hunter2&LDAPUsername=user&Version=2011-06-15") {
        let page = format!(
            "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no {form}</Message></Error></ErrorResponse>"
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

#[tokio::test]
async fn security_token_services() {
    let server = Server::start(Router::new().route("/sts", post(sts)), None).await.unwrap();
    let (buckets, http) = (Buckets::default(), Profile::default());
    let endpoint = format!("http://{}/sts", server.address()).parse().unwrap();
    let keys = buckets.directory_keys(&endpoint, "user", &"hunter2".into(), &http).await.unwrap();
    assert_eq!((keys.id.as_str(), keys.session_token.is_some()), ("AKID", true));
    let error = buckets.directory_keys(&endpoint, "user", &"hunter3".into(), &http).await.unwrap_err();
    assert_eq!(error.to_string(), "Access Denied.");
}
