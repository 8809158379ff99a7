//! The cluster to work with, and the identity there: kubectl's flags over the kubeconfig (cli.md 1.1, CLI-G02).

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use http::uri::InvalidUri;
use kube::Config;
use kube::config::{
    AuthInfo, ExecInteractiveMode, InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError,
};
use secrecy::{ExposeSecret, SecretString};
use weir_runtime::client;

use super::throttle::{Pace, Throttle};
use super::{kubeconfig, oidc};
use crate::error::{Error, chain};
use crate::given::{Given, drop_empty_secret, path};
use crate::integer;

/// Largest file read for a flag, in bytes: token files have about one KiB.
const MAX_FILE: u64 = 64 * 1024;

/// The cluster to work with, and the identity there.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Global flags")]
pub(crate) struct ClusterFlags {
    /// Path of the kubeconfig (default $KUBECONFIG, then ~/.kube/config, then the Pod's service account).
    #[arg(long, global = true, value_name = "FILE", value_parser = path())]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig to use.
    #[arg(long, global = true)]
    context: Option<String>,
    /// Cluster of the kubeconfig to use.
    #[arg(long, global = true, hide_short_help = true)]
    cluster: Option<String>,
    /// User of the kubeconfig to use.
    #[arg(long, global = true, hide_short_help = true)]
    user: Option<String>,
    /// Bearer token for the API server and for Weir's services.
    #[arg(long, global = true, hide_short_help = true, value_parser = |text: &str| Ok::<_, String>(SecretString::from(text)))]
    token: Option<SecretString>,
    /// Address of the API server.
    #[arg(long, global = true, hide_short_help = true, value_name = "URL")]
    server: Option<Address>,
    /// Name that the API server's certificate must have.
    #[arg(long, global = true, hide_short_help = true, value_name = "NAME")]
    tls_server_name: Option<String>,
    /// User to impersonate.
    #[arg(long = "as", global = true, hide_short_help = true, value_name = "USER")]
    as_user: Option<String>,
    /// Group to impersonate; may be given several times.
    #[arg(long, global = true, hide_short_help = true, value_name = "GROUP")]
    as_group: Vec<String>,
    /// UID to impersonate.
    #[arg(long, global = true, hide_short_help = true, value_name = "UID")]
    as_uid: Option<String>,
    /// Extra field of the user to impersonate; may be given several times.
    #[arg(long, global = true, hide_short_help = true, value_name = "KEY=VALUE", value_parser = pair)]
    as_user_extra: Vec<(String, String)>,
    /// Certificate of the authority that signed the API server's certificate.
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE", value_parser = path())]
    certificate_authority: Option<PathBuf>,
    /// Client certificate for the API server.
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE", value_parser = path())]
    client_certificate: Option<PathBuf>,
    /// Key of the client certificate.
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE", value_parser = path())]
    client_key: Option<PathBuf>,
    /// Do not check the API server's certificate.
    #[arg(long, global = true, hide_short_help = true)]
    insecure_skip_tls_verify: bool,
    /// Do not ask for compressed answers.
    #[arg(long, global = true, hide_short_help = true)]
    disable_compression: bool,
    /// Requests a second to the API server at most; 0 is no limit.
    #[arg(long, global = true, hide_short_help = true, default_value = "50", value_name = "NUMBER")]
    kube_api_qps: f32,
    /// Requests that may be made at once before that limit counts.
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        default_value = "300",
        value_name = "NUMBER",
        value_parser = burst
    )]
    kube_api_burst: i32,
    /// Accepted for compatibility; nothing is cached.
    #[arg(long, global = true, hide = true, value_parser = path())]
    cache_dir: Option<PathBuf>,
    /// True when nobody is there to answer the questions of programs that the kubeconfig names for logins.
    #[arg(skip)]
    pub(crate) asks_nobody: bool,
}

/// The address of an API server. An empty text is none.
#[derive(Debug, Clone)]
struct Address(Option<http::Uri>);

impl FromStr for Address {
    type Err = InvalidUri;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(if text.is_empty() { None } else { Some(text.parse()?) }))
    }
}

/// Reads a number of requests, in any form of Go's integers. It is of the type of the services' flag, which `weir run` has instead.
fn burst(text: &str) -> Result<i32, String> {
    let number = i32::try_from(integer::parse(text)?);
    number.map_err(|_| format!("it must be between {} and {}", i32::MIN, i32::MAX))
}

impl ClusterFlags {
    /// Takes away what is given without a value: scripts write `--token="$TOKEN"`, and an empty token is none.
    pub(crate) fn drop_empty(&mut self) {
        let Self { kubeconfig, certificate_authority, client_certificate, client_key, .. } = self;
        [kubeconfig, certificate_authority, client_certificate, client_key]
            .into_iter()
            .for_each(Given::drop_empty);
        let Self { tls_server_name, as_user, as_uid, as_group, token, .. } = self;
        [tls_server_name, as_user, as_uid].into_iter().for_each(Given::drop_empty);
        as_group.retain(|group| !group.is_empty());
        drop_empty_secret(token);
    }

    /// Takes the bearer token for the API server away.
    pub(super) fn forget_token(&mut self) {
        self.token = None;
    }

    /// The kubeconfig; `None` where there is none and the Pod's service account may be used instead.
    pub(crate) fn kubeconfig(&self) -> Result<Option<Kubeconfig>, Error> {
        let found = match &self.kubeconfig {
            Some(path) => client::kubeconfig::read(path).map(Some),
            None => client::kubeconfig::find(),
        };
        let mut found = found.map_err(|error| Error::KubeConfig(chain(&error)))?;
        let Some(file) = found.as_mut() else { return Ok(None) };
        if self.asks_nobody {
            let users = file.auth_infos.iter_mut().filter_map(|user| user.auth_info.as_mut()?.exec.as_mut());
            users.for_each(|program| program.interactive_mode = Some(ExecInteractiveMode::Never));
        }
        Ok(found)
    }

    /// The configuration that the flags make of a kubeconfig. Where nothing is chosen, it is that of the Pod, if this is one.
    pub(crate) fn config(&self, kubeconfig: Option<&Kubeconfig>) -> Result<Config, Error> {
        self.check_files()?;
        if self.certificate_authority.is_some() && self.insecure_skip_tls_verify {
            let reason = "--certificate-authority and --insecure-skip-tls-verify exclude each other";
            return Err(Error::KubeConfig(reason.to_owned()));
        }
        let mut config = self.chosen_config(kubeconfig)?;
        if !impersonates_user(&config.auth_info) {
            let reason = "as-groups, as-uid and as-user-extra need a user to impersonate: --as";
            return Err(Error::KubeConfig(reason.to_owned()));
        }
        client::kubeconfig::drop_credentials_over_plain_http(&mut config);
        Ok(config)
    }

    /// Names a file of certificates or of a key that cannot be read; the client itself tells the reason alone.
    fn check_files(&self) -> Result<(), Error> {
        let files = [
            ("certificate-authority", &self.certificate_authority),
            ("client-certificate", &self.client_certificate),
            ("client-key", &self.client_key),
        ];
        for (flag, path) in files {
            let Some(path) = path else { continue };
            std::fs::File::open(path).map_err(|error| {
                Error::KubeConfig(format!("unable to read --{flag} {}: {error}", path.display()))
            })?;
        }
        Ok(())
    }

    fn chosen_config(&self, kubeconfig: Option<&Kubeconfig>) -> Result<Config, Error> {
        let (none, change) = (Kubeconfig::default(), |config: &mut Config| self.change(config));
        let file = kubeconfig.unwrap_or(&none);
        if !self.has_choice(file) {
            let mut config =
                Config::incluster().map_err(|error| no_cluster(file, &self.place_of_kubeconfig(), &error))?;
            change(&mut config);
            return Ok(config);
        }
        let [context, cluster, user] = self.chosen().map(|name| name.map(str::to_owned));
        let options = KubeConfigOptions { context, cluster, user };
        kubeconfig::config(file, &options, self.server(), change)
    }

    /// The names of the context, the cluster and the user that flags give; empty ones are as good as not given.
    fn chosen(&self) -> [Option<&str>; 3] {
        [&self.context, &self.cluster, &self.user].map(|name| name.as_deref().filter(|name| !name.is_empty()))
    }

    fn server(&self) -> Option<&http::Uri> {
        self.server.as_ref()?.0.as_ref()
    }

    /// Returns true when a flag or the kubeconfig says which cluster is meant, or as whom.
    fn has_choice(&self, file: &Kubeconfig) -> bool {
        let is_flagged = self.chosen().iter().any(Option::is_some);
        is_flagged
            || self.server().is_some()
            || file.current_context.as_ref().is_some_and(|it| !it.is_empty())
    }

    /// Takes the login of a user who logs in by OIDC out of a configuration: the library renews tokens without a proxy and an
    /// authority, and keeps none. Another login of the user goes first, as with kubectl.
    pub(super) fn take_oidc_login(&self, file: &Kubeconfig, config: &mut Config) -> Option<oidc::Login> {
        let auth = &mut config.auth_info;
        let provider = auth.auth_provider.take_if(|login| login.name == "oidc")?;
        if auth.token.is_some() || auth.token_file.is_some() || auth.username.is_some() {
            return None;
        }
        let paths = self.kubeconfig.clone().map_or_else(client::kubeconfig::files, |path| vec![path]);
        let user = self.user_of(file).unwrap_or_default();
        Some(oidc::Login::new(provider.config, user, paths, self.asks_nobody))
    }

    /// The name of the user that is chosen.
    fn user_of(&self, file: &Kubeconfig) -> Option<String> {
        let [context, _, user] = self.chosen();
        let of_context = || {
            let context = context.or(file.current_context.as_deref())?;
            let named = file.contexts.iter().find(|named| named.name == context)?;
            named.context.as_ref()?.user.clone()
        };
        user.map(str::to_owned).or_else(of_context)
    }

    /// The pace of requests.
    pub(super) fn throttle(&self) -> Throttle {
        Throttle(Pace::of(self.kube_api_qps, u32::try_from(self.kube_api_burst).unwrap_or_default()))
    }

    /// The token of `--token`; of a command that asks no cluster, the token that it is about.
    pub(crate) fn token(&self) -> Option<&SecretString> {
        self.token.as_ref()
    }

    /// The address of the API server and the place that names it, for people.
    pub(crate) fn place(&self) -> (String, String) {
        let file = self.kubeconfig().ok().flatten();
        let config = self.config(file.as_ref());
        let server = config.map(|config| config.cluster_url.to_string()).unwrap_or_default();
        (server.trim_end_matches('/').to_owned(), self.origin(file.as_ref()))
    }

    /// Says what names the address of the API server.
    fn origin(&self, file: Option<&Kubeconfig>) -> String {
        if self.server().is_some() {
            return "--server".to_owned();
        }
        let path = self.place_of_kubeconfig();
        let [context, cluster, _] = self.chosen();
        let current = || file?.current_context.as_deref().filter(|name| !name.is_empty());
        match (cluster, context.or_else(current)) {
            (Some(cluster), _) => format!("cluster '{cluster}' of {path}"),
            (None, Some(context)) => format!("context '{context}' of {path}"),
            (None, None) => "the Pod's environment".to_owned(),
        }
    }

    /// The path of the kubeconfig, or the places where it is looked for.
    fn place_of_kubeconfig(&self) -> String {
        self.kubeconfig.as_ref().map_or_else(kubeconfig::places, |path| path.display().to_string())
    }

    /// The namespace that the kubeconfig's context names.
    pub(crate) fn namespace_of_context(&self, kubeconfig: &Kubeconfig) -> Option<String> {
        let [context, ..] = self.chosen();
        let current = context.or(kubeconfig.current_context.as_deref())?;
        let context = kubeconfig.contexts.iter().find(|context| context.name == current)?;
        context.context.as_ref()?.namespace.clone().filter(|namespace| !namespace.is_empty())
    }

    /// Changes what a kubeconfig says to what the flags say.
    fn change(&self, config: &mut Config) {
        self.override_connection(config);
        self.override_identity(config);
        settle_token(config);
    }

    fn override_connection(&self, config: &mut Config) {
        if self.tls_server_name.is_some() || self.server().is_some() {
            // The name in the kubeconfig is that of its own server.
            config.tls_server_name = self.tls_server_name.clone();
        }
        if let Some(path) = &self.certificate_authority {
            config.root_cert = None;
            config.root_cert_file = Some(path.clone());
            // A named authority is there to check the certificate, whatever the kubeconfig says.
            config.accept_invalid_certs = false;
        }
        if self.insecure_skip_tls_verify {
            (config.root_cert, config.root_cert_file) = (None, None);
            config.accept_invalid_certs = true;
        }
        config.disable_compression |= self.disable_compression;
    }

    fn override_identity(&self, config: &mut Config) {
        let auth = &mut config.auth_info;
        if let Some(token) = &self.token {
            auth.token = Some(SecretString::from(token.expose_secret()));
            auth.token_file = None;
            (auth.username, auth.password, auth.auth_provider) = (None, None, None);
        }
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        if let Some(path) = &self.client_certificate {
            auth.client_certificate_data = None;
            auth.client_certificate = Some(text(path));
            // It is the login, so that no program is asked for another one.
            auth.exec = None;
        }
        if let Some(path) = &self.client_key {
            auth.client_key_data = None;
            auth.client_key = Some(text(path));
        }
        if let Some(user) = &self.as_user {
            auth.impersonate = Some(user.clone());
        }
        if !self.as_group.is_empty() {
            auth.impersonate_groups = Some(self.as_group.clone());
        }
        if let Some(uid) = &self.as_uid {
            auth.impersonate_uid = Some(uid.clone());
        }
        self.override_extra(auth);
    }

    /// Replaces the values of those extra fields that flags name; the others stay.
    fn override_extra(&self, auth: &mut AuthInfo) {
        if self.as_user_extra.is_empty() {
            return;
        }
        let extra = auth.impersonate_user_extra.get_or_insert_default();
        for (key, _) in &self.as_user_extra {
            extra.remove(key);
        }
        for (key, value) in &self.as_user_extra {
            extra.entry(key.clone()).or_default().push(value.clone());
        }
    }
}

/// Returns true when a user is named where groups, a UID or extra fields are to be impersonated.
fn impersonates_user(auth: &AuthInfo) -> bool {
    let has_groups = auth.impersonate_groups.as_ref().is_some_and(|groups| !groups.is_empty());
    let has_extra = auth.impersonate_user_extra.as_ref().is_some_and(|extra| !extra.is_empty());
    auth.impersonate.is_some() || !(has_groups || has_extra || auth.impersonate_uid.is_some())
}

/// Returns the reason for which no cluster is known: none is chosen, and this is no Pod.
fn no_cluster(file: &Kubeconfig, place: &str, error: &InClusterError) -> Error {
    let is_empty = file.contexts.is_empty() && file.clusters.is_empty() && file.auth_infos.is_empty();
    Error::KubeConfig(match is_empty {
        true => no_file(place, error),
        false => chain(&KubeconfigError::CurrentContextNotSet) + &kubeconfig::choice(file),
    })
}

fn no_file(place: &str, error: &InClusterError) -> String {
    match error {
        // Nobody who has no kubeconfig wants to hear of a Pod's environment.
        InClusterError::ReadEnvironmentVariable(_) => {
            format!(
                "no kubeconfig at {place}, and not in a Pod; $KUBECONFIG or --kubeconfig names another file"
            )
        }
        error => format!("no kubeconfig at {place}, and not in a Pod: {}", chain(error)),
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let (key, value) = pair.ok_or("it must be KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Leaves one token: that of the file, as with kubectl, and the one beside it where the file cannot be read or is empty. An empty text is
/// none. The client sends files as they are, and reads them again, so that only those with a line end, as an editor or `echo` leaves it, are
/// replaced by their token.
fn settle_token(config: &mut Config) {
    let auth = &mut config.auth_info;
    auth.token_file = auth.token_file.take().filter(|path| !path.is_empty());
    auth.token = auth.token.take().filter(|token| !token.expose_secret().is_empty());
    let Some(path) = auth.token_file.as_deref() else { return };
    let Ok(content) = crate::input::bytes(Path::new(path), MAX_FILE) else { return };
    let Ok(text) = std::str::from_utf8(&content) else { return };
    let token = text.trim();
    if token.is_empty() && auth.token.is_some() {
        return;
    }
    auth.token = None;
    if token != text {
        auth.token = Some(SecretString::from(token));
        auth.token_file = None;
    }
}

/// The bearer token of a user of the cluster, to be shown to Weir's services as well.
pub(crate) fn bearer_token(config: &Config) -> Result<SecretString, Error> {
    if let Some(token) = config.auth_info.token.as_ref().filter(|token| !token.expose_secret().is_empty()) {
        return Ok(token.clone());
    }
    let file = config.auth_info.token_file.as_deref().ok_or(Error::NoToken)?;
    read_token(Path::new(file))
}

fn read_token(path: &Path) -> Result<SecretString, Error> {
    let failed = |cause| Error::File { path: path.display().to_string(), cause };
    let bytes = crate::input::bytes(path, MAX_FILE).map_err(failed)?;
    let text = std::str::from_utf8(&bytes).map_err(|error| failed(std::io::Error::other(error)))?;
    Ok(SecretString::from(text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Flags {
        #[command(flatten)]
        access: ClusterFlags,
    }

    /// Scripts write `--token="$TOKEN"` also where there is none.
    #[test]
    fn a_flag_without_a_value_leaves_the_kubeconfig_as_it_is() {
        let file = "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:9', tls-server-name: s}}]
users: [{name: u, user: {token: t, as: jane, as-groups: [dev], as-uid: '1'}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
";
        let file = Kubeconfig::from_yaml(file).unwrap();
        let config = |flags: &[&str]| {
            let words = ["weir"].iter().chain(flags);
            let mut access = <Flags as clap::Parser>::parse_from(words).access;
            access.drop_empty();
            let config = access.config(Some(&file)).unwrap();
            let token = config.auth_info.token.as_ref().map(|token| token.expose_secret().to_owned());
            let auth = config.auth_info;
            (token, auth.impersonate, auth.impersonate_groups, auth.impersonate_uid, config.tls_server_name)
        };
        let empty = ["--token=", "--as=", "--as-group=", "--as-uid=", "--tls-server-name=", "--kubeconfig="];
        assert_eq!(config(&empty), config(&[]));
        assert_eq!(config(&[]).0.as_deref(), Some("t"));
        let files = ["--certificate-authority=", "--client-certificate=", "--client-key="];
        assert_eq!(config(&files), config(&[]));
        assert_eq!(config(&["--token=other"]).0.as_deref(), Some("other"));
    }

    #[test]
    fn a_certificate_is_checked_by_whoever_names_its_authority() {
        let file =
            "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:9', insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
";
        let file = Kubeconfig::from_yaml(file).unwrap();
        let authority = tempfile::NamedTempFile::new().unwrap();
        let authority = format!("--certificate-authority={}", authority.path().display());
        let is_unchecked = |flags: &[&str]| {
            let words = ["weir"].iter().chain(flags);
            let access = <Flags as clap::Parser>::parse_from(words).access;
            access.config(Some(&file)).map(|config| config.accept_invalid_certs)
        };
        assert!(is_unchecked(&[]).unwrap());
        assert!(!is_unchecked(&[&authority]).unwrap());
        let refused = is_unchecked(&[&authority, "--insecure-skip-tls-verify"]).unwrap_err().to_string();
        assert!(refused.ends_with("exclude each other"), "{refused}");
    }

    fn config_of(user: &str, flags: &[&str]) -> Config {
        let file = format!(
            "clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:9', tls-server-name: s}}}}]
users: [{{name: u, user: {user}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"
        );
        let access = <Flags as clap::Parser>::parse_from(["weir"].iter().chain(flags)).access;
        access.config(Some(&Kubeconfig::from_yaml(&file).unwrap())).unwrap()
    }

    /// As client-go merges its flags over a kubeconfig, but for `--token`, which counts whatever else is there.
    #[rstest::rstest]
    #[case("{token: a}", &[], Some("a"))]
    #[case("{token: ''}", &[], None)]
    #[case("{token: a, tokenFile: ''}", &[], Some("a"))]
    #[case("{token: a, tokenFile: /nonexistent}", &[], Some("a"))]
    #[case("{token: a, tokenFile: /nonexistent}", &["--token=b"], Some("b"))]
    #[case("{username: me, password: p}", &["--token=b"], Some("b"))]
    #[case("{auth-provider: {name: oidc, config: {id-token: t}}}", &["--token=b"], Some("b"))]
    fn one_token_is_sent(#[case] user: &str, #[case] flags: &[&str], #[case] expected: Option<&str>) {
        let auth = config_of(user, flags).auth_info;
        assert_eq!(auth.token.as_ref().map(|token| token.expose_secret()), expected);
        assert!(auth.username.is_none() && auth.password.is_none() && auth.auth_provider.is_none());
    }

    #[test]
    fn flags_replace_what_the_kubeconfig_says_of_the_same_thing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let certificate = format!("--client-certificate={}", file.path().display());
        let user = "{exec: {command: nope, apiVersion: client.authentication.k8s.io/v1beta1}, as: jane, as-user-extra: {k: [v], l: [v]}}";
        let extra = ["--as-user-extra=l=w", "--as-user-extra=l=x"];
        let config = config_of(user, &[&certificate, extra[0], extra[1], "--server=https://127.0.0.1:8"]);
        assert!(config.auth_info.exec.is_none());
        let extra = config.auth_info.impersonate_user_extra.unwrap();
        assert_eq!(serde_json::json!(extra), serde_json::json!({ "k": ["v"], "l": ["w", "x"] }));
        assert_eq!(config.tls_server_name, None);
        let server = ["--server=https://127.0.0.1:8", "--tls-server-name=n"];
        assert_eq!(config_of("{}", &server).tls_server_name.as_deref(), Some("n"));
        assert_eq!(config_of("{}", &[]).tls_server_name.as_deref(), Some("s"));
    }

    #[test]
    fn credentials_are_not_sent_over_plain_http() {
        let servers = [
            ("http://127.0.0.1:9", false),
            ("HTTP://127.0.0.1:9", false),
            ("127.0.0.1:9", false),
            ("https://127.0.0.1:9", true),
        ];
        for (server, is_kept) in servers {
            let server = format!("--server={server}");
            for flags in [vec![server.as_str()], vec![&server, "--token=b"]] {
                let auth = config_of("{token: a, as: jane}", &flags).auth_info;
                let sent = (auth.token.is_some(), auth.impersonate.as_deref());
                assert_eq!(sent, (is_kept, Some("jane")), "{flags:?}");
            }
        }
    }

    #[test]
    fn a_token_file_counts_without_its_line_end() {
        let token = tempfile::NamedTempFile::new().unwrap();
        let file = format!(
            "clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:9'}}}}]
users: [{{name: u, user: {{token: a, tokenFile: '{}'}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
",
            token.path().display()
        );
        let file = Kubeconfig::from_yaml(&file).unwrap();
        let auth = || {
            let flags = <Flags as clap::Parser>::parse_from(["weir"]).access;
            let auth = flags.config(Some(&file)).unwrap().auth_info;
            (auth.token.map(|token| token.expose_secret().to_owned()), auth.token_file.is_some())
        };
        let cases = [
            ("abc\r\n", (Some("abc"), false)),
            ("abc", (None, true)),
            ("", (Some("a"), true)),
            ("\n", (Some("a"), true)),
        ];
        for (content, expected) in cases {
            std::fs::write(token.path(), content).unwrap();
            assert_eq!(auth(), (expected.0.map(str::to_owned), expected.1));
        }
    }

    #[test]
    fn a_token_is_read_whole_or_not_at_all() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "token\n").unwrap();
        assert_eq!(read_token(file.path()).unwrap().expose_secret(), "token");
        std::fs::write(file.path(), "x".repeat(64 * 1024 + 1)).unwrap();
        let reason = read_token(file.path()).unwrap_err().to_string();
        assert!(reason.ends_with("larger than 65536 bytes"), "{reason}");
    }
}
