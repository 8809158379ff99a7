//! The key that signs the commits of a bootstrap (cli.md 11.2).

use clap::Args;
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use weir_git::{IdentityError, parse_identity};
use weir_runtime::args::Switch;
use weir_verify::git::{Choice, SigningKey, SigningKeyError};

use super::flags::secret;
use crate::error::{Error, opening};
use crate::given::{Given, drop_empty_secret};
use crate::input;

/// Largest key ring read, in bytes. Rings of whole teams have some MiB.
const MAX_RING: u64 = 16 << 20;
/// Digits of an OpenPGP key's id.
const ID_DIGITS: usize = 16;

/// Flags about signatures of commits.
#[derive(Args, Debug)]
pub(super) struct Signing {
    /// File with OpenPGP keys, one of which signs the commits.
    #[arg(long, value_name = "FILE")]
    gpg_key_ring: Option<String>,
    /// Passphrase of the OpenPGP key.
    #[arg(long, value_name = "TEXT", value_parser = secret)]
    gpg_passphrase: Option<SecretString>,
    /// Id of the OpenPGP key, of 16 digits; without it, the first private key signs.
    #[arg(long, value_name = "ID")]
    gpg_key_id: Option<String>,
    /// File with a private SSH key that signs the commits.
    #[arg(long, value_name = "FILE")]
    ssh_signing_key_file: Option<String>,
    /// Passphrase of the SSH key.
    #[arg(long, value_name = "TEXT", value_parser = secret)]
    ssh_signing_password: Option<SecretString>,
    /// The same as --ssh-signing-password.
    #[arg(long, value_name = "TEXT", value_parser = secret, hide = true)]
    ssh_signing_passphrase: Option<SecretString>,
    /// Sign the commits with the key of --private-key-file.
    #[arg(long, switched_off())]
    pub(super) ssh_signing_reuse_private_key: bool,
}

/// The key with which the command reaches the repository.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transport<'a> {
    /// Value of `--private-key-file`.
    pub(super) file: Option<&'a str>,
    /// Passphrase of that key.
    pub(super) passphrase: Option<&'a SecretString>,
}

impl Signing {
    /// Takes away what is given without a value.
    pub(super) fn drop_empty(&mut self) {
        let Self { gpg_key_ring, gpg_key_id, ssh_signing_key_file, .. } = self;
        [gpg_key_ring, gpg_key_id, ssh_signing_key_file].into_iter().for_each(Given::drop_empty);
        let Self { gpg_passphrase, ssh_signing_password, ssh_signing_passphrase, .. } = self;
        [gpg_passphrase, ssh_signing_password, ssh_signing_passphrase]
            .into_iter()
            .for_each(drop_empty_secret);
    }

    /// Reads the key that signs, if one does.
    pub(super) fn key(&self, transport: Transport<'_>) -> Result<Option<SigningKey>, Error> {
        let password = self.check(transport)?;
        if let Some(path) = &self.gpg_key_ring {
            return self.openpgp(path).map(Some);
        }
        if let Some(path) = &self.ssh_signing_key_file {
            let text = input::text(path)
                .map_err(|error| Error::Flags(format!("failed to read SSH signing key file: {error}")))?;
            return ssh(&text, password, "invalid SSH signing key").map(Some);
        }
        match transport.file.filter(|_| self.ssh_signing_reuse_private_key) {
            Some(path) => {
                let place = "invalid signing key (reused from --private-key-file)";
                ssh(&input::text(path)?, transport.passphrase, place).map(Some)
            }
            None => Ok(None),
        }
    }

    /// Refuses flags that exclude each other; returns the passphrase of the SSH key.
    fn check(&self, transport: Transport<'_>) -> Result<Option<&SecretString>, Error> {
        let refused = |reason: &str| Err(Error::Flags(reason.to_owned()));
        let (has_file, reuses) = (self.ssh_signing_key_file.is_some(), self.ssh_signing_reuse_private_key);
        if self.gpg_key_ring.is_some() && (has_file || reuses) {
            return refused("--gpg-* and --ssh-signing-* are mutually exclusive; pick one signing format");
        }
        if has_file && reuses {
            return refused(
                "--ssh-signing-key-file and --ssh-signing-reuse-private-key are mutually exclusive",
            );
        }
        if reuses && transport.file.is_none() {
            return refused("--ssh-signing-reuse-private-key requires --private-key-file");
        }
        let (password, alias) = (filled(&self.ssh_signing_password), filled(&self.ssh_signing_passphrase));
        if let (Some(one), Some(other)) = (password, alias)
            && one.expose_secret() != other.expose_secret()
        {
            return refused(
                "--ssh-signing-password and --ssh-signing-passphrase are aliases; do not pass both",
            );
        }
        let password = password.or(alias);
        if password.is_some() && !has_file {
            return refused("--ssh-signing-password requires --ssh-signing-key-file");
        }
        if self.gpg_key_ring.is_none()
            && (self.gpg_key_id.is_some() || filled(&self.gpg_passphrase).is_some())
        {
            return refused("--gpg-key-id and --gpg-passphrase require --gpg-key-ring");
        }
        Ok(password)
    }

    fn openpgp(&self, path: &str) -> Result<SigningKey, Error> {
        let ring = input::bytes(path.as_ref(), MAX_RING).map_err(|cause| {
            invalid(format!("unable to open GPG key ring: open {path}: {}", opening(&cause)))
        })?;
        let choice = match self.gpg_key_id.as_deref() {
            Some(id) if !id.is_empty() => {
                let digits = id.strip_prefix("0x").unwrap_or(id).len();
                if digits != ID_DIGITS {
                    let reason = format!("invalid GPG key id length; expected {ID_DIGITS}, got {digits}");
                    return Err(invalid(reason));
                }
                Choice::Id(id)
            }
            _ => Choice::First,
        };
        let passphrase = self.gpg_passphrase.as_ref().map(|text| text.expose_secret().as_bytes());
        let key = SigningKey::openpgp(&ring, choice, passphrase, Timestamp::now());
        key.map_err(|error| match &error {
            SigningKeyError::Unreadable(_) => invalid(format!("unable to read GPG key ring: {error}")),
            SigningKeyError::Locked => {
                invalid(format!("unable to decrypt GPG private key: {error}; give it with --gpg-passphrase"))
            }
            SigningKeyError::Passphrase | SigningKeyError::Cost => {
                invalid(format!("unable to decrypt GPG private key: {error}"))
            }
            SigningKeyError::Public if self.gpg_key_id.is_none() => {
                invalid(format!("keyring does not contain a private key: {error}"))
            }
            _ => invalid(error.to_string()),
        })
    }
}

/// Returns the text of a flag that is not empty.
fn filled(text: &Option<SecretString>) -> Option<&SecretString> {
    text.as_ref().filter(|text| !text.expose_secret().is_empty())
}

fn invalid(reason: String) -> Error {
    Error::Flags(format!("invalid GPG signing key: {reason}"))
}

fn ssh(text: &str, passphrase: Option<&SecretString>, place: &str) -> Result<SigningKey, Error> {
    let refused = |reason: String| Error::Flags(format!("{place}: {reason}"));
    let key = parse_identity(text, passphrase.map(ExposeSecret::expose_secret));
    let key = key.map_err(|error| match error {
        IdentityError::Encrypted => refused("SSH signing key is encrypted; passphrase required".to_owned()),
        error => refused(format!("could not parse SSH signing key: {error}")),
    })?;
    SigningKey::ssh(key).map_err(|error| refused(error.to_string()))
}
