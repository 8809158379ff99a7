//! Flags of every `weir bootstrap` (cli.md 11.1, 11.2).

use clap::Args;
use secrecy::SecretString;
use weir_api::Duration;
use weir_runtime::args::Switch;

use super::signing::Signing;
use crate::command::create::{DEFAULT_RSA_BITS, rsa_bits};
use crate::csv::Record;
use crate::enumeration;
use crate::error::Error;
use crate::given::Given;
use crate::manifests::{Choice, check_version};

/// Components without which no repository is applied.
const REQUIRED: [&str; 2] = ["source-controller", "kustomize-controller"];

/// Flags of every `weir bootstrap`.
#[derive(Args, Debug)]
pub(super) struct BootstrapFlags {
    #[command(flatten)]
    pub(super) choice: Choice,
    /// Branch to push to and to apply.
    #[arg(long, default_value = "main")]
    pub(super) branch: String,
    /// Directory of the cluster in the repository.
    #[arg(long, default_value = "", hide_default_value = true, value_name = "DIR")]
    pub(super) path: String,
    /// Time between two looks at the repository.
    #[arg(long, default_value = "1m", value_name = "DURATION")]
    pub(super) interval: Duration,
    /// Secret with the credentials of the services.
    #[arg(long, default_value = "flux-system", value_name = "NAME")]
    pub(super) secret_name: String,
    /// Give the services the token, instead of a key for SSH.
    #[arg(long, switched_off())]
    pub(super) token_auth: bool,
    /// Apply what is in Git submodules too.
    #[arg(long)]
    pub(super) recurse_submodules: bool,
    /// Directories that the services download; that of the cluster must be among them.
    #[arg(long, value_name = "LIST")]
    pub(super) sparse_checkout: Vec<Record>,
    #[command(flatten)]
    pub(super) key: Key,
    #[command(flatten)]
    pub(super) commit: Commit,
    #[command(flatten)]
    pub(super) signing: Signing,
    /// Bootstrap over an installation that another tool manages.
    #[arg(long)]
    pub(super) force: bool,
    /// Version to install; there is only the one that is part of this program.
    // Not `version`: a flag that holds for subcommands has a name that no command above has for another one.
    #[arg(short = 'v', long = "version", value_name = "VERSION", hide = true)]
    wanted_version: Option<String>,
}

/// The key of the services for Git over SSH, and the way there.
#[derive(Args, Debug)]
pub(super) struct Key {
    /// File with a private SSH key for the repository; without it, one is made for the services.
    #[arg(long, value_name = "FILE")]
    pub(super) private_key_file: Option<String>,
    /// Kind of the key that is made.
    #[arg(long, value_parser = enumeration::KEY_ALGORITHM, default_value = "ecdsa")]
    pub(super) ssh_key_algorithm: String,
    /// Curve of the ECDSA key that is made.
    #[arg(long, value_parser = enumeration::CURVE, default_value = "p384")]
    pub(super) ssh_ecdsa_curve: String,
    /// Bits of the RSA key that is made.
    #[arg(long, default_value = DEFAULT_RSA_BITS, value_name = "NUMBER", value_parser = rsa_bits)]
    pub(super) ssh_rsa_bits: usize,
    /// SSH server, where it has another name than the HTTPS server.
    #[arg(long, value_name = "HOST")]
    pub(super) ssh_hostname: Option<String>,
    /// Algorithms of host keys that this command accepts.
    #[arg(long, value_name = "LIST")]
    pub(super) ssh_hostkey_algos: Vec<Record>,
    /// File with the certificate authority of the HTTPS server.
    #[arg(long, value_name = "FILE")]
    pub(super) ca_file: Option<String>,
}

/// The commits that are made.
#[derive(Args, Debug)]
pub(super) struct Commit {
    /// Author of the commits.
    #[arg(long, default_value = "Flux", value_name = "NAME")]
    pub(super) author_name: String,
    /// Address of the author.
    #[arg(long, default_value = "", hide_default_value = true, value_name = "ADDRESS")]
    pub(super) author_email: String,
    /// Text behind the messages of the commits, for example "[ci skip]".
    #[arg(long, default_value = "", hide_default_value = true, value_name = "TEXT")]
    pub(super) commit_message_appendix: String,
}

impl BootstrapFlags {
    /// Takes away what is given without a value.
    pub(super) fn drop_empty(&mut self) {
        self.choice.drop_empty();
        let Key { private_key_file, ssh_hostname, ca_file, .. } = &mut self.key;
        [private_key_file, ssh_hostname, ca_file].into_iter().for_each(Given::drop_empty);
        self.signing.drop_empty();
    }

    /// Refuses choices with which nothing would be applied.
    pub(super) fn check(&self) -> Result<(), Error> {
        let components = self.choice.components();
        for name in REQUIRED {
            if !components.contains(&name) {
                return Err(Error::Flags(format!("component {name} is required")));
            }
        }
        self.choice.check()?;
        self.choice.warn();
        check_version(self.wanted_version.as_deref())
    }
}

/// Reads a secret value on the command line.
pub(super) fn secret(text: &str) -> Result<SecretString, String> {
    Ok(SecretString::from(text))
}
