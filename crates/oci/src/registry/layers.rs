//! Small layers that were pulled a moment ago. Clusters have the same artifact in many namespaces, and a push makes all
//! of their objects look at once: each asks the registry what the tag stands for, one pulls the layer.

use std::time::Duration;

use bytes::Bytes;
use moka::sync::Cache;
use secrecy::{ExposeSecret, SecretString};
use weir_artifact::{Algorithm, Digest, Hasher};
use weir_auth::RegistryCredentials;

use super::RegistryOptions;
use crate::repository::Repository;

/// Bytes of the largest layer that is kept: manifests of one application are a few KiB.
const MAX_LAYER_BYTES: u64 = 64 * 1024;
/// Bytes of all that are kept.
const MAX_BYTES: u64 = 2 << 20;
/// Life of an entry: what a push sets in motion is over by then.
const KEPT: Duration = Duration::from_secs(60);

/// The reader of a repository, with the way to it. Content that one got is given to no other: knowing a digest does
/// not give the right to read it (SRC-SCK-5). It does not give its secrets away.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Reader(String);

impl Reader {
    pub(super) fn new(repository: &Repository, options: &RegistryOptions) -> Self {
        let mut hasher = Hasher::new(Algorithm::Sha256);
        let mut part = |bytes: &[u8]| {
            // With their lengths, so that no two readers look alike.
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(repository.host().as_bytes());
        part(repository.path().as_bytes());
        part(&[u8::from(options.insecure)]);
        part(&options.http.key());
        let secret = |secret: &SecretString| secret.expose_secret().as_bytes().to_vec();
        let credentials = match &options.credentials {
            RegistryCredentials::Anonymous => vec![b"anonymous".to_vec()],
            RegistryCredentials::Basic { username, password } => {
                vec![b"basic".to_vec(), username.as_bytes().to_vec(), secret(password)]
            }
            RegistryCredentials::IdentityToken(token) => vec![b"identity".to_vec(), secret(token)],
            RegistryCredentials::Bearer(token) => vec![b"bearer".to_vec(), secret(token)],
        };
        credentials.iter().for_each(|bytes| part(bytes));
        Self(hasher.finish().to_string())
    }
}

/// The layers pulled. Cheap to clone.
#[derive(Clone)]
pub(super) struct Layers {
    cache: Cache<(Reader, Digest), Bytes>,
}

impl Layers {
    pub(super) fn new() -> Self {
        let weight = |(reader, _): &(Reader, Digest), bytes: &Bytes| {
            u32::try_from(reader.0.len() + bytes.len()).unwrap_or(u32::MAX)
        };
        Self { cache: Cache::builder().max_capacity(MAX_BYTES).weigher(weight).time_to_live(KEPT).build() }
    }

    /// A layer that the same reader has pulled.
    pub(super) fn get(&self, reader: &Reader, digest: &Digest) -> Option<Bytes> {
        self.cache.get(&(reader.clone(), digest.clone()))
    }

    /// Returns true when a layer of this size is kept at all.
    pub(super) fn takes(size: u64) -> bool {
        size <= MAX_LAYER_BYTES
    }

    /// Keeps a layer whose bytes have its digest.
    pub(super) fn keep(&self, reader: Reader, digest: Digest, bytes: Bytes) {
        self.cache.insert((reader, digest), bytes);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn reader(url: &str, options: &RegistryOptions) -> Reader {
        Reader::new(&Repository::from_url(url).unwrap(), options)
    }

    fn with(credentials: RegistryCredentials) -> RegistryOptions {
        RegistryOptions { credentials, ..RegistryOptions::default() }
    }

    fn with_authority() -> RegistryOptions {
        let http = weir_http::Profile { ca: Some(b"pem".to_vec()), ..weir_http::Profile::default() };
        RegistryOptions { http, ..RegistryOptions::default() }
    }

    fn basic(username: &str, password: &str) -> RegistryCredentials {
        RegistryCredentials::Basic { username: username.into(), password: password.into() }
    }

    #[rstest]
    #[case::repository("oci://registry/other", RegistryOptions::default())]
    #[case::registry("oci://registry:444/app", RegistryOptions::default())]
    #[case::insecure("oci://registry/app", RegistryOptions { insecure: true, ..RegistryOptions::default() })]
    #[case::user("oci://registry/app", with(basic("user", "password")))]
    #[case::token("oci://registry/app", with(RegistryCredentials::Bearer("token".into())))]
    #[case::authority("oci://registry/app", with_authority())]
    fn readers_that_differ_share_nothing(#[case] url: &str, #[case] options: RegistryOptions) {
        let one = reader("oci://registry/app", &RegistryOptions::default());
        let (layers, digest) = (Layers::new(), Digest::of(Algorithm::Sha256, b"layer"));
        layers.keep(one, digest.clone(), Bytes::from_static(b"layer"));
        assert!(layers.get(&reader("oci://registry/app", &RegistryOptions::default()), &digest).is_some());
        assert!(layers.get(&reader(url, &options), &digest).is_none());
    }

    #[test]
    fn user_and_password_do_not_run_together() {
        let reader = |username, password| reader("oci://registry/app", &with(basic(username, password)));
        assert_ne!(reader("ab", "c"), reader("a", "bc"));
    }
}
