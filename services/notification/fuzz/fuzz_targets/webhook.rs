//! Webhooks are anybody's calls: the types that sign believe a call that is signed with the token and no other one, and the
//! filters take any body.
#![no_main]

use std::sync::LazyLock;

use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};
use weir_api::notification::ReceiverSpec;
use weir_notification_controller::receiver::filter::{Filters, Known};
use weir_notification_controller::receiver::{Call, Refusal, Rules, verify};

const TOKEN: &[u8] = b"the token that no input has";
/// A type, the header of its proof, and the algorithm that is named in it.
const SIGNED: [(&str, &str, &str); 6] = [
    ("generic-hmac", "X-Signature", "sha256="),
    ("github", "X-Hub-Signature-256", "sha256="),
    ("bitbucket", "X-Hub-Signature", "sha512="),
    ("nexus", "X-Nexus-Webhook-Signature", ""),
    ("gitlab", "X-Gitlab-Token", ""),
    ("harbor", "Authorization", ""),
];
const UNSIGNED: [&str; 5] = ["generic", "dockerhub", "quay", "acr", "cdevents"];

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));

fn mac<M: Mac + KeyInit>(body: &[u8]) -> String {
    let mut mac = <M as KeyInit>::new_from_slice(TOKEN).expect("any key will do");
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

fn proof(receiver_type: &str, algorithm: &str, body: &[u8]) -> String {
    match (receiver_type, algorithm) {
        ("gitlab" | "harbor", _) => String::from_utf8_lossy(TOKEN).into_owned(),
        (_, "sha512=") => format!("{algorithm}{}", mac::<Hmac<sha2::Sha512>>(body)),
        (_, "sha256=") => format!("{algorithm}{}", mac::<Hmac<sha2::Sha256>>(body)),
        _ => mac::<Hmac<sha1::Sha1>>(body),
    }
}

fn set(headers: &mut HeaderMap, name: &'static str, value: &[u8]) {
    if let Ok(value) = HeaderValue::from_bytes(value) {
        headers.insert(HeaderName::from_bytes(name.as_bytes()).expect("a name of a header"), value);
    }
}

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(4, |byte| *byte == 0x1f);
    let [content_type, event, signature, body] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    let events = ["push".to_owned()];
    let rules = Rules { token: TOKEN, events: &events };
    let mut headers = HeaderMap::new();
    set(&mut headers, "content-type", content_type);
    for name in ["X-GitHub-Event", "X-Event-Key", "X-Gitlab-Event", "Ce-Type"] {
        set(&mut headers, name, event);
    }
    for receiver_type in UNSIGNED {
        let _verdict = verify(receiver_type, Call { headers: &headers, body }, rules);
    }
    for (receiver_type, header, algorithm) in SIGNED {
        set(&mut headers, header, signature);
        let forged = verify(receiver_type, Call { headers: &headers, body }, rules);
        assert!(forged.is_err(), "{receiver_type} believes a stranger");
        set(&mut headers, header, proof(receiver_type, algorithm, body).as_bytes());
        let signed = verify(receiver_type, Call { headers: &headers, body }, rules);
        assert!(
            !matches!(signed, Err(Refusal::Signature { .. } | Refusal::Token(_))),
            "{receiver_type}: {signed:?}"
        );
        headers.remove(header);
    }
    let spec = ReceiverSpec { resource_filter: Some("true".to_owned()), ..ReceiverSpec::default() };
    let call = Call { headers: &headers, body };
    let _filters = RUNTIME.block_on(Filters::of_call(&spec, call, Known::default()));
});
