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
        Some(paths) => merged(&paths),
        None => if_there(Kubeconfig::read()).map_err(|error| refused_at(&places(), error)),
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
fn merged(paths: &OsStr) -> Result<Option<Kubeconfig>, Error> {
    let mut merged: Option<Kubeconfig> = None;
    for path in std::env::split_paths(paths).filter(|path| !path.as_os_str().is_empty()) {
        let failed = |error| refused_at(&path.display().to_string(), error);
        let Some(file) = if_there(Kubeconfig::read_from(&path)).map_err(failed)? else { continue };
        merged = Some(match merged {
            Some(first) => first.merge(file).map_err(failed)?,
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
    config.map_err(|error| Error::KubeConfig(chain(&error) + &hint(&error, file, options)))
}

/// Contexts that are named where another one is asked for; a person has a few.
const MAX_CONTEXTS: usize = 20;

/// Returns a line that names the contexts of a file which lacks the wanted one, or wants none.
fn hint(error: &client::kubeconfig::Error, file: &Kubeconfig, options: &KubeConfigOptions) -> String {
    if let client::kubeconfig::Error::Kubeconfig(KubeconfigError::CurrentContextNotSet) = error {
        return choice(file);
    }
    let is_there = |wanted: &str| file.contexts.iter().any(|context| context.name == wanted);
    match options.context.as_deref().or(file.current_context.as_deref()) {
        Some(wanted) if !file.contexts.is_empty() && !is_there(wanted) => {
            format!("\n  its contexts are: {}", contexts(file))
        }
        _ => String::new(),
    }
}

/// Returns a line about the flag that chooses a context, where the file has any.
pub(super) fn choice(file: &Kubeconfig) -> String {
    match file.contexts.is_empty() {
        true => String::new(),
        false => format!("\n  --context chooses one of: {}", contexts(file)),
    }
}

fn contexts(file: &Kubeconfig) -> String {
    let names = file.contexts.iter().map(|context| context.name.as_str());
    names.take(MAX_CONTEXTS).collect::<Vec<_>>().join(", ")
}

/// As [`refused`], with the name of the file, which errors in its content lack.
fn refused_at(path: &str, error: KubeconfigError) -> Error {
    match error {
        error @ KubeconfigError::ReadConfig(..) => refused(error),
        error => Error::KubeConfig(format!("{path}: {}", chain(&error))),
    }
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
        let read =
            |names: &[&str]| merged(&std::env::join_paths(names.iter().map(|name| path(name))).unwrap());
        for name in ["a", "b"] {
            std::fs::write(path(name), file(name)).unwrap();
        }
        std::fs::write(path("broken"), "{").unwrap();
        let both = read(&["missing", "b", "a"]).unwrap().unwrap();
        let names: Vec<_> = both.contexts.iter().map(|context| context.name.as_str()).collect();
        assert_eq!((names, both.current_context.as_deref()), (vec!["b", "a"], Some("b")));
        assert!(read(&["missing", "gone"]).unwrap().is_none());
        let reason = read(&["a", "broken"]).unwrap_err().to_string();
        assert!(reason.contains(&format!("{}: ", path("broken").display())), "{reason}");
        assert!(if_there(Kubeconfig::read_from(path("broken"))).is_err());
    }
}
