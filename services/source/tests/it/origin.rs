//! A source of each kind, behind a proxy, whose content goes from version to version.

use std::io::Read;

use serde_json::{Value, json};
use weir_artifact::{Algorithm, Digest};
use weir_testkit::{BucketProgram, BucketServer, FaultProxy, GitServer, Registry};

use crate::chart_server::{ChartServer, chart};
use crate::world::World;

/// The objects, and what is in the servers, have this name.
pub const NAME: &str = "app";
/// Bytes of an artifact that a test reads.
const MAX_BYTES: usize = 64 << 20;
/// Noise in one entry of an index, which has a cap of 1 MiB.
const INDEX_NOISE: usize = 800 << 10;
/// Noise in one file of a chart, which has a cap of 5 MiB.
const CHART_NOISE: usize = 2 << 20;

/// Size of the incompressible file in bytes: to compress it takes about as long as a test may.
const DENSE_BYTES: usize = 8 << 20;

/// The kinds of origins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Git,
    /// Objects are named by SHA-256 and kept by another library.
    GitSha256,
    /// By a tag that moves.
    Oci,
    /// By the highest tag.
    OciRange,
    Bucket,
    Helm,
    /// Of a HelmRepository, which is there too.
    Chart,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Git | Self::GitSha256 => "GitRepository",
            Self::Oci | Self::OciRange => "OCIRepository",
            Self::Bucket => "Bucket",
            Self::Helm => "HelmRepository",
            Self::Chart => "HelmChart",
        }
    }
}

enum Server {
    Git(GitServer),
    Registry(Registry),
    Bucket(BucketServer),
    Charts(ChartServer),
}

/// A server with one source in it.
pub struct Origin {
    pub kind: Kind,
    pub proxy: FaultProxy,
    server: Server,
}

impl Origin {
    /// Starts the server; none where it is not installed, which is printed.
    pub async fn start(kind: Kind) -> Option<Self> {
        let server = match kind {
            Kind::Git | Kind::GitSha256 => Server::Git(GitServer::start().await.unwrap()),
            Kind::Oci | Kind::OciRange => Server::Registry(Registry::start().await.unwrap()),
            Kind::Bucket => {
                let server = BucketServer::start(BucketProgram::Moto).await.unwrap()?;
                server.create(NAME).await.unwrap();
                Server::Bucket(server)
            }
            Kind::Helm | Kind::Chart => Server::Charts(ChartServer::start().await),
        };
        let upstream = match &server {
            Server::Git(server) => server.url(NAME).split('/').nth(2).unwrap().to_owned(),
            Server::Registry(server) => server.address().to_owned(),
            Server::Bucket(server) => server.address().to_owned(),
            Server::Charts(server) => server.address().to_string(),
        };
        Some(Self { kind, proxy: FaultProxy::http(&upstream).await.unwrap(), server })
    }

    /// Puts a version into the server, with so many bytes that do not shrink.
    pub async fn publish(&self, version: u32, bytes: usize) {
        let version = marker(version);
        let content = if bytes < DENSE_BYTES { noise(&version, bytes) } else { dense(&version, bytes) };
        let text = format!("{version}\n{content}");
        match &self.server {
            Server::Git(server) => {
                let format = if self.kind == Kind::Git { "sha1" } else { "sha256" };
                server.repo_as(NAME, format).unwrap().commit("main", &version, &[("a.txt", &text)]).unwrap();
            }
            Server::Registry(server) => {
                let tag = if self.kind == Kind::OciRange { version.as_str() } else { "latest" };
                server.push_artifact(NAME, tag, &[("a.txt", &text)]).await.unwrap();
            }
            Server::Bucket(server) => server.put(NAME, "a.txt", text).await.unwrap(),
            Server::Charts(server) => self.publish_chart(server, &version, bytes),
        }
    }

    fn publish_chart(&self, server: &ChartServer, version: &str, bytes: usize) {
        // Only what is looked at is large.
        let (index, package) = if self.kind == Kind::Helm { (bytes, 0) } else { (0, bytes) };
        let entry = |description: &str| {
            json!({"apiVersion": "v2", "name": NAME, "version": version, "description": description,
                "urls": [format!("app-{version}.tgz")]})
        };
        let mut entries = serde_json::Map::new();
        entries.insert(NAME.to_owned(), json!([entry("")]));
        for (number, part) in parts(index, INDEX_NOISE).enumerate() {
            entries.insert(format!("noise-{number}"), json!([entry(&noise(version, part))]));
        }
        let files: Vec<_> =
            parts(package, CHART_NOISE).map(|bytes| noise(version, bytes)).enumerate().collect();
        let files: Vec<_> =
            files.iter().map(|(number, text)| (format!("files/{number}"), text.as_str())).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        server.put(&format!("/charts/app-{version}.tgz"), chart(NAME, version, &files));
        server.put("/charts/index.yaml", json!({"apiVersion": "v1", "entries": entries}).to_string());
    }

    /// Applies the objects that follow the server.
    pub async fn declare(&self, world: &World) {
        match &self.server {
            Server::Git(server) => world.git(NAME, &self.proxy.url(&server.url(NAME)), json!({})).await,
            Server::Registry(server) => {
                let more = match self.kind {
                    Kind::OciRange => json!({"ref": {"semver": "*"}}),
                    _ => json!({}),
                };
                world.oci(NAME, &self.proxy.url(&server.url(NAME)), more).await;
            }
            Server::Bucket(_) => {
                let keys = json!({"accesskey": "AKID", "secretkey": "secret"});
                world.secret("keys", "Opaque", keys).await;
                let more = json!({"secretRef": {"name": "keys"}});
                world.bucket(NAME, &self.proxy.address(), NAME, more).await;
            }
            Server::Charts(server) => {
                let url = self.proxy.url(&server.url("/charts"));
                world.apply("HelmRepository", NAME, json!({"url": url, "interval": "1h"})).await;
                if self.kind == Kind::Chart {
                    let source = json!({"kind": "HelmRepository", "name": NAME});
                    let spec = json!({"chart": NAME, "interval": "1h", "sourceRef": source});
                    world.apply("HelmChart", NAME, spec).await;
                }
            }
        }
    }

    /// Has the source looked at.
    pub async fn look(&self, world: &World) {
        if self.kind == Kind::Chart {
            world.reconciled("HelmRepository", NAME).await;
        }
        weir_testkit::touch_requested_at(&world.api(self.kind.name()).await, NAME).await.unwrap();
    }

    /// The status as it is now.
    pub async fn status(&self, world: &World) -> Value {
        world.api(self.kind.name()).await.get(NAME).await.unwrap().data["status"].clone()
    }

    /// Waits until the artifact is ready and of the version; gives the status.
    pub async fn at(&self, world: &World, version: u32) -> Value {
        weir_testkit::eventually(
            &format!("version {}", marker(version)),
            crate::world::DEADLINE,
            async || {
                let status = world.ready(self.kind.name(), NAME).await;
                holds(&served(&status).await, version).then_some(status)
            },
        )
        .await
        .unwrap_or_else(|error| panic!("{error}\n{}", world.controller.log_tail()))
    }
}

/// The version, as it stands in every artifact.
fn marker(version: u32) -> String {
    // As long as every other one, so that none begins with another.
    format!("1.0.{}", 100 + version)
}

/// Letters that do not shrink much, others for each version.
pub fn noise(version: &str, bytes: usize) -> String {
    noise_of(version, bytes, |byte| b'a' + byte % 26)
}

/// Text that shrinks by an eighth, other for each version.
pub fn dense(version: &str, bytes: usize) -> String {
    noise_of(version, bytes, |byte| byte % 128)
}

fn noise_of(version: &str, bytes: usize, letter: fn(u8) -> u8) -> String {
    let mut seed = version.bytes().fold(7, |seed: u64, byte| seed * 31 + u64::from(byte));
    let mut letters = Vec::with_capacity(bytes + 8);
    while letters.len() < bytes {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        letters.extend((seed >> 16).to_le_bytes().map(letter).iter().take(6));
    }
    letters.truncate(bytes);
    String::from_utf8(letters).unwrap()
}

fn parts(bytes: usize, largest: usize) -> impl Iterator<Item = usize> {
    (0..bytes.div_ceil(largest)).map(move |number| largest.min(bytes - number * largest))
}

/// The artifact as consumers get it: what is advertised, byte for byte.
pub async fn served(status: &Value) -> Vec<u8> {
    let artifact = &status["artifact"];
    let answer = reqwest::get(artifact["url"].as_str().unwrap()).await.unwrap().error_for_status().unwrap();
    let bytes = weir_http::read_capped(answer, MAX_BYTES).await.unwrap();
    assert_eq!(artifact["digest"], Digest::of(Algorithm::Sha256, &bytes).to_string(), "{artifact}");
    bytes.to_vec()
}

/// Returns true when an artifact is of a version.
pub fn holds(artifact: &[u8], version: u32) -> bool {
    let mut text = Vec::new();
    let is_packed = flate2::read::MultiGzDecoder::new(artifact).read_to_end(&mut text).is_ok();
    let text = if is_packed { &text } else { artifact };
    String::from_utf8_lossy(text).contains(&marker(version))
}
