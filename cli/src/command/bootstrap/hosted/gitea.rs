//! Gitea's API, where it differs from GitHub's.

use serde_json::json;

use super::github;
use super::vendor::Hosted;
use crate::error::Error;

/// Makes the repository.
pub(super) async fn create(hosted: &Hosted, visibility: &str) -> Result<(), Error> {
    let body = json!({ "name": hosted.name, "private": visibility != "public", "default_branch": "main" });
    let path = match hosted.is_personal {
        true => {
            github::check_user(hosted).await?;
            "/user/repos".to_owned()
        }
        false => format!("/orgs/{}/repos", hosted.owner),
    };
    hosted.api.post(&path, &body).await.map(drop)
}

fn team_path(hosted: &Hosted, team: &str) -> String {
    format!("/repos/{}/teams/{team}", hosted.path())
}

/// Returns true when a team has access.
pub(super) async fn access(hosted: &Hosted, team: &str) -> Result<bool, Error> {
    Ok(hosted.api.get(&team_path(hosted, team)).await?.is_some())
}

/// Gives a team access; the team itself says what it may do.
pub(super) async fn grant(hosted: &Hosted, team: &str) -> Result<(), Error> {
    hosted.api.put(&team_path(hosted, team), &json!({})).await.map(drop)
}
