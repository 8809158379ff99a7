//! One handle per object and reconciliation: its repository, its credentials, its deadline.

mod attached;
mod blob;
mod connect;
mod content;
mod layers;
mod link;
mod push;
mod send;
mod tags;

use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, Response};
use secrecy::SecretString;
use tokio::time::Instant;
use url::Url;
use weir_artifact::{Algorithm, Digest};
use weir_auth::RegistryCredentials;
use weir_http::{Clients, Profile, Proxy};

pub use self::attached::{Attachment, Referrer};
pub use self::blob::Blob;
use self::connect::{Endpoint, Endpoints};
use self::layers::{Layers, Reader};
pub use self::link::next_page;
use self::send::Answer;
pub use self::tags::{MAX_TAGS, tags_of_page};
use crate::access::Pass;
use crate::error::{Error, shown};
use crate::manifest::{Descriptor, Form, Manifest};
use crate::reference::is_tag;
use crate::repository::Repository;

/// Bytes of a manifest, as the distribution specification has it (DEP-OCI-4).
const MAX_MANIFEST_BYTES: usize = 4 << 20;
/// Time for one handle when the object does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// Registries keep statistics by this name (SRC-OCI-15).
const USER_AGENT: &str = "flux/v2";
/// Manifests that we understand.
const ACCEPT: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json, \
                      application/vnd.oci.image.index.v1+json, \
                      application/vnd.docker.distribution.manifest.list.v2+json";
/// Rights of a handle, as token servers call them.
const PULL: &str = "pull";
const PUSH: &str = "push,pull";
const DIGEST_HEADER: &str = "docker-content-digest";

/// Settings for the use of a registry.
#[derive(Debug, Clone)]
pub struct RegistryOptions {
    /// Plain HTTP is allowed, where HTTPS gets no answer. Certificates are checked all the same.
    pub insecure: bool,
    /// So it is on this machine and in private networks, without being said: images are pulled so, charts are not.
    pub plain_at_home: bool,
    /// Our credentials.
    pub credentials: RegistryCredentials,
    /// Certificates and proxy.
    pub http: Profile,
    /// Time for everything that is done with the handle.
    pub timeout: Duration,
}

impl Default for RegistryOptions {
    fn default() -> Self {
        Self {
            insecure: false,
            plain_at_home: true,
            credentials: RegistryCredentials::Anonymous,
            http: Profile::default(),
            timeout: DEFAULT_TIMEOUT,
        }
    }
}

/// The parts that handles share: connections, the way in to each registry, and small layers for a moment. Cheap to
/// clone; one per process.
#[derive(Clone)]
pub struct Registries {
    clients: Clients,
    endpoints: Endpoints,
    layers: Layers,
}

impl Default for Registries {
    fn default() -> Self {
        Self::new()
    }
}

impl Registries {
    /// Knows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { clients: Clients::new(USER_AGENT), endpoints: Endpoints::new(), layers: Layers::new() }
    }

    /// A handle to a repository. Nothing is sent yet.
    ///
    /// # Errors
    /// When certificates or proxy cannot be used.
    pub fn open(&self, repository: &Repository, options: RegistryOptions) -> Result<Registry, Error> {
        let mut profile = options.http.clone();
        // Digests are of bytes as they are stored.
        profile.keep_encoding = true;
        Ok(Registry {
            client: self.clients.get(&profile)?,
            token_client: self.clients.get(&Profile { secret_bodies: true, ..profile })?,
            endpoints: self.endpoints.clone(),
            layers: self.layers.clone(),
            reader: Reader::new(repository, &options),
            repository: repository.clone(),
            actions: PULL,
            deadline: Instant::now() + options.timeout,
            way: None,
            last_read: None,
            asked_wait: None,
            options,
        })
    }
}

/// A repository that is being read. Credentials live and die with it (DEP-OCI-2).
pub struct Registry {
    client: Client,
    /// For requests whose bodies are credentials.
    token_client: Client,
    endpoints: Endpoints,
    layers: Layers,
    reader: Reader,
    repository: Repository,
    /// Rights that the token server is asked for.
    actions: &'static str,
    options: RegistryOptions,
    deadline: Instant,
    /// The way in, once it was found.
    way: Option<(Endpoint, Pass)>,
    /// The manifest that was read last by its tag.
    last_read: Option<(Digest, Url, bytes::Bytes)>,
    /// Time for which the registry wants to be left alone, by the last request that failed.
    asked_wait: Option<Duration>,
}

impl Registry {
    /// The same handle with the right to push.
    #[must_use]
    pub fn for_pushes(self) -> Self {
        Self { actions: PUSH, ..self }
    }

    /// The repository that is read.
    #[must_use]
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Certificates and proxy on the way to the registry.
    #[must_use]
    pub fn http(&self) -> &Profile {
        &self.options.http
    }

    /// Returns the time for which the registry wants to be left alone, if it has named one when the last request failed.
    #[must_use]
    pub fn asked_wait(&self) -> Option<Duration> {
        self.asked_wait
    }

    /// Returns the time left for everything that is done with the handle.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Returns the digest that a tag stands for. HEAD, and GET where HEAD does not have it (SRC-OCI-4).
    ///
    /// # Errors
    /// When there is no such tag or the registry does not let us.
    pub async fn resolve(&mut self, tag: &str) -> Result<Digest, Error> {
        if let Ok(answer) = self.request(Method::HEAD, &manifest_path(tag)?).await
            && let Some(digest) = announced(&answer.response)
        {
            return Ok(digest);
        }
        self.read(tag).await
    }

    /// As [`Registry::resolve`] with a HEAD alone. A registry may count each GET as a pull.
    ///
    /// # Errors
    /// As [`Registry::resolve`], and when the answer has no digest.
    pub async fn head(&mut self, tag: &str) -> Result<Digest, Error> {
        let answer = self.request(Method::HEAD, &manifest_path(tag)?).await?;
        announced(&answer.response).ok_or_else(|| Error::NoDigest { url: shown(&answer.asked) })
    }

    /// Resolves a tag as [`Registry::resolve`] does, and keeps its manifest, which comes with the answer:
    /// [`Registry::manifest`] does not ask for it again.
    ///
    /// # Errors
    /// As [`Registry::resolve`], and when the manifest is too large.
    pub async fn read(&mut self, tag: &str) -> Result<Digest, Error> {
        let answer = self.request(Method::GET, &manifest_path(tag)?).await?;
        let announced = announced(&answer.response);
        let (url, body) = self.manifest_body(answer).await?;
        let actual = Digest::of(Algorithm::Sha256, &body);
        match announced {
            Some(expected) if expected.algorithm() == Algorithm::Sha256 && expected != actual => {
                Err(mismatch(&url, &expected, &actual))
            }
            _ => {
                self.last_read = Some((actual.clone(), url, body));
                Ok(actual)
            }
        }
    }

    /// The manifest with a digest; an index is resolved to the image for our platform.
    ///
    /// # Errors
    /// Fails when it is not there, too large, malformed, or does not have the digest.
    pub async fn manifest(&mut self, digest: &Digest) -> Result<Manifest, Error> {
        let manifest = self.one_manifest(digest).await?;
        match &manifest.form {
            Form::Image => Ok(manifest),
            Form::Index(Some(image)) => self.one_manifest(&image.clone()).await,
            Form::Index(None) => Err(Error::NoPlatform { index: format!("{}@{digest}", self.repository) }),
        }
    }

    /// As [`Registry::manifest`], without a look at the images of an index.
    ///
    /// # Errors
    /// As [`Registry::manifest`].
    pub async fn one_manifest(&mut self, digest: &Digest) -> Result<Manifest, Error> {
        let (url, body) = self.manifest_bytes(digest).await?;
        let manifest = Manifest::parse(digest.clone(), &body, &shown(&url));
        manifest.map_err(|error| error.without(&self.told()))
    }

    /// Returns the bytes of a manifest, which have the digest.
    async fn manifest_bytes(&mut self, digest: &Digest) -> Result<(Url, bytes::Bytes), Error> {
        if let Some((_, url, body)) = self.last_read.take_if(|(read, ..)| read == digest) {
            return Ok((url, body));
        }
        let answer = self.request(Method::GET, &format!("manifests/{digest}")).await?;
        let (url, body) = self.manifest_body(answer).await?;
        let actual = Digest::of(digest.algorithm(), &body);
        if actual != *digest {
            return Err(mismatch(&url, digest, &actual));
        }
        Ok((url, body))
    }

    async fn manifest_body(&self, answer: Answer) -> Result<(Url, bytes::Bytes), Error> {
        self.body("manifest", MAX_MANIFEST_BYTES, answer).await
    }

    /// Returns the body of an answer; errors name the request.
    async fn body(
        &self,
        what: &'static str,
        limit: usize,
        answer: Answer,
    ) -> Result<(Url, bytes::Bytes), Error> {
        let Answer { asked, response } = answer;
        match self.in_time(weir_http::read_capped(response, limit)).await? {
            Ok(body) => Ok((asked, body)),
            Err(weir_http::BodyError::TooLarge { limit }) => Err(too_large(what, &asked, limit as u64)),
            Err(weir_http::BodyError::Broken(error)) => Err(Error::transport(&Method::GET, &asked, &error)),
        }
    }

    /// Returns the secrets that registry, token server and proxy know and no error may repeat (SRC-SCK-11).
    fn told(&self) -> Vec<SecretString> {
        let mut told = crate::access::told(&self.options.credentials);
        if let Some((_, Pass::Bearer(token))) = &self.way {
            told.push(token.clone());
        }
        told.extend(self.options.http.proxy.iter().flat_map(Proxy::told));
        told
    }

    /// Opens a layer. Its length and digest are checked while it is read; where the connection breaks, the rest is
    /// requested anew. A small one that was pulled from this repository with the same credentials a moment ago is at
    /// hand.
    ///
    /// # Errors
    /// When it is not there or the registry does not let us.
    pub async fn blob(&mut self, layer: &Descriptor) -> Result<Blob<'_>, Error> {
        let kept = self.layers.get(&self.reader, &layer.digest);
        if let Some(bytes) = kept.filter(|bytes| bytes.len() as u64 == layer.size) {
            return Ok(Blob::kept(bytes));
        }
        let answer = self.request(Method::GET, &format!("blobs/{}", layer.digest)).await?;
        Ok(Blob::pulled(self, answer, layer))
    }

    /// Sends a request; what its answer says is for the caller to see.
    async fn send(&self, request: RequestBuilder, method: &Method, url: &Url) -> Result<Response, Error> {
        match tokio::time::timeout_at(self.deadline, request.send()).await {
            Ok(answer) => answer.map_err(|error| Error::transport(method, url, &error)),
            Err(_) => Err(Error::late(method, url)),
        }
    }

    async fn in_time<T>(&self, future: impl Future<Output = T>) -> Result<T, Error> {
        tokio::time::timeout_at(self.deadline, future).await.map_err(|_| Error::Deadline)
    }
}

/// The path of a manifest by its tag or digest, below that of its repository.
fn manifest_path(reference: &str) -> Result<String, Error> {
    if is_tag(reference) || Digest::parse(reference).is_ok() {
        return Ok(format!("manifests/{reference}"));
    }
    Err(Error::Tag { tag: reference.to_owned() })
}

fn announced(response: &Response) -> Option<Digest> {
    Digest::parse(response.headers().get(DIGEST_HEADER)?.to_str().ok()?).ok()
}

fn mismatch(url: &Url, expected: &Digest, actual: &Digest) -> Error {
    let url = shown(url);
    Error::DigestMismatch { url, expected: expected.to_string(), actual: actual.to_string() }
}

fn too_large(what: &'static str, url: &Url, limit: u64) -> Error {
    Error::TooLarge { what, url: shown(url), limit }
}
