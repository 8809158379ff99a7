//! The API of Bitbucket Server: repositories in projects, keys in a service of their own.

use serde_json::{Value, json};

use super::api::MAX_PAGES;
use super::vendor::{DeployKey, Hosted};
use crate::error::Error;

/// Rights of groups by the words of the flag.
const RIGHTS: [(&str, &str); 4] =
    [("pull", READ), ("push", WRITE), ("maintain", "REPO_ADMIN"), ("admin", "REPO_ADMIN")];
/// Rights to read a repository, and to write to it.
const READ: &str = "REPO_READ";
const WRITE: &str = "REPO_WRITE";

/// Returns the project and the repository in URLs of Git.
pub(super) fn path(hosted: &Hosted) -> String {
    format!("{}/{}", project(hosted), hosted.name)
}

/// Returns the key of the project: that of a user begins with a tilde.
fn project(hosted: &Hosted) -> String {
    let tilde = if hosted.is_personal { "~" } else { "" };
    format!("{tilde}{}", hosted.project.as_ref().unwrap_or(&hosted.owner))
}

/// Returns the key of the project that has the owner's name. Where there is none, the owner is a key.
pub(super) async fn project_named(hosted: &Hosted) -> Result<Option<String>, Error> {
    let size = hosted.vendor.page_size();
    let path = format!("/api/1.0/projects?name={}&{size}", in_query(&hosted.owner));
    let found = hosted.api.get(&path).await?.unwrap_or_default();
    Ok(key_of(&found, &hosted.owner))
}

fn key_of(projects: &Value, name: &str) -> Option<String> {
    // The server also lists projects whose names only begin so.
    let is_named = |project: &&Value| project.get("name").and_then(Value::as_str) == Some(name);
    values(projects).find(is_named)?.get("key")?.as_str().map(str::to_owned)
}

/// Returns the path of the repository in the API.
pub(super) fn repository(hosted: &Hosted) -> String {
    format!("/api/1.0/projects/{}/repos/{}", project(hosted), hosted.name)
}

/// Returns the path of the keys in the API.
pub(super) fn ssh(hosted: &Hosted) -> String {
    format!("/keys/1.0/projects/{}/repos/{}/ssh", project(hosted), hosted.name)
}

/// Makes the repository. Without a default branch, that is `master` on many servers, where nothing is pushed.
pub(super) async fn create(hosted: &Hosted, visibility: &str) -> Result<(), Error> {
    let body = json!({
        "name": hosted.name, "scmId": "git", "public": visibility == "public", "defaultBranch": "main",
    });
    hosted.api.post(&format!("/api/1.0/projects/{}/repos", project(hosted)), &body).await.map(drop)
}

fn groups(hosted: &Hosted) -> String {
    format!("{}/permissions/groups", repository(hosted))
}

/// Returns the name of a group, which may have any characters, as a value in a query.
fn in_query(group: &str) -> String {
    url::form_urlencoded::byte_serialize(group.as_bytes()).collect()
}

/// Returns true when a group has access.
pub(super) async fn access(hosted: &Hosted, group: &str) -> Result<bool, Error> {
    let found =
        hosted.api.get(&format!("{}?filter={}", groups(hosted), in_query(group))).await?.unwrap_or_default();
    let is_named = |entry: &Value| entry.pointer("/group/name").and_then(Value::as_str) == Some(group);
    Ok(values(&found).any(is_named))
}

/// Gives a group access.
pub(super) async fn grant(hosted: &Hosted, group: &str, permission: &str) -> Result<(), Error> {
    let right = RIGHTS.iter().find(|(word, _)| *word == permission);
    let refused = || Error::Bootstrap(format!("invalid permission '{permission}'"));
    let (_, right) = right.ok_or_else(refused)?;
    let path = format!("{}?permission={right}&name={}", groups(hosted), in_query(group));
    hosted.api.put(&path, &json!({})).await.map(drop)
}

/// Returns the access keys.
pub(super) async fn keys(hosted: &Hosted) -> Result<Vec<DeployKey>, Error> {
    let text = |key: &Value, at: &str| key.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let read = |entry: &Value| DeployKey {
        id: entry.pointer("/key/id").map(Value::to_string).unwrap_or_default(),
        title: text(entry, "/key/label"),
        key: text(entry, "/key/text"),
        is_writable: text(entry, "/permission") == WRITE,
    };
    let (mut keys, mut start) = (Vec::new(), 0);
    for _ in 0..MAX_PAGES {
        let path = format!("{}?{}&start={start}", ssh(hosted), hosted.vendor.page_size());
        let page = hosted.api.get(&path).await?.unwrap_or_default();
        keys.extend(values(&page).map(read));
        match page.get("nextPageStart").and_then(Value::as_u64) {
            Some(next) if next > start => start = next,
            _ => break,
        }
    }
    Ok(keys)
}

/// Adds an access key.
pub(super) async fn add_key(hosted: &Hosted, title: &str, key: &str, is_writable: bool) -> Result<(), Error> {
    let permission = if is_writable { WRITE } else { READ };
    let body = json!({ "key": { "text": key.trim(), "label": title }, "permission": permission });
    hosted.api.post(&ssh(hosted), &body).await.map(drop)
}

/// Returns the entries of a page.
fn values(page: &Value) -> impl Iterator<Item = &Value> {
    page.get("values").and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("Fleet", Some("FLT"))]
    #[case("Fleet Team", Some("TEAM"))]
    #[case("FLT", None)]
    fn projects_have_names(#[case] name: &str, #[case] expected: Option<&str>) {
        let project = |name: &str, key: &str| json!({ "name": name, "key": key });
        let page = json!({ "values": [project("Fleet Team", "TEAM"), project("Fleet", "FLT")] });
        assert_eq!(key_of(&page, name).as_deref(), expected);
    }
}
