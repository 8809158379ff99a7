//! The keys of one object, and the servers that it may ask.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use secrecy::SecretString;
use tokio::runtime::Handle;
use weir_auth::{Caller, Credentials, KeyLogin, Logins, Operation};
use weir_http::{Clients, Profile};
use weir_sops::{KeyService, Keyring, MasterKey};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::vault::{LoginPaths, Tokens};
use crate::{add_age_keys, aws, azure, gcp, vault};

/// Longest wait for one key: its login and its server.
const ANSWER: Duration = Duration::from_secs(10);
/// Longest wait for all servers that an object asks in one run.
const TOTAL: Duration = Duration::from_secs(60);

/// The way to all servers that keep keys. Cheap to clone; one a process.
#[derive(Clone)]
pub struct KeyServers {
    pub(crate) clients: Clients,
    pub(crate) profile: Profile,
    pub(crate) logins: Logins,
    /// Nothing where ServiceAccounts do not log in to Vault.
    pub(crate) login_paths: Option<LoginPaths>,
}

/// The object that decrypts.
#[derive(Debug, Clone, Default)]
pub struct Owner {
    /// Its kind, for metrics.
    pub kind: &'static str,
    /// Its namespace, and that of its ServiceAccount.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its ServiceAccount for decryption.
    pub account: Option<String>,
}

/// Credentials that a decryption Secret holds; those that it lacks are the owner's own.
#[derive(Debug, Clone, Default)]
pub struct Held {
    /// Keys of AWS.
    pub aws: Option<Credentials>,
    /// An identity at Azure.
    pub azure: Option<KeyLogin>,
    /// An identity at Google.
    pub gcp: Option<KeyLogin>,
    /// A token for every Vault.
    pub vault: Option<SecretString>,
}

/// Keys at hand, and servers to ask on behalf of one object in one run.
pub struct Keys {
    keyring: Keyring,
    pub(crate) held: Held,
    owner: Owner,
    pub(crate) servers: KeyServers,
    runtime: Handle,
    /// The end of the time for all servers, from the first question on.
    end: Mutex<Option<Instant>>,
    pub(crate) vault_tokens: Tokens,
}

impl KeyServers {
    /// `profile` is the way to the clouds; Vault has its own variables of the environment.
    #[must_use]
    pub fn new(logins: Logins, profile: Profile, login_paths: Option<LoginPaths>) -> Self {
        let profile = Profile { secret_bodies: true, ..profile };
        Self { clients: Clients::new("weir"), profile, logins, login_paths }
    }

    /// The keys of one object. Called within the runtime that answers come in.
    #[must_use]
    pub fn keys(&self, owner: Owner, held: Held, keyring: Keyring) -> Keys {
        Keys {
            keyring,
            held,
            owner,
            servers: self.clone(),
            runtime: Handle::current(),
            end: Mutex::default(),
            vault_tokens: Tokens::default(),
        }
    }
}

impl Keys {
    pub(crate) fn caller(&self) -> Caller<'_> {
        let Owner { kind, namespace, name, account } = &self.owner;
        let account = account.as_deref();
        Caller { kind, namespace, name, account, http: &self.servers.profile, timeout: ANSWER }
    }

    /// The owner's logins, counted as those of the server that is asked (KS-MET-2).
    pub(crate) fn logins(&self, operation: Operation) -> Logins {
        self.servers.logins.counted_as(operation)
    }

    /// The client for clouds.
    pub(crate) fn client(&self) -> Result<reqwest::Client, Error> {
        Ok(self.servers.clients.get(&self.servers.profile)?)
    }

    /// Asks the server of a key, in the time that is left.
    async fn ask(&self, key: &MasterKey) -> Result<Zeroizing<Vec<u8>>, Error> {
        let end = *self.end.lock().get_or_insert_with(|| Instant::now() + TOTAL);
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::Late(TOTAL));
        }
        let limit = left.min(ANSWER);
        // Boxed: the futures of SDKs are large.
        let asking = Box::pin(self.request(key));
        tokio::time::timeout(limit, asking).await.map_err(|_| Error::Silent(limit))?
    }

    async fn request(&self, key: &MasterKey) -> Result<Zeroizing<Vec<u8>>, Error> {
        match key {
            MasterKey::AwsKms { arn, role, context, enc } => {
                aws::decrypt(self, arn, role, context, enc).await
            }
            MasterKey::GcpKms { resource, enc } => gcp::decrypt(self, resource, enc).await,
            MasterKey::AzureKeyVault { vault_url, name, version, enc } => {
                azure::decrypt(self, vault_url, name, version, enc).await
            }
            MasterKey::Vault { address, engine, key, enc } => {
                vault::decrypt(self, address, engine, key, enc).await
            }
            MasterKey::Age { .. } | MasterKey::Pgp { .. } | MasterKey::HuaweiKms { .. } => Err(Error::Answer),
        }
    }

    /// Keys of the environment stand in where the object has none (KS-DEC-14).
    fn with_environment(&self, key: &MasterKey) -> Result<Zeroizing<Vec<u8>>, String> {
        let mut ring = Keyring::default();
        add_age_keys(&mut ring).map_err(|error| error.to_string())?;
        ring.decrypt(key)
    }
}

impl KeyService for Keys {
    /// Called where blocking is allowed.
    fn decrypt(&self, key: &MasterKey) -> Result<Zeroizing<Vec<u8>>, String> {
        match key {
            MasterKey::Age { .. } if self.keyring.identities.is_empty() => self.with_environment(key),
            MasterKey::Age { .. } | MasterKey::Pgp { .. } | MasterKey::HuaweiKms { .. } => {
                self.keyring.decrypt(key)
            }
            _ => self.runtime.block_on(self.ask(key)).map_err(|error| error.to_string()),
        }
    }
}
