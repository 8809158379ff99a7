//! Real bucket servers on loopback: two of S3, one of Google's, one of Azure's.

mod azure;
mod program;

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, RequestBuilder};

pub use self::azure::{AZURITE_ACCOUNT, AZURITE_KEY};
use crate::program::find_or_skip;
use crate::{Error, Folder, Process, free_port};

/// Python and Node take some seconds to start; the rest is for a busy machine.
const READY_DEADLINE: Duration = Duration::from_secs(120);
/// Characters that are escaped in a key's path.
const IN_PATH: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
const IN_NAME: AsciiSet = IN_PATH.add(b'/');
const MOTO_AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/s3/aws4_request, \
                                  SignedHeaders=host, Signature=none";

/// Programs that serve buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketProgram {
    /// S3 by moto, in Python.
    Moto,
    /// S3 by gofakes3, in Go.
    GoFakeS3,
    /// Google Cloud Storage by fake-gcs-server.
    FakeGcs,
    /// Azure Blob Storage by azurite, which checks signatures.
    Azurite,
}

/// A running bucket server with nothing in it.
#[derive(Debug)]
pub struct BucketServer {
    program: BucketProgram,
    _process: Process,
    address: String,
    client: reqwest::Client,
    _folder: Folder,
}

impl BucketServer {
    /// Starts a server; nothing, and a line with the reason, when this machine cannot have its program.
    ///
    /// # Errors
    /// When it does not get ready in time, or its program is missing where tests must not be skipped.
    pub async fn start(program: BucketProgram) -> Result<Option<Self>, Error> {
        let Some(path) = find_or_skip(program::name(program)).await? else { return Ok(None) };
        let folder = Folder::new("bucket")?;
        let port = free_port()?;
        let mut command = program::command(program, &path, port, folder.path());
        let mut process = Process::start("bucket server", &mut command, &folder.join("log"))?;
        let client = reqwest::Client::builder().no_proxy().build().map_err(Error::http("make a client"))?;
        let address = format!("127.0.0.1:{port}");
        process.answers(&format!("http://{address}/"), &client, READY_DEADLINE).await?;
        Ok(Some(Self { program, _process: process, address, client, _folder: folder }))
    }

    /// Host and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the value for `spec.endpoint` of a Bucket.
    #[must_use]
    pub fn endpoint(&self) -> String {
        match self.program {
            BucketProgram::Moto | BucketProgram::GoFakeS3 => self.address.clone(),
            BucketProgram::FakeGcs => format!("http://{}", self.address),
            BucketProgram::Azurite => format!("http://{}/{AZURITE_ACCOUNT}", self.address),
        }
    }

    /// Makes a bucket.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn create(&self, bucket: &str) -> Result<(), Error> {
        let request = match self.program {
            BucketProgram::Moto | BucketProgram::GoFakeS3 => self.request(Method::PUT, &format!("/{bucket}")),
            BucketProgram::FakeGcs => {
                let bucket = serde_json::json!({"name": bucket}).to_string();
                self.request(Method::POST, "/storage/v1/b?project=weir").body(bucket)
            }
            BucketProgram::Azurite => {
                self.request(Method::PUT, &format!("/{AZURITE_ACCOUNT}/{bucket}?restype=container"))
            }
        };
        self.send(request).await
    }

    /// Stores an object.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn put(&self, bucket: &str, key: &str, content: impl Into<bytes::Bytes>) -> Result<(), Error> {
        let content: bytes::Bytes = content.into();
        let request = match self.program {
            BucketProgram::FakeGcs => {
                let name = utf8_percent_encode(key, &IN_NAME);
                let path = format!("/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}");
                self.request(Method::POST, &path)
            }
            _ => {
                let request = self.request(Method::PUT, &self.path(bucket, key));
                request.header("x-ms-blob-type", "BlockBlob")
            }
        };
        self.send(request.header("content-length", content.len()).body(content)).await
    }

    /// Removes an object.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn delete(&self, bucket: &str, key: &str) -> Result<(), Error> {
        self.send(self.request(Method::DELETE, &self.path(bucket, key))).await
    }

    fn path(&self, bucket: &str, key: &str) -> String {
        match self.program {
            BucketProgram::Moto | BucketProgram::GoFakeS3 => {
                format!("/{bucket}/{}", utf8_percent_encode(key, &IN_PATH))
            }
            BucketProgram::FakeGcs => {
                format!("/storage/v1/b/{bucket}/o/{}", utf8_percent_encode(key, &IN_NAME))
            }
            BucketProgram::Azurite => {
                format!("/{AZURITE_ACCOUNT}/{bucket}/{}", utf8_percent_encode(key, &IN_PATH))
            }
        }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("http://{}{path}", self.address));
        match self.program {
            // It believes whoever names himself, but lets nobody nameless change what is there.
            BucketProgram::Moto => request.header("authorization", MOTO_AUTHORIZATION),
            _ => request,
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<(), Error> {
        let mut request = request.build().map_err(Error::http("make a request to a bucket server"))?;
        if self.program == BucketProgram::Azurite {
            azure::sign(&mut request);
        }
        let what = format!("{} {}", request.method(), request.url());
        let mut response = self.client.execute(request).await.map_err(Error::http(&what))?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let body = response.chunk().await.map_err(Error::http(&what))?.unwrap_or_default();
        let body = String::from_utf8_lossy(&body).into_owned();
        Err(Error::Status { what, status: status.as_u16(), body })
    }
}
