//! The kubeconfig files of a person (CLI-G02).

use http::Uri;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use weir_runtime::client;

use crate::error::{Error, chain};

/// Returns the paths where a kubeconfig is looked for.
pub(super) fn places() -> String {
    let paths = std::env::var(client::kubeconfig::VARIABLE).ok().filter(|paths| !paths.is_empty());
    paths.unwrap_or_else(|| "~/.kube/config".to_owned())
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
