//! The catalogue of plugins: manifests below an address (CLI-PLG01).

use std::io::Write;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use weir_http::{Clients, Profile};
use weir_yaml::{Limits, Source, parse_first_document};

use crate::environment;
use crate::error::{Error, chain};

/// Address of Flux's catalogue.
const ADDRESS: &str = "https://github.com/fluxcd/plugins/releases/latest/download/";
/// Format of manifests and of the catalogue.
const API_VERSION: &str = "cli.fluxcd.io/v1beta1";
/// Bytes of a manifest.
const MAX_MANIFEST: usize = 10 << 20;
/// Bytes of a download; programs have some ten MiB.
const MAX_DOWNLOAD: u64 = 512 << 20;
/// Name of this client.
const USER_AGENT: &str = "weir";

/// The catalogue at its address.
pub(super) struct Catalog {
    client: reqwest::Client,
    address: String,
}

/// All plugins of a catalogue.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct List {
    api_version: String,
    kind: String,
    plugins: Vec<Entry>,
}

/// A plugin in the list.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) description: String,
}

/// A plugin with its versions, the newest first.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Manifest {
    api_version: String,
    kind: String,
    pub(super) name: String,
    /// Name of the program's file.
    pub(super) bin: String,
    versions: Vec<Version>,
}

/// A version of a plugin.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Version {
    version: String,
    platforms: Vec<Platform>,
}

/// A program for one kind of machine.
#[derive(Deserialize, Serialize, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Platform {
    os: String,
    arch: String,
    pub(super) url: String,
    /// `sha256:` and the digest of the download.
    pub(super) checksum: String,
    /// Path of the program in the archive.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) extract_path: String,
}

impl Catalog {
    /// The catalogue that the environment names, or Flux's.
    pub(super) fn new() -> Result<Self, Error> {
        let client = Clients::new(USER_AGENT).get(&Profile::default());
        let client = client.map_err(|error| Error::Plugin(error.to_string()))?;
        let named = environment::path("PLUGIN_CATALOG", "FLUXCD_PLUGIN_CATALOG");
        let address = named.map_or_else(|| ADDRESS.to_owned(), |named| named.to_string_lossy().into_owned());
        Ok(Self { client, address })
    }

    /// Reads the list of all plugins.
    pub(super) async fn list(&self) -> Result<Vec<Entry>, Error> {
        let failed = |reason: String| Error::Plugin(format!("failed to fetch plugin catalog: {reason}"));
        let list: List = self.read("catalog.yaml").await.map_err(failed)?;
        check("plugin catalog", &list.api_version, &list.kind, "PluginCatalog")?;
        Ok(list.plugins)
    }

    /// Reads the manifest of a plugin.
    pub(super) async fn manifest(&self, name: &str) -> Result<Manifest, Error> {
        let is_plain = |text: &str| {
            let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !text.is_empty() && !text.starts_with('.') && text.bytes().all(known)
        };
        if !is_plain(name) {
            return Err(Error::Plugin(format!("'{name}' cannot be the name of a plugin")));
        }
        let missing =
            |reason: String| Error::Plugin(format!("plugin \"{name}\" not found in catalog: {reason}"));
        let manifest: Manifest = self.read(&format!("{name}.yaml")).await.map_err(missing)?;
        check(&format!("plugin \"{name}\""), &manifest.api_version, &manifest.kind, "Plugin")?;
        // Both become paths in the folder of plugins.
        if manifest.name != name {
            return Err(Error::Plugin(format!("plugin \"{name}\" has the name \"{}\"", manifest.name)));
        }
        if !is_plain(&manifest.bin) || !manifest.bin.starts_with("flux-") {
            return Err(Error::Plugin(format!(
                "plugin \"{name}\" has invalid bin \"{}\" (must be a plain filename prefixed with \"flux-\")",
                manifest.bin
            )));
        }
        Ok(manifest)
    }

    async fn read<T: DeserializeOwned>(&self, file: &str) -> Result<T, String> {
        let answer = self.get(&format!("{}{file}", self.address)).await?;
        let text = weir_http::read_capped(answer, MAX_MANIFEST).await.map_err(|error| error.to_string())?;
        let source = Source::file(file, String::from_utf8_lossy(&text).into_owned());
        let document =
            parse_first_document(&source, &Limits::default()).map_err(|error| error.to_string())?;
        let document = document.map(|document| document.to_json_of_yaml11()).transpose();
        let document = document.map_err(|error| error.to_string())?;
        serde_json::from_value(document.unwrap_or_default()).map_err(|error| error.to_string())
    }

    async fn get(&self, url: &str) -> Result<reqwest::Response, String> {
        let answer = self.client.get(url).send().await;
        let answer = answer.map_err(|error| format!("{url}: {}", chain(&error.without_url())))?;
        match answer.status() {
            status if status.is_success() => Ok(answer),
            status => Err(format!("HTTP {} from {url}", status.as_u16())),
        }
    }

    /// Writes the program of a platform, or the archive with it, and compares its digest.
    pub(super) async fn download(&self, platform: &Platform, mut to: impl Write) -> Result<(), Error> {
        let failed = |reason: String| Error::Plugin(format!("failed to download plugin: {reason}"));
        let mut answer = self.get(&platform.url).await.map_err(failed)?;
        let (mut digest, mut length) = (Sha256::new(), 0);
        while let Some(chunk) = answer.chunk().await.map_err(|error| failed(chain(&error.without_url())))? {
            length += chunk.len() as u64;
            if length > MAX_DOWNLOAD {
                return Err(failed(format!("larger than {MAX_DOWNLOAD} bytes")));
            }
            digest.update(&chunk);
            to.write_all(&chunk)?;
        }
        let found = format!("sha256:{}", hex::encode(digest.finalize()));
        if found != platform.checksum {
            let expected = &platform.checksum;
            return Err(Error::Plugin(format!(
                "checksum verification failed (expected: {expected}, got: {found})"
            )));
        }
        Ok(())
    }
}

/// Refuses documents of another format.
fn check(shown: &str, api_version: &str, kind: &str, expected: &str) -> Result<(), Error> {
    let refused = |what: &str, found: &str, expected: &str| {
        Err(Error::Plugin(format!("{shown} has {what} \"{found}\" (expected \"{expected}\")")))
    };
    match (api_version, kind) {
        (API_VERSION, kind) if kind == expected => Ok(()),
        (API_VERSION, kind) => refused("unexpected kind", kind, expected),
        (other, _) => refused("unsupported apiVersion", other, API_VERSION),
    }
}

impl Manifest {
    /// Returns the newest version.
    pub(super) fn newest(&self) -> Result<&str, Error> {
        let newest = self.versions.first().map(|version| version.version.as_str());
        newest.ok_or_else(|| Error::Plugin(format!("plugin \"{}\" has no versions", self.name)))
    }

    /// Finds a version by its number or by the digest of its download; an empty reference is the newest. Returns its number and the
    /// program for this machine.
    pub(super) fn find(&self, reference: &str) -> Result<(&str, &Platform), Error> {
        let (os, arch) = machine();
        let of_machine = |platform: &&Platform| platform.os == os && platform.arch == arch;
        let refused = |reason: String| Err(Error::Plugin(reason));
        let name = &self.name;
        if reference.starts_with("sha256:") {
            let all = self.versions.iter().flat_map(|it| it.platforms.iter().map(move |found| (it, found)));
            let mut fitting = all.filter(|(_, platform)| of_machine(platform));
            return match fitting.find(|(_, platform)| platform.checksum == reference) {
                Some((version, platform)) => Ok((&version.version, platform)),
                None => {
                    refused(format!("digest \"{reference}\" not found for plugin \"{name}\" on {os}/{arch}"))
                }
            };
        }
        let wanted = if reference.is_empty() { self.newest()? } else { reference };
        let Some(version) = self.versions.iter().find(|version| version.version == wanted) else {
            return refused(format!("version \"{wanted}\" not found for plugin \"{name}\""));
        };
        match version.platforms.iter().find(of_machine) {
            Some(platform) => Ok((&version.version, platform)),
            None => refused(format!("plugin \"{name}\" v{wanted} has no binary for {os}/{arch}")),
        }
    }
}

/// Returns how Go calls this kind of machine.
fn machine() -> (&'static str, &'static str) {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let os = if std::env::consts::OS == "macos" { "darwin" } else { std::env::consts::OS };
    (os, arch)
}
