//! `weir envsubst`: replaces variables as a Kustomization's `postBuild` does (CLI-ENV01).

use std::collections::HashMap;
use std::io::{BufRead, Read};

use clap::Args;
use weir_envsubst::{MAX_TEMPLATE, Unset};

use crate::error::Error;
use crate::output::print;

/// The way to replace variables.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # Manifests as the service would apply them
  weir build . | CLUSTER=prod weir envsubst

  # Fail when a variable without a default is not set
  weir envsubst --strict < deployment.yaml")]
pub(crate) struct Envsubst {
    /// Fail when a variable without a default is not set.
    #[arg(long)]
    strict: bool,
}

impl Envsubst {
    /// Reads stdin line by line, and prints each line with the values of the environment.
    pub(crate) fn run(self) -> Result<(), Error> {
        let variables: HashMap<_, _> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let unset = if self.strict { Unset::Refuse } else { Unset::Empty };
        let mut input = std::io::stdin().lock();
        while let Some(line) = next_line(&mut input)? {
            let lookup = |name: &str| variables.get(name).map(String::as_str);
            let replaced = weir_envsubst::substitute(&line, lookup, unset);
            let replaced = replaced.map_err(|error| Error::Build(error.to_string()))?;
            print(&format!("{replaced}\n"))?;
        }
        Ok(())
    }
}

/// Reads a line without its end; of a line that is too long, one byte more than a text may have, which is refused as one.
fn next_line(input: &mut impl BufRead) -> Result<Option<String>, Error> {
    let mut line = String::new();
    let read = input.take(MAX_TEMPLATE as u64 + 1).read_line(&mut line);
    read.map_err(|error| Error::Build(format!("cannot read the input: {error}")))?;
    if line.is_empty() {
        return Ok(None);
    }
    let ends = line.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line).len());
    line.truncate(ends.unwrap_or(line.len()));
    Ok(Some(line))
}
