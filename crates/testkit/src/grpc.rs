use tonic::Request;

/// A request in the name of whoever the bearer token belongs to.
///
/// # Panics
/// When the token has characters that no header may have.
#[expect(clippy::expect_used, reason = "tokens of the API server are base64 and dots")]
pub fn authorized<T>(token: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    let value = format!("Bearer {token}").parse().expect("a token that a header may have");
    request.metadata_mut().insert("authorization", value);
    request
}
