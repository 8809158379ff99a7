//! HelmReleases (CLI-CRE08).

use serde_json::{Map, Value};
use weir_yaml::{YamlError, read_first_document};

use super::super::flag::{Flags, duration, list, one_of, switch, text};
use super::super::reference;
use super::source::chart_source;
use super::{INTERVAL, Recipe, Spec, refuse};
use crate::enumeration::{Enumeration, Form};
use crate::error::Error;
use crate::output::manifest::put;

const CRDS_POLICY: Enumeration = Enumeration {
    thing: "upgrade CRDs policy",
    words: &["Skip", "Create", "CreateReplace"],
    form: Form::Unsupported,
};

pub(super) static HELM_RELEASE: Recipe = Recipe {
    kind: "HelmRelease",
    example: "podinfo --source HelmRepository/podinfo --chart podinfo --chart-version 6.x --export",
    flags: &[
        INTERVAL,
        &[
            text("source", "", "Source of the chart, <kind>/<name>[.<namespace>]"),
            text("chart", "", "Name of the chart, or its path in the source"),
            text("chart-version", "", "Version, or range of versions"),
            text("reconcile-strategy", "", "ChartVersion or Revision").or("ChartVersion"),
            duration("chart-interval", "", "Time between looks for a new chart"),
            text("chart-ref", "", "OCIRepository or HelmChart, <kind>/<name>[.<namespace>]"),
            text("release-name", "/releaseName", "Name of the release"),
            text("target-namespace", "/targetNamespace", "Namespace of the release"),
            text("storage-namespace", "", "Namespace of the release's record"),
            switch("create-target-namespace", "/install/createNamespace", "Make the target namespace"),
            text("service-account", "/serviceAccountName", "ServiceAccount to act as"),
            list("depends-on", "", "HelmReleases to wait for, [<namespace>/]<name>[@<expression>]"),
            text(
                "kubeconfig-secret-ref",
                "/kubeConfig/secretRef/name",
                "Secret with the target cluster's kubeconfig",
            ),
            one_of("crds", "/upgrade/crds", CRDS_POLICY, "CRDs at upgrades"),
            list("values", "", "Files with values; later ones win"),
            list("values-from", "", "Objects with values, <Secret|ConfigMap>/<name>"),
        ],
    ],
    complete,
};

fn complete(flags: &Flags<'_>, spec: &mut Spec) -> Result<(), Error> {
    match (flags.text("chart"), flags.text("chart-ref")) {
        (None, None) => return refuse("chart or chart-ref is required"),
        (Some(_), Some(_)) => return refuse("cannot use --chart in combination with --chart-ref"),
        (Some(chart), None) => chart_template(chart, flags, spec)?,
        (None, Some(text)) => chart_ref(text, spec)?,
    }
    if let Some(namespace) = flags.text("storage-namespace").or(flags.text("target-namespace")) {
        put(spec, "/storageNamespace", namespace);
    }
    if flags.text("crds").is_some() {
        put(spec, "/install/crds", "Create");
    }
    let dependencies = flags.list("depends-on");
    if !dependencies.is_empty() {
        put(spec, "/dependsOn", reference::dependencies(&dependencies));
    }
    let from = flags.list("values-from").into_iter().map(values_from).collect::<Result<Vec<_>, _>>()?;
    if !from.is_empty() {
        put(spec, "/valuesFrom", from);
    }
    let mut values = Map::new();
    let files = flags.list("values");
    for file in &files {
        merge(&mut values, read_values(file)?);
    }
    if !files.is_empty() {
        put(spec, "/values", values);
    }
    Ok(())
}

fn chart_template(chart: &str, flags: &Flags<'_>, spec: &mut Spec) -> Result<(), Error> {
    let strategy = flags.text("reconcile-strategy").unwrap_or_default();
    if !matches!(strategy, "ChartVersion" | "Revision") {
        return refuse(format!(
            "'{strategy}' is an invalid reconcile strategy(valid: Revision, ChartVersion)"
        ));
    }
    if flags.is_empty("source") {
        return refuse("no helm chart source given: --source is empty");
    }
    let source = flags.text("source").map(chart_source).transpose()?;
    let source = source.map_or_else(
        || reference::reference(None, "", None),
        |(kind, name)| {
            let (name, namespace) = reference::split_namespace(name);
            reference::reference(Some(kind), name, namespace)
        },
    );
    put(spec, "/chart/spec/chart", chart);
    put(spec, "/chart/spec/reconcileStrategy", strategy);
    put(spec, "/chart/spec/sourceRef", source);
    if let Some(version) = flags.text("chart-version") {
        put(spec, "/chart/spec/version", version);
    }
    if let Some(interval) = flags.duration("chart-interval").filter(|interval| !interval.is_zero()) {
        put(spec, "/chart/spec/interval", interval.to_string());
    }
    Ok(())
}

fn chart_ref(text: &str, spec: &mut Spec) -> Result<(), Error> {
    let (kind, name) = reference::split_kind(text);
    let kind = kind.unwrap_or_default();
    if !matches!(kind, "OCIRepository" | "HelmChart") {
        return refuse(format!(
            "chart reference kind '{kind}' is not supported, must be one of: OCIRepository, HelmChart"
        ));
    }
    let (name, namespace) = reference::split_namespace(name);
    put(spec, "/chartRef", reference::reference(Some(kind), name, namespace));
    Ok(())
}

fn values_from(text: &str) -> Result<Value, Error> {
    match reference::split_kind(text) {
        (None, _) => {
            refuse(format!("invalid Kubernetes object reference '{text}', must be in format <kind>/<name>"))
        }
        (Some(kind), name) => match ["Secret", "ConfigMap"].iter().find(|it| it.eq_ignore_ascii_case(kind)) {
            Some(kind) => Ok(reference::reference(Some(kind), name, None)),
            None => {
                refuse(format!("reference kind '{kind}' is not supported, must be one of: Secret, ConfigMap"))
            }
        },
    }
}

fn read_values(file: &str) -> Result<Map<String, Value>, Error> {
    let failed = |step: &str, reason: String| Error::Flags(format!("{step} from {file} failed: {reason}"));
    let content = crate::input::content(file).map_err(|error| failed("reading values", error.to_string()))?;
    let refused = |error: YamlError| failed("converting values to JSON", error.to_string());
    let document = read_first_document(file, content).map_err(refused)?;
    let Some(document) = document else { return Ok(Map::new()) };
    match document.to_json_of_yaml11().map_err(refused)? {
        Value::Object(values) => Ok(values),
        Value::Null => Ok(Map::new()),
        _ => Err(failed("unmarshaling values", "the file is no map".to_owned())),
    }
}

/// Merges maps key by key; anything else of `from` replaces what was there.
fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => merge(inner, value),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}
