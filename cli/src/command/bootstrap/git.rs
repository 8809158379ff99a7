//! `weir bootstrap git`: any Git server, over SSH or HTTP(S).

use clap::Args;
use secrecy::SecretString;
use url::Url;
use weir_git::{Credentials, Git as Client, GitConfig, Profile, Remote, SshAgent, SshAlgorithms, SshAuth};
use weir_runtime::args::Switch;
use weir_verify::git::SigningKey;

use super::flags::{BootstrapFlags, secret};
use super::plan::{Access, Plan, SyncCredentials};
use super::secret::check_key_file;
use super::signing::Transport;
use super::{codecommit, known_hosts};
use crate::command::create::{Entries, hint_of_url, host_keys, ssh_host};
use crate::csv::Record;
use crate::error::Error;
use crate::given::drop_empty_secret;
use crate::global::Global;
use crate::input;

/// Variable with the password.
const PASSWORD: &str = "GIT_PASSWORD";
/// Variable with the socket of the SSH agent.
const AGENT: &str = "SSH_AUTH_SOCK";
/// User of Git servers that tell users apart by their keys.
const USER: &str = "git";

/// The repository to bootstrap from.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # Over SSH, with a key that may push
  weir bootstrap git --url=ssh://git@example.com/fleet.git --private-key-file=./id_ed25519 --path=clusters/prod

  # Over SSH, with the keys of an SSH agent; the services get a key of their own
  weir bootstrap git --url=ssh://git@example.com/fleet.git --path=clusters/prod

  # Over HTTPS, with a token from the environment
  GIT_PASSWORD=\"$TOKEN\" weir bootstrap git --url=https://example.com/fleet.git --token-auth --path=clusters/prod

  # From AWS CodeCommit, as whoever runs this; the services read it as themselves
  weir bootstrap git --url=https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/fleet --path=clusters/prod

  # With image automation, and commits that do not start a pipeline
  weir bootstrap git --url=ssh://git@example.com/fleet.git --private-key-file=./id_ed25519 --path=clusters/prod \\
    --components-extra=image-reflector-controller,image-automation-controller --commit-message-appendix='[ci skip]'")]
pub(crate) struct Git {
    /// URL of the repository.
    #[arg(long, default_value = "", hide_default_value = true)]
    url: String,
    /// User name.
    #[arg(short, long, default_value = USER)]
    username: String,
    /// Password or token, or passphrase of the private key [env: GIT_PASSWORD].
    #[arg(short, long, value_name = "TEXT", value_parser = secret)]
    password: Option<SecretString>,
    /// Do not ask if the new key has got access to the repository.
    #[arg(short, long, switched_off())]
    silent: bool,
    /// Allow HTTP without TLS.
    #[arg(long, switched_off())]
    allow_insecure_http: bool,
    /// Use the password as bearer token.
    #[arg(long, switched_off())]
    with_bearer_token: bool,
    #[command(flatten)]
    flags: BootstrapFlags,
    /// Cloud whose identity reads the repository; decided by the URL.
    #[arg(skip)]
    provider: Option<&'static str>,
}

impl Git {
    /// Bootstraps the cluster.
    pub(crate) async fn run(mut self, global: &Global) -> Result<(), Error> {
        self.flags.drop_empty();
        drop_empty_secret(&mut self.password);
        self.flags.token_auth |= self.with_bearer_token;
        self.find_password()?;
        self.flags.check()?;
        let signing_key = self.signing_key()?;
        if self.url.is_empty() {
            return Err(Error::Flags(
                "--url is required, such as ssh://git@example.com/fleet.git".to_owned(),
            ));
        }
        let url = Url::parse(&self.url).map_err(|error| {
            let reason = match error {
                url::ParseError::RelativeUrlWithoutBase => {
                    format!("scheme \"\" is not supported{}", hint_of_url(&self.url))
                }
                error => error.to_string(),
            };
            Error::Flags(format!(
                "failed to create authentication options for {}: {reason}",
                shown(&self.url)
            ))
        })?;
        self.check_scheme(&url)?;
        if codecommit::is_home_of(&url) {
            self.log_in_to_codecommit(&url, global).await?;
        }
        let cluster = &global.cluster().await?;
        super::confirm(cluster, self.flags.force).await?;
        let plan = self.plan(cluster.namespace.clone(), global, url).await?;
        super::run(cluster, &Plan { signing_key, ..plan }).await
    }

    fn signing_key(&self) -> Result<Option<SigningKey>, Error> {
        let file = self.flags.key.private_key_file.as_deref();
        self.flags.signing.key(Transport { file, passphrase: self.password.as_ref() })
    }

    /// Takes the password from the flag, the environment, or the person at the terminal.
    fn find_password(&mut self) -> Result<(), Error> {
        let of_environment = || std::env::var(PASSWORD).ok().filter(|text| !text.is_empty());
        self.password = self.password.take().or_else(|| of_environment().map(SecretString::from));
        if self.flags.token_auth && self.password.is_none() {
            self.password = Some(input::secret("Please enter your Git repository password: ")?);
        }
        Ok(())
    }

    /// Takes the identity of this process instead of a token. A key for SSH has to be that of an IAM user.
    async fn log_in_to_codecommit(&mut self, url: &Url, global: &Global) -> Result<(), Error> {
        match url.scheme() {
            "ssh" => codecommit::check_key(url, self.flags.key.private_key_file.is_some()),
            "https" if !self.flags.token_auth => {
                codecommit::check_no_login(self.username != USER || self.password.is_some())?;
                let (username, password) = codecommit::log_in(url, global.timeout.to_std()).await?;
                (self.username, self.password) = (username, Some(password));
                (self.flags.token_auth, self.provider) = (true, Some(codecommit::PROVIDER));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn check_scheme(&self, url: &Url) -> Result<(), Error> {
        let reason = match url.scheme() {
            "https" | "ssh" => return Ok(()),
            "http" if self.allow_insecure_http => return Ok(()),
            "http" => "scheme http is insecure, pass --allow-insecure-http=true to allow it".to_owned(),
            scheme => format!("scheme \"{scheme}\" is not supported"),
        };
        let shown = shown(url.as_str());
        Err(Error::Flags(format!("failed to create authentication options for {shown}: {reason}")))
    }

    async fn plan(self, namespace: String, global: &Global, url: Url) -> Result<Plan, Error> {
        let ca = self.flags.key.ca_file.as_ref();
        let ca = ca.map(|file| input::text_or(file, "unable to read TLS CA file")).transpose()?;
        let mut remote = Remote::new(url.clone());
        remote.credentials = self.credentials(&url).await?;
        if !self.flags.token_auth {
            check_key_file(&self.flags.key, self.password.as_ref())?;
        }
        remote.http = Profile { ca: ca.clone().map(String::into_bytes), ..Profile::default() };
        remote.timeout = global.timeout.to_std();
        let algorithms: Vec<_> = Record::items(&self.flags.key.ssh_hostkey_algos).cloned().collect();
        let algorithms = SshAlgorithms::parse(&[], &algorithms);
        let ssh = algorithms.map_err(|error| Error::Flags(error.to_string()))?;
        let git = Client::new(GitConfig { ssh, ..GitConfig::default() });
        Ok(Plan {
            path: Plan::path_of(&self.flags),
            namespace,
            url: shown(&self.url),
            git: git.map_err(|error| Error::Bootstrap(error.to_string()))?,
            remote,
            sync_url: self.sync_url(&url),
            provider: self.provider,
            credentials: self.sync_credentials(ca),
            signing_key: None,
            flags: self.flags,
        })
    }

    /// The credentials of this command.
    async fn credentials(&self, url: &Url) -> Result<Credentials, Error> {
        let password = self.password.clone();
        if url.scheme() == "ssh" {
            return self.ssh_credentials(url).await;
        }
        Ok(match password {
            Some(token) if self.with_bearer_token => Credentials::Bearer(token),
            Some(password) => Credentials::Basic { username: self.username.clone(), password },
            None => Credentials::None,
        })
    }

    /// Takes the key of the file, or else those of the person's SSH agent. With an agent, the server must be one that the person
    /// trusts already; a file is also for machines where nobody has seen the server before, and the keys that it shows are taken.
    async fn ssh_credentials(&self, url: &Url) -> Result<Credentials, Error> {
        if let Some(file) = &self.flags.key.private_key_file {
            let identity = SecretString::from(input::text(file)?);
            let (passphrase, known_hosts) =
                (self.password.clone(), host_keys(&ssh_host(url.as_str())?).await?);
            return Ok(Credentials::Ssh(SshAuth { identity, passphrase, known_hosts }));
        }
        match std::env::var_os(AGENT).filter(|socket| !socket.is_empty()) {
            Some(socket) => Ok(Credentials::SshAgent(SshAgent {
                socket: socket.into(),
                known_hosts: known_hosts::of_person()?,
            })),
            None => Err(Error::Flags(format!(
                "an SSH URL requires --private-key-file, or an SSH agent, which {AGENT} names"
            ))),
        }
    }

    /// The credentials of the services. Those that log in as themselves get none: the login of this command is the person's own.
    fn sync_credentials(&self, ca: Option<String>) -> SyncCredentials {
        if !self.flags.token_auth {
            let passphrase = self.password.clone();
            return SyncCredentials::Key { passphrase, access: Access::Person { asks: !self.silent } };
        }
        let password = self.password.clone().unwrap_or_default();
        let mut entries = Entries::new();
        if self.provider.is_some() {
            let replaces = ca.is_some();
            entries.extend(ca.map(|ca| ("ca.crt".to_owned(), ca.into())));
            return SyncCredentials::Given { entries, replaces };
        }
        if self.with_bearer_token {
            entries.insert("bearerToken".to_owned(), password);
        } else {
            entries.insert("username".to_owned(), self.username.as_str().into());
            entries.insert("password".to_owned(), password);
        }
        let replaces = ca.is_some() || !self.with_bearer_token;
        entries.extend(ca.map(|ca| ("ca.crt".to_owned(), ca.into())));
        SyncCredentials::Given { entries, replaces }
    }

    /// The URL of the repository for the services: of the protocol that their credentials are for.
    fn sync_url(&self, url: &Url) -> String {
        let host = url.host_str().unwrap_or_default();
        let with_port = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let path = url.path();
        if self.flags.token_auth {
            let is_http = matches!(url.scheme(), "http" | "https");
            let scheme = if self.allow_insecure_http { url.scheme() } else { "https" };
            return format!("{scheme}://{}{path}", if is_http { &with_port } else { host });
        }
        let user = match url.username() {
            of_url if !of_url.is_empty() && self.username == USER => of_url,
            _ => &self.username,
        };
        let host = self.flags.key.ssh_hostname.as_ref().unwrap_or(&with_port);
        format!("ssh://{user}@{host}{path}")
    }
}

/// Returns a URL for people, without a password and, but for SSH, without a user, which may be a token (CLI-G17).
fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        None => url.to_owned(),
        Some((login, host)) if scheme == "ssh" => {
            let user = login.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{host}{path}")
        }
        Some((_, host)) => format!("{scheme}://{host}{path}"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        git: Git,
    }

    #[rstest::rstest]
    #[case("https://me:secret@h.io:8443/r?a#b", "https://h.io:8443/r?a#b")]
    #[case("https://token@h.io", "https://h.io")]
    #[case("ssh://git:secret@h.io/a@b", "ssh://git@h.io/a@b")]
    #[case("ssh://git@h.io/r", "ssh://git@h.io/r")]
    #[case("h.io/r", "h.io/r")]
    fn passwords_of_urls_are_not_shown(#[case] url: &str, #[case] expected: &str) {
        assert_eq!(shown(url), expected);
    }

    /// The URLs that Flux makes of the same flags.
    #[rstest::rstest]
    #[case("ssh://git@h.io:22/org/r.git", "", "ssh://git@h.io:22/org/r.git")]
    #[case("ssh://me@h.io/r", "", "ssh://me@h.io/r")]
    #[case("ssh://me@h.io/r", "--username=you", "ssh://you@h.io/r")]
    #[case("https://h.io/r", "", "ssh://git@h.io/r")]
    #[case("https://h.io:8443/r", "--ssh-hostname=ssh.h.io", "ssh://git@ssh.h.io/r")]
    #[case("https://me@h.io:8443/r", "--token-auth", "https://h.io:8443/r")]
    #[case("ssh://git@h.io:22/r", "--token-auth", "https://h.io/r")]
    #[case("http://h.io:80/r", "--token-auth", "https://h.io/r")]
    fn urls_of_the_services(#[case] url: &str, #[case] flag: &str, #[case] expected: &str) {
        let flags = ["git", flag].into_iter().filter(|flag| !flag.is_empty());
        let git = Flags::parse_from(flags).git;
        assert_eq!(git.sync_url(&url.parse().unwrap()), expected);
    }
}
