//! The configuration of a kubeconfig's context (CLI-G02, KS-IMP-5).

mod file;
mod usable;

use std::path::PathBuf;

use http::Uri;
use kube::Config;
use kube::config::{
    AuthInfo, Cluster, Context, ExecAuthCluster, KubeConfigOptions, Kubeconfig, KubeconfigError,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::{self, PemObject};

pub use self::file::{VARIABLE, files, find, parse, read, text};
use super::proxy;

/// The reason that a kubeconfig cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A part of it is missing or not as it should be.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// The file cannot be read.
    #[error("{path}: {cause}", path = path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        cause: std::io::Error,
    },
    /// The content of the file cannot be used.
    #[error("{path}: {cause}", path = path.display())]
    Broken {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        cause: Box<Self>,
    },
    /// The document does not have the form of a kubeconfig.
    #[error("it is no kubeconfig: {0}")]
    Malformed(String),
    /// Two entries have the same name.
    #[error("duplicate name {name:?} in {list}")]
    Duplicate {
        /// Field of the entries.
        list: &'static str,
        /// Name of both.
        name: String,
    },
    /// The chosen cluster or user contradicts itself.
    #[error("invalid configuration: {0}")]
    Invalid(String),
    /// The cluster has a certificate authority, and says that certificates are not checked.
    #[error("specifying a root certificates file with the insecure flag is not allowed")]
    Insecure,
    /// Something that a person has named is not in it.
    #[error("{what} {name:?} does not exist")]
    Unknown {
        /// Kind of the entry, as client-go calls it.
        what: &'static str,
        /// Name of the entry.
        name: String,
    },
    /// The server's address is neither a URL nor a host.
    #[error("host must be a URL or a host:port pair: \"{0}\"")]
    Address(Uri),
    /// The certificates of the cluster's authority cannot be read.
    #[error("failed to parse the certificates of the cluster's authority: {0}")]
    Certificates(pem::Error),
}

/// Returns the configuration of a context, with the proxy of the environment where the file names none. kube's own function does not take
/// that proxy by Go's rules: it uses it also for clusters on this machine, and fails where it cannot read the variables.
///
/// # Errors
///
/// When the file lacks the context or its cluster, or what it says of them cannot be read or contradicts itself.
pub fn config(file: &Kubeconfig, options: &KubeConfigOptions) -> Result<Config, Error> {
    changed_config(file, options, None, |_| {})
}

/// As [`config`], for a person: `server` stands for the cluster's address and needs neither context nor cluster; `change` makes
/// other changes to what the file says.
///
/// # Errors
///
/// As for [`config`], and when something that the options name is not in the file.
pub fn changed_config(
    file: &Kubeconfig,
    options: &KubeConfigOptions,
    server: Option<&Uri>,
    change: impl FnOnce(&mut Config),
) -> Result<Config, Error> {
    let (context, cluster, mut user) = chosen(file, options, server.is_some())?;
    let cluster_name = options.cluster.as_ref().unwrap_or(&context.cluster);
    let user_name = options.user.as_ref().or(context.user.as_ref()).map(String::as_str).unwrap_or_default();
    usable::check((cluster_name, &cluster), (user_name, &user))?;
    usable::drop_empty(&mut user);
    let described = ExecAuthCluster::try_from(&cluster)?;
    let server = match (server, cluster.server) {
        (Some(server), _) => server.clone(),
        (None, Some(server)) => server.parse().map_err(KubeconfigError::ParseClusterUrl)?,
        (None, None) => return Err(KubeconfigError::MissingClusterUrl.into()),
    };
    let mut config = Config::new(server);
    if let Some(namespace) = context.namespace {
        config.default_namespace = namespace;
    }
    config.root_cert = described.certificate_authority_data.as_deref().map(certificates).transpose()?;
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or_default();
    config.disable_compression = cluster.disable_compression.unwrap_or_default();
    config.tls_server_name = cluster.tls_server_name;
    let proxy = cluster.proxy_url.filter(|proxy| !proxy.is_empty()).map(|proxy| proxy.parse()).transpose();
    config.proxy_url = proxy.map_err(KubeconfigError::ParseProxyUrl)?;
    if let Some(program) = user.exec.as_mut().filter(|program| program.provide_cluster_info) {
        program.cluster = Some(described);
    }
    config.auth_info = user;
    change(&mut config);
    config.cluster_url = with_scheme(&config)?;
    let has_authority = config.root_cert.is_some() || config.root_cert_file.is_some();
    if has_authority && config.accept_invalid_certs && config.cluster_url.scheme_str() == Some("https") {
        return Err(Error::Insecure);
    }
    config.proxy_url = config.proxy_url.or_else(|| proxy::of_environment(&config.cluster_url));
    Ok(config)
}

/// Takes all credentials away where the API server is asked over plain HTTP, as kubectl and Flux do: whoever is on the way would have
/// them (KS-IMP-5). The user to impersonate stays.
pub fn drop_credentials_over_plain_http(config: &mut Config) {
    if config.cluster_url.scheme_str() == Some("https") {
        return;
    }
    let given = std::mem::take(&mut config.auth_info);
    let auth = &mut config.auth_info;
    auth.impersonate = given.impersonate;
    auth.impersonate_groups = given.impersonate_groups;
    auth.impersonate_uid = given.impersonate_uid;
    auth.impersonate_user_extra = given.impersonate_user_extra;
}

/// Returns the server's address. Without a scheme it is one of plain HTTP, unless something is configured about TLS, as with kubectl.
fn with_scheme(config: &Config) -> Result<Uri, Error> {
    let Config { cluster_url, auth_info, .. } = config;
    if cluster_url.scheme().is_some() {
        return Ok(cluster_url.clone());
    }
    let has_authority = config.root_cert.is_some() || config.root_cert_file.is_some();
    let has_certificate =
        auth_info.client_certificate.is_some() || auth_info.client_certificate_data.is_some();
    let is_tls = has_authority || has_certificate || config.accept_invalid_certs;
    let scheme = if is_tls { "https" } else { "http" };
    format!("{scheme}://{cluster_url}").parse().map_err(|_| Error::Address(cluster_url.clone()))
}

/// Returns the context, the cluster and the user that are chosen. As with kubectl, a user that a context names and the file lacks is one
/// without credentials. No context is needed where a cluster or an address is given.
fn chosen(
    file: &Kubeconfig,
    options: &KubeConfigOptions,
    has_server: bool,
) -> Result<(Context, Cluster, AuthInfo), Error> {
    let unknown = |what, name: &str| Error::Unknown { what, name: name.to_owned() };
    let current = file.current_context.as_ref().filter(|name| !name.is_empty());
    let context = |name: &String| file.contexts.iter().find(|it| it.name == *name)?.context.clone();
    let context = match (&options.context, current) {
        (Some(name), _) => context(name).ok_or_else(|| unknown("context", name))?,
        (None, Some(name)) => context(name).ok_or_else(|| KubeconfigError::LoadContext(name.clone()))?,
        (None, None) if has_server || options.cluster.is_some() => Context::default(),
        (None, None) => return Err(KubeconfigError::CurrentContextNotSet.into()),
    };
    let cluster = |name: &String| file.clusters.iter().find(|it| it.name == *name)?.cluster.clone();
    let cluster = match (&options.cluster, &context.cluster) {
        (Some(name), _) => cluster(name).ok_or_else(|| unknown("cluster", name))?,
        (None, name) => match cluster(name) {
            Some(cluster) => cluster,
            None if has_server => Cluster::default(),
            None => return Err(KubeconfigError::LoadClusterOfContext(name.clone()).into()),
        },
    };
    let user = |name: &String| file.auth_infos.iter().find(|it| it.name == *name)?.auth_info.clone();
    let user = match (&options.user, &context.user) {
        (Some(name), _) => user(name).ok_or_else(|| unknown("auth info", name))?,
        (None, name) => name.as_ref().and_then(user).unwrap_or_default(),
    };
    Ok((context, cluster, user))
}

fn certificates(text: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let read = CertificateDer::pem_slice_iter(text).map(|certificate| Ok(certificate?.as_ref().to_vec()));
    read.collect::<Result<_, _>>().map_err(Error::Certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {name}\n\
             contexts: [{{name: {name}, context: {{cluster: {name}, namespace: of-{name}}}}}]\n\
             clusters: [{{name: {name}, cluster: {{server: 'https://{name}:6443', tls-server-name: x,\n  \
             proxy-url: 'http://proxy.{name}'}}}}]\n"
        )
    }

    #[test]
    fn the_chosen_context_is_configured() {
        let kubeconfig = |name: &str| Kubeconfig::from_yaml(&file(name)).unwrap();
        let both = kubeconfig("a").merge(kubeconfig("b")).unwrap();
        let options = KubeConfigOptions { context: Some("b".to_owned()), ..KubeConfigOptions::default() };
        let read = config(&both, &options).unwrap();
        let shown = (read.cluster_url.to_string(), read.default_namespace, read.tls_server_name);
        assert_eq!(shown, ("https://b:6443/".to_owned(), "of-b".to_owned(), Some("x".to_owned())));
        assert_eq!(read.proxy_url, Some("http://proxy.b".parse().unwrap()), "no variable speaks against it");
    }

    /// A file with a cluster and a user, and a context without a cluster of its own that nobody chose.
    fn without_current_context() -> Kubeconfig {
        let text = "contexts: [{name: x, context: {cluster: gone, user: gone}}]\n\
                    clusters: [{name: c, cluster: {server: 'https://c:6443'}}]\nusers: [{name: u, user: {token: t}}]";
        Kubeconfig::from_yaml(text).unwrap()
    }

    /// As client-go merges its flags over a kubeconfig: context, cluster and user are named, and an address is given or not.
    #[rstest::rstest]
    #[case(["", "", ""], false, Err("failed to determine current context"))]
    #[case(["", "c", ""], false, Ok("https://c:6443/"))]
    #[case(["", "c", "u"], false, Ok("https://c:6443/ with a token"))]
    #[case(["", "c", ""], true, Ok("http://127.0.0.1:8/"))]
    #[case(["", "", "u"], true, Ok("http://127.0.0.1:8/ with a token"))]
    #[case(["x", "", ""], true, Ok("http://127.0.0.1:8/"))]
    #[case(["x", "c", ""], false, Ok("https://c:6443/"))]
    #[case(["x", "", ""], false, Err("failed to load the cluster of context: gone"))]
    #[case(["none", "c", ""], false, Err("context \"none\" does not exist"))]
    #[case(["", "none", ""], true, Err("cluster \"none\" does not exist"))]
    #[case(["x", "c", "none"], false, Err("auth info \"none\" does not exist"))]
    fn flags_stand_for_what_the_file_lacks(
        #[case] names: [&str; 3],
        #[case] has_server: bool,
        #[case] expected: Result<&str, &str>,
    ) {
        let [context, cluster, user] =
            names.map(|name| Some(name.to_owned()).filter(|name| !name.is_empty()));
        let options = KubeConfigOptions { context, cluster, user };
        let server = has_server.then(|| Uri::from_static("http://127.0.0.1:8"));
        let read = changed_config(&without_current_context(), &options, server.as_ref(), |_| {});
        let shown = read.map(|config| {
            let token = config.auth_info.token.map(|_| " with a token").unwrap_or_default();
            format!("{}{token}", config.cluster_url)
        });
        assert_eq!(
            shown.map_err(|error| error.to_string()),
            expected.map(str::to_owned).map_err(str::to_owned)
        );
    }

    #[rstest::rstest]
    #[case("server: 'h:6443'", Some("http://h:6443/"))]
    #[case("server: h", Some("http://h/"))]
    #[case("server: 'h:6443', insecure-skip-tls-verify: true", Some("https://h:6443/"))]
    #[case("server: /path", None)]
    fn addresses_need_no_scheme(#[case] cluster: &str, #[case] expected: Option<&str>) {
        let text = format!(
            "current-context: a\ncontexts: [{{name: a, context: {{cluster: a}}}}]\nclusters: [{{name: a, cluster: {{{cluster}}}}}]"
        );
        let read = config(&Kubeconfig::from_yaml(&text).unwrap(), &KubeConfigOptions::default());
        assert_eq!(read.ok().map(|config| config.cluster_url.to_string()).as_deref(), expected);
    }

    /// Nobody takes a server for checked whose certificate is not.
    #[rstest::rstest]
    #[case("https://c", true, true)]
    #[case("https://c", false, false)]
    #[case("http://c", true, false)]
    fn an_authority_is_not_passed_over(
        #[case] server: &'static str,
        #[case] skips: bool,
        #[case] is_refused: bool,
    ) {
        let change = |config: &mut Config| {
            config.root_cert_file = Some("ca.crt".into());
            config.accept_invalid_certs = skips;
        };
        let (options, server) = (KubeConfigOptions::default(), Uri::from_static(server));
        let read = changed_config(&Kubeconfig::default(), &options, Some(&server), change);
        assert_eq!(matches!(read, Err(Error::Insecure)), is_refused);
    }

    #[test]
    fn changes_count_for_the_scheme() {
        let (options, server) = (KubeConfigOptions::default(), Uri::from_static("127.0.0.1:8"));
        let change = |config: &mut Config| config.root_cert_file = Some("ca.crt".into());
        let read = changed_config(&Kubeconfig::default(), &options, Some(&server), change).unwrap();
        assert_eq!(read.cluster_url.to_string(), "https://127.0.0.1:8/");
    }
}
