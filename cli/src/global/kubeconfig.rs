//! Kubeconfig files: which are read, and the configuration of the context that is chosen (CLI-G02).

use std::ffi::OsStr;
use std::io::ErrorKind;

use kube::Config;
use kube::config::{
    AuthInfo, Cluster, Context, ExecAuthCluster, KubeConfigOptions, Kubeconfig, KubeconfigError,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use crate::error::{Error, chain};

/// Variable with the paths of kubeconfig files.
const VARIABLE: &str = "KUBECONFIG";

/// Reads the kubeconfig: the files that the environment names, or else that of the home folder. Returns nothing where there is
/// none.
pub(super) fn find() -> Result<Option<Kubeconfig>, Error> {
    match std::env::var_os(VARIABLE).filter(|paths| !paths.is_empty()) {
        Some(paths) => merged(&paths).map_err(refused),
        None => if_there(Kubeconfig::read()).map_err(refused),
    }
}

/// Tells a file that is not there from one that is broken: nobody means another cluster by a typing error.
fn if_there(read: Result<Kubeconfig, KubeconfigError>) -> Result<Option<Kubeconfig>, KubeconfigError> {
    match read {
        Err(KubeconfigError::ReadConfig(cause, _)) if cause.kind() == ErrorKind::NotFound => Ok(None),
        Err(KubeconfigError::FindPath) => Ok(None),
        read => read.map(Some),
    }
}

/// Returns the paths where a kubeconfig is looked for.
pub(super) fn places() -> String {
    let paths = std::env::var(VARIABLE).ok().filter(|paths| !paths.is_empty());
    paths.unwrap_or_else(|| "~/.kube/config".to_owned())
}

/// Reads and merges several files. As with kubectl, those that do not exist are passed over.
fn merged(paths: &OsStr) -> Result<Option<Kubeconfig>, KubeconfigError> {
    let mut merged: Option<Kubeconfig> = None;
    for path in std::env::split_paths(paths).filter(|path| !path.as_os_str().is_empty()) {
        let Some(file) = if_there(Kubeconfig::read_from(&path))? else { continue };
        merged = Some(match merged {
            Some(first) => first.merge(file)?,
            None => file,
        });
    }
    Ok(merged)
}

/// Returns the configuration of a context. kube's own function is not used: it takes a proxy from the environment by other rules than
/// Go's, and fails where it cannot read the variables.
pub(super) fn config(file: &Kubeconfig, options: &KubeConfigOptions) -> Result<Config, Error> {
    let (context, cluster, mut user) = chosen(file, options).map_err(refused)?;
    let described = ExecAuthCluster::try_from(&cluster).map_err(refused)?;
    let server = cluster.server.ok_or(KubeconfigError::MissingClusterUrl).map_err(refused)?;
    let mut config =
        Config::new(server.parse().map_err(|error| refused(KubeconfigError::ParseClusterUrl(error)))?);
    if let Some(namespace) = context.namespace {
        config.default_namespace = namespace;
    }
    config.root_cert = described.certificate_authority_data.as_deref().map(certificates).transpose()?;
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or_default();
    config.disable_compression = cluster.disable_compression.unwrap_or_default();
    config.tls_server_name = cluster.tls_server_name;
    let proxy = cluster.proxy_url.filter(|proxy| !proxy.is_empty()).map(|proxy| proxy.parse()).transpose();
    config.proxy_url = proxy.map_err(|error| refused(KubeconfigError::ParseProxyUrl(error)))?;
    if let Some(program) = user.exec.as_mut().filter(|program| program.provide_cluster_info) {
        program.cluster = Some(described);
    }
    config.auth_info = user;
    Ok(config)
}

/// Returns the context, the cluster and the user that are chosen. As with kubectl, a user that is not there has no credentials.
fn chosen(
    file: &Kubeconfig,
    options: &KubeConfigOptions,
) -> Result<(Context, Cluster, AuthInfo), KubeconfigError> {
    let name = options.context.as_ref().or(file.current_context.as_ref());
    let name = name.ok_or(KubeconfigError::CurrentContextNotSet)?;
    let context = file.contexts.iter().find(|context| context.name == *name);
    let context = context.and_then(|it| it.context.clone());
    let context = context.ok_or_else(|| KubeconfigError::LoadContext(name.clone()))?;
    let name = options.cluster.as_ref().unwrap_or(&context.cluster);
    let cluster = file.clusters.iter().find(|cluster| cluster.name == *name);
    let cluster = cluster.and_then(|it| it.cluster.clone());
    let cluster = cluster.ok_or_else(|| KubeconfigError::LoadClusterOfContext(name.clone()))?;
    let name = options.user.as_ref().or(context.user.as_ref());
    let user = file.auth_infos.iter().find(|user| Some(&user.name) == name);
    let user = user.and_then(|it| it.auth_info.clone()).unwrap_or_default();
    Ok((context, cluster, user))
}

fn certificates(pem: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let read = CertificateDer::pem_slice_iter(pem).map(|certificate| Ok(certificate?.as_ref().to_vec()));
    let read: Result<_, rustls_pki_types::pem::Error> = read.collect();
    read.map_err(|error| {
        Error::KubeConfig(format!("failed to parse the certificates of the cluster's authority: {error}"))
    })
}

fn refused(error: KubeconfigError) -> Error {
    Error::KubeConfig(chain(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {name}\n\
             contexts: [{{name: {name}, context: {{cluster: {name}, namespace: of-{name}}}}}]\n\
             clusters: [{{name: {name}, cluster: {{server: 'https://{name}:6443', tls-server-name: x}}}}]\n"
        )
    }

    #[test]
    fn files_that_do_not_exist_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let read = |names: &[&str]| {
            merged(&std::env::join_paths(names.iter().map(|name| path(name))).unwrap()).map_err(refused)
        };
        for name in ["a", "b"] {
            std::fs::write(path(name), file(name)).unwrap();
        }
        std::fs::write(path("broken"), "{").unwrap();
        let both = read(&["missing", "b", "a"]).unwrap().unwrap();
        let names: Vec<_> = both.contexts.iter().map(|context| context.name.as_str()).collect();
        assert_eq!((names, both.current_context.as_deref()), (vec!["b", "a"], Some("b")));
        assert!(read(&["missing", "gone"]).unwrap().is_none());
        assert!(read(&["a", "broken"]).is_err());
        assert!(if_there(Kubeconfig::read_from(path("broken"))).is_err());
    }

    #[test]
    fn the_chosen_context_is_configured() {
        let kubeconfig = |name: &str| Kubeconfig::from_yaml(&file(name)).unwrap();
        let both = kubeconfig("a").merge(kubeconfig("b")).unwrap();
        let options = KubeConfigOptions { context: Some("b".to_owned()), ..KubeConfigOptions::default() };
        let read = config(&both, &options).unwrap();
        let shown = (read.cluster_url.to_string(), read.default_namespace, read.tls_server_name);
        assert_eq!(shown, ("https://b:6443/".to_owned(), "of-b".to_owned(), Some("x".to_owned())));
        let options = KubeConfigOptions { cluster: Some("none".to_owned()), ..KubeConfigOptions::default() };
        let reason = config(&both, &options).unwrap_err().to_string();
        assert!(reason.contains("failed to load the cluster of context: none"), "{reason}");
    }
}
