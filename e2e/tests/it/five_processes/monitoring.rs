//! Alerts and dashboards of the component `monitoring` beside the metrics that the services export.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::Value;
use weir_e2e::{Installation, SERVICES};

use super::main_loop::MainLoop;

/// Words of the query language that are followed by labels in parentheses.
const OF_LABELS: [&str; 2] = ["by", "without"];

/// Metrics and labels of Flux's dashboards and of its guide to metrics, but those of caches, which are there once a cache was asked.
const OF_FLUX: [&str; 11] = [
    "go_info{namespace,pod}",
    "go_memstats_alloc_bytes{namespace,pod}",
    "workqueue_longest_running_processor_seconds{name,namespace,pod}",
    "workqueue_work_duration_seconds_count{namespace}",
    "rest_client_requests_total{code,namespace,pod}",
    "process_cpu_seconds_total{namespace,pod}",
    "controller_runtime_reconcile_total{controller,result}",
    "controller_runtime_reconcile_time_seconds_bucket{controller,le}",
    "gotk_reconcile_duration_seconds_sum{exported_namespace,kind,name,namespace}",
    "gotk_reconcile_duration_seconds_count{exported_namespace,kind,name,namespace}",
    "gotk_token_cached_items",
];

/// The metric of kube-state-metrics with Flux's configuration, and its labels: they are no metrics of services.
const OF_OBJECTS: &str = "gotk_resource_info";
const LABELS_OF_OBJECTS: [&str; 4] = ["customresource_kind", "exported_namespace", "ready", "suspended"];

/// Names that stand in queries, or that services export.
#[derive(Debug, Default)]
struct Names {
    metrics: BTreeSet<String>,
    labels: BTreeSet<String>,
}

impl Names {
    /// Adds what a service exports, given as OpenMetrics text.
    fn exported(&mut self, text: &str) {
        for line in text.lines() {
            if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
                let series: &[&str] = match kind {
                    "counter" => &["_total"],
                    "histogram" => &["_bucket", "_sum", "_count"],
                    _ => &[""],
                };
                self.metrics.extend(series.iter().map(|end| format!("{name}{end}")));
            } else if let Some((_, labels)) = line.split_once('{') {
                self.labels.extend(without_texts(labels).split(['=', ',', '}']).map(str::to_owned));
            }
        }
    }

    /// Adds what a query names.
    fn queried(&mut self, query: &str) {
        let query = without_texts(query);
        // Ranges such as [5m] name nothing.
        let mut rest =
            query.split('[').map(|part| part.rsplit(']').next().unwrap_or(part)).collect::<String>();
        while let Some((before, inner, after)) = enclosed(&rest) {
            self.labels.extend(inner.split([',', '=', '!', '~', ' ']).map(str::to_owned));
            rest = format!("{before} {after}");
        }
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for word in
            rest.split(|c| !is_of_name(c)).filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()))
        {
            let is_function = rest.contains(&format!("{word}(")) || rest.contains(&format!("{word}  ("));
            if !is_function {
                self.metrics.insert(word.to_owned());
            }
        }
        self.labels.remove("");
    }
}

/// A text without what stands in double quotes.
fn without_texts(text: &str) -> String {
    text.split('"').step_by(2).collect()
}

/// The first labels of a query, in braces or behind `by`, with what stands before and after.
fn enclosed(query: &str) -> Option<(String, String, String)> {
    if let Some((before, rest)) = query.split_once('{') {
        let (inner, after) = rest.split_once('}')?;
        return Some((before.to_owned(), inner.to_owned(), after.to_owned()));
    }
    OF_LABELS.into_iter().find_map(|word| {
        let (before, rest) = query.split_once(&format!(" {word} ("))?;
        let (inner, after) = rest.split_once(')')?;
        Some((before.to_owned(), inner.to_owned(), after.to_owned()))
    })
}

/// All queries: each text under a key `expr`.
fn queries(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("expr").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|field| queries(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| queries(item, found)),
        _ => {}
    }
}

fn monitored() -> Result<Names> {
    let installation = Installation::with_components(&["monitoring"])?;
    let mut found = Vec::new();
    queries(installation.object("PrometheusRule", "weir")?, &mut found);
    let rules = found.len();
    let dashboard = installation.object("ConfigMap", "weir-dashboard")?;
    let dashboard = dashboard.pointer("/data/weir.json").and_then(Value::as_str).context("no dashboard")?;
    queries(&serde_json::from_str(dashboard)?, &mut found);
    assert!(rules > 5 && found.len() > rules + 10, "{found:?}");
    let mut names = Names::default();
    found.iter().for_each(|query| names.queried(query));
    Ok(names)
}

#[test]
fn names_of_a_query_are_found() {
    let mut names = Names::default();
    names.queried(r#"sum by (payload) (rate(weir_route_total{route!="grpc a_b"}[10m])) >= max(up) / 2"#);
    assert_eq!(names.metrics, ["up", "weir_route_total"].map(str::to_owned).into());
    assert_eq!(names.labels, ["payload", "route"].map(str::to_owned).into());
}

/// A name that nobody exports would be an alert that never fires, or an empty panel.
#[tokio::test]
async fn alerts_and_dashboards_name_what_the_services_export() -> Result<()> {
    let mut main_loop = MainLoop::start().await?;
    main_loop.push_by_webhook().await?;
    // Requests are counted once there was one; Flux's controllers would post events over HTTP.
    reqwest::Client::new().post(main_loop.world.events_url()?).body("{}").send().await?;
    let mut exported = Names::default();
    for service in SERVICES {
        exported.exported(&main_loop.world.metrics(service).await?);
    }
    // Prometheus adds them to what it reads of a Pod, and has another name then for the namespace of an object.
    exported.labels.extend(["pod", "namespace", "exported_namespace"].map(str::to_owned));
    exported.metrics.insert(OF_OBJECTS.to_owned());
    exported.labels.extend(LABELS_OF_OBJECTS.map(str::to_owned));
    let mut monitored = monitored()?;
    OF_FLUX.iter().for_each(|query| monitored.queried(query));
    let unknown: Vec<_> = monitored.metrics.difference(&exported.metrics).collect();
    assert!(unknown.is_empty(), "nobody exports {unknown:?}: {:?}", exported.metrics);
    let unknown: Vec<_> = monitored.labels.difference(&exported.labels).collect();
    assert!(unknown.is_empty(), "no metric has the labels {unknown:?}: {:?}", exported.labels);
    Ok(())
}
