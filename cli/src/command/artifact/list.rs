//! `weir list artifacts` (CLI-ART07).

use clap::Args;
use weir_oci::{Reference, Registry, Repository};
use weir_policy::go_regex;
use weir_policy::semver::{Constraint, Version};

use super::login::Login;
use super::push::{REVISION, SOURCE};
use super::{bad_url, failed, required};
use crate::error::Error;
use crate::global::Global;
use crate::output::{Table, print};

/// Tags that are listed at most: more than any repository has that a person looks at.
const MAX_TAGS: usize = 100_000;
/// Ends of the tags under which signatures and the like are kept.
const ATTACHED: [&str; 3] = [".att", ".sbom", ".sig"];

/// The tags to list.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # List the artifacts of a repository
  weir list artifacts oci://ghcr.io/org/config/app

  # List releases only
  weir list artifacts oci://ghcr.io/org/config/app --filter-semver '>= 1.0.0'")]
pub(crate) struct List {
    /// Repository, oci://HOST/ORG/REPOSITORY.
    url: Option<String>,
    /// List tags that are versions of this range.
    #[arg(long, value_name = "RANGE")]
    filter_semver: Option<String>,
    /// List tags that match this regular expression.
    #[arg(long, value_name = "REGEX")]
    filter_regex: Option<String>,
    #[command(flatten)]
    login: Login,
}

impl List {
    pub(super) async fn run(self, global: &Global) -> Result<(), Error> {
        let url = required(self.url.as_ref(), "artifact repository URL is required")?;
        Reference::from_url(url).map_err(bad_url)?;
        let name = url.trim_start_matches("oci://");
        let repository = Repository::parse(name).map_err(|error| {
            Error::Artifact(format!("listing tags failed: parsing repo \"{name}\": {error}"))
        })?;
        let mut registry = self.login.open(&repository, global.timeout.to_std()).await?;
        let mut tags = registry.tags(MAX_TAGS).await.map_err(failed("listing tags failed: "))?;
        tags.sort_by(|a, b| b.cmp(a));
        let wanted = self.filter()?;
        let mut table = Table::new(["artifact", "digest", "source", "revision"]);
        for tag in tags.iter().filter(|tag| wanted(tag)) {
            table.push(row(&mut registry, name, tag).await?);
        }
        print(&table.render(None))
    }

    /// Returns the test that a tag has to pass.
    fn filter(&self) -> Result<impl Fn(&str) -> bool + use<>, Error> {
        let given = |flag: &Option<String>| flag.clone().filter(|text| !text.is_empty());
        let range = given(&self.filter_semver).map(|range| {
            let parsed = Constraint::parse(&range);
            parsed.map_err(|error| Error::Flags(format!("semver '{range}' parse error: {error}")))
        });
        let regex = given(&self.filter_regex).map(|regex| {
            let compiled = go_regex::compile(&regex);
            compiled.map_err(|error| Error::Flags(format!("regex '{regex}' parse error: {error}")))
        });
        let (range, regex) = (range.transpose()?, regex.transpose()?);
        let is_in = |range: &Constraint, tag: &str| {
            Version::parse_tag(tag).is_ok_and(|version| range.matches(&version))
        };
        Ok(move |tag: &str| {
            !ATTACHED.iter().any(|end| tag.ends_with(end))
                && range.as_ref().is_none_or(|range| is_in(range, tag))
                && regex.as_ref().is_none_or(|regex| regex.is_match(tag))
        })
    }
}

async fn row(registry: &mut Registry, name: &str, tag: &str) -> Result<Vec<String>, Error> {
    let failed = failed("fetching manifest failed: ");
    let digest = registry.read(tag).await.map_err(&failed)?;
    let manifest = registry.one_manifest(&digest).await.map_err(&failed)?;
    let annotation = |key| manifest.annotations.get(key).cloned().unwrap_or_default();
    Ok(vec![format!("{name}:{tag}"), digest.to_string(), annotation(SOURCE), annotation(REVISION)])
}
