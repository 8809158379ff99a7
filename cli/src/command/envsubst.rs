//! `weir envsubst`: replaces variables as a Kustomization's `postBuild` does (CLI-ENV01).

use std::collections::HashMap;
use std::io::{BufRead, Read};

use clap::Args;
use weir_envsubst::{MAX_TEMPLATE, Unset};

use crate::error::Error;
use crate::output::print_bytes;

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
            let replaced = |line: &str| {
                let replaced = weir_envsubst::substitute(line, lookup, unset);
                replaced.map_err(|error| Error::Build(error.to_string()))
            };
            let mut line = match std::str::from_utf8(&line) {
                Ok(line) => replaced(line)?.into_bytes(),
                Err(_) => to_bytes(&replaced(&to_text(&line))?),
            };
            line.push(b'\n');
            print_bytes(&line)?;
        }
        Ok(())
    }
}

/// Reads a line without its end; of a line that is too long, one byte more than a text may have, which is refused as one.
fn next_line(input: &mut impl BufRead) -> Result<Option<Vec<u8>>, Error> {
    let mut line = Vec::new();
    let read = input.take(MAX_TEMPLATE as u64 + 1).read_until(b'\n', &mut line);
    read.map_err(|error| Error::Build(format!("cannot read the input: {error}")))?;
    if line.is_empty() {
        return Ok(None);
    }
    let ends = line.strip_suffix(b"\n").map(|line| line.strip_suffix(b"\r").unwrap_or(line).len());
    line.truncate(ends.unwrap_or(line.len()));
    Ok(Some(line))
}

/// First of the characters that stand for bytes which are no UTF-8, at the end of the last plane of private use.
const FOREIGN: u32 = 0x10_ff00;

/// Returns a line as text. Other encodings than UTF-8 are passed through, as by Flux: each of their bytes is a character meanwhile.
fn to_text(line: &[u8]) -> String {
    let mut text = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().filter_map(|byte| char::from_u32(FOREIGN + u32::from(*byte))));
    }
    text
}

/// The reverse of [`to_text`].
fn to_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for char in text.chars() {
        match u32::from(char).checked_sub(FOREIGN).and_then(|byte| u8::try_from(byte).ok()) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}
