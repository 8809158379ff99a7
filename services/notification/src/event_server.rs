//! The endpoint that controllers post their events to: any path, any method (NTF-14, NTF-15, NTF-20).

use std::sync::Arc;

use axum::body::Body;
use http::header::{HeaderName, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use jiff::{Timestamp, tz::TimeZone};

use crate::event::Event;
use crate::http_server::{Call, answer};
use crate::intake::{Intake, Receipt};

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Answers one request.
pub async fn handle(intake: Arc<Intake>, call: Call) -> Response<Body> {
    let body = match call.read().await {
        Ok(body) => body,
        Err(error) => return answer(error.status(), ""),
    };
    let event = match Event::from_slice(&body) {
        Ok(event) => event,
        Err(error) => {
            tracing::debug!(%error, "body is no event");
            return answer(StatusCode::BAD_REQUEST, "");
        }
    };
    let size = body.len();
    // The event has its room in the outbox from here on.
    drop(body);
    match intake.receive(event, size).await {
        Ok(Receipt::Accepted(reset)) => limited(answer(StatusCode::ACCEPTED, ""), reset),
        Ok(Receipt::Duplicate(reset)) => {
            let mut response = limited(answer(StatusCode::TOO_MANY_REQUESTS, "Too Many Requests\n"), reset);
            insert(&mut response, RETRY_AFTER, &date(reset));
            response
        }
        // Controllers come again after a 5xx: nothing is lost while providers are slow.
        Ok(Receipt::Full) => answer(StatusCode::SERVICE_UNAVAILABLE, "too many events wait for delivery\n"),
        Err(error) => {
            tracing::error!(%error, "event cannot be stored");
            answer(StatusCode::INTERNAL_SERVER_ERROR, "event cannot be stored\n")
        }
    }
}

fn limited(mut response: Response<Body>, reset: Timestamp) -> Response<Body> {
    insert(&mut response, LIMIT, "1");
    insert(&mut response, REMAINING, "0");
    insert(&mut response, RESET, &date(reset));
    response
}

fn insert(response: &mut Response<Body>, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        response.headers_mut().insert(name, value);
    }
}

/// RFC 1123, as Go's limiter writes it.
fn date(time: Timestamp) -> String {
    time.to_zoned(TimeZone::UTC).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
