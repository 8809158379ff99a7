//! Kustomizations (CLI-CRE07).

use serde_json::Value;

use super::super::flag::{Flags, duration, list, one_of, switch, text};
use super::super::reference;
use super::{INTERVAL, Recipe, Spec, refuse};
use crate::enumeration::{Enumeration, Form};
use crate::error::Error;
use crate::output::manifest::{self, put};

const DECRYPTION: Enumeration =
    Enumeration { thing: "decryption provider", words: &["sops"], form: Form::Unsupported };

pub(super) static KUSTOMIZATION: Recipe = Recipe {
    kind: "Kustomization",
    example: "podinfo --source GitRepository/podinfo --path ./kustomize --prune --wait --export",
    flags: &[
        INTERVAL,
        &[
            text("source", "", "Source of the manifests, [<kind>/]<name>[.<namespace>]"),
            text("path", "", "Directory in the source").or("./"),
            switch("prune", "", "Delete what is no longer in the source"),
            switch("wait", "/wait", "Check the health of everything that is applied"),
            list("health-check", "", "Objects to check, <kind>/<name>.<namespace>"),
            duration("health-check-timeout", "", "Longest time until all is healthy").or("2m"),
            duration("retry-interval", "/retryInterval", "Time until a failed reconciliation is tried again"),
            list("depends-on", "", "Kustomizations to wait for, [<namespace>/]<name>[@<expression>]"),
            text("target-namespace", "/targetNamespace", "Namespace of all objects"),
            text("service-account", "/serviceAccountName", "ServiceAccount to act as"),
            one_of("decryption-provider", "/decryption/provider", DECRYPTION, "Decryption of Secrets"),
            text("decryption-secret", "", "Name of the Secret with the keys"),
            text(
                "kubeconfig-secret-ref",
                "/kubeConfig/secretRef/name",
                "Secret with the target cluster's kubeconfig",
            ),
            text("validation", "", "Taken for compatibility").hidden(),
        ],
    ],
    complete,
};

fn complete(flags: &Flags<'_>, spec: &mut Spec) -> Result<(), Error> {
    let source = flags.required("source", "source is required")?;
    let kinds = ["OCIRepository", "GitRepository", "Bucket"];
    let (kind, name) = reference::of_kind(source, &kinds, Some("GitRepository"))?;
    let (name, namespace) = reference::split_namespace(name);
    put(spec, "/sourceRef", reference::reference(Some(kind), name, namespace));
    put(spec, "/path", below(flags.text("path").unwrap_or_default()));
    put(spec, "/prune", flags.is_on("prune"));
    let dependencies = flags.list("depends-on");
    if !dependencies.is_empty() {
        put(spec, "/dependsOn", reference::dependencies(&dependencies));
    }
    if let Some(secret) =
        flags.text("decryption-secret").filter(|_| flags.text("decryption-provider").is_some())
    {
        put(spec, "/decryption/secretRef/name", secret);
    }
    let checks = flags.list("health-check").into_iter().map(health_check).collect::<Result<Vec<_>, _>>()?;
    let is_wait = flags.is_on("wait");
    let timeout = flags.duration("health-check-timeout").filter(|_| is_wait || !checks.is_empty());
    if let Some(timeout) = timeout {
        put(spec, "/timeout", timeout.to_string());
    }
    if !is_wait && !checks.is_empty() {
        put(spec, "/healthChecks", checks);
    }
    Ok(())
}

/// Returns a path that stays below the source, whatever `..` it has.
pub(crate) fn below(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("./{}", parts.join("/"))
}

fn health_check(text: &str) -> Result<Value, Error> {
    let form = || format!("invalid health check '{text}' must be in the format 'kind/name.namespace'");
    let (Some(kind), object) = reference::split_kind(text) else { return refuse(form()) };
    if !matches!(kind, "HelmRelease" | "Deployment" | "DaemonSet" | "StatefulSet") {
        return refuse(format!(
            "invalid health check kind '{kind}' can be HelmRelease, Deployment, DaemonSet or StatefulSet"
        ));
    }
    let Some((name, namespace)) = object.split_once('.').filter(|(_, namespace)| !namespace.contains('.'))
    else {
        return refuse(form());
    };
    let mut check = reference::reference(Some(kind), name, Some(namespace));
    if kind == "HelmRelease" {
        manifest::set(&mut check, "/apiVersion", "helm.toolkit.fluxcd.io/v2");
    }
    Ok(check)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("", "./")]
    #[case("./deploy/prod/", "./deploy/prod")]
    #[case("/deploy", "./deploy")]
    #[case("deploy/../../x", "./x")]
    #[case("../../..", "./")]
    fn paths_stay_below_the_source(#[case] path: &str, #[case] expected: &str) {
        assert_eq!(below(path), expected);
    }
}
