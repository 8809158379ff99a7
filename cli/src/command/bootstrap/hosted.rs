//! `weir bootstrap github|gitlab|gitea|bitbucket-server`: repositories that an API makes and gives access to
//! (CLI-BST02, CLI-BST05).

mod api;
mod bitbucket;
mod gitea;
mod github;
mod gitlab;
mod vendor;

use clap::Args;
use secrecy::SecretString;
use tokio::time::Instant;
use weir_git::{Credentials, Git, GitConfig, Profile, Remote};
use weir_runtime::args::Switch;

use self::api::Api;
pub(super) use self::vendor::{Hosted, Vendor};
use super::flags::BootstrapFlags;
use super::plan::{Access, Plan, SyncCredentials};
use super::secret::check_key_file;
use super::signing::Transport;
use crate::command::create::Entries;
use crate::csv::Record;
use crate::enumeration::{Enumeration, Form};
use crate::error::Error;
use crate::given::Given;
use crate::global::Global;
use crate::input;
use crate::output::progress;

/// Words for the permissions of teams. Not every vendor has all of them.
const PERMISSIONS: [&str; 5] = ["pull", "triage", "push", "maintain", "admin"];
/// User of tokens in Secrets, and of keys.
const USER: &str = "git";
/// The visibility that such a repository gets by default.
const PRIVATE: &str = "private";
const VISIBILITY: Enumeration = Enumeration {
    thing: "visibility",
    words: &["public", "internal", PRIVATE],
    form: Form::UnsupportedOr(PRIVATE),
};

/// The repository at a vendor.
#[derive(Args, Debug)]
pub(crate) struct Flags {
    /// Owner of the repository: a user or an organisation.
    #[arg(long, default_value = "", hide_default_value = true)]
    owner: String,
    /// Name of the repository.
    #[arg(long, default_value = "", hide_default_value = true)]
    repository: String,
    /// The owner is a user.
    #[arg(long, switched_off())]
    personal: bool,
    /// Make the repository private, if it has to be made.
    #[arg(long, default_value_t = true, switch())]
    private: bool,
    /// Host of the vendor, if it is not the vendor's own.
    #[arg(long, value_name = "HOST")]
    hostname: Option<String>,
    /// Teams that get access to the repository; behind a colon what they may do.
    #[arg(long, alias = "group", value_name = "TEAM[:PERMISSION]")]
    team: Vec<Record>,
    /// Let the key of the services push too.
    #[arg(long)]
    read_write_key: bool,
    /// Give teams access again, also if they have some already.
    #[arg(long)]
    reconcile: bool,
    #[command(flatten)]
    flags: BootstrapFlags,
}

/// Flags of single vendors, with the values that they have for the others.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// Visibility of a private repository, as GitLab calls it.
    visibility: Option<String>,
    deploy_token_auth: bool,
    /// User of the token.
    username: Option<String>,
}

/// The repository once it is there, and all that this command needs to reach it.
struct Reached {
    hosted: Hosted,
    /// Its URL for HTTPS.
    url: String,
    token: SecretString,
    http: Profile,
    /// The certificates of the vendor's authority, if flags name some.
    ca: Option<String>,
}

/// The repository at GitLab.
#[derive(Args, Debug)]
pub(crate) struct GitLab {
    #[command(flatten)]
    flags: Flags,
    /// Visibility of a repository that has to be made.
    #[arg(long, value_parser = VISIBILITY, default_value = PRIVATE)]
    visibility: String,
    /// Give the services a deploy token, instead of a key for SSH.
    #[arg(long)]
    deploy_token_auth: bool,
}

/// The repository at Bitbucket Server.
#[derive(Args, Debug)]
pub(crate) struct BitbucketServer {
    #[command(flatten)]
    flags: Flags,
    /// User of the token.
    #[arg(short, long, default_value = USER)]
    username: String,
}

impl GitLab {
    /// Bootstraps the cluster.
    pub(super) async fn run(self, global: &Global) -> Result<(), Error> {
        let Self { flags, visibility, deploy_token_auth } = self;
        let own = Own { visibility: Some(visibility), deploy_token_auth, ..Own::default() };
        flags.run(Vendor::GitLab, own, global).await
    }
}

impl BitbucketServer {
    /// Bootstraps the cluster.
    pub(super) async fn run(self, global: &Global) -> Result<(), Error> {
        let own = Own { username: Some(self.username), ..Own::default() };
        self.flags.run(Vendor::BitbucketServer, own, global).await
    }
}

impl Flags {
    /// Bootstraps the cluster.
    pub(super) async fn run(mut self, vendor: Vendor, own: Own, global: &Global) -> Result<(), Error> {
        self.flags.drop_empty();
        self.hostname.drop_empty();
        let token = token(vendor)?;
        self.check(vendor, &own)?;
        let file = self.flags.key.private_key_file.as_deref();
        let signing_key = self.flags.signing.key(Transport { file, passphrase: None })?;
        let cluster = &global.cluster().await?;
        super::confirm(cluster, self.flags.force).await?;
        let ca = self.flags.key.ca_file.as_ref();
        let ca = ca.map(|file| input::text_or(file, "unable to read TLS CA file")).transpose()?;
        let http = Profile { ca: ca.clone().map(String::into_bytes), ..Profile::default() };
        let mut hosted = self.hosted(vendor, &http, &token, cluster.deadline)?;
        if !self.flags.token_auth && !own.deploy_token_auth {
            check_key_file(&self.flags.key, None)?;
        }
        let url = self.repository(&mut hosted, &own).await?;
        let reached = Reached { hosted, url, token, http, ca };
        let plan = self.plan(cluster.namespace.clone(), global, own, reached)?;
        super::run(cluster, &Plan { signing_key, ..plan }).await
    }

    fn check(&self, vendor: Vendor, own: &Own) -> Result<(), Error> {
        let refused = |reason: &str| Err(Error::Flags(reason.to_owned()));
        if vendor == Vendor::BitbucketServer && self.hostname.is_none() {
            return refused("invalid hostname \"\"");
        }
        if vendor == Vendor::GitLab && !gitlab::is_name(&self.repository) {
            return Err(Error::Flags(format!(
                "{} is an invalid project name for gitlab.\nIt can contain only letters, digits, emojis, '_', '.', dash, \
                 space. It must start with letter, digit, emoji or '_'.",
                self.repository
            )));
        }
        let makes_keys = matches!(vendor, Vendor::GitHub | Vendor::Gitea);
        if makes_keys && self.flags.signing.ssh_signing_reuse_private_key {
            return Err(Error::Flags(format!(
                "--ssh-signing-reuse-private-key is not supported by 'bootstrap {}'; the key for SSH is made for the \
                 services, --ssh-signing-key-file names one that signs",
                vendor.word()
            )));
        }
        if self.flags.token_auth && own.deploy_token_auth {
            return refused("--token-auth and --deploy-token-auth cannot be set both.");
        }
        if self.owner.is_empty() || self.repository.is_empty() {
            return refused("--owner and --repository are required");
        }
        self.check_teams(vendor)?;
        self.flags.check()
    }

    /// Refuses permissions that there are not, before anything is made.
    fn check_teams(&self, vendor: Vendor) -> Result<(), Error> {
        for (team, permission) in self.teams(vendor) {
            if !PERMISSIONS.contains(&permission) {
                return Err(Error::Flags(format!(
                    "failed to reconcile repository team access: invalid permission \"{permission}\" for team \"{team}\""
                )));
            }
        }
        Ok(())
    }

    /// Returns the teams with what they may do.
    fn teams(&self, vendor: Vendor) -> impl Iterator<Item = (&str, &str)> {
        Record::items(&self.team).map(move |team| match team.split_once(':') {
            Some((team, permission)) if !permission.is_empty() => (team, permission),
            Some((team, _)) => (team, vendor.permission()),
            None => (team.as_str(), vendor.permission()),
        })
    }

    fn hosted(
        &self,
        vendor: Vendor,
        http: &Profile,
        token: &SecretString,
        deadline: Instant,
    ) -> Result<Hosted, Error> {
        let host = self.hostname.as_deref().unwrap_or(vendor.host());
        Ok(Hosted {
            api: Api::new(http, vendor.base(host), &vendor.authorization(token), token, deadline)?,
            vendor,
            host: host.trim_start_matches("https://").trim_end_matches('/').to_owned(),
            owner: self.owner.clone(),
            name: self.repository.clone(),
            is_personal: self.personal,
            project: None,
        })
    }

    /// Finds the repository or makes it, and gives teams access to it. Returns its URL for HTTPS.
    async fn repository(&self, hosted: &mut Hosted, own: &Own) -> Result<String, Error> {
        progress::action(&format!("connecting to {}", hosted.host));
        let shown = hosted.url();
        let failed = |error: Error| {
            Error::Bootstrap(format!("failed to get Git repository \"{shown}\": provider error: {error}"))
        };
        hosted.find_project().await.map_err(failed)?;
        let found = hosted.find().await.map_err(failed)?;
        let is_there = found.is_some();
        if !is_there {
            let visibility = own.visibility.as_deref().unwrap_or(PRIVATE);
            let visibility = if self.private { visibility } else { "public" };
            hosted.create(visibility).await.map_err(|error| {
                Error::Bootstrap(format!("failed to create new Git repository \"{shown}\": {error}"))
            })?;
            progress::success(&format!("repository \"{shown}\" created"));
        }
        if !self.personal && Record::items(&self.team).next().is_some() {
            self.give_access(hosted, is_there).await;
        }
        Ok(hosted.clone_url())
    }

    /// Gives teams access. A failure is shown and changes nothing else: a token that may push need not be one that may do this.
    async fn give_access(&self, hosted: &Hosted, is_there: bool) {
        progress::action("reconciling repository permissions");
        for (team, permission) in self.teams(hosted.vendor) {
            if is_there && !self.reconcile && hosted.has_access(team).await {
                continue;
            }
            match hosted.grant(team, permission).await {
                Ok(()) => progress::success(&format!("granted \"{permission}\" permissions to \"{team}\"")),
                Err(error) => progress::failure(&format!(
                    "failed to grant \"{permission}\" permissions to \"{team}\": {error}"
                )),
            }
        }
        progress::success("reconciled repository permissions");
    }

    fn plan(self, namespace: String, global: &Global, own: Own, reached: Reached) -> Result<Plan, Error> {
        let Reached { hosted, url, token, http, ca } = reached;
        let bad = |error: url::ParseError| Error::Flags(format!("{url}: {error}"));
        let mut remote = Remote::new(url.parse().map_err(bad)?);
        let username = own.username.filter(|_| !self.personal).unwrap_or_else(|| self.owner.clone());
        remote.credentials = Credentials::Basic { username: username.clone(), password: token.clone() };
        remote.http = http;
        remote.timeout = global.timeout.to_std();
        let git = Git::new(GitConfig::default()).map_err(|error| Error::Bootstrap(error.to_string()))?;
        let is_over_https = self.flags.token_auth || own.deploy_token_auth;
        let sync_url = match is_over_https {
            true => url.clone(),
            false => hosted.ssh_url(self.flags.key.ssh_hostname.as_deref()),
        };
        let path = Plan::path_of(&self.flags);
        // As Flux names them: without --path, the title has no part for it.
        let place = if self.flags.path.is_empty() { "" } else { path.as_str() };
        let title = hosted.title(&namespace, &self.flags.branch, &self.flags.secret_name, place);
        let user = if hosted.vendor == Vendor::BitbucketServer { username } else { USER.to_owned() };
        let hosted = Box::new(hosted);
        let credentials = if self.flags.token_auth {
            let mut entries =
                Entries::from([("username".to_owned(), user.into()), ("password".to_owned(), token)]);
            entries.extend(ca.map(|ca| ("ca.crt".to_owned(), ca.into())));
            SyncCredentials::Given { entries, replaces: true }
        } else if own.deploy_token_auth {
            SyncCredentials::DeployToken { hosted, title, ca }
        } else {
            let access = Access::Api { hosted, title, is_writable: self.read_write_key };
            SyncCredentials::Key { passphrase: None, access }
        };
        Ok(Plan {
            path,
            namespace,
            url,
            git,
            remote,
            sync_url,
            provider: None,
            credentials,
            signing_key: None,
            flags: self.flags,
        })
    }
}

/// Takes the token from the environment, or from the person at the terminal.
fn token(vendor: Vendor) -> Result<SecretString, Error> {
    match std::env::var(vendor.variable()) {
        Ok(token) if !token.is_empty() => Ok(token.into()),
        _ => {
            let name = vendor.name();
            input::secret(&format!("Please enter your {name} personal access token (PAT): "))
        }
    }
}
