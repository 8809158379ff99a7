use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;

use crate::Error;

/// What requests are counted by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AuditKey {
    /// Who asked, before impersonation: `admin`, `weir`, `system:kube-controller-manager`.
    pub user: String,
    /// The user agent up to its first slash: `source-controller`, `kube-controller-manager`, `weir`.
    pub agent: String,
    /// The verb: `get`, `list`, `watch`, `create`, `patch`, …
    pub verb: String,
    /// The resource with its subresource: `kustomizations/status`; empty for paths such as `/api`.
    pub resource: String,
}

/// Numbers of requests that the API server has answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditCounts(BTreeMap<AuditKey, u64>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    stage: String,
    verb: String,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    user: User,
    #[serde(default)]
    object_ref: Reference,
}

#[derive(Deserialize, Default)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Reference {
    #[serde(default)]
    resource: String,
    #[serde(default)]
    subresource: String,
}

impl AuditCounts {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let file = std::fs::File::open(path).map_err(Error::file(path))?;
        let mut counts = Self::default();
        for line in BufReader::new(file).lines() {
            // The last line may be half written.
            if let Ok(line) = serde_json::from_str::<Line>(&line.map_err(Error::file(path))?) {
                counts.add(line);
            }
        }
        Ok(counts)
    }

    fn add(&mut self, line: Line) {
        // A watch is logged when it starts and when it ends; it is counted when it starts.
        let counted = if line.verb == "watch" { "ResponseStarted" } else { "ResponseComplete" };
        if line.stage != counted {
            return;
        }
        let agent = line.user_agent.split(['/', ' ']).next().unwrap_or_default().to_owned();
        let mut resource = line.object_ref.resource;
        if !line.object_ref.subresource.is_empty() {
            resource = format!("{resource}/{}", line.object_ref.subresource);
        }
        *self
            .0
            .entry(AuditKey { user: line.user.username, agent, verb: line.verb, resource })
            .or_default() += 1;
    }

    /// What has been counted since `earlier` was read.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut counts = self.clone();
        for (key, count) in &mut counts.0 {
            *count -= earlier.0.get(key).copied().unwrap_or_default().min(*count);
        }
        counts.0.retain(|_, count| *count > 0);
        counts
    }

    /// The sum over all keys that `wanted` picks.
    #[must_use]
    pub fn total(&self, wanted: impl Fn(&AuditKey) -> bool) -> u64 {
        self.0.iter().filter(|(key, _)| wanted(key)).map(|(_, count)| count).sum()
    }

    /// All counts, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&AuditKey, u64)> {
        self.0.iter().map(|(key, count)| (key, *count))
    }
}
