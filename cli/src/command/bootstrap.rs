//! `weir bootstrap`: puts the services under the care of a Git repository, which from then on also installs them (cli.md 11).
//!
//! ```text
//! flags ──► plan (checked) ──► repository ──► components ──► secret ──► sync ──► health
//!                              (providers)    commit, push,   key or    commit, push,
//!                                             apply           token     apply
//! ```
//!
//! Each step looks first at what is there already, so that a run that was interrupted is finished by the next one, and
//! nothing is pushed twice (CLI-BST10).

mod codecommit;
mod components;
mod flags;
mod git;
mod health;
mod helm_controller;
mod hosted;
mod known_hosts;
mod plan;
mod secret;
mod signing;
mod sync;
mod work_tree;

use clap::{Args, Subcommand};

use self::flags::BootstrapFlags;
use self::hosted::{Own, Vendor};
use self::plan::Plan;
use self::work_tree::WorkTree;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::global::Global;
use crate::installation::Installation;

/// A bootstrap.
#[derive(Args, Debug)]
#[command(mut_args(|flag| flag.global(true)), after_help = "Examples:
  # From a repository on GitHub, with the token in $GITHUB_TOKEN
  weir bootstrap github --owner org --repository fleet --path clusters/prod

  # From any repository over SSH, with a key that may push
  weir bootstrap git --url ssh://git@example.com/fleet.git --private-key-file ./id_ed25519 \\
    --path clusters/prod")]
pub(crate) struct Bootstrap {
    /// The flags that all homes have. They may stand before the word of the home, too; each home reads them by itself.
    #[command(flatten)]
    _flags: BootstrapFlags,
    #[command(subcommand)]
    home: Home,
}

/// Homes of Git repositories.
#[derive(Subcommand, Debug)]
enum Home {
    /// Bootstrap from any Git repository.
    Git(git::Git),
    /// Bootstrap from a repository on GitHub.
    #[command(after_help = "Examples:
  # A repository of an organisation, made if it is missing; the token is in $GITHUB_TOKEN
  weir bootstrap github --owner org --repository fleet --path clusters/prod

  # A repository of one's own, with the token instead of a key for SSH
  weir bootstrap github --owner me --personal --repository fleet --path clusters/prod --token-auth

  # Let two teams at the repository, one of which may push
  weir bootstrap github --owner org --repository fleet --path clusters/prod --team dev,ops:push")]
    Github(hosted::Flags),
    /// Bootstrap from a repository on GitLab.
    #[command(after_help = "Examples:
  # A repository of a group; the token is in $GITLAB_TOKEN
  weir bootstrap gitlab --owner org --repository fleet --path clusters/prod

  # On a server of one's own, with a deploy token
  weir bootstrap gitlab --hostname gitlab.example.com --owner org --repository fleet --path clusters/prod --deploy-token-auth")]
    Gitlab(hosted::GitLab),
    /// Bootstrap from a repository on Gitea.
    #[command(after_help = "Examples:
  # A repository of an organisation; the token is in $GITEA_TOKEN
  weir bootstrap gitea --hostname gitea.example.com --owner org --repository fleet --path clusters/prod --token-auth")]
    Gitea(hosted::Flags),
    /// Bootstrap from a repository on Bitbucket Server.
    #[command(after_help = "Examples:
  # A repository of a project, named by its key; the token is in $BITBUCKET_TOKEN
  weir bootstrap bitbucket-server --hostname bitbucket.example.com --owner ORG --repository fleet --path clusters/prod \\
    --username me --token-auth")]
    BitbucketServer(hosted::BitbucketServer),
}

impl Bootstrap {
    /// Bootstraps the cluster.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        match self.home {
            Home::Git(git) => git.run(global).await,
            Home::Github(flags) => flags.run(Vendor::GitHub, Own::default(), global).await,
            Home::Gitlab(flags) => flags.run(global).await,
            Home::Gitea(flags) => flags.run(Vendor::Gitea, Own::default(), global).await,
            Home::BitbucketServer(flags) => flags.run(global).await,
        }
    }
}

/// Asks before an installation of another tool is changed.
async fn confirm(cluster: &Cluster, force: bool) -> Result<(), Error> {
    let found = Installation::find(cluster).await;
    match found.map_err(|error| error.prefixed("cluster info unavailable"))? {
        Some(found) if !force && !found.may_be_changed()? => {
            Err(Error::Flags("bootstrap cancelled".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Goes through the steps that all homes of Git repositories have.
async fn run(cluster: &Cluster, plan: &Plan) -> Result<(), Error> {
    let mut tree = WorkTree::clone(plan).await?;
    components::reconcile(cluster, plan, &mut tree).await?;
    secret::reconcile(cluster, plan).await?;
    sync::reconcile(cluster, plan, &mut tree).await?;
    health::report(cluster, plan, &tree).await
}
