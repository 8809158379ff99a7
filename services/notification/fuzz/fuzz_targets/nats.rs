//! The lines of a NATS server: each of its answers is an end, and no error repeats more than a part of a line.
#![no_main]

use futures::executor::block_on;
use libfuzzer_sys::fuzz_target;
use weir_http::Profile;
use weir_notification_controller::delivery::nats::{NatsError, publish_over};
use weir_notification_controller::provider::nats::{Publication, User};

fuzz_target!(|lines: &[u8]| {
    let publication = Publication {
        servers: vec!["nats://nats.example".parse().expect("a URL")],
        subject: "flux".to_owned(),
        payload: b"{}".to_vec(),
        user: User::Nobody,
    };
    let stream = tokio::io::join(std::io::Cursor::new(lines.to_vec()), tokio::io::sink());
    match block_on(publish_over(stream, &publication, &Profile::default())) {
        Ok(()) => assert!(lines.starts_with(b"INFO ") && lines.windows(4).any(|word| word == b"PONG")),
        Err(NatsError::Connection { .. } | NatsError::Tls(_)) => {}
        Err(error) => assert!(error.to_string().len() < 2000, "{error}"),
    }
});
