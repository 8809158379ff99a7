//! GitHub's API, and what of it Gitea has too.

use serde_json::{Value, json};

use super::vendor::{DeployKey, Hosted};
use crate::error::Error;

/// Makes the repository.
pub(super) async fn create(hosted: &Hosted, visibility: &str) -> Result<(), Error> {
    let body = json!({ "name": hosted.name, "private": visibility != "public" });
    let path = match hosted.is_personal {
        true => {
            check_user(hosted).await?;
            "/user/repos".to_owned()
        }
        false => format!("/orgs/{}/repos", hosted.owner),
    };
    hosted.api.post(&path, &body).await.map(drop)
}

/// Refuses to make the repository of another user than the token's.
pub(super) async fn check_user(hosted: &Hosted) -> Result<(), Error> {
    let user = hosted.api.get("/user").await?.unwrap_or_default();
    if user.get("login").and_then(Value::as_str) == Some(&hosted.owner) {
        return Ok(());
    }
    Err(Error::Bootstrap(format!(
        "the specified owner '{}' doesn't match the identity associated with the given token",
        hosted.owner
    )))
}

fn team_path(hosted: &Hosted, team: &str) -> String {
    format!("/orgs/{}/teams/{team}/repos/{}", hosted.owner, hosted.path())
}

/// Returns true when a team has access.
pub(super) async fn access(hosted: &Hosted, team: &str) -> Result<bool, Error> {
    Ok(hosted.api.get(&team_path(hosted, team)).await?.is_some())
}

/// Gives a team access.
pub(super) async fn grant(hosted: &Hosted, team: &str, permission: &str) -> Result<(), Error> {
    hosted.api.put(&team_path(hosted, team), &json!({ "permission": permission })).await.map(drop)
}

/// Reads a deploy key, also one of GitLab or Gitea.
pub(super) fn read_key(key: &Value) -> DeployKey {
    let text = |field: &str| key.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let flag = |field: &str| key.get(field).and_then(Value::as_bool);
    DeployKey {
        id: key.get("id").map(Value::to_string).unwrap_or_default(),
        title: text("title"),
        key: text("key"),
        is_writable: flag("can_push").or_else(|| Some(!flag("read_only")?)).unwrap_or_default(),
    }
}

/// Adds a deploy key.
pub(super) async fn add_key(hosted: &Hosted, title: &str, key: &str, is_writable: bool) -> Result<(), Error> {
    let body = json!({ "title": title, "key": key, "read_only": !is_writable });
    hosted.api.post(&format!("/repos/{}/keys", hosted.path()), &body).await.map(drop)
}
