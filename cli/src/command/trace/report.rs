//! The report about one object: sections of labels and values.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::Value;

use super::owner::Owners;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::kind::{Kind, first_of, ready, text, transition_time};

/// Width of labels in a report about a Kustomization, about a HelmRelease, and about the Git repository of the latter.
const WIDE: usize = 17;
const NARROW: usize = 16;
const NARROWER: usize = 15;

/// Origins of an artifact that reports name, in their order: label and key of the artifact's metadata.
const ORIGINS: [(&str, &str); 2] = [
    ("Origin Revision:", "org.opencontainers.image.revision"),
    ("Origin Source:", "org.opencontainers.image.source"),
];

/// Lines of labels and values.
struct Section {
    width: usize,
    lines: String,
}

/// Returns the report about an object; `kind` is the word for its kind.
pub(super) async fn of(
    cluster: &Cluster,
    owners: &Owners<'_>,
    kind: &str,
    object: &DynamicObject,
) -> Result<String, Error> {
    let (width, sections) = match owners.manager(object, "kustomize.toolkit.fluxcd.io").await? {
        Some((namespace, name)) => (WIDE, of_kustomization(&cluster.in_namespace(&namespace), &name).await?),
        None => match owners.manager(object, "helm.toolkit.fluxcd.io").await? {
            Some((namespace, name)) => (NARROW, of_release(&cluster.in_namespace(&namespace), &name).await?),
            None => return Err(Error::Api("object not managed by Flux".to_owned())),
        },
    };
    let mut head = Section::new(width);
    head.line("Object:", &format!("{kind}/{}", object.name_any()));
    head.line_if("Namespace:", &object.namespace().unwrap_or_default());
    head.line("Status:", "Managed by Flux");
    let sections = [head].into_iter().chain(sections).map(|section| section.lines);
    Ok(format!("\n{}", sections.collect::<Vec<_>>().join("---\n")))
}

async fn of_kustomization(cluster: &Cluster, name: &str) -> Result<Vec<Section>, Error> {
    let kustomization = cluster.get(Kind::named("Kustomization")?, name).await;
    let kustomization = kustomization.map_err(|error| error.prefixed("failed to find kustomization"))?;
    let mut section = Section::of("Kustomization:", &kustomization, WIDE);
    section.line_if("Target:", &text(&kustomization, "/spec/targetNamespace"));
    section.line("Path:", &text(&kustomization, "/spec/path"));
    section.line("Revision:", &text(&kustomization, "/status/lastAppliedRevision"));
    section.status(&kustomization, false);
    let mut sections = vec![section];
    let source = "/spec/sourceRef";
    if let "GitRepository" | "OCIRepository" | "ExternalArtifact" =
        text(&kustomization, "/spec/sourceRef/kind").as_str()
    {
        let source = referenced(cluster, &kustomization, source).await?;
        sections.push(of_source(&source, WIDE, true)?);
    }
    Ok(sections)
}

async fn of_release(cluster: &Cluster, name: &str) -> Result<Vec<Section>, Error> {
    let release = cluster.get(Kind::named("HelmRelease")?, name).await;
    let release = release.map_err(|error| error.prefixed("failed to find HelmRelease"))?;
    let mut section = Section::of("HelmRelease:", &release, NARROW);
    section.line_if("Target:", &text(&release, "/spec/targetNamespace"));
    section.line("Revision:", &text(&release, "/status/lastAttemptedRevision"));
    section.status(&release, false);
    let mut sections = vec![section];
    let chart = text(&release, "/status/helmChart");
    if let Some((namespace, name)) = chart.split_once('/') {
        let chart = cluster.in_namespace(namespace).get(Kind::named("HelmChart")?, name).await;
        sections.push(of_chart(&chart.map_err(|error| error.prefixed("failed to find HelmChart"))?));
    }
    let has_chart = release.data.pointer("/spec/chart").is_some();
    let source = if has_chart { "/spec/chart/spec/sourceRef" } else { "/spec/chartRef" };
    let width = match (has_chart, text(&release, &format!("{source}/kind")).as_str()) {
        (true, "GitRepository") => NARROWER,
        (true, "HelmRepository") => NARROW,
        (false, "OCIRepository" | "ExternalArtifact") => WIDE,
        _ => return Ok(sections),
    };
    sections.push(of_source(&referenced(cluster, &release, source).await?, width, false)?);
    Ok(sections)
}

/// Reads the source that a reference names.
async fn referenced(cluster: &Cluster, object: &DynamicObject, place: &str) -> Result<DynamicObject, Error> {
    let kind = Kind::named(&text(object, &format!("{place}/kind")))?;
    let namespace = match text(object, &format!("{place}/namespace")) {
        namespace if namespace.is_empty() => object.namespace().unwrap_or_default(),
        namespace => namespace,
    };
    let source = cluster.in_namespace(&namespace).get(kind, &text(object, &format!("{place}/name"))).await;
    source.map_err(|error| error.prefixed(&format!("failed to find {}", kind.name)))
}

fn of_chart(chart: &DynamicObject) -> Section {
    let mut section = Section::of("HelmChart:", chart, NARROW);
    section.line("Chart:", &text(chart, "/spec/chart"));
    section.line("Version:", &text(chart, "/spec/version"));
    section.revision(chart);
    section.status(chart, false);
    section
}

fn of_source(source: &DynamicObject, width: usize, with_origin: bool) -> Result<Section, Error> {
    let kind = source.types.as_ref().map_or("", |types| types.kind.as_str());
    let mut section = Section::of(&format!("{kind}:"), source, width);
    if kind == "ExternalArtifact" {
        let part = |name| text(source, &format!("/spec/sourceRef/{name}"));
        if source.data.pointer("/spec/sourceRef").is_none() {
            let (namespace, name) = (source.namespace().unwrap_or_default(), source.name_any());
            return Err(Error::Api(format!("ExternalArtifact {namespace}/{name} is missing spec.sourceRef")));
        }
        section.line("Source:", &format!("{}/{}/{}", part("kind"), part("namespace"), part("name")));
    } else {
        section.line("URL:", &text(source, "/spec/url"));
    }
    let tag = first_of(source, &["/spec/ref/tag", "/spec/ref/semver"]);
    let (label, other) = match kind {
        "GitRepository" => ("Branch:", text(source, "/spec/ref/branch")),
        _ => ("Digest:", text(source, "/spec/ref/digest")),
    };
    if tag.is_empty() {
        section.line_if(label, &other)
    } else {
        section.line("Tag:", &tag)
    }
    section.revision(source);
    if with_origin {
        section.origin(source);
    }
    section.status(source, kind != "HelmRepository");
    Ok(section)
}

impl Section {
    fn new(width: usize) -> Self {
        Self { width, lines: String::new() }
    }

    /// A section that begins with the name and the namespace of an object.
    fn of(label: &str, object: &DynamicObject, width: usize) -> Self {
        let mut section = Self::new(width);
        section.line(label, &object.name_any());
        section.line("Namespace:", &object.namespace().unwrap_or_default());
        section
    }

    fn line(&mut self, label: &str, value: &str) {
        let width = self.width;
        self.lines.push_str(&format!("{label:width$}{value}\n"));
    }

    fn line_if(&mut self, label: &str, value: &str) {
        if !value.is_empty() {
            self.line(label, value);
        }
    }

    fn revision(&mut self, object: &DynamicObject) {
        if object.data.pointer("/status/artifact").is_some() {
            self.line("Revision:", &text(object, "/status/artifact/revision"));
        }
    }

    /// An origin that the artifact does not name leaves an empty line, as in Flux.
    fn origin(&mut self, object: &DynamicObject) {
        let Some(metadata) = object.data.pointer("/status/artifact/metadata").and_then(Value::as_object)
        else {
            return;
        };
        for (label, key) in ORIGINS {
            match metadata.get(key).and_then(Value::as_str).unwrap_or_default() {
                "" => self.lines.push('\n'),
                value => self.line(label, value),
            }
        }
    }

    fn status(&mut self, object: &DynamicObject, tells_failures: bool) {
        let Some((status, message)) = ready(object) else { return self.line("Status:", "Unknown") };
        let done = if tells_failures && status == "False" { "reconciliation failed" } else { "reconciled" };
        self.line(
            "Status:",
            &format!("Last {done} at {}", shown(transition_time(object, "Ready"), TimeZone::system())),
        );
        self.line("Message:", message);
    }
}

/// Returns a time as Go prints it.
fn shown(time: &str, zone: TimeZone) -> String {
    let time = time
        .parse::<Timestamp>()
        .map(|time| time.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S %z %Z").to_string());
    time.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_go() {
        assert_eq!(shown("2022-02-03T01:37:54Z", TimeZone::UTC), "2022-02-03 01:37:54 +0000 UTC");
    }
}
