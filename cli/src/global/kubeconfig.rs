//! The kubeconfig files of a person (CLI-G02).

use std::ffi::OsStr;
use std::io::ErrorKind;

use http::Uri;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use weir_runtime::client;

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

/// Returns the configuration of a context, at another address if one is given, and with changes.
pub(super) fn config(
    file: &Kubeconfig,
    options: &KubeConfigOptions,
    server: Option<&Uri>,
    change: impl FnOnce(&mut Config),
) -> Result<Config, Error> {
    let config = client::kubeconfig::changed_config(file, options, server, change);
    config.map_err(|error| Error::KubeConfig(chain(&error)))
}

pub(super) fn refused(error: KubeconfigError) -> Error {
    Error::KubeConfig(match error {
        KubeconfigError::ReadConfig(cause, path) => format!("{}: {cause}", path.display()),
        error => chain(&error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> String {
        format!("apiVersion: v1\nkind: Config\ncurrent-context: {name}\ncontexts: [{{name: {name}}}]\n")
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
}
