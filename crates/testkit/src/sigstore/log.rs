//! A log of signatures (Rekor) that begins anew with every entry.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{sign, trusted_key};
use crate::Error;

const ORIGIN: &str = "rekor.test";

#[derive(Debug)]
pub(super) struct Log {
    key: KeyPair,
}

impl Log {
    pub(super) fn create() -> Result<Self, Error> {
        Ok(Self { key: KeyPair::generate().map_err(Error::Certificate)? })
    }

    /// The log as trusted roots have it.
    pub(super) fn trusted(&self, url: &str) -> Value {
        let (public, id) = trusted_key(&self.key);
        json!({
            "baseUrl": url, "hashAlgorithm": "SHA2_256", "publicKey": public,
            "logId": {"keyId": STANDARD.encode(id)},
        })
    }

    /// The promise to take an entry, as cosign before version 3 keeps it.
    pub(super) fn promise(&self, body: &str) -> Result<Value, Error> {
        let (promise, payload) = self.promised(body, now())?;
        Ok(json!({"SignedEntryTimestamp": promise, "Payload": payload}))
    }

    /// The signed promise and what it is over.
    fn promised(&self, body: &str, time: u64) -> Result<(String, Value), Error> {
        let (_, id) = trusted_key(&self.key);
        // The order of the keys is that of canonical JSON: it is signed.
        let payload = json!({
            "body": STANDARD.encode(body), "integratedTime": time, "logID": hex::encode(id), "logIndex": 0,
        });
        Ok((sign(&self.key, payload.to_string().as_bytes())?, payload))
    }

    /// An entry with promise and proof, as bundles have it.
    pub(super) fn entry(&self, kind: &str, body: &str) -> Result<Value, Error> {
        let time = now();
        let (promise, _) = self.promised(body, time)?;
        let (_, id) = trusted_key(&self.key);
        let leaf = Sha256::new_with_prefix([0]).chain_update(body).finalize();
        let root = STANDARD.encode(leaf);
        let note = format!("{ORIGIN}\n1\n{root}\n");
        let mut signature = id.iter().copied().take(4).collect::<Vec<u8>>();
        signature.extend(self.key.sign(note.as_bytes()).map_err(Error::Certificate)?);
        Ok(json!({
            "logIndex": "0",
            "logId": {"keyId": STANDARD.encode(id)},
            "kindVersion": {"kind": kind, "version": "0.0.1"},
            "integratedTime": time.to_string(),
            "inclusionPromise": {"signedEntryTimestamp": promise},
            "inclusionProof": {
                "logIndex": "0", "rootHash": root, "treeSize": "1", "hashes": [],
                "checkpoint": {"envelope": format!("{note}\n— {ORIGIN} {}\n", STANDARD.encode(signature))},
            },
            "canonicalizedBody": STANDARD.encode(body),
        }))
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs())
}
