//! The artifact that a source advertises.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Time;
use crate::schema::pattern;

/// Artifact is the output of a source: an immutable file with its revision and digest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["digest", "lastUpdateTime", "path", "revision", "url"]))]
pub struct Artifact {
    /// Path of the file, relative to the root of the storage.
    pub path: String,
    /// HTTP address of the file as seen by the controllers of the cluster.
    pub url: String,
    /// Human-readable identity of the content in the origin: a branch with a commit, a tag with a digest.
    #[serde(default)]
    #[schemars(!default)]
    pub revision: String,
    // Objects of old Flux versions had a checksum only: it reads as the empty string (SRC-API-8).
    /// Digest of the file, `<algorithm>:<value>`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(extend("pattern" = pattern::DIGEST))]
    pub digest: String,
    /// When the file was last written.
    pub last_update_time: Option<Time>,
    /// Size of the file in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// Information about the content from the origin, such as the annotations of an OCI manifest.
    // A tree would take 544 bytes for the one entry that there is as a rule, in the cache of each service.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub metadata: IndexMap<String, String>,
}
