//! The proof of a transparency log that it has a signature: cosign before its third version keeps it in an
//! annotation, and the log is asked where that is missing (SRC-OCI-24).

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;
use sigstore_verify::crypto::sha256;
use sigstore_verify::rekor::entry::LogEntry;
use sigstore_verify::types::bundle::InclusionPromise;
use sigstore_verify::types::{KindVersion, SignedTimestamp, TransparencyLogEntry};

/// An entry with the log's promise that it is there, as an annotation has it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct LogBundle {
    signed_entry_timestamp: SignedTimestamp,
    payload: LogEntry,
}

/// The question for the entry of a signature over `payload` with a certificate (PEM), as JSON.
pub(super) fn query(payload: &[u8], signature: &str, certificate: &str) -> Vec<u8> {
    let entry = json!({
        "apiVersion": "0.0.1", "kind": "hashedrekord",
        "spec": {
            "data": {"hash": {"algorithm": "sha256", "value": sha256(payload).to_hex()}},
            "signature": {"content": signature, "publicKey": {"content": STANDARD.encode(certificate)}},
        },
    });
    json!({"entries": [entry]}).to_string().into_bytes()
}

/// Returns the first entry of the log's answer, as the text of an annotation. Verifying the signature with it shows
/// if it is about the signature, and if the promise is the log's.
pub(super) fn annotation(answer: &[u8]) -> Result<String, String> {
    let entries: Vec<BTreeMap<String, LogEntry>> = serde_json::from_slice(answer)
        .map_err(|error| format!("answer of the transparency log is malformed: {error}"))?;
    let entry = entries.into_iter().flat_map(BTreeMap::into_values).next();
    let mut entry = entry.ok_or("signature not found in transparency log")?;
    let promise = entry.verification.take().and_then(|found| found.signed_entry_timestamp);
    Ok(json!({"SignedEntryTimestamp": promise, "Payload": entry}).to_string())
}

/// Returns the entry that the text of an annotation holds, if it is of a kind whose promise the verification of the
/// signature checks. Anybody may have written the annotation, and so the kind that its body names.
pub(super) fn entry(text: &str) -> Result<TransparencyLogEntry, String> {
    let malformed = |error: &dyn std::fmt::Display| format!("log entry is malformed: {error}");
    let LogBundle { signed_entry_timestamp, payload } =
        serde_json::from_str(text).map_err(|error| malformed(&error))?;
    let kind = kind(payload.body.as_bytes()).map_err(|error| malformed(&error))?;
    if kind != KindVersion::HashedRekordV001 {
        let (kind, version) = (kind.kind(), kind.version());
        return Err(format!("log entry is of the kind {kind} {version}, not hashedrekord 0.0.1"));
    }
    if payload.integrated_time.is_none() {
        return Err("log entry has no time of integration".to_owned());
    }
    let entry = payload.to_bundle_entry(kind).map_err(|error| malformed(&error))?;
    Ok(entry.with_inclusion_promise(InclusionPromise::new(signed_entry_timestamp)))
}

/// Returns the kind of entry that a body declares.
fn kind(body: &[u8]) -> serde_json::Result<KindVersion> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        kind: String,
        api_version: String,
    }
    let Head { kind, api_version } = serde_json::from_slice(body)?;
    serde_json::from_value(json!({ "kind": kind, "version": api_version }))
}
