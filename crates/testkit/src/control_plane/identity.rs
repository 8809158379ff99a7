use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use parking_lot::Mutex;
use rustls::ClientConfig;
use serde_json::{Value, json};
use tokio::runtime::{Handle, Id};

use super::{ControlPlane, Endpoint};
use crate::Error;
use crate::tls::{provider, trusting};

/// The text of a kubeconfig with one context.
pub(super) fn kubeconfig(endpoint: &Endpoint, token: &str) -> String {
    kubeconfig_of(endpoint, &json!({"token": token}))
}

fn kubeconfig_of(endpoint: &Endpoint, user: &Value) -> String {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "weir-test",
        "clusters": [{"name": "weir-test", "cluster": {
            "server": endpoint.server, "certificate-authority-data": STANDARD.encode(&endpoint.ca_pem)}}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "weir-test", "context": {"cluster": "weir-test", "user": "user"}}],
    })
    .to_string()
}

fn config(endpoint: &Endpoint, token: &str) -> Result<Config, Error> {
    // The process picks its TLS provider once; whoever did so first may have.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let kubeconfig = Kubeconfig::from_yaml(&kubeconfig(endpoint, token))
        .map_err(|error| Error::Kubeconfig(error.into()))?;
    let options = KubeConfigOptions::default();
    // Reads no files and asks nobody, so that blocking on it is over at once.
    futures::executor::block_on(Config::from_custom_kubeconfig(kubeconfig, &options))
        .map_err(|error| Error::Kubeconfig(error.into()))
}

pub(super) fn client(endpoint: &Endpoint, token: &str) -> Result<Client, Error> {
    Client::try_from(config(endpoint, token)?).map_err(Error::kube("make a client"))
}

/// Runtimes whose client is kept: more tests than run at once.
const MAX_CLIENTS: usize = 16;

/// The administrator's client in each runtime: the requests of a test share its connections.
#[derive(Default)]
pub(super) struct Clients(Mutex<Vec<(Id, Client)>>);

impl Clients {
    fn of_this_runtime(&self, make: impl FnOnce() -> Result<Client, Error>) -> Result<Client, Error> {
        let Ok(runtime) = Handle::try_current().map(|handle| handle.id()) else { return make() };
        let mut clients = self.0.lock();
        if let Some((_, client)) = clients.iter().find(|(id, _)| *id == runtime) {
            return Ok(client.clone());
        }
        let client = make()?;
        if clients.len() == MAX_CLIENTS {
            clients.remove(0);
        }
        clients.push((runtime, client.clone()));
        Ok(client)
    }

    /// Forgets all clients, whose connections are of no use after the server has ended.
    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Clients").field(&self.0.lock().len()).finish()
    }
}

impl ControlPlane {
    /// A client of the administrator. It lives in the runtime in which it was asked for first: ask in each test.
    ///
    /// # Errors
    /// When the client cannot be made.
    pub fn client(&self) -> Result<Client, Error> {
        self.clients.of_this_runtime(|| client(&self.endpoint, &self.endpoint.admin_token))
    }

    /// A client that shows another bearer token.
    ///
    /// # Errors
    /// When the client cannot be made.
    pub fn client_for(&self, token: &str) -> Result<Client, Error> {
        client(&self.endpoint, token)
    }

    /// The administrator's client configuration.
    ///
    /// # Errors
    /// When the kubeconfig cannot be read.
    pub fn config(&self) -> Result<Config, Error> {
        config(&self.endpoint, &self.endpoint.admin_token)
    }

    /// Writes a kubeconfig file that shows `token`, and returns its path.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn kubeconfig_for(&self, token: &str) -> Result<PathBuf, Error> {
        self.write_kubeconfig(&kubeconfig(&self.endpoint, token))
    }

    /// Writes a kubeconfig file that shows the token in a file, as a Pod does, and leads to `server`; returns its path.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn kubeconfig_with(&self, server: &str, token_file: &Path) -> Result<PathBuf, Error> {
        let endpoint = Endpoint { server: server.to_owned(), ..self.endpoint.clone() };
        let file = json!({"tokenFile": token_file});
        self.write_kubeconfig(&kubeconfig_of(&endpoint, &file))
    }

    fn write_kubeconfig(&self, text: &str) -> Result<PathBuf, Error> {
        self.keep("kubeconfig-", text.as_bytes())
    }

    /// Writes a file that stays as long as the control plane.
    fn keep(&self, prefix: &str, content: &[u8]) -> Result<PathBuf, Error> {
        let folder = self.folder.path();
        let file =
            tempfile::Builder::new().prefix(prefix).tempfile_in(folder).map_err(Error::file(folder))?;
        std::fs::write(file.path(), content).map_err(Error::file(file.path()))?;
        let kept = file.keep();
        kept.map(|(_, path)| path)
            .map_err(|error| Error::File { path: folder.to_owned(), source: error.error })
    }

    /// TLS as a client that trusts the API server's CA.
    pub(crate) fn tls_config(&self) -> Result<Arc<ClientConfig>, Error> {
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(Error::tls)?
            .with_root_certificates(trusting(&self.endpoint.ca_pem)?)
            .with_no_client_auth();
        Ok(Arc::new(config))
    }

    /// Makes a ServiceAccount that may do what `rules` say in its namespace.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn service_account(
        &self,
        namespace: &str,
        name: &str,
        rules: &[PolicyRule],
    ) -> Result<(), Error> {
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
        let subject = json!({"kind": "ServiceAccount", "name": name, "namespace": namespace});
        let rbac = "rbac.authorization.k8s.io/v1";
        for object in [
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}),
            json!({"apiVersion": rbac, "kind": "Role", "metadata": {"name": name}, "rules": rules}),
            json!({"apiVersion": rbac, "kind": "RoleBinding", "metadata": {"name": name},
                "roleRef": role, "subjects": [subject]}),
        ] {
            self.apply(namespace, object).await?;
        }
        Ok(())
    }

    /// A bearer token of a ServiceAccount, good for an hour.
    ///
    /// # Errors
    /// When there is no such account.
    pub async fn service_account_token(&self, namespace: &str, name: &str) -> Result<String, Error> {
        self.token_of_audiences(namespace, name, &[]).await
    }

    /// A bearer token of a ServiceAccount for these audiences, good for an hour; none means the API server.
    ///
    /// # Errors
    /// When there is no such account.
    pub async fn token_of_audiences(
        &self,
        namespace: &str,
        name: &str,
        audiences: &[&str],
    ) -> Result<String, Error> {
        let audiences = audiences.iter().map(|audience| (*audience).to_owned()).collect();
        self.projected_token(namespace, name, TokenRequestSpec { audiences, ..Default::default() }).await
    }

    /// A bearer token of a ServiceAccount as kubelet makes it: with audiences, or bound to a Pod. Good for an hour.
    ///
    /// # Errors
    /// When there is no such account or Pod.
    pub async fn projected_token(
        &self,
        namespace: &str,
        name: &str,
        spec: TokenRequestSpec,
    ) -> Result<String, Error> {
        let what = format!("make a token for {namespace}/{name}");
        let api: Api<ServiceAccount> = Api::namespaced(self.client()?, namespace);
        let spec = TokenRequestSpec { expiration_seconds: Some(3600), ..spec };
        let request = TokenRequest { spec, ..Default::default() };
        let answer = api
            .create_token_request(name, &PostParams::default(), &request)
            .await
            .map_err(Error::kube(&what))?;
        answer.status.map(|status| status.token).ok_or(Error::NotAnObject(what))
    }

    /// A file with a token of a ServiceAccount for these audiences, as kubelet projects it into a Pod.
    ///
    /// # Errors
    /// When there is no such account, or the file cannot be written.
    pub async fn token_file(
        &self,
        namespace: &str,
        name: &str,
        audiences: &[&str],
    ) -> Result<PathBuf, Error> {
        let token = self.token_of_audiences(namespace, name, audiences).await?;
        self.keep("token-", token.as_bytes())
    }

    /// A bearer token of an account that is made here, and may do `verbs` with `resources` of an API group in its namespace.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn token_for(
        &self,
        namespace: &str,
        account: &str,
        (group, resources): (&str, &[&str]),
        verbs: &[&str],
    ) -> Result<String, Error> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let rule = PolicyRule {
            api_groups: Some(vec![group.to_owned()]),
            resources: Some(owned(resources)),
            verbs: owned(verbs),
            ..PolicyRule::default()
        };
        self.service_account(namespace, account, &[rule]).await?;
        self.service_account_token(namespace, account).await
    }
}
