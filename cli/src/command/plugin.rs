//! `weir plugin`: the programs that are commands of this one, and the catalogue that they come from (CLI-PLG01).

mod catalog;
mod install;

use std::path::PathBuf;

use clap::Subcommand;
use tokio::time::timeout;

use self::catalog::Catalog;
use crate::error::Error;
use crate::global::Global;
use crate::output::{Table, print, progress};
use crate::plugin::{Plugins, folder};

/// Version of a plugin that was put there by hand.
const BY_HAND: &str = "manual";

/// Commands about plugins.
#[derive(Subcommand, Debug)]
#[command(after_help = "Examples:
  # All plugins of the catalogue
  weir plugin search

  # Install one of them; it is a command then
  weir plugin install operator")]
pub(crate) enum Plugin {
    /// List the plugins: programs flux-NAME and weir-NAME in $WEIR_PLUGINS, $FLUXCD_PLUGINS or ~/.fluxcd/plugins.
    #[command(
        visible_alias = "ls",
        after_help = "Examples:
  # The plugins that are here, with their versions
  weir plugin list"
    )]
    List,
    /// Search the catalogue, or list all of it.
    #[command(after_help = "Examples:
  # Plugins about operators
  weir plugin search operator")]
    Search {
        /// Part of a name or of a description.
        query: Option<String>,
    },
    /// Install a plugin of the catalogue.
    #[command(after_help = "Examples:
  # The newest version
  weir plugin install operator

  # A version of one's own choice
  weir plugin install operator@0.30.0")]
    Install {
        /// Name of the plugin; behind `@` a version, or `sha256:` and the digest of its download.
        #[arg(value_name = "NAME[@VERSION]")]
        name: String,
    },
    /// Update one plugin, or all that came from the catalogue.
    #[command(
        visible_alias = "upgrade",
        after_help = "Examples:
  # All that came from the catalogue
  weir plugin update

  # One of them
  weir plugin update operator"
    )]
    Update {
        /// Name of the plugin.
        name: Option<String>,
    },
    /// Remove a plugin.
    #[command(visible_aliases = ["delete", "rm"], after_help = "Examples:
  # Remove its program
  weir plugin uninstall operator")]
    Uninstall {
        /// Name of the plugin.
        name: String,
    },
}

impl Plugin {
    /// Runs the command, for as long as `--timeout` lets it.
    pub(crate) async fn run(self, plugins: Plugins, global: &Global) -> Result<(), Error> {
        timeout(global.timeout.to_std(), self.work(plugins)).await.map_err(|_| Error::Deadline)?
    }

    async fn work(self, plugins: Plugins) -> Result<(), Error> {
        match self {
            Self::List => list(&plugins),
            Self::Search { query } => search(&query.unwrap_or_default().to_lowercase()).await,
            Self::Install { name } => add(&name).await,
            Self::Update { name } => update(&plugins, name.as_deref()).await,
            Self::Uninstall { name } => {
                install::uninstall(&known_folder()?, &name)?;
                progress::success(&format!("uninstalled {name}"));
                Ok(())
            }
        }
    }
}

fn known_folder() -> Result<PathBuf, Error> {
    folder()
        .ok_or_else(|| Error::Plugin("there is no home folder; FLUXCD_PLUGINS names another one".to_owned()))
}

fn version(name: &str) -> Option<String> {
    install::version(&folder()?, name)
}

fn list(plugins: &Plugins) -> Result<(), Error> {
    if plugins.is_empty() {
        return print("No plugins found\n");
    }
    let mut table = Table::new(["Name", "Version", "Path"]);
    for (name, path) in plugins.iter() {
        let version = version(name).unwrap_or_else(|| BY_HAND.to_owned());
        table.push(vec![name.to_owned(), version, path.display().to_string()]);
    }
    print(&table.render(None))
}

async fn search(query: &str) -> Result<(), Error> {
    let mut table = Table::new(["Name", "Description", "Installed"]);
    let mut is_empty = true;
    for entry in Catalog::new()?.list().await? {
        if [&entry.name, &entry.description].iter().any(|text| text.to_lowercase().contains(query)) {
            is_empty = false;
            let version = version(&entry.name).unwrap_or_default();
            table.push(vec![entry.name, entry.description, version]);
        }
    }
    match (is_empty, query) {
        (false, _) => print(&table.render(None)),
        (true, "") => print("No plugins found in catalog\n"),
        (true, query) => print(&format!("No plugins matching {query:?} found in catalog\n")),
    }
}

async fn add(reference: &str) -> Result<(), Error> {
    let (name, wanted) = reference.split_once('@').unwrap_or((reference, ""));
    let (catalog, folder) = (Catalog::new()?, known_folder()?);
    let manifest = catalog.manifest(name).await?;
    let found = manifest.find(wanted)?;
    std::fs::create_dir_all(&folder)
        .map_err(|cause| Error::File { path: folder.display().to_string(), cause })?;
    install::install(&catalog, &folder, &manifest, found).await?;
    progress::success(&format!("installed {name} v{}", found.0));
    Ok(())
}

/// Updates plugins; one that fails is told, and the others are updated all the same.
async fn update(plugins: &Plugins, wanted: Option<&str>) -> Result<(), Error> {
    let names =
        plugins.iter().map(|(name, _)| name).filter(|name| wanted.is_none_or(|wanted| wanted == *name));
    let names: Vec<&str> = names.collect();
    match (names.as_slice(), wanted) {
        ([], Some(name)) => return Err(Error::Plugin(format!("plugin \"{name}\" is not installed"))),
        ([], None) => print("No plugins found\n")?,
        _ => {}
    }
    let (catalog, folder) = (Catalog::new()?, known_folder()?);
    let mut failures = 0;
    for name in names {
        let Some(old) = version(name) else {
            progress::warning(&format!("skipping {name} (manually installed)"));
            continue;
        };
        let updated = async {
            let checking = |error| ("checking", error);
            let manifest = catalog.manifest(name).await.map_err(checking)?;
            if manifest.newest().map_err(checking)? == old {
                return Ok(None);
            }
            let found = manifest.find("").map_err(checking)?;
            let updating = |error| ("updating", error);
            install::install(&catalog, &folder, &manifest, found).await.map_err(updating)?;
            Ok::<_, (&str, Error)>(Some(found.0.to_owned()))
        };
        match updated.await {
            Ok(None) => progress::success(&format!("{name} already up to date (v{old})")),
            Ok(Some(new)) => progress::success(&format!("updated {name} v{old} → v{new}")),
            Err((doing, error)) => {
                failures += 1;
                progress::failure(&format!("error {doing} {name}: {error}"));
            }
        }
    }
    match failures {
        0 => Ok(()),
        count => Err(Error::Plugin(format!("{count} of the plugins could not be updated"))),
    }
}
