//! Objects that the API server does not take.

use serde_json::json;
use weir_testkit::condition;

use super::{Sources, split};

/// SRC-AGN-11: condition and event hold what the API server says, once.
#[tokio::test]
async fn a_refusal_is_told_in_the_words_of_the_api_server() {
    let sources = Sources::start().await;
    let labels = json!({ "commonMetadata": { "labels": { "team": "not a label!" } } });
    sources.apply("refused", json!([split()[0]]), labels).await;
    let message = "one reconcile failed: failed to apply ExternalArtifact: \
                   ExternalArtifact.source.toolkit.fluxcd.io \"one\" is invalid: metadata.labels: Invalid value: ";
    let failed = sources.says("refused", "False", message).await;
    let ready = condition(&failed, "Ready").unwrap();
    assert_eq!(ready.reason, "ReconciliationFailed");
    assert!(ready.message.ends_with("[A-Za-z0-9])?')"), "{}", ready.message);
}
