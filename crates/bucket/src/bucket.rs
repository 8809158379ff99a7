//! A bucket of any service.

use secrecy::SecretString;
use url::Url;
use weir_http::{Clients, Profile};

use crate::azure::{Azure, AzureService};
use crate::error::Error;
use crate::gcs::{Gcs, GcsService};
use crate::object::{Download, Object};
use crate::s3::{AccessKeys, S3, S3Service, directory};

/// User agent in requests; some servers keep statistics by it.
const USER_AGENT: &str = "flux/v2";

/// Opens buckets. Cheap to clone; share one per process, as connections are kept.
#[derive(Clone)]
pub struct Buckets {
    clients: Clients,
    /// Clients for S3, which follow no redirects: the session token would be sent to the other host.
    staying: Clients,
}

/// The service in which a bucket lies, and who asks.
#[derive(Debug, Clone)]
pub enum Service {
    /// Amazon S3 and what speaks its language.
    S3(S3Service),
    /// Google Cloud Storage.
    Gcs(GcsService),
    /// Azure Blob Storage.
    Azure(AzureService),
}

/// An opened bucket.
pub struct Bucket {
    service: Opened,
}

enum Opened {
    S3(S3),
    Gcs(Gcs),
    Azure(Azure),
}

impl Default for Buckets {
    fn default() -> Self {
        Self { clients: Clients::new(USER_AGENT), staying: Clients::without_redirects(USER_AGENT) }
    }
}

impl Buckets {
    /// Opens the bucket `name`; nothing is asked of the server yet.
    ///
    /// # Errors
    /// When the name or the endpoint cannot be used, or the profile's certificates or proxy.
    pub fn open(&self, name: &str, service: Service, http: &Profile) -> Result<Bucket, Error> {
        let client = |clients| client(clients, http);
        let service = match service {
            Service::S3(service) => Opened::S3(S3::open(name, service, client(&self.staying)?)?),
            Service::Gcs(service) => Opened::Gcs(Gcs::open(name, service, client(&self.clients)?)?),
            Service::Azure(service) => Opened::Azure(Azure::open(name, service, client(&self.clients)?)?),
        };
        Ok(Bucket { service })
    }

    /// Keys of the MinIO server that `endpoint` names, for a user of its directory (SRC-BKT-10).
    ///
    /// # Errors
    /// Fails when the server does not answer or refuses.
    pub async fn directory_keys(
        &self,
        endpoint: &Url,
        user: &str,
        password: &SecretString,
        http: &Profile,
    ) -> Result<AccessKeys, Error> {
        let http = Profile { secret_bodies: true, ..http.clone() };
        directory::keys(client(&self.clients, &http)?, endpoint, user, password).await
    }
}

fn client(clients: &Clients, http: &Profile) -> Result<reqwest::Client, Error> {
    // Objects are stored as they are, also those that say that they are compressed.
    let http = Profile { keep_encoding: true, ..http.clone() };
    Ok(clients.get(&http)?)
}

impl Bucket {
    /// Returns true when the bucket is there.
    ///
    /// # Errors
    /// When the server cannot be asked or does not say.
    pub async fn exists(&mut self) -> Result<bool, Error> {
        let answer = match &mut self.service {
            Opened::S3(bucket) => bucket.probe().await,
            Opened::Gcs(bucket) => bucket.probe().await,
            Opened::Azure(bucket) => bucket.probe().await,
        };
        match answer {
            Ok(()) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// All objects whose keys start with `prefix`, at most `limit`, in the server's order.
    ///
    /// # Errors
    /// Fails when the server does not answer, refuses, or there are more.
    pub async fn list(&self, prefix: &str, limit: usize) -> Result<Vec<Object>, Error> {
        let (mut objects, mut next) = (Vec::new(), None);
        loop {
            let page = match &self.service {
                Opened::S3(bucket) => bucket.page(prefix, next.as_deref()).await?,
                Opened::Gcs(bucket) => bucket.page(prefix, next.as_deref()).await?,
                Opened::Azure(bucket) => bucket.page(prefix, next.as_deref()).await?,
            };
            objects.extend(page.objects);
            if objects.len() > limit {
                return Err(Error::TooManyObjects { limit });
            }
            // A server that names the same page again would never end.
            match page.next.filter(|token| !token.is_empty() && next.as_ref() != Some(token)) {
                Some(token) => next = Some(token),
                None => return Ok(objects),
            }
        }
    }

    /// The content of an object, of at most `limit` bytes; nothing when it is no longer there. Content and etag belong
    /// together: what has changed since the listing comes with its new etag.
    ///
    /// # Errors
    /// Fails when the server does not answer or refuses.
    pub async fn get(&self, object: &Object, limit: u64) -> Result<Option<Download>, Error> {
        let answer = match self.fetch(object).await {
            Err(error) if error.is_changed() && !object.pin.is_empty() => {
                self.fetch(&object.unpinned()).await
            }
            answer => answer,
        };
        match answer {
            Ok(response) => Ok(Some(Download::new(response, object, limit))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn fetch(&self, object: &Object) -> Result<reqwest::Response, Error> {
        match &self.service {
            Opened::S3(bucket) => bucket.fetch(object).await,
            Opened::Gcs(bucket) => bucket.fetch(object).await,
            Opened::Azure(bucket) => bucket.fetch(object).await,
        }
    }
}
