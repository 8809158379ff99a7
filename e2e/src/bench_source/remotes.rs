//! The remotes that sources are fetched from, filled to the sizes that are measured.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use axum::Router;
use axum::body::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use weir_testkit::{BucketServer, GitRepo, Server};

use crate::chart;

/// The bucket.
pub(super) const BUCKET: &str = "bench";
/// Bytes of one file of the monorepo.
const FILE: usize = 1 << 20;
/// Bytes of one of its files of text, as sources have.
const SOURCE: usize = 16 << 10;
/// Words of which the text is made.
const WORDS: [&str; 16] = [
    "return", "if", "let", "value", "self", "name", "error", "=>", "{", "}", "(", ");", "result", "&str",
    "fn", "\n    ",
];
/// Versions of one chart of the index, as in large public repositories.
const VERSIONS: usize = 100;
/// Uploads at once.
const UPLOADS: usize = 16;

/// Bytes that do not compress; the same at every run.
struct Noise(u64);

impl Noise {
    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            // xorshift: fast, and random enough not to compress.
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            let word = self.0.to_le_bytes();
            chunk.copy_from_slice(word.get(..chunk.len()).unwrap_or_default());
        }
    }
}

impl Noise {
    /// Text that compresses to about a quarter, as source code does.
    fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 256);
        while text.len() < bytes {
            let mut word = [0; 8];
            self.fill(&mut word);
            // Names of its own between the words of the language.
            for byte in word {
                text.push_str(WORDS.get(usize::from(byte & 15)).unwrap_or(&""));
                text.push(' ');
            }
            let _ = write!(text, "{:x}", u16::from_le_bytes([word[0], word[1]]));
        }
        text.truncate(bytes);
        text
    }
}

/// The content of large repositories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Files of 1 MiB that do not compress.
    Noise,
    /// A quarter of them, and for the rest text in small files.
    Mixed,
}

/// Fills a repository with one commit of so many MiB and a small folder `deploy`.
pub(super) fn fill(repository: &GitRepo, mebibytes: usize, kind: Content) -> Result<()> {
    let mut import = Command::new("git")
        .args(["-c", "core.compression=0", "fast-import", "--quiet"])
        .current_dir(repository.path())
        .stdin(Stdio::piped())
        .spawn()
        .context("git fast-import")?;
    let mut pipe = import.stdin.take().context("no pipe to git")?;
    let (mut noise, mut content) = (Noise(88_172_645_463_325_252), vec![0; FILE]);
    let who = "Bench <bench@example.com> 1700000000 +0000";
    write!(pipe, "commit refs/heads/main\ncommitter {who}\ndata 5\nfirst\n")?;
    for number in 0..mebibytes {
        let folder = format!("services/{}", number % 100);
        if kind == Content::Noise || number % 4 == 0 {
            noise.fill(&mut content);
            write_file(&mut pipe, &format!("{folder}/{number}.bin"), &content)?;
            continue;
        }
        for part in 0..FILE / SOURCE {
            let text = noise.text(SOURCE);
            write_file(&mut pipe, &format!("{folder}/{number}/{part}.txt"), text.as_bytes())?;
        }
    }
    write!(pipe, "M 100644 inline deploy/app.yaml\ndata 16\nkind: ConfigMap\n\n")?;
    drop(pipe);
    let status = import.wait()?;
    if !status.success() {
        bail!("git fast-import ended with {status}");
    }
    Ok(())
}

fn write_file(pipe: &mut impl std::io::Write, path: &str, content: &[u8]) -> Result<()> {
    writeln!(pipe, "M 100644 inline {path}\ndata {}", content.len())?;
    pipe.write_all(content)?;
    writeln!(pipe)?;
    Ok(())
}

/// Serves an index of almost so many MiB, and the package of its first chart.
pub(super) async fn serve_index(mebibytes: usize) -> Result<Server> {
    let chart = chart::package("chart-0", "1.0.0", &[])?;
    let index = Bytes::from(index(mebibytes << 20, &hex::encode(sha2_digest(&chart)))?);
    let chart = Bytes::from(chart);
    let routes = Router::new()
        .route("/index.yaml", axum::routing::get(move || std::future::ready(index.clone())))
        .route("/chart.tgz", axum::routing::get(move || std::future::ready(chart.clone())));
    Ok(Server::start(routes, None).await?)
}

fn sha2_digest(bytes: &[u8]) -> Vec<u8> {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).to_vec()
}

fn index(bytes: usize, digest: &str) -> Result<String> {
    let mut text = String::with_capacity(bytes);
    text.push_str("apiVersion: v1\nentries:\n");
    for chart in 0.. {
        let mut entry = format!("  chart-{chart}:\n");
        for version in 0..VERSIONS {
            write!(
                entry,
                "  - apiVersion: v2\n    appVersion: {version}.0.0\n    created: \"2026-01-01T00:00:00Z\"\n    \
                 description: A chart that is one of very many\n    digest: {digest}\n    home: https://example.com/chart\n    \
                 keywords:\n    - one\n    - two\n    maintainers:\n    - email: team@example.com\n      name: Team\n    \
                 name: chart-{chart}\n    sources:\n    - https://example.com/source\n    urls:\n    - chart.tgz\n    \
                 version: 1.0.{version}\n"
            )?;
        }
        if text.len() + entry.len() > bytes {
            return Ok(text);
        }
        text.push_str(&entry);
    }
    Ok(text)
}

/// Makes the bucket and puts so many small objects into it.
pub(super) async fn fill_bucket(server: &BucketServer, objects: usize) -> Result<()> {
    server.create(BUCKET).await?;
    stream::iter(0..objects)
        .map(|number| async move {
            let (key, content) =
                (format!("apps/{}/{number}.yaml", number % 100), format!("number: {number}\n"));
            server.put(BUCKET, &key, content).await
        })
        .buffer_unordered(UPLOADS)
        .try_for_each(|()| async { Ok(()) })
        .await?;
    Ok(())
}
