//! `weir trigger receiver`: sends the webhook that a Receiver waits for (CLI-TRG01). No cluster is asked.

mod identity;
mod webhook;

use std::time::Duration;

use clap::{Args, Subcommand};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout_at};
use weir_notification_controller::receiver::path::webhook_path;

use self::identity::Identity;
use self::webhook::{Answer, Webhook};
use crate::error::Error;
use crate::global::Global;
use crate::integer;
use crate::output::progress;

/// Kinds of Receivers that can be triggered.
const GENERIC: &str = "generic";
const HMAC: &str = "generic-hmac";
const OIDC: &str = "generic-oidc";

/// The object to trigger.
#[derive(Args, Debug)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:
  # Send the webhook of a generic Receiver
  weir trigger receiver podinfo --token \"$TOKEN\" --url https://flux-webhook.example.com"
)]
pub(crate) struct Trigger {
    #[command(subcommand)]
    object: Object,
}

#[derive(Subcommand, Debug)]
enum Object {
    /// Send the webhook of a Receiver; its token is given by --token.
    #[command(after_help = "Examples:
  # A generic Receiver
  weir trigger receiver podinfo --token \"$TOKEN\" --url https://flux-webhook.example.com

  # A generic-hmac Receiver, with a payload
  weir trigger receiver podinfo --type generic-hmac --token \"$TOKEN\" --url https://flux-webhook.example.com \\
    --payload '{\"image\":\"ghcr.io/org/app:v1.0.0\"}'

  # A generic-oidc Receiver from a GitHub Actions workflow
  weir trigger receiver podinfo --type generic-oidc --oidc-provider github --url https://flux-webhook.example.com")]
    Receiver(Receiver),
}

#[derive(Args, Debug)]
struct Receiver {
    /// Name of the Receiver.
    name: Option<String>,
    /// Address of the notification service's webhook receiver; may have a path.
    #[arg(long)]
    url: Option<String>,
    /// Type of the Receiver: generic, generic-hmac or generic-oidc.
    #[arg(long = "type", default_value = GENERIC, value_name = "TYPE")]
    type_: String,
    /// JSON to send.
    #[arg(long, default_value = "{}")]
    payload: String,
    /// Number of retries when there is no answer, or a temporary error.
    #[arg(long, default_value = "10", value_parser = integer::parse)]
    retries: i64,
    /// Time between two tries.
    #[arg(long, default_value = "10s", value_name = "DURATION")]
    retry_delay: weir_api::Duration,
    #[command(flatten)]
    identity: Identity,
}

impl Trigger {
    /// Sends the webhook.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let Object::Receiver(receiver) = self.object;
        let deadline = Instant::now() + global.timeout.to_std();
        timeout_at(deadline, receiver.run(global)).await.map_err(|_| Error::Deadline)?
    }
}

impl Receiver {
    async fn run(self, global: &Global) -> Result<(), Error> {
        let refused = |message: &str| Error::Flags(message.to_owned());
        let name = self.name.as_deref().ok_or_else(|| refused("accepts 1 arg(s), received 0"))?;
        let url =
            self.url.as_deref().filter(|url| !url.is_empty()).ok_or_else(|| refused("--url is required"))?;
        let token = global.access.token().filter(|token| !token.expose_secret().is_empty());
        self.check(token)?;
        let namespace = global.namespace()?;
        let token = token.map_or("", |token| token.expose_secret());
        let url =
            format!("{}{}", url.trim_end_matches('/'), webhook_path(token.as_bytes(), name, &namespace));
        let payload = self.payload.clone();
        let webhook = match self.type_.as_str() {
            HMAC => Webhook::new(url, payload)?.signed(token)?,
            OIDC => Webhook::new(url, payload)?.authorized(self.identity.token().await?)?,
            _ => Webhook::new(url, payload)?,
        };
        let subject = format!("Receiver {namespace}/{name}");
        progress::action(&format!("triggering {subject}"));
        self.send(&webhook).await?;
        progress::success(&format!("{subject} triggered"));
        Ok(())
    }

    async fn send(&self, webhook: &Webhook) -> Result<(), Error> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let reason = match webhook.send().await {
                Answer::Taken => return Ok(()),
                Answer::MayChange(reason) if attempt <= self.retries => reason,
                Answer::MayChange(reason) | Answer::Refused(reason) => return Err(Error::Api(reason)),
            };
            let (delay, retries) = (&self.retry_delay, self.retries);
            progress::waiting(&format!("{reason}; retrying in {delay} ({attempt}/{retries})"));
            pause(delay.to_std()).await;
        }
    }

    fn check(&self, token: Option<&SecretString>) -> Result<(), Error> {
        let type_ = self.type_.as_str();
        if ![GENERIC, HMAC, OIDC].contains(&type_) {
            let message = format!("invalid --type \"{type_}\", must be one of: {GENERIC}, {HMAC}, {OIDC}");
            return Err(Error::Flags(message));
        }
        if type_ == OIDC {
            if token.is_some() {
                let message = format!(
                    "--token must not be set for --type={OIDC}, the Receiver of this type has no secret"
                );
                return Err(Error::Flags(message));
            }
            return self.identity.check();
        }
        if token.is_none() {
            return Err(Error::Flags(format!("--token is required for --type={type_}")));
        }
        if self.identity.is_given() {
            let message = format!(
                "--oidc-provider, --oidc-token and --oidc-audience can only be set for --type={OIDC}"
            );
            return Err(Error::Flags(message));
        }
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "a command is no run")]
async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
