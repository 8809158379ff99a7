//! Patches that users of Flux lay over its manifests: each finds its object and its place in Weir's, too (CMP-26).

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_e2e::{Installation, SERVICES};
use weir_testkit::built_program;

/// Selection of the patches that are for all services.
const ALL: &str = "labelSelector: app.kubernetes.io/part-of=flux";

/// Builds the default overlay with operations on the fields of a target (RFC 6902).
fn with_operations(target: &str, operations: &str) -> Result<Installation> {
    Installation::patched(&[], &format!("[{{target: {target}, patch: '{operations}'}}]"))
}

/// Builds it with fields of all objects of a kind that fit a selection.
fn with_fields(version: &str, kind: &str, selection: &str, fields: &str) -> Result<Installation> {
    let patch = format!("{{apiVersion: {version}, kind: {kind}, {fields}}}");
    let target = format!("{{kind: {kind}, {selection}}}");
    Installation::patched(&[], &format!("[{{target: {target}, patch: '{patch}'}}]"))
}

/// The rows of a table. Only the last of the four columns may have blanks in it.
fn rows(table: &str) -> impl Iterator<Item = [&str; 4]> {
    table.trim().lines().map(|row| {
        let mut cells = row.splitn(4, ' ');
        std::array::from_fn(|_| cells.next().unwrap())
    })
}

/// Returns a field of the object `<Kind>/<name>`.
fn field(installation: &Installation, object: &str, pointer: &str) -> Result<Value> {
    let (kind, name) = object.split_once('/').context("no kind")?;
    let found = installation.object(kind, name)?.pointer(pointer);
    Ok(found.cloned().unwrap_or_default())
}

/// Arguments that are appended, put in front, or replaced by their place: of which Deployments, how, where, and what.
const ARGUMENTS: &str = r#"
kustomize-controller|helm-controller|source-controller add - --concurrent=10
kustomize-controller|helm-controller|source-controller add - --requeue-dependency=5s
kustomize-controller|helm-controller add - --kube-api-qps=500
kustomize-controller|helm-controller add - --kube-api-burst=1000
kustomize-controller|helm-controller add - --default-service-account=default
kustomize-controller add - --no-remote-bases=true
kustomize-controller add - --override-manager=rancher
kustomize-controller add - --feature-gates=DisableStatusPollerCache=true
kustomize-controller|notification-controller|image-.*-controller add - --no-cross-namespace-refs=true
source-controller add - --helm-cache-max-size=10
source-controller|image-automation-controller add - --ssh-kex-algos=ecdh-sha2-nistp256
source-controller|kustomize-controller add - --log-level="debug"
notification-controller add - --rate-limit-interval=1m
source-controller|kustomize-controller add 0 --watch-label-selector=!sharding.fluxcd.io/key
source-controller replace 6 --storage-adv-addr=source-controller-shard1.flux-system.svc.cluster.local.
"#;

#[test]
fn arguments() -> Result<()> {
    for [names, op, place, argument] in rows(ARGUMENTS) {
        one_argument(names, op, place, argument).with_context(|| argument.to_owned())?;
    }
    Ok(())
}

fn one_argument(names: &str, op: &str, place: &str, argument: &str) -> Result<()> {
    let path = format!("/spec/template/spec/containers/0/args/{place}");
    let operation = json!([{"op": op, "path": path, "value": argument}]);
    let (plain, patched) = (
        Installation::with_components(&[])?,
        with_operations(&format!("{{kind: Deployment, name: ({names})}}"), &operation.to_string())?,
    );
    for service in SERVICES {
        let (before, after) = (plain.arguments(service)?, patched.arguments(service)?);
        let is_named = names.split('|').any(|name| match name.split_once(".*") {
            Some((start, end)) => service.starts_with(start) && service.ends_with(end),
            None => name == service,
        });
        assert_eq!(before != after, is_named, "{service}");
        if !is_named {
            continue;
        }
        let same = if op == "add" { after.len() == before.len() + 1 } else { after.len() == before.len() };
        assert!(same && after.iter().any(|given| given == argument), "{service}: {after:?}");
        let flag = argument.split('=').next();
        let lost = before.iter().find(|given| !after.contains(given));
        assert!(lost.is_none_or(|lost| lost.split('=').next() == flag), "{service} lost {lost:?}");
        let parsed = Command::new(built_program(service)?).args(&after).arg("--help").output()?;
        assert!(parsed.status.success(), "{service}: {}", String::from_utf8_lossy(&parsed.stderr));
    }
    Ok(())
}

/// Fields by their place: of which object, how, where, and the value as JSON.
const PLACES: &str = r#"
Deployment/kustomize-controller replace /spec/template/spec/volumes/0 {"name": "temp", "emptyDir": {"medium": "Memory"}}
Deployment/source-controller replace /spec/template/spec/containers/0/volumeMounts/0 {"name": "persistent-data", "mountPath": "/data"}
Deployment/source-controller replace /spec/template/spec/containers/0/resources/limits/memory "2Gi"
Deployment/image-reflector-controller replace /spec/template/spec/containers/0/resources/requests/cpu "10m"
Deployment/source-controller add /spec/template/spec/containers/0/env/0 {"name": "HTTPS_PROXY", "value": "http://proxy:3128"}
Deployment/source-controller replace /spec/template/spec/priorityClassName "platform"
Deployment/notification-controller replace /spec/template/spec/terminationGracePeriodSeconds 30
Deployment/notification-controller add /spec/template/spec/tolerations [{"operator": "Exists"}]
Deployment/image-automation-controller replace /spec/template/spec/nodeSelector {"role": "flux"}
Deployment/kustomize-controller add /spec/template/spec/imagePullSecrets [{"name": "regcred"}]
Deployment/source-controller add /spec/template/spec/hostAliases [{"ip": "10.0.0.1", "hostnames": ["git"]}]
Deployment/source-controller replace /spec/template/spec/securityContext/fsGroup 2000
Deployment/source-controller replace /spec/template/spec/containers/0/securityContext/seccompProfile/type "Unconfined"
Deployment/source-controller replace /spec/strategy/type "RollingUpdate"
Deployment/source-controller replace /spec/template/metadata/annotations/prometheus.io~1scrape "false"
Deployment/source-controller add /spec/template/spec/containers/0/livenessProbe/timeoutSeconds 5
Service/source-controller replace /spec/selector/app "source-controller-shard1"
Service/webhook-receiver replace /spec/ports/0/port 8080
NetworkPolicy/allow-egress replace /spec/egress/0 {"ports": [{"port": 443}]}
"#;

#[test]
fn places() -> Result<()> {
    for [object, op, path, value] in rows(PLACES) {
        let (kind, name) = object.split_once('/').context("no kind")?;
        let value: Value = serde_json::from_str(value)?;
        let operation = json!([{"op": op, "path": path, "value": value}]);
        let patched = with_operations(&format!("{{kind: {kind}, name: {name}}}"), &operation.to_string())?;
        assert_eq!(field(&patched, object, path)?, value, "{object} {path}");
    }
    Ok(())
}

/// Fields by their names: lists of containers and variables are joined.
#[test]
fn fields_of_all_services() -> Result<()> {
    let variables = "metadata: {name: any}, spec: {template: {spec: {containers: [{name: manager, env: [{name: HTTPS_PROXY, value: \"http://proxy\"}]}]}}}";
    let of_openshift = "metadata: {name: any}, spec: {template: {spec: {securityContext: {$patch: delete}, containers: [{name: manager, \
                        securityContext: {runAsUser: 65534, seccompProfile: {$patch: delete}}}]}}}";
    let labels = "metadata: {name: any}, spec: {template: {metadata: {labels: {azure.workload.identity/use: \"true\"}, annotations: \
                  {cluster-autoscaler.kubernetes.io/safe-to-evict: \"true\"}}}}";
    let plain = Installation::with_components(&[])?;
    let of_all = |fields: &str| with_fields("apps/v1", "Deployment", ALL, fields);
    let (proxied, open, labelled) = (of_all(variables)?, of_all(of_openshift)?, of_all(labels)?);
    for service in SERVICES {
        let object = format!("Deployment/{service}");
        let of = |installation: &Installation, path: &str| field(installation, &object, path);
        let env = "/spec/template/spec/containers/0/env";
        let count = |value: Value| value.as_array().map(Vec::len).unwrap_or_default();
        assert_eq!(count(of(&proxied, env)?), count(of(&plain, env)?) + 1, "{service}");
        assert_eq!(of(&open, "/spec/template/spec/securityContext")?, Value::Null, "{service}");
        let context = of(&open, "/spec/template/spec/containers/0/securityContext")?;
        assert_eq!(
            (&context["runAsUser"], context.get("seccompProfile")),
            (&json!(65534), None),
            "{service}"
        );
        let metadata = of(&labelled, "/spec/template/metadata")?;
        assert_eq!(metadata["labels"]["azure.workload.identity/use"], "true", "{service}");
        assert_eq!(
            metadata["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"], "true",
            "{service}"
        );
    }
    Ok(())
}

/// Roles, accounts and the namespace have Flux's names.
#[test]
fn objects_beside_the_deployments() -> Result<()> {
    let accounts = "name: (source-controller|image-reflector-controller|kustomize-controller)";
    let role = "metadata: {name: any, annotations: {eks.amazonaws.com/role-arn: \"arn:aws:iam::1:role/x\"}}";
    let patched = with_fields("v1", "ServiceAccount", accounts, role)?;
    for service in ["source-controller", "image-reflector-controller", "kustomize-controller"] {
        let path = "/metadata/annotations/eks.amazonaws.com~1role-arn";
        assert_eq!(field(&patched, &format!("ServiceAccount/{service}"), path)?, "arn:aws:iam::1:role/x");
    }
    let removed = with_fields(
        "rbac.authorization.k8s.io/v1",
        "ClusterRole",
        "name: (flux-view|flux-edit)",
        "metadata: {name: any}, $patch: delete",
    )?;
    assert!(
        removed.object("ClusterRole", "flux-view").is_err()
            && removed.object("ClusterRole", "flux-edit").is_err()
    );
    let unlabelled = with_operations(
        "{kind: Namespace, labelSelector: app.kubernetes.io/part-of=flux}",
        r#"[{"op": "remove", "path": "/metadata/labels/pod-security.kubernetes.io~1warn"}]"#,
    )?;
    let label =
        field(&unlabelled, "Namespace/flux-system", "/metadata/labels/pod-security.kubernetes.io~1warn")?;
    assert_eq!(label, Value::Null);
    Ok(())
}
