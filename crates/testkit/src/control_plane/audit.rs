use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::Error;

/// The key by which requests are counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AuditKey {
    /// Account that made the request, before impersonation: `admin`, `weir`, `system:kube-controller-manager`.
    pub user: String,
    /// The user agent up to its first slash: `source-controller`, `kube-controller-manager`, `weir`.
    pub agent: String,
    /// The verb: `get`, `list`, `watch`, `create`, `patch`, …
    pub verb: String,
    /// The resource with its subresource: `kustomizations/status`; empty for paths such as `/api`.
    pub resource: String,
}

/// One request that the API server has answered or refused, or one that it was asked about in a SubjectAccessReview.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AuditedRequest {
    /// User whose rights counted.
    pub user: String,
    /// The user that asked as someone else, with a right to impersonate.
    pub impersonator: Option<String>,
    /// The verb: `get`, `list`, `watch`, `create`, `patch`, …
    pub verb: String,
    /// The API group; empty for core and for paths such as `/api`.
    pub group: String,
    /// The resource with its subresource; empty for paths such as `/api`.
    pub resource: String,
    /// The namespace; empty for all.
    pub namespace: String,
    /// The name; empty for all.
    pub name: String,
    /// The HTTP status; 0 for one that was only asked about.
    pub code: u16,
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
    impersonated_user: Option<User>,
    #[serde(default)]
    object_ref: Reference,
    #[serde(default)]
    response_status: ResponseStatus,
    #[serde(default)]
    request_object: Value,
}

#[derive(Deserialize, Default)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
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
    api_group: String,
    #[serde(default)]
    resource: String,
    #[serde(default)]
    subresource: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
}

impl Reference {
    fn resource(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        }
    }
}

/// The counted lines of an audit log. The last one is left out where it is half written. Any other that cannot be read is an
/// error: tests take what is not counted for what was never asked.
fn counted(path: &Path) -> Result<impl Iterator<Item = Result<Line, Error>>, Error> {
    let mut log = BufReader::new(std::fs::File::open(path).map_err(Error::file(path))?);
    let lines =
        std::iter::from_fn(move || {
            let mut line = Vec::new();
            match log.read_until(b'\n', &mut line) {
                Err(error) => Some(Err(Error::file(path)(error))),
                Ok(_) if line.ends_with(b"\n") => Some(serde_json::from_slice(&line).map_err(|source| {
                    Error::NotJson { what: format!("a line of {}", path.display()), source }
                })),
                Ok(_) => None,
            }
        });
    Ok(lines.filter(|line: &Result<Line, Error>| line.as_ref().map_or(true, Line::is_counted)))
}

impl AuditedRequest {
    /// All requests of an audit log, each distinct one once.
    pub(super) fn read(path: &Path) -> Result<BTreeSet<Self>, Error> {
        let mut requests = BTreeSet::new();
        for line in counted(path)? {
            let line = line?;
            requests.extend(line.reviewed());
            requests.insert(line.asked());
        }
        Ok(requests)
    }
}

impl Line {
    /// A watch is logged when it starts and when it ends; it is counted when it starts, or is refused.
    fn is_counted(&self) -> bool {
        let is_refused = self.response_status.code >= 400;
        let counted =
            if self.verb == "watch" && !is_refused { "ResponseStarted" } else { "ResponseComplete" };
        self.stage == counted
    }

    fn asked(&self) -> AuditedRequest {
        let (user, impersonator) = match &self.impersonated_user {
            Some(user) => (user.username.clone(), Some(self.user.username.clone())),
            None => (self.user.username.clone(), None),
        };
        let Reference { api_group, namespace, name, .. } = &self.object_ref;
        AuditedRequest {
            user,
            impersonator,
            verb: self.verb.clone(),
            group: api_group.clone(),
            resource: self.object_ref.resource(),
            namespace: namespace.clone(),
            name: name.clone(),
            code: self.response_status.code,
        }
    }

    /// The request that a SubjectAccessReview asks about.
    fn reviewed(&self) -> Option<AuditedRequest> {
        let spec = self.request_object.get("spec")?;
        let attributes = spec.get("resourceAttributes")?;
        let attribute =
            |name: &str| attributes.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Some(AuditedRequest {
            user: spec.get("user")?.as_str()?.to_owned(),
            impersonator: None,
            verb: attribute("verb"),
            group: attribute("group"),
            resource: attribute("resource"),
            namespace: attribute("namespace"),
            name: attribute("name"),
            code: 0,
        })
    }
}

impl AuditCounts {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let mut counts = Self::default();
        for line in counted(path)? {
            counts.add(line?);
        }
        Ok(counts)
    }

    fn add(&mut self, line: Line) {
        let agent = line.user_agent.split(['/', ' ']).next().unwrap_or_default().to_owned();
        let resource = line.object_ref.resource();
        *self
            .0
            .entry(AuditKey { user: line.user.username, agent, verb: line.verb, resource })
            .or_default() += 1;
    }

    /// Returns the counts since `earlier` was read.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Folder;

    const ASKED: &str = r#"{"stage":"ResponseComplete","verb":"get","user":{"username":"weir"},"objectRef":{"resource":"pods"}}"#;

    fn read(log: &str) -> Result<u64, Error> {
        let folder = Folder::new("audit").unwrap();
        let path = folder.write("audit.log", log).unwrap();
        AuditCounts::read(&path)
            .map(|counts| counts.total(|key| key.user == "weir" && key.resource == "pods"))
    }

    #[test]
    fn a_line_that_is_being_written_is_left_out_and_any_other_that_is_not_understood_is_an_error() {
        assert_eq!(read(&format!("{ASKED}\n{ASKED}\n{{\"sta")).unwrap(), 2);
        for foreign in ["", "no JSON", "{}"] {
            let error = read(&format!("{ASKED}\n{foreign}\n{ASKED}\n")).unwrap_err();
            assert!(matches!(error, Error::NotJson { .. }), "{error}");
        }
    }
}
