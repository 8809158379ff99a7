//! Counter-examples: what the API server has to refuse, and in which words.

mod source;

use serde_json::{Value, json};

use super::{full_text, world};

/// Applies `base` with each change in its spec (null takes a field away) and expects each answer to contain the text.
async fn expect_refusals(api_version: &str, kind: &str, base: Value, cases: &[(Value, &str)]) {
    let (plane, namespace) = world("refused").await;
    let mut wrong = Vec::new();
    for (change, expected) in cases {
        let mut spec = base.clone();
        for (field, value) in change.as_object().unwrap() {
            match value {
                Value::Null => drop(spec.as_object_mut().unwrap().remove(field)),
                value => spec[field] = value.clone(),
            }
        }
        let object =
            json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "x" }, "spec": spec });
        match plane.apply(&namespace, object).await {
            Ok(_) => wrong.push(format!("{change} was accepted")),
            Err(error) if full_text(&error).contains(expected) => {}
            Err(error) => wrong.push(format!("{change}: {}", full_text(&error))),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn kustomizations() {
    let base =
        json!({ "interval": "1m", "prune": true, "sourceRef": { "kind": "GitRepository", "name": "app" } });
    let one = "exactly one of spec.kubeConfig.configMapRef or spec.kubeConfig.secretRef must be specified";
    let cases = [
        (json!({ "interval": null }), "spec.interval: Required value"),
        (json!({ "prune": null }), "spec.prune: Required value"),
        (json!({ "sourceRef": null }), "spec.sourceRef: Required value"),
        (json!({ "timeout": "soon" }), "spec.timeout in body should match"),
        (json!({ "targetNamespace": "x".repeat(64) }), "may not be more than 63 bytes"),
        (json!({ "namePrefix": "x".repeat(201) }), "may not be more than 200 bytes"),
        (json!({ "images": [{ "newTag": "x" }] }), "spec.images[0].name: Required value"),
        (json!({ "patches": [{ "target": { "kind": "x" } }] }), "spec.patches[0].patch: Required value"),
        (
            json!({ "buildMetadata": ["x"] }),
            r#"supported values: "originAnnotations", "transformerAnnotations""#,
        ),
        (json!({ "healthChecks": [{ "kind": "x" }] }), "spec.healthChecks[0].name: Required value"),
        (
            json!({ "deletionPolicy": "Never" }),
            r#"supported values: "MirrorPrune", "Delete", "WaitForTermination", "Orphan""#,
        ),
        (
            json!({ "sourceRef": { "kind": "HelmRepository", "name": "x" } }),
            r#"supported values: "OCIRepository", "GitRepository", "Bucket", "ExternalArtifact""#,
        ),
        (json!({ "kubeConfig": {} }), one),
        (json!({ "kubeConfig": { "secretRef": { "name": "a" }, "configMapRef": { "name": "b" } } }), one),
        (json!({ "decryption": { "provider": "vault" } }), r#"supported values: "sops""#),
        (
            json!({ "postBuild": { "substituteFrom": [{ "kind": "Pod", "name": "x" }] } }),
            r#"supported values: "Secret", "ConfigMap""#,
        ),
    ];
    expect_refusals("kustomize.toolkit.fluxcd.io/v1", "Kustomization", base, &cases).await;
}

#[tokio::test]
async fn old_kustomizations() {
    let base =
        json!({ "interval": "1m", "prune": true, "sourceRef": { "kind": "GitRepository", "name": "app" } });
    let one = "exactly one of spec.kubeConfig.configMapRef or spec.kubeConfig.secretRef must be specified";
    let cases = [
        (json!({ "interval": "soon" }), "spec.interval in body should match"),
        (json!({ "validation": "always" }), r#"supported values: "none", "client", "server""#),
        (json!({ "kubeConfig": {} }), one),
        (json!({ "kubeConfig": { "secretRef": { "name": "a" }, "configMapRef": { "name": "b" } } }), one),
        (json!({ "deletionPolicy": "Orphan" }), "field not declared in schema"),
        (
            json!({ "patchesJson6902": [{ "target": {}, "patch": [{ "op": "swap", "path": "/x" }] }] }),
            r#"supported values: "test", "remove", "add", "replace", "move", "copy""#,
        ),
    ];
    expect_refusals("kustomize.toolkit.fluxcd.io/v1beta2", "Kustomization", base.clone(), &cases).await;
    let cases = [
        (json!({ "kubeConfig": {} }), "spec.kubeConfig.secretRef: Required value"),
        (json!({ "kubeConfig": { "configMapRef": { "name": "b" } } }), "field not declared in schema"),
    ];
    expect_refusals("kustomize.toolkit.fluxcd.io/v1beta1", "Kustomization", base, &cases).await;
}

#[tokio::test]
async fn image_repositories() {
    let base = json!({ "interval": "1m", "image": "registry.example.com/app" });
    let cases = [
        (json!({ "image": null }), "spec.image: Required value"),
        (json!({ "timeout": "1h" }), r"spec.timeout in body should match '^([0-9]+(\.[0-9]+)?(ms|s|m))+$'"),
        (json!({ "provider": "ibm" }), r#"supported values: "generic", "aws", "azure", "gcp""#),
        (json!({ "exclusionList": vec!["a"; 26] }), "Too many: 26: must have at most 25 items"),
        (json!({ "accessFrom": {} }), "spec.accessFrom.namespaceSelectors: Required value"),
    ];
    expect_refusals("image.toolkit.fluxcd.io/v1", "ImageRepository", base, &cases).await;
}

#[tokio::test]
async fn image_policies() {
    let base = json!({ "imageRepositoryRef": { "name": "app" }, "policy": { "alphabetical": {} } });
    let cases = [
        (json!({ "imageRepositoryRef": {} }), "spec.imageRepositoryRef.name: Required value"),
        (json!({ "policy": { "alphabetical": { "order": "up" } } }), r#"supported values: "asc", "desc""#),
        (json!({ "policy": { "numerical": { "order": "up" } } }), r#"supported values: "asc", "desc""#),
        (json!({ "policy": { "semver": {} } }), "spec.policy.semver.range: Required value"),
        (
            json!({ "digestReflectionPolicy": "Sometimes" }),
            r#"supported values: "Always", "IfNotPresent", "Never""#,
        ),
        (
            json!({ "interval": "1m" }),
            "spec.interval is only accepted when spec.digestReflectionPolicy is set to 'Always'",
        ),
        (
            json!({ "digestReflectionPolicy": "Always" }),
            "spec.interval must be set when spec.digestReflectionPolicy is set to 'Always'",
        ),
    ];
    expect_refusals("image.toolkit.fluxcd.io/v1", "ImagePolicy", base, &cases).await;
}

#[tokio::test]
async fn image_update_automations() {
    let base = json!({
        "interval": "1m",
        "sourceRef": { "kind": "GitRepository", "name": "app" },
        "git": { "commit": { "author": { "email": "bot@example.com" } } },
    });
    let cases = [
        (json!({ "update": { "strategy": "Magic" } }), r#"supported values: "Setters""#),
        (json!({ "sourceRef": { "kind": "Bucket", "name": "x" } }), r#"supported values: "GitRepository""#),
        (
            json!({ "git": { "commit": { "author": { "name": "x" } } } }),
            "spec.git.commit.author.email: Required value",
        ),
        (json!({ "git": {} }), "spec.git.commit: Required value"),
    ];
    expect_refusals("image.toolkit.fluxcd.io/v1", "ImageUpdateAutomation", base, &cases).await;
}

#[tokio::test]
async fn alerts() {
    let base =
        json!({ "providerRef": { "name": "x" }, "eventSources": [{ "kind": "Kustomization", "name": "*" }] });
    let cases = [
        (json!({ "eventSources": null }), "spec.eventSources: Required value"),
        (
            json!({ "eventSources": [{ "kind": "Pod", "name": "*" }] }),
            r#"spec.eventSources[0].kind: Unsupported value: "Pod""#,
        ),
        (
            json!({ "eventSources": [{ "kind": "Kustomization", "name": "" }] }),
            "spec.eventSources[0].name in body should be at least 1 chars long",
        ),
        (json!({ "eventSeverity": "warn" }), r#"supported values: "info", "error""#),
        (json!({ "summary": "x".repeat(256) }), "spec.summary: Too long: may not be more than 255 bytes"),
        (json!({ "eventSource": [] }), "field not declared in schema"),
    ];
    expect_refusals("notification.toolkit.fluxcd.io/v1beta3", "Alert", base, &cases).await;
}

#[tokio::test]
async fn providers() {
    let cases = [
        (json!({ "type": null }), "spec.type: Required value"),
        (json!({ "type": "teams" }), r#"spec.type: Unsupported value: "teams""#),
        (json!({ "address": "x".repeat(2049) }), "spec.address: Too long: may not be more than 2048 bytes"),
        (json!({ "timeout": "1h" }), r"spec.timeout in body should match '^([0-9]+(\.[0-9]+)?(ms|s|m))+$'"),
        (json!({ "proxy": "socks5://x" }), "spec.proxy in body should match '^(http|https)://.*$'"),
        (
            json!({ "commitStatusExpr": "'x'" }),
            "spec.commitStatusExpr is only supported for the 'github', 'gitlab', 'gitea', 'bitbucketserver', \
             'bitbucket', 'azuredevops' provider types",
        ),
    ];
    let base = json!({ "type": "generic", "address": "https://example.com" });
    expect_refusals("notification.toolkit.fluxcd.io/v1beta3", "Provider", base, &cases).await;
}

#[tokio::test]
async fn receivers() {
    let provider =
        json!([{ "issuerURL": "https://x", "validations": [{ "expression": "true", "message": "m" }] }]);
    let unsafe_issuer =
        json!([{ "issuerURL": "ftp://x", "validations": [{ "expression": "true", "message": "m" }] }]);
    let cases = [
        (json!({ "type": "svn" }), r#"spec.type: Unsupported value: "svn""#),
        (json!({ "resources": null }), "spec.resources: Required value"),
        (
            json!({ "resources": [{ "kind": "Pod", "name": "x" }] }),
            r#"spec.resources[0].kind: Unsupported value: "Pod""#,
        ),
        (json!({ "interval": "1d" }), "spec.interval in body should match"),
        (json!({ "secretRef": null }), "secretRef is required when type is not generic-oidc"),
        (
            json!({ "type": "generic-oidc", "secretRef": null }),
            "generic-oidc receivers must define at least one oidcProvider",
        ),
        (
            json!({ "type": "generic-oidc", "oidcProviders": provider }),
            "secretRef cannot be set when type is generic-oidc",
        ),
        (json!({ "oidcProviders": provider }), "oidcProviders can only be set when type is generic-oidc"),
        (
            json!({ "type": "generic-oidc", "secretRef": null, "oidcProviders": unsafe_issuer }),
            "spec.oidcProviders[0].issuerURL in body should match '^https?://'",
        ),
    ];
    let base = json!({ "type": "github", "resources": [], "secretRef": { "name": "x" } });
    expect_refusals("notification.toolkit.fluxcd.io/v1", "Receiver", base, &cases).await;
}
