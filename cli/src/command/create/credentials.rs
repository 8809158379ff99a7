//! Credentials on the command line, and the entries of Secrets that they become (CLI-CRE02, CLI-SEC01, CLI-SEC04).

use std::collections::BTreeMap;
use std::num::{IntErrorKind, ParseIntError};

use secrecy::{ExposeSecret, SecretString};
use url::Url;
use weir_git::{Identity, KeyKind};
use weir_http::{ClientCertificate, ClientError, go_url};

use super::address;
use super::flag::{Flag, Flags, bits, one_of, secret, switch, text};
use crate::enumeration;
use crate::error::Error;
use crate::input;

/// Bits of an RSA key where none are given.
pub(crate) const DEFAULT_RSA_BITS: &str = "2048";
/// Fewest bits of an RSA key.
const MIN_RSA_BITS: usize = 1024;
/// Most bits of an RSA key: more take minutes to make.
const MAX_RSA_BITS: usize = 16_384;

const USERNAME: Flag = text("username", "", "User name").short('u');

const PRIVATE_KEY: Flag =
    text("private-key-file", "", "File with a private SSH key; without it, one is made");
const ALGORITHM: Flag =
    one_of("ssh-key-algorithm", "", enumeration::KEY_ALGORITHM, "Kind of the key that is made").or("ecdsa");
const CURVE: Flag =
    one_of("ssh-ecdsa-curve", "", enumeration::CURVE, "Curve of the ECDSA key that is made").or("p384");
const BITS: Flag = bits("ssh-rsa-bits", "Bits of the RSA key that is made").or(DEFAULT_RSA_BITS);

/// A user with a password.
pub(super) const LOGIN: &[Flag] = &[USERNAME, secret("password", "Password").short('p')];

/// Key pairs for Git over SSH.
pub(super) const KEYS: &[Flag] = &[PRIVATE_KEY, ALGORITHM, CURVE, BITS];

/// Credentials of a new GitRepository.
pub(super) const OF_GIT: &[Flag] = &[
    USERNAME,
    secret("password", "Password, or passphrase of the private key").short('p'),
    PRIVATE_KEY,
    ALGORITHM,
    CURVE,
    BITS,
    switch("silent", "", "Do not ask if the deploy key has been added").short('s'),
];

/// The entries of a Secret.
pub(crate) type Entries = BTreeMap<String, SecretString>;

/// A server whose keys are to be noted in the Secret.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SshHost {
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
}

/// Checks a Git URL, and returns its scheme.
pub(super) fn git_scheme(url: &str) -> Result<&'static str, Error> {
    address::check(url, "git URL parse failed")?;
    let scheme = go_url::scheme(url);
    let known = ["ssh", "http", "https"].into_iter().find(|known| *known == scheme);
    known.ok_or_else(|| {
        let hint = address::hint_of_scheme(url);
        Error::Flags(format!("git URL scheme '{scheme}' not supported, can be: ssh, http and https{hint}"))
    })
}

/// The SSH server of a URL.
pub(crate) fn ssh_host(url: &str) -> Result<SshHost, Error> {
    let parsed = Url::parse(url).map_err(|error| Error::Flags(format!("git URL parse failed: {error}")))?;
    let host = parsed.host_str().unwrap_or_default().to_owned();
    Ok(SshHost { host, port: parsed.port() })
}

/// A choice of a key pair for Git over SSH.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyChoice<'a> {
    /// File with the private key; without it, one is made.
    pub(crate) file: Option<&'a str>,
    /// Passphrase of the private key.
    pub(crate) passphrase: Option<&'a SecretString>,
    /// Kind of a new key.
    pub(crate) algorithm: &'a str,
    /// Curve of a new ECDSA key.
    pub(crate) curve: &'a str,
    /// Bits of a new RSA key.
    pub(crate) bits: usize,
}

/// The key pair for Git over SSH that flags ask for.
pub(super) fn key_pair(flags: &Flags<'_>) -> Result<(Identity, Entries), Error> {
    let text = |name| flags.text(name).unwrap_or_default();
    chosen_key_pair(KeyChoice {
        file: flags.text("private-key-file"),
        passphrase: flags.secret("password"),
        algorithm: text("ssh-key-algorithm"),
        curve: text("ssh-ecdsa-curve"),
        bits: flags.bits("ssh-rsa-bits").unwrap_or_default(),
    })
}

/// The key pair for Git over SSH: that of a file, or a new one; with the entries of its Secret.
pub(crate) fn chosen_key_pair(choice: KeyChoice<'_>) -> Result<(Identity, Entries), Error> {
    let passphrase = choice.passphrase.filter(|text| !text.expose_secret().is_empty());
    let identity = match choice.file {
        Some(file) => {
            let text = input::text_or(file, "failed to open private key file")?;
            Identity::read(&text, passphrase.map(ExposeSecret::expose_secret))
        }
        None => Identity::generate(key_kind(choice)?),
    };
    let identity = identity.map_err(|error| Error::Flags(error.to_string()))?;
    let mut entries = Entries::from([
        ("identity".to_owned(), identity.private.clone()),
        ("identity.pub".to_owned(), identity.public.as_str().into()),
    ]);
    entries.extend(passphrase.map(|passphrase| ("password".to_owned(), passphrase.clone())));
    Ok((identity, entries))
}

/// Reads the bits of an RSA key, in Flux's words.
pub(crate) fn rsa_bits(text: &str) -> Result<usize, String> {
    let text = if text.trim().is_empty() { DEFAULT_RSA_BITS } else { text };
    let refused = |error: ParseIntError| {
        let reason = match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("strconv.Atoi: parsing {text:?}: {reason}")
    };
    let bits: i64 = text.parse().map_err(refused)?;
    match usize::try_from(bits) {
        Ok(bits) if bits >= MIN_RSA_BITS && bits % 8 == 0 => Ok(bits),
        Ok(bits) if bits >= MIN_RSA_BITS => Err("RSA key bit size must be a multiples of 8".to_owned()),
        _ => Err(format!("RSA key bit size must be at least {MIN_RSA_BITS}")),
    }
}

fn key_kind(choice: KeyChoice<'_>) -> Result<KeyKind, Error> {
    Ok(match (choice.algorithm, choice.curve) {
        ("rsa", _) if choice.bits > MAX_RSA_BITS => {
            return Err(Error::Flags(format!("RSA key bit size must be at most {MAX_RSA_BITS}")));
        }
        ("rsa", _) => KeyKind::Rsa(choice.bits),
        ("ed25519", _) => KeyKind::Ed25519,
        (_, "p256") => KeyKind::P256,
        (_, "p521") => KeyKind::P521,
        _ => KeyKind::P384,
    })
}

/// User and password, if both are given.
pub(super) fn login(flags: &Flags<'_>) -> Option<Entries> {
    let (username, password) = flags.text("username").zip(flags.secret("password"))?;
    Some(Entries::from([("username".to_owned(), username.into()), ("password".to_owned(), password.clone())]))
}

/// User and password, if one of them is given; without the other one it is refused.
pub(super) fn whole_login(flags: &Flags<'_>) -> Result<Option<Entries>, Error> {
    match (flags.text("username"), flags.secret("password")) {
        (None, Some(_)) => Err(Error::Flags("username is required".to_owned())),
        (Some(_), None) => Err(Error::Flags("password is required".to_owned())),
        _ => Ok(login(flags)),
    }
}

/// The entry `ca.crt`, from the file that a flag names.
pub(super) fn authority(flags: &Flags<'_>, flag: &str) -> Result<Option<(String, SecretString)>, Error> {
    let text = file(flags, flag, "unable to read TLS CA file")?;
    Ok(text.map(|text| ("ca.crt".to_owned(), text.into())))
}

/// Reads the file that a flag names; an empty one counts as none.
fn file(flags: &Flags<'_>, flag: &str, failing: &str) -> Result<Option<String>, Error> {
    let text = flags.text(flag).map(|file| input::text_or(file, failing)).transpose()?;
    Ok(text.filter(|text| !text.is_empty()))
}

/// The entries `tls.crt` and `tls.key`, from the files that two flags name; they have to belong together.
pub(super) fn client_certificate(
    flags: &Flags<'_>,
    certificate: &str,
    key: &str,
) -> Result<Option<Entries>, Error> {
    let refused = |reason: &str| Error::Flags(reason.to_owned());
    let certificate = file(flags, certificate, "failed to read cert file")?;
    let key = file(flags, key, "failed to read key file")?.map(SecretString::from);
    let (certificate, key) = match (certificate, key) {
        (None, None) => return Ok(None),
        (Some(_), None) => return Err(refused("found certificate but missing private key")),
        (None, Some(_)) => return Err(refused("found private key but missing certificate")),
        (Some(certificate), Some(key)) => (certificate, key),
    };
    ClientCertificate::new(certificate.as_str(), key.clone()).check().map_err(|error| {
        let reason = match error {
            ClientError::Identity { reason } => reason,
            error => error.to_string(),
        };
        Error::Flags(format!("invalid TLS certificate and key pair: {reason}"))
    })?;
    Ok(Some(Entries::from([("tls.crt".to_owned(), certificate.into()), ("tls.key".to_owned(), key)])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("", Ok(2048))]
    #[case("4096", Ok(4096))]
    #[case("many", Err("strconv.Atoi: parsing \"many\": invalid syntax"))]
    #[case("99999999999999999999", Err("strconv.Atoi: parsing \"99999999999999999999\": value out of range"))]
    #[case(
        "-99999999999999999999",
        Err("strconv.Atoi: parsing \"-99999999999999999999\": value out of range")
    )]
    #[case("1023", Err("RSA key bit size must be at least 1024"))]
    fn bits_are_read_as_by_flux(#[case] text: &str, #[case] expected: Result<usize, &str>) {
        assert_eq!(rsa_bits(text), expected.map_err(str::to_owned));
    }
}
