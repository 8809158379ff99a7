//! `weir sops decrypt FILE`: what a Kustomization would decrypt, for people. Nothing is written but the plaintext to standard
//! output.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use weir_auth::Logins;
use weir_http::Profile;
use weir_kms::{Held, KeyServers, Owner, add_age_keys};
use weir_sops::{DataKey, Document, Format, Keyring};

use crate::error::Error;

/// Bytes of a file with keys.
const MAX_KEYS: u64 = 1 << 20;
/// Bytes of an encrypted file; as much as the library reads.
const MAX_FILE: u64 = 64 << 20;
/// The formats, by name.
const FORMATS: [&str; 5] = ["yaml", "json", "dotenv", "ini", "binary"];

/// Work with SOPS files.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # Print the plaintext of a file
  weir sops decrypt secret.yaml")]
pub(crate) struct Sops {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Decrypt a SOPS file and print the plaintext.
    ///
    /// Keys are taken from --key-file. Without it, from SOPS_AGE_KEY, SOPS_AGE_KEY_FILE, SOPS_AGE_SSH_PRIVATE_KEY_FILE,
    /// ~/.config/sops/age/keys.txt and ~/.ssh. AWS KMS, Google Cloud KMS, Azure Key Vault and Vault are asked with the
    /// credentials of the environment.
    #[command(after_help = "Examples:
  # With the keys of the environment
  weir sops decrypt secret.yaml

  # What another program prints, with the key in a file
  cat secret.yaml | weir sops decrypt - --key-file age.agekey

  # With the key in a file
  weir sops decrypt --key-file age.agekey values.enc --input-type yaml")]
    Decrypt(Decrypt),
}

#[derive(Args, Debug)]
struct Decrypt {
    /// The encrypted file; - is standard input, which is YAML unless --input-type names another format.
    file: PathBuf,
    /// A file with age identities, an SSH key or an armored OpenPGP secret key. May be given several times.
    #[arg(long)]
    key_file: Vec<PathBuf>,
    /// Format of the file; that of its name by default.
    #[arg(long, value_parser = FORMATS)]
    input_type: Option<String>,
    /// Format of the plaintext; that of the file by default.
    #[arg(long, value_parser = FORMATS)]
    output_type: Option<String>,
    /// Print the plaintext although its MAC is wrong.
    #[arg(long)]
    ignore_mac: bool,
}

impl Sops {
    /// Runs the command; no cluster is asked.
    pub(crate) async fn run(self) -> Result<(), Error> {
        let Action::Decrypt(decrypt) = self.action;
        decrypt.run().await
    }
}

impl Decrypt {
    async fn run(self) -> Result<(), Error> {
        let named = |name: &Option<String>| name.as_deref().and_then(Format::parse);
        let own = || {
            if is_stdin(&self.file) { Format::Yaml } else { Format::of_path(&self.file.to_string_lossy()) }
        };
        let from = named(&self.input_type).unwrap_or_else(own);
        let failed = |error: &dyn std::fmt::Display| Error::Sops(error.to_string());
        let bytes = read(&self.file, MAX_FILE)?;
        let document = Document::read(&bytes, from).map_err(|error| failed(&error))?;
        let key = data_key(&document, self.keys()?).await?;
        let plain = document.clone().decrypt(&key).map_err(|error| failed(&error))?;
        if !self.ignore_mac {
            plain.verify(&document.metadata, &key).map_err(|error| failed(&error))?;
        }
        let text = plain.write(named(&self.output_type).unwrap_or(from)).map_err(|error| failed(&error))?;
        io::stdout().lock().write_all(&text).map_err(|error| failed(&error))
    }

    fn keys(&self) -> Result<Keyring, Error> {
        let mut ring = Keyring::default();
        if !self.key_file.is_empty() {
            for path in &self.key_file {
                add(&mut ring, &read(path, MAX_KEYS)?).map_err(|reason| at(path, &reason))?;
            }
            return Ok(ring);
        }
        add_age_keys(&mut ring).map_err(|error| Error::Sops(error.to_string()))?;
        Ok(ring)
    }
}

/// Asks for the data key on a thread where waiting for servers is allowed.
async fn data_key(document: &Document, ring: Keyring) -> Result<DataKey, Error> {
    let servers = KeyServers::new(Logins::of_process(), Profile::default(), None);
    let keys = servers.keys(Owner::default(), Held::default(), ring);
    let document = document.clone();
    let asking = tokio::task::spawn_blocking(move || document.data_key(&keys));
    let asked = asking.await.map_err(|error| Error::Sops(error.to_string()))?;
    asked.map_err(|error| Error::Sops(error.to_string()))
}

fn add(ring: &mut Keyring, bytes: &[u8]) -> Result<(), String> {
    if bytes.trim_ascii_start().starts_with(b"-----BEGIN PGP") {
        return ring.pgp.add(bytes).map_err(|error| error.to_string());
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "it is no text".to_owned())?;
    ring.identities.add(text).map_err(|error| error.to_string())
}

fn at(path: &Path, reason: &str) -> Error {
    Error::Sops(format!("{}: {reason}", path.display()))
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let failed = |cause: io::Error| Error::File { path: path.display().to_string(), cause };
    let mut bytes = Vec::new();
    let file: Box<dyn Read> = match is_stdin(path) {
        true => Box::new(io::stdin().lock()),
        false => Box::new(std::fs::File::open(path).map_err(failed)?),
    };
    file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(failed(io::Error::other(format!("it is larger than {limit} bytes"))));
    }
    Ok(bytes)
}
