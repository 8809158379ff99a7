//! The pages about sources: their tables equal the code. `WEIR_REGENERATE=1` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use clap::CommandFactory;
use serde_json::json;
use weir_source_controller::args::{Args, CONCURRENT};
use weir_testkit::{GitServer, eventually, repo_path};

use crate::chart_server::ChartServer;
use crate::world::{DEADLINE, Setup, World};

/// Compares a page with what it should be, or writes it.
fn assert_current(name: &str, generated: &str) {
    let path = repo_path("docs/sources").join(name);
    if std::env::var_os("WEIR_REGENERATE").is_some() {
        std::fs::write(&path, generated).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == generated,
        "docs/sources/{name} is stale: WEIR_REGENERATE=1 cargo test -p weir-source-controller --test it docs"
    );
}

#[test]
fn the_table_of_flags_is_current() {
    let mut page = String::from(
        "# Flags of the source service\n\nWritten by the test `docs` from the code. Flux's names and defaults hold.\n\n\
         | Flag | Default | Variable | Meaning |\n|---|---|---|---|\n",
    );
    let command = Args::command();
    let mut rows = BTreeMap::new();
    for argument in command.get_arguments() {
        let Some(flag) = argument.get_long() else { continue };
        let mut defaults: Vec<_> =
            argument.get_default_values().iter().map(|it| it.to_string_lossy().into_owned()).collect();
        if flag == "concurrent" {
            // The flag is one of all services, its default is not.
            defaults.push(CONCURRENT.to_string());
        }
        let variable = argument.get_env().map(|it| it.to_string_lossy()).unwrap_or_default();
        let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default().replace('\n', " ");
        rows.insert(
            flag,
            format!(
                "| `--{flag}` | {} | {} | {} |\n",
                code(&defaults.join(",")),
                code(&variable),
                help.replace('|', "\\|")
            ),
        );
    }
    page.extend(rows.into_values());
    assert_current("flags.md", &page);
}

/// One metric of a scrape.
#[derive(Default)]
struct Metric {
    kind: String,
    help: String,
    labels: BTreeSet<String>,
}

/// Reads the text format of Prometheus as far as names, types, texts and labels go.
fn metrics(scrape: &str) -> BTreeMap<String, Metric> {
    let mut found: BTreeMap<String, Metric> = BTreeMap::new();
    for line in scrape.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            help.clone_into(&mut found.entry(name.to_owned()).or_default().help);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            kind.clone_into(&mut found.entry(name.to_owned()).or_default().kind);
        } else if let Some((sample, labels)) = line.split_once('{') {
            // A sample's name is its metric's with a suffix at most.
            let metric = found.iter_mut().rev().find(|(name, _)| sample.starts_with(name.as_str()));
            let Some((_, metric)) = metric else { continue };
            let labels = labels.split("\",").filter_map(|label| label.split_once('=')).map(|(name, _)| name);
            metric.labels.extend(labels.filter(|name| *name != "le").map(str::to_owned));
        }
    }
    found
}

#[tokio::test]
async fn the_table_of_metrics_is_current() {
    let environment = vec![("GCE_METADATA_HOST", "127.0.0.1:1".to_owned())];
    let arguments = vec!["--helm-cache-max-size=10".to_owned()];
    let world = World::start_as(Setup { environment, arguments, ..Setup::default() }).await;
    let (server, charts) = (GitServer::start().await.unwrap(), ChartServer::start().await);
    charts.publish("/charts", &["1.0.0"]);
    world.apply("HelmRepository", "charts", json!({"url": charts.url("/charts"), "interval": "1h"})).await;
    let source = json!({"kind": "HelmRepository", "name": "charts"});
    world.apply("HelmChart", "app", json!({"chart": "app", "interval": "1h", "sourceRef": source})).await;
    world.ready("HelmChart", "app").await;
    let registry = json!({"url": "oci://gcr.io/project/app", "provider": "gcp", "interval": "1h"});
    world.apply("OCIRepository", "token", registry).await;
    world.failure("OCIRepository", "token").await;
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    world.git("good", &server.url("app"), json!({})).await;
    world.git("bad", &server.url("nothing"), json!({})).await;
    world.ready("GitRepository", "good").await;
    world.failure("GitRepository", "bad").await;
    let url = format!("http://127.0.0.1:{}/metrics", world.metrics);
    let scrape = eventually("metrics of both", DEADLINE, async || {
        let text = reqwest::get(&url).await.ok()?.text().await.ok()?;
        (text.contains("result=\"requeue_after\"") && text.contains("result=\"error\"")).then_some(text)
    })
    .await
    .unwrap();
    let mut page = String::from(
        "# Metrics of the source service\n\nWritten by the test `docs` from what a running service says. A counter's samples \
         end with `_total`, those of a\nhistogram with `_bucket`, `_sum` and `_count`. Series of an object go with it.\n\n\
         | Metric | Type | Labels | Meaning |\n|---|---|---|---|\n",
    );
    for (name, Metric { kind, help, labels }) in metrics(&scrape) {
        let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
        writeln!(page, "| `{name}` | {kind} | {} | {help} |", labels.join(", ")).unwrap();
    }
    assert_current("metrics.md", &page);
}
