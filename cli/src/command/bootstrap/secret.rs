//! The Secret with which the services read the repository (CLI-BST05, CLI-BST06).

use secrecy::SecretString;
use serde_json::Map;

use super::flags::Key;
use super::plan::{Access, Plan, SyncCredentials};
use crate::cluster::Cluster;
use crate::command::create::{Draft, Entries, KeyChoice, chosen_key_pair, host_keys, ssh_host};
use crate::error::Error;
use crate::input;
use crate::output::progress;

/// Makes the Secret, if one is needed. One that is there stays as it is, unless credentials are given.
pub(super) async fn reconcile(cluster: &Cluster, plan: &Plan) -> Result<(), Error> {
    if !plan.has_secret() {
        return Ok(());
    }
    let (name, namespace) = (&plan.flags.secret_name, &plan.namespace);
    let mut draft = Draft::new(name, namespace, Map::new());
    let exists = draft.exists(cluster).await?;
    let token = deploy_token(plan, exists).await?;
    progress::action(&format!("determining if source secret \"{namespace}/{name}\" exists"));
    let has_new_token = token.as_ref().is_none_or(Option::is_some);
    if exists && !(replaces(plan) && has_new_token) {
        progress::success("source secret up to date");
        return Ok(());
    }
    progress::action("generating source secret");
    match &plan.credentials {
        SyncCredentials::Given { entries, .. } => draft.entries = entries.clone(),
        SyncCredentials::DeployToken { ca, .. } => {
            draft.entries = token.flatten().unwrap_or_default();
            draft.entries.extend(ca.clone().map(|ca| ("ca.crt".to_owned(), ca.into())));
        }
        SyncCredentials::Key { passphrase, access } => {
            let (identity, entries) = chosen_key_pair(choice(&plan.flags.key, passphrase.as_ref()))?;
            draft.entries = entries;
            let known_hosts = host_keys(&ssh_host(&plan.sync_url)?).await?;
            draft.entries.insert("known_hosts".to_owned(), known_hosts.into());
            progress::success(&format!("public key: {}", identity.public.trim()));
            give_access(access, &identity.public).await?;
        }
    }
    progress::action(&format!("applying source secret \"{namespace}/{name}\""));
    draft.apply(&cluster.in_namespace(namespace)).await?;
    progress::success("reconciled source secret");
    Ok(())
}

/// Refuses a private key that cannot be read. Nothing has been made yet then.
pub(super) fn check_key_file(key: &Key, passphrase: Option<&SecretString>) -> Result<(), Error> {
    match key.private_key_file {
        Some(_) => chosen_key_pair(choice(key, passphrase)).map(drop),
        None => Ok(()),
    }
}

fn choice<'a>(key: &'a Key, passphrase: Option<&'a SecretString>) -> KeyChoice<'a> {
    KeyChoice {
        file: key.private_key_file.as_deref(),
        passphrase,
        algorithm: &key.ssh_key_algorithm,
        curve: &key.ssh_ecdsa_curve,
        bits: key.ssh_rsa_bits,
    }
}

/// Returns true when the flags have credentials that a Secret that is there has to get.
fn replaces(plan: &Plan) -> bool {
    let key = &plan.flags.key;
    match &plan.credentials {
        SyncCredentials::Given { replaces, .. } => *replaces,
        // The token is looked for at the vendor.
        SyncCredentials::DeployToken { .. } => true,
        SyncCredentials::Key { passphrase, .. } => key.private_key_file.is_some() || passphrase.is_some(),
    }
}

/// Makes the deploy token of the cluster, where it gets one. The inner value is none when there is one already.
async fn deploy_token(plan: &Plan, exists: bool) -> Result<Option<Option<Entries>>, Error> {
    let SyncCredentials::DeployToken { hosted, title, .. } = &plan.credentials else { return Ok(None) };
    progress::action("checking to reconcile deploy token for source secret");
    let Some((username, token)) = hosted.deploy_token(title).await? else {
        if !exists {
            return Err(Error::Bootstrap(format!(
                "deploy token \"{title}\" of {} is there, but the Secret with it is not: revoke the token and run this again",
                hosted.shown()
            )));
        }
        progress::success("reconciled deploy token for source secret");
        return Ok(Some(None));
    };
    progress::success(&format!("configured deploy token \"{title}\" for \"{}\"", hosted.shown()));
    let entries = [("username".to_owned(), username.into()), ("password".to_owned(), token)];
    Ok(Some(Some(Entries::from(entries))))
}

async fn give_access(access: &Access, public_key: &str) -> Result<(), Error> {
    match access {
        Access::Api { hosted, title, is_writable } => {
            if hosted.let_in(title, public_key, *is_writable).await? {
                let shown = hosted.shown();
                progress::success(&format!("configured deploy key \"{title}\" for \"{shown}\""));
            }
            Ok(())
        }
        Access::Person { asks } => {
            if !asks || input::confirm("Please give the key access to your repository")? {
                return Ok(());
            }
            Err(Error::Aborted)
        }
    }
}
