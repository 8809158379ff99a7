//! GitLab's API: projects in groups, shared with other groups.

use secrecy::SecretString;
use serde_json::{Value, json};

use super::vendor::Hosted;
use crate::error::Error;

/// Levels of access by the words of the flag.
const LEVELS: [(&str, u32); 5] =
    [("pull", 10), ("triage", 20), ("push", 30), ("maintain", 40), ("admin", 50)];
/// Rights of deploy tokens.
const SCOPES: [&str; 1] = ["read_repository"];

/// Returns true when GitLab takes a name, which may have groups before it.
pub(super) fn is_name(name: &str) -> bool {
    let is_word = |char: char| char.is_alphanumeric() || char == '_' || char > '\u{a8}';
    let is_good = |part: &str| {
        part.chars().next().is_some_and(is_word)
            && part.chars().all(|char| is_word(char) || matches!(char, '-' | '.'))
    };
    name.split('/').all(is_good)
}

/// Returns the path of the project in the API.
pub(super) fn project(hosted: &Hosted) -> String {
    format!("/projects/{}", escaped(&hosted.path()))
}

fn escaped(path: &str) -> String {
    path.replace('/', "%2F")
}

/// Finds the project.
pub(super) async fn find(hosted: &Hosted) -> Result<Option<Value>, Error> {
    hosted.api.get(&project(hosted)).await
}

/// Makes the project.
pub(super) async fn create(hosted: &Hosted, visibility: &str) -> Result<(), Error> {
    let path = hosted.path();
    let (group, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let mut body = json!({ "name": name, "path": name, "visibility": visibility, "default_branch": "main" });
    if hosted.is_personal {
        check_user(hosted).await?;
    } else {
        let found = hosted.api.get(&format!("/groups/{}", escaped(group))).await?;
        let found = found.ok_or_else(|| Error::Bootstrap(format!("there is no group '{group}'")))?;
        crate::output::manifest::set(&mut body, "/namespace_id", id(&found));
    }
    hosted.api.post("/projects", &body).await.map(drop)
}

async fn check_user(hosted: &Hosted) -> Result<(), Error> {
    let user = hosted.api.get("/user").await?.unwrap_or_default();
    if user.get("username").and_then(Value::as_str) == Some(&hosted.owner) {
        return Ok(());
    }
    Err(Error::Bootstrap(format!(
        "the specified owner '{}' doesn't match the identity associated with the given token",
        hosted.owner
    )))
}

fn id(object: &Value) -> Value {
    object.get("id").cloned().unwrap_or_default()
}

/// Returns true when a group has access.
pub(super) async fn access(hosted: &Hosted, team: &str) -> Result<bool, Error> {
    let project = find(hosted).await?.unwrap_or_default();
    let shared = project.get("shared_with_groups").and_then(Value::as_array);
    let path = |group: &Value| group.get("group_full_path").and_then(Value::as_str) == Some(team);
    Ok(shared.into_iter().flatten().any(path))
}

/// Shares the project with a group.
pub(super) async fn grant(hosted: &Hosted, team: &str, permission: &str) -> Result<(), Error> {
    let refused = |reason: String| Error::Bootstrap(reason);
    let level = LEVELS.iter().find(|(word, _)| *word == permission);
    let (_, level) = level.ok_or_else(|| refused(format!("invalid permission '{permission}'")))?;
    let group = hosted.api.get(&format!("/groups/{}", escaped(team))).await?;
    let group = group.ok_or_else(|| refused(format!("there is no group '{team}'")))?;
    let body = json!({ "group_id": id(&group), "group_access": level });
    hosted.api.post(&format!("{}/share", project(hosted)), &body).await.map(drop)
}

/// Adds a deploy key.
pub(super) async fn add_key(hosted: &Hosted, title: &str, key: &str, is_writable: bool) -> Result<(), Error> {
    let body = json!({ "title": title, "key": key, "can_push": is_writable });
    hosted.api.post(&format!("{}/deploy_keys", project(hosted)), &body).await.map(drop)
}

/// Makes a deploy token and returns its user and secret; nothing when there is one of this name that works.
pub(super) async fn deploy_token(
    hosted: &Hosted,
    title: &str,
) -> Result<Option<(String, SecretString)>, Error> {
    let path = format!("{}/deploy_tokens", project(hosted));
    let known = hosted.api.list(&path, hosted.vendor.page_size()).await?;
    let is_on = |token: &Value, field: &str| token.get(field).and_then(Value::as_bool).unwrap_or_default();
    // The list also has those that work no more.
    let works = |token: &Value| !is_on(token, "revoked") && !is_on(token, "expired");
    let is_named = |token: &Value| token.get("name").and_then(Value::as_str) == Some(title);
    if known.iter().any(|token| is_named(token) && works(token)) {
        return Ok(None);
    }
    let made = hosted.api.post(&path, &json!({ "name": title, "scopes": SCOPES })).await?;
    let text = |field: &str| made.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Some((text("username"), text("token").into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("fleet", true)]
    #[case("group/sub/fleet-infra_1.0", true)]
    #[case("-fleet", false)]
    #[case("fleet infra", false)]
    #[case("", false)]
    fn names(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(is_name(name), expected);
    }
}
