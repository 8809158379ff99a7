//! Sources.

use serde_json::json;

use super::expect_refusals;

#[tokio::test]
async fn git_repositories() {
    let base = json!({ "interval": "1m", "url": "https://example.com/app.git" });
    let cases = [
        (json!({ "url": null }), "spec.url: Required value"),
        (
            json!({ "url": "git@example.com:app.git" }),
            "spec.url in body should match '^(http|https|ssh)://.*$'",
        ),
        (json!({ "url": "file:///etc" }), "should match '^(http|https|ssh)://.*$'"),
        (
            json!({ "interval": "1d" }),
            r"spec.interval in body should match '^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$'",
        ),
        (json!({ "interval": "60" }), "spec.interval in body should match"),
        (json!({ "timeout": "1h" }), r"spec.timeout in body should match '^([0-9]+(\.[0-9]+)?(ms|s|m))+$'"),
        (json!({ "provider": "gitlab" }), r#"supported values: "generic", "aws", "azure", "github""#),
        (
            json!({ "serviceAccountName": "x" }),
            "serviceAccountName can only be set when provider is 'azure' or 'aws'",
        ),
        (json!({ "secretRef": {} }), "spec.secretRef.name: Required value"),
        (
            json!({ "verify": { "mode": "x", "secretRef": { "name": "x" } } }),
            r#"supported values: "head", "HEAD", "Tag", "TagAndHEAD""#,
        ),
        (json!({ "verify": {} }), "spec.verify.secretRef: Required value"),
        (json!({ "branch": "main" }), "field not declared in schema"),
    ];
    expect_refusals("source.toolkit.fluxcd.io/v1", "GitRepository", base, &cases).await;
}

#[tokio::test]
async fn oci_repositories() {
    let base = json!({ "interval": "1m", "url": "oci://registry.example.com/app" });
    let cases = [
        (json!({ "url": "https://registry.example.com/app" }), "spec.url in body should match '^oci://.*$'"),
        (json!({ "url": null }), "spec.url: Required value"),
        (json!({ "provider": "x" }), r#"supported values: "generic", "aws", "azure", "gcp""#),
        (json!({ "verify": { "provider": "gpg" } }), r#"supported values: "cosign", "notation""#),
        (json!({ "layerSelector": { "operation": "move" } }), r#"supported values: "extract", "copy""#),
        (json!({ "verify": { "matchOIDCIdentity": [{ "issuer": "x" }] } }), "subject: Required value"),
    ];
    expect_refusals("source.toolkit.fluxcd.io/v1", "OCIRepository", base, &cases).await;
}

#[tokio::test]
async fn buckets() {
    let base = json!({ "interval": "1m", "bucketName": "podinfo", "endpoint": "minio.example.com" });
    let sts = |provider: &str| json!({ "provider": provider, "endpoint": "https://sts.example.com" });
    let with = |field: &str| {
        let mut sts = sts("aws");
        sts[field] = json!({ "name": "x" });
        sts
    };
    let cases = [
        (json!({ "bucketName": null }), "spec.bucketName: Required value"),
        (json!({ "endpoint": null }), "spec.endpoint: Required value"),
        (json!({ "interval": null }), "spec.interval: Required value"),
        (json!({ "timeout": "1h" }), r"spec.timeout in body should match '^([0-9]+(\.[0-9]+)?(ms|s|m))+$'"),
        (json!({ "provider": "oracle" }), r#"supported values: "generic", "aws", "gcp", "azure""#),
        (json!({ "sts": sts("vault") }), r#"supported values: "aws", "ldap""#),
        (
            json!({ "sts": { "provider": "ldap", "endpoint": "ldap://sts" } }),
            "spec.sts.endpoint in body should match '^(http|https)://.*$'",
        ),
        (
            json!({ "provider": "gcp", "sts": sts("aws") }),
            "STS configuration is only supported for the 'aws' and 'generic' Bucket providers",
        ),
        (
            json!({ "provider": "aws", "sts": sts("ldap") }),
            "'aws' is the only supported STS provider for the 'aws' Bucket provider",
        ),
        (
            json!({ "sts": sts("aws") }),
            "'ldap' is the only supported STS provider for the 'generic' Bucket provider",
        ),
        (
            json!({ "provider": "aws", "sts": with("secretRef") }),
            "spec.sts.secretRef is not required for the 'aws' STS provider",
        ),
        (
            json!({ "provider": "aws", "sts": with("certSecretRef") }),
            "spec.sts.certSecretRef is not required for the 'aws' STS provider",
        ),
        (
            json!({ "serviceAccountName": "x" }),
            "ServiceAccountName is not supported for the 'generic' Bucket provider",
        ),
        (
            json!({ "provider": "aws", "secretRef": { "name": "x" }, "serviceAccountName": "x" }),
            "cannot set both .spec.secretRef and .spec.serviceAccountName",
        ),
        (json!({ "accessFrom": { "namespaceSelectors": [] } }), "field not declared in schema"),
    ];
    expect_refusals("source.toolkit.fluxcd.io/v1", "Bucket", base.clone(), &cases).await;

    let cases = [
        (json!({ "provider": "aws", "serviceAccountName": "x" }), "field not declared in schema"),
        (json!({ "sts": sts("aws") }), "'ldap' is the only supported STS provider"),
    ];
    expect_refusals("source.toolkit.fluxcd.io/v1beta2", "Bucket", base.clone(), &cases).await;
    let cases = [
        (json!({ "provider": "azure" }), r#"supported values: "generic", "aws", "gcp""#),
        (json!({ "prefix": "x" }), "field not declared in schema"),
        (json!({ "interval": "soon" }), "spec.interval in body should match"),
    ];
    expect_refusals("source.toolkit.fluxcd.io/v1beta1", "Bucket", base, &cases).await;
}

#[tokio::test]
async fn helm_repositories() {
    let base = json!({ "url": "https://charts.example.com" });
    let cases = [
        (json!({ "url": null }), "spec.url: Required value"),
        (json!({ "url": "ssh://charts" }), "spec.url in body should match '^(http|https|oci)://.*$'"),
        (json!({ "type": "git" }), r#"supported values: "default", "oci""#),
        (json!({ "provider": "x" }), r#"supported values: "generic", "aws", "azure", "gcp""#),
        (json!({ "interval": "1d" }), "spec.interval in body should match"),
        (json!({ "timeout": "1h" }), r"spec.timeout in body should match '^([0-9]+(\.[0-9]+)?(ms|s|m))+$'"),
        (json!({ "accessFrom": {} }), "spec.accessFrom.namespaceSelectors: Required value"),
    ];
    expect_refusals("source.toolkit.fluxcd.io/v1", "HelmRepository", base.clone(), &cases).await;
    let cases = [
        (json!({}), "spec.interval: Required value"),
        (json!({ "interval": "1m", "type": "oci" }), "field not declared in schema"),
    ];
    expect_refusals("source.toolkit.fluxcd.io/v1beta1", "HelmRepository", base, &cases).await;
}

#[tokio::test]
async fn helm_charts() {
    let base =
        json!({ "interval": "1m", "chart": "app", "sourceRef": { "kind": "HelmRepository", "name": "x" } });
    let cases = [
        (json!({ "chart": null }), "spec.chart: Required value"),
        (json!({ "interval": null }), "spec.interval: Required value"),
        (json!({ "sourceRef": { "kind": "HelmRepository" } }), "spec.sourceRef.name: Required value"),
        (
            json!({ "sourceRef": { "kind": "OCIRepository", "name": "x" } }),
            r#"supported values: "HelmRepository", "GitRepository", "Bucket""#,
        ),
        (
            json!({ "sourceRef": { "kind": "HelmRepository", "name": "x", "namespace": "other" } }),
            "field not declared in schema",
        ),
        (json!({ "reconcileStrategy": "Always" }), r#"supported values: "ChartVersion", "Revision""#),
        (
            json!({ "sourceRef": { "kind": "Bucket", "name": "x" }, "verify": { "provider": "cosign" } }),
            "spec.verify is only supported when spec.sourceRef.kind is 'HelmRepository'",
        ),
        (json!({ "verify": { "provider": "gpg" } }), r#"supported values: "cosign", "notation""#),
        (json!({ "timeout": "1m" }), "field not declared in schema"),
    ];
    expect_refusals("source.toolkit.fluxcd.io/v1", "HelmChart", base.clone(), &cases).await;
    let cases = [
        (json!({ "verify": { "provider": "cosign" } }), "field not declared in schema"),
        (json!({ "ignoreMissingValuesFiles": true }), "field not declared in schema"),
    ];
    expect_refusals("source.toolkit.fluxcd.io/v1beta1", "HelmChart", base, &cases).await;
}

#[tokio::test]
async fn external_artifacts() {
    let cases = [
        (json!({ "sourceRef": { "kind": "Kiln" } }), "spec.sourceRef.name: Required value"),
        (json!({ "sourceRef": { "name": "x" } }), "spec.sourceRef.kind: Required value"),
        (json!({ "suspend": true }), "field not declared in schema"),
    ];
    expect_refusals("source.toolkit.fluxcd.io/v1", "ExternalArtifact", json!({}), &cases).await;
}

#[tokio::test]
async fn artifact_generators() {
    let source = |field: &str, value: &str| {
        let mut source = json!({ "alias": "a", "kind": "GitRepository", "name": "x" });
        source[field] = json!(value);
        json!({ "sources": [source] })
    };
    let copy = |field: &str, value: serde_json::Value| {
        let mut copy = json!({ "from": "@a/**", "to": "@artifact/" });
        copy[field] = value;
        json!({ "artifacts": [{ "name": "x", "copy": [copy] }] })
    };
    let artifact = |field: &str, value: &str| {
        let mut artifact = json!({ "name": "x", "copy": [{ "from": "@a/**", "to": "@artifact/" }] });
        artifact[field] = json!(value);
        json!({ "artifacts": [artifact] })
    };
    let names = "artifact names must be valid Kubernetes object names when pathPattern is not set";
    let cases = [
        (json!({ "sources": [] }), "spec.sources in body should have at least 1 items"),
        (json!({ "artifacts": [] }), "spec.artifacts in body should have at least 1 items"),
        (source("alias", "A"), "spec.sources[0].alias in body should match"),
        (source("alias", &"a".repeat(64)), "may not be more than 63 bytes"),
        (
            source("kind", "HelmRepository"),
            r#"supported values: "Bucket", "GitRepository", "OCIRepository", "HelmChart", "ExternalArtifact""#,
        ),
        (source("name", "a.b"), "spec.sources[0].name in body should match"),
        (source("namespace", "a.b"), "spec.sources[0].namespace in body should match"),
        (artifact("name", "Web"), names),
        (artifact("name", "{app}"), names),
        (artifact("revision", "a"), "spec.artifacts[0].revision in body should match"),
        (artifact("originRevision", "@a/b"), "spec.artifacts[0].originRevision in body should match"),
        (json!({ "artifacts": [{ "name": "x", "copy": [] }] }), "copy in body should have at least 1 items"),
        (copy("from", json!("a/**")), "copy[0].from in body should match"),
        (copy("to", json!("@a/")), "copy[0].to in body should match '^@(artifact)/(.*)$'"),
        (copy("strategy", json!("Move")), r#"supported values: "Overwrite", "Merge", "Extract""#),
        (copy("exclude", json!(vec!["x"; 101])), "must have at most 100 items"),
        (json!({ "pathPattern": "apps/{app}" }), "spec.pathPattern in body should match"),
        (json!({ "suspend": true }), "field not declared in schema"),
    ];
    let base = json!({
        "sources": [{ "alias": "a", "kind": "GitRepository", "name": "x" }],
        "artifacts": [{ "name": "x", "copy": [{ "from": "@a/**", "to": "@artifact/" }] }],
    });
    expect_refusals("source.extensions.fluxcd.io/v1beta1", "ArtifactGenerator", base, &cases).await;
}
