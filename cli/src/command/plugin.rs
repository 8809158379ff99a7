//! `weir plugin`: the programs that are commands of this one (CLI-PLG01).

use clap::Subcommand;
use serde_json::Value;
use weir_kustomize_controller::build::to_json;
use weir_yaml::{Limits, Source, parse_first_document};

use crate::error::Error;
use crate::input;
use crate::output::{Table, print, progress};
use crate::plugin::{Plugins, folder};

/// Version of a plugin that was put there by hand.
const BY_HAND: &str = "manual";

/// Commands about plugins.
#[derive(Subcommand, Debug)]
pub(crate) enum Plugin {
    /// List the plugins: programs named flux-NAME or weir-NAME in $WEIR_PLUGINS, $FLUXCD_PLUGINS or ~/.fluxcd/plugins.
    #[command(alias = "ls")]
    List,
}

impl Plugin {
    /// Prints the plugins.
    pub(crate) fn run(self, plugins: &Plugins) -> Result<(), Error> {
        let Self::List = self;
        if plugins.is_empty() {
            progress::detail("No plugins found");
            return Ok(());
        }
        let mut table = Table::new(["Name", "Version", "Path"]);
        for (name, path) in plugins.iter() {
            table.push(vec![name.to_owned(), version(name), path.display().to_string()]);
        }
        print(&table.render(None))
    }
}

/// Returns the version that the record which `flux plugin install` keeps beside a plugin names.
fn version(name: &str) -> String {
    let receipt = folder().map(|folder| folder.join(format!("flux-{name}.yaml")));
    let text = receipt.filter(|path| path.is_file()).and_then(|path| input::text(path).ok());
    let document = text.and_then(|text| {
        parse_first_document(&Source::file("receipt", text), &Limits::default()).ok().flatten()
    });
    let version = document
        .map(|document| to_json(&document))
        .and_then(|receipt| receipt.get("version").and_then(Value::as_str).map(str::to_owned));
    version.unwrap_or_else(|| BY_HAND.to_owned())
}
