//! The vendors, and the questions that each of them answers in its own way.

use secrecy::{ExposeSecret, SecretString};

use super::api::Api;
use super::{bitbucket, gitea, github, gitlab};
use crate::error::Error;

/// End of the hosts that GitHub keeps for enterprises which choose the place of their data.
const DATA_RESIDENCY: &str = ".ghe.com";

/// A vendor of Git hosting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Vendor {
    GitHub,
    GitLab,
    Gitea,
    BitbucketServer,
}

/// A repository at a vendor.
pub(in super::super) struct Hosted {
    pub(super) api: Api,
    pub(super) vendor: Vendor,
    pub(super) host: String,
    pub(super) owner: String,
    pub(super) name: String,
    pub(super) is_personal: bool,
    /// Key of the project, where it is known.
    pub(super) project: Option<String>,
}

/// A key that is let into a repository.
pub(super) struct DeployKey {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) key: String,
    /// True when it may push.
    pub(super) is_writable: bool,
}

impl Vendor {
    /// Name for people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::GitHub => "GitHub",
            Self::GitLab => "GitLab",
            Self::Gitea => "Gitea",
            Self::BitbucketServer => "Bitbucket",
        }
    }

    /// Word of the command line.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::GitLab => "gitlab",
            Self::Gitea => "gitea",
            Self::BitbucketServer => "bitbucket-server",
        }
    }

    /// Variable with the token.
    pub(super) fn variable(self) -> &'static str {
        match self {
            Self::GitHub => "GITHUB_TOKEN",
            Self::GitLab => "GITLAB_TOKEN",
            Self::Gitea => "GITEA_TOKEN",
            Self::BitbucketServer => "BITBUCKET_TOKEN",
        }
    }

    /// Host of the vendor itself.
    pub(super) fn host(self) -> &'static str {
        match self {
            Self::GitHub => "github.com",
            Self::GitLab => "gitlab.com",
            Self::Gitea => "gitea.com",
            Self::BitbucketServer => "",
        }
    }

    /// Returns the address of a host's API.
    pub(super) fn base(self, host: &str) -> String {
        let host = host.trim_start_matches("https://").trim_end_matches('/');
        match self {
            Self::GitHub if host == self.host() || host.ends_with(DATA_RESIDENCY) => {
                format!("https://api.{host}")
            }
            Self::GitHub => format!("https://{host}/api/v3"),
            Self::GitLab => format!("https://{host}/api/v4"),
            Self::Gitea => format!("https://{host}/api/v1"),
            Self::BitbucketServer => format!("https://{host}/rest"),
        }
    }

    /// Content of the header `Authorization`, which no redirect takes to another server.
    pub(super) fn authorization(self, token: &SecretString) -> SecretString {
        let scheme = if self == Self::Gitea { "token" } else { "Bearer" };
        format!("{scheme} {}", token.expose_secret()).into()
    }

    /// Parameter that asks for pages as large as they can be.
    pub(super) fn page_size(self) -> &'static str {
        match self {
            Self::GitHub | Self::GitLab => "per_page=100",
            Self::Gitea => "limit=50",
            Self::BitbucketServer => "limit=1000",
        }
    }

    /// Permission of teams for which the flag names none.
    pub(super) fn permission(self) -> &'static str {
        match self {
            Self::BitbucketServer => "push",
            _ => "maintain",
        }
    }
}

impl Hosted {
    /// Returns the path of the repository at its host.
    pub(super) fn path(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// Returns the repository as messages name it.
    pub(super) fn url(&self) -> String {
        format!("https://{}/{}", self.host, self.path())
    }

    /// Returns the URL of the repository over HTTPS.
    pub(super) fn clone_url(&self) -> String {
        match self.vendor {
            Vendor::BitbucketServer => format!("https://{}/scm/{}.git", self.host, bitbucket::path(self)),
            _ => format!("{}.git", self.url()),
        }
    }

    /// Returns the URL of the repository over SSH.
    pub(super) fn ssh_url(&self, host: Option<&str>) -> String {
        let host = host.unwrap_or(&self.host);
        match self.vendor {
            Vendor::BitbucketServer => format!("ssh://git@{host}/{}.git", bitbucket::path(self)),
            _ => format!("ssh://git@{host}/{}", self.path()),
        }
    }

    /// Returns the title of the key or token of a cluster.
    pub(super) fn title(&self, namespace: &str, branch: &str, secret: &str, path: &str) -> String {
        let parts: Vec<_> =
            [namespace, branch, secret, path].into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("-")
    }

    /// Finds the project of the repository: people call it by its name, and URLs by its key.
    pub(super) async fn find_project(&mut self) -> Result<(), Error> {
        if self.vendor == Vendor::BitbucketServer && !self.is_personal {
            self.project = bitbucket::project_named(self).await?;
        }
        Ok(())
    }

    /// Finds the repository.
    pub(super) async fn find(&self) -> Result<Option<()>, Error> {
        let found = match self.vendor {
            Vendor::GitHub | Vendor::Gitea => self.api.get(&format!("/repos/{}", self.path())).await?,
            Vendor::GitLab => gitlab::find(self).await?,
            Vendor::BitbucketServer => self.api.get(&bitbucket::repository(self)).await?,
        };
        Ok(found.map(drop))
    }

    /// Makes the repository.
    pub(super) async fn create(&self, visibility: &str) -> Result<(), Error> {
        match self.vendor {
            Vendor::GitHub => github::create(self, visibility).await,
            Vendor::GitLab => gitlab::create(self, visibility).await,
            Vendor::Gitea => gitea::create(self, visibility).await,
            Vendor::BitbucketServer => bitbucket::create(self, visibility).await,
        }
    }

    /// Returns true when a team has access already.
    pub(super) async fn has_access(&self, team: &str) -> bool {
        let found = match self.vendor {
            Vendor::GitHub => github::access(self, team).await,
            Vendor::GitLab => gitlab::access(self, team).await,
            Vendor::Gitea => gitea::access(self, team).await,
            Vendor::BitbucketServer => bitbucket::access(self, team).await,
        };
        found.unwrap_or_default()
    }

    /// Gives a team access.
    pub(super) async fn grant(&self, team: &str, permission: &str) -> Result<(), Error> {
        match self.vendor {
            Vendor::GitHub => github::grant(self, team, permission).await,
            Vendor::GitLab => gitlab::grant(self, team, permission).await,
            Vendor::Gitea => gitea::grant(self, team).await,
            Vendor::BitbucketServer => bitbucket::grant(self, team, permission).await,
        }
    }

    /// Lets a key in; returns false when it was let in before. Another key of the same title is replaced, and so is the same one with
    /// other rights.
    pub(in super::super) async fn let_in(
        &self,
        title: &str,
        key: &str,
        is_writable: bool,
    ) -> Result<bool, Error> {
        for known in self.keys().await?.into_iter().filter(|known| known.title == title) {
            if same_key(&known.key, key) && known.is_writable == is_writable {
                return Ok(false);
            }
            self.remove_key(&known.id).await?;
        }
        match self.vendor {
            Vendor::GitHub | Vendor::Gitea => github::add_key(self, title, key, is_writable).await?,
            Vendor::GitLab => gitlab::add_key(self, title, key, is_writable).await?,
            Vendor::BitbucketServer => bitbucket::add_key(self, title, key, is_writable).await?,
        }
        Ok(true)
    }

    async fn keys(&self) -> Result<Vec<DeployKey>, Error> {
        match self.vendor {
            Vendor::GitHub | Vendor::Gitea => self.list_keys(&format!("/repos/{}/keys", self.path())).await,
            Vendor::GitLab => self.list_keys(&format!("{}/deploy_keys", gitlab::project(self))).await,
            Vendor::BitbucketServer => bitbucket::keys(self).await,
        }
    }

    async fn list_keys(&self, path: &str) -> Result<Vec<DeployKey>, Error> {
        let keys = self.api.list(path, self.vendor.page_size()).await?;
        Ok(keys.iter().map(github::read_key).collect())
    }

    async fn remove_key(&self, id: &str) -> Result<(), Error> {
        match self.vendor {
            Vendor::GitHub | Vendor::Gitea => {
                self.api.delete(&format!("/repos/{}/keys/{id}", self.path())).await
            }
            Vendor::GitLab => self.api.delete(&format!("{}/deploy_keys/{id}", gitlab::project(self))).await,
            Vendor::BitbucketServer => self.api.delete(&format!("{}/{id}", bitbucket::ssh(self))).await,
        }
    }

    /// Makes a deploy token; nothing when there is one of this title, whose secret nobody knows any more.
    pub(in super::super) async fn deploy_token(
        &self,
        title: &str,
    ) -> Result<Option<(String, SecretString)>, Error> {
        gitlab::deploy_token(self, title).await
    }

    /// Returns the repository as messages name it.
    pub(in super::super) fn shown(&self) -> String {
        self.url()
    }
}

/// Compares two public keys without their comments, which servers change.
fn same_key(left: &str, right: &str) -> bool {
    let bare = |key: &str| key.split_whitespace().take(2).map(str::to_owned).collect::<Vec<_>>();
    bare(left) == bare(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(Vendor::GitHub, "github.com", "https://api.github.com")]
    #[case(Vendor::GitHub, "octo.ghe.com", "https://api.octo.ghe.com")]
    #[case(Vendor::GitHub, "https://github.example.com/", "https://github.example.com/api/v3")]
    #[case(Vendor::GitLab, "gitlab.com", "https://gitlab.com/api/v4")]
    fn hosts_have_their_api_at_an_address(
        #[case] vendor: Vendor,
        #[case] host: &str,
        #[case] expected: &str,
    ) {
        assert_eq!(vendor.base(host), expected);
    }
}
