//! Events that become notifications.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use weir_testkit::{WebhookSink, eventually, free_port};

use super::{NAMESPACE, Stage};
use crate::bench::Programs;
use crate::bench::scenarios::Results;

const NOTIFICATION: &str = "notification.toolkit.fluxcd.io/v1beta3";
/// Events that are posted at once, as by the services of a cluster in which much happens.
const IN_FLIGHT: usize = 20;
/// Longest time until the last notification has come.
const DEADLINE: Duration = Duration::from_secs(600);

pub(super) async fn play(
    results: &mut Results,
    maker: &'static str,
    program: &Path,
    size: usize,
) -> Result<()> {
    let (events, webhooks) = (free_port()?, free_port()?);
    let mut flags = vec![
        format!("--events-addr=127.0.0.1:{events}"),
        format!("--receiverAddr=127.0.0.1:{webhooks}"),
        "--rate-limit-interval=1s".to_owned(),
    ];
    if maker == Programs::WEIR {
        flags.push("--outbox-path=outbox".to_owned());
    }
    let sink = WebhookSink::start().await?;
    let stage = Stage::start(maker, program, &flags).await?;
    let provider = json!({"type": "generic", "address": sink.url("/")});
    let alert =
        json!({"providerRef": {"name": "bench"}, "eventSources": [{"kind": "Kustomization", "name": "*"}]});
    for (kind, spec) in [("Provider", provider), ("Alert", alert)] {
        let object =
            json!({"apiVersion": NOTIFICATION, "kind": kind, "metadata": {"name": "bench"}, "spec": spec});
        stage.plane.apply(NAMESPACE, object).await?;
    }
    let url = format!("http://127.0.0.1:{events}/");
    let client = reqwest::Client::builder().no_proxy().build()?;
    let first = async || {
        // The service may not know the Alert yet.
        post(&client, &url, 0).await.ok()?;
        (!sink.requests().is_empty()).then_some(())
    };
    eventually("the first notification", DEADLINE, first).await?;
    sink.forget();
    let delivered = async {
        let posts = stream::iter(1..=size).map(|number| post(&client, &url, number));
        posts.buffer_unordered(IN_FLIGHT).try_for_each(|()| async { Ok(()) }).await?;
        sink.wait_for_requests(size, DEADLINE).await?;
        Ok(())
    };
    results.measure(&stage.subject(), "notifications: delivered", size, delivered).await
}

async fn post(client: &reqwest::Client, url: &str, number: usize) -> Result<()> {
    let answer = client.post(url).json(&event(number)).send().await?;
    ensure!(answer.status().is_success(), "{url}: {}", answer.status());
    Ok(())
}

fn event(number: usize) -> Value {
    json!({
        "involvedObject": {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "name": format!("unit-{number}"),
            "namespace": NAMESPACE, "uid": "7d0cdc51-ddcf-4743-b223-83ca5c699632",
        },
        "severity": "info",
        "timestamp": jiff::Timestamp::now().to_string(),
        "message": format!("Reconciliation finished in {number}ms, next run in 10m0s"),
        "reason": "ReconciliationSucceeded",
        "metadata": {"kustomize.toolkit.fluxcd.io/revision": "main@sha1:5394cb7f48332b2de7c17dd8b8384bbc84b7e736"},
        "reportingController": "kustomize-controller",
    })
}
