//! Sources (CLI-CRE01 to CLI-CRE06).

use serde_json::json;
use weir_http::go_url;

use super::super::flag::{Flag, Flags, duration, lines, list, one_of, secret, switch, text};
use super::super::{address, credentials, reference};
use super::{INTERVAL, Recipe, Spec, refuse};
use crate::enumeration::{Enumeration, Form, OCI_PROVIDER};
use crate::error::Error;
use crate::output::manifest::put;

pub(in crate::command::create) const FETCH_TIMEOUT: &[Flag] =
    &[duration("fetch-timeout", "/timeout", "Longest time of one download")];

/// The same flag for HelmCharts, whose source decides on the time.
const UNUSED_FETCH_TIMEOUT: &[Flag] = &[duration("fetch-timeout", "", "Taken for compatibility").hidden()];

const SECRET_REF: Flag = text("secret-ref", "/secretRef/name", "Name of the Secret with the credentials");

const PROXY: Flag = text("proxy-secret-ref", "/proxySecretRef/name", "Name of the Secret with the proxy");

const IGNORE: Flag = lines("ignore-paths", "/ignore", "Paths to leave out, in .gitignore format");

const BUCKET_PROVIDER: Enumeration = Enumeration {
    thing: "source bucket provider",
    form: Form::NotSupported("the S3 compatible storage provider name"),
    ..OCI_PROVIDER
};

const GIT_PROVIDER: Enumeration = Enumeration {
    thing: "source Git provider",
    words: &["generic", "github", "aws", "azure"],
    form: Form::NotSupportedByBars("the Git provider name"),
};

const VERIFY_PROVIDER: Enumeration = Enumeration {
    thing: "source OCI verify provider",
    words: &["cosign"],
    form: Form::NotSupported(
        "the OCI verify provider name to use for signature verification, available options are: (cosign)",
    ),
};

const VERIFY: &[Flag] = &[
    one_of("verify-provider", "/verify/provider", VERIFY_PROVIDER, "Kind of signatures that are verified"),
    text("verify-secret-ref", "/verify/secretRef/name", "Name of the Secret with the public keys"),
    text("verify-subject", "", "Regular expression for the subject of keyless signatures"),
    text("verify-issuer", "", "Regular expression for the issuer of keyless signatures"),
];

pub(super) static GIT: Recipe = Recipe {
    kind: "GitRepository",
    example: "podinfo --url https://github.com/stefanprodan/podinfo --branch master --export",
    flags: &[
        INTERVAL,
        FETCH_TIMEOUT,
        &[
            text("url", "/url", "Address of the repository"),
            text("branch", "", "Branch"),
            text("tag", "", "Tag"),
            text("tag-semver", "", "Range of versions of a tag"),
            text("ref-name", "", "Name of a reference, such as refs/pull/1/head"),
            text("commit", "", "Commit"),
            SECRET_REF,
            PROXY,
            one_of("provider", "/provider", GIT_PROVIDER, "Provider of credentials"),
            switch("recurse-submodules", "/recurseSubmodules", "Fetch submodules, too"),
            IGNORE,
            list("sparse-checkout-paths", "/sparseCheckout", "Directories to fetch alone"),
            text("ca-file", "", "File with the certificate of the server's authority"),
        ],
        credentials::OF_GIT,
    ],
    complete: |flags, spec| {
        let url = flags.required("url", "url is required")?;
        let scheme = credentials::git_scheme(url)?;
        let reference = ["branch", "tag", "commit", "ref-name", "tag-semver"];
        if reference.iter().all(|name| flags.text(name).is_none()) {
            return refuse(
                "a Git ref is required, use one of the following: --branch, --tag, --commit, --ref-name or --tag-semver",
            );
        }
        if flags.text("ca-file").is_some() && scheme == "ssh" {
            return refuse("specifying a CA file is not supported for Git over SSH");
        }
        // The most exact reference counts; the branch of a commit tells where to look for it.
        let order = [("commit", "commit"), ("ref-name", "name"), ("tag-semver", "semver"), ("tag", "tag")];
        let exact = order.iter().find_map(|(flag, field)| Some((*field, flags.text(flag)?)));
        if let Some((field, value)) = exact {
            put(spec, &format!("/ref/{field}"), value);
        }
        if let Some(branch) =
            flags.text("branch").filter(|_| exact.is_none_or(|(field, _)| field == "commit"))
        {
            put(spec, "/ref/branch", branch);
        }
        Ok(())
    },
};

pub(super) static OCI: Recipe = Recipe {
    kind: "OCIRepository",
    example: "podinfo --url oci://ghcr.io/stefanprodan/manifests/podinfo --tag-semver 6.x --export",
    flags: &[
        INTERVAL,
        FETCH_TIMEOUT,
        &[
            text("url", "/url", "Address of the repository, oci://…"),
            text("tag", "/ref/tag", "Tag"),
            text("tag-semver", "/ref/semver", "Range of versions of a tag"),
            text("digest", "/ref/digest", "Digest"),
            one_of("provider", "/provider", OCI_PROVIDER, "Provider of credentials").or("generic"),
            SECRET_REF,
            PROXY,
            text("service-account", "/serviceAccountName", "ServiceAccount with pull secrets"),
            text("cert-ref", "/certSecretRef/name", "Name of the Secret with TLS certificates"),
            switch("insecure", "/insecure", "Use plain HTTP"),
            IGNORE,
            text("layer-selector", "", "Layer to take, <media-type>:<extract|copy>"),
        ],
        VERIFY,
    ],
    complete: |flags, spec| {
        flags.required("url", "url is required")?;
        if ["tag", "tag-semver", "digest"].iter().all(|name| flags.text(name).is_none()) {
            return refuse("--tag, --tag-semver or --digest is required");
        }
        verification(flags, spec)?;
        flags.text("layer-selector").map_or(Ok(()), |selector| layer(selector, spec))
    },
};

pub(super) static BUCKET: Recipe = Recipe {
    kind: "Bucket",
    example: "podinfo --bucket-name podinfo --endpoint minio.minio.svc:9000 --insecure --export",
    flags: &[
        INTERVAL,
        FETCH_TIMEOUT,
        &[
            one_of("provider", "/provider", BUCKET_PROVIDER, "Provider of the storage").or("generic"),
            text("bucket-name", "/bucketName", "Name of the bucket"),
            text("endpoint", "/endpoint", "Address of the storage"),
            text("region", "/region", "Region"),
            switch("insecure", "/insecure", "Use plain HTTP"),
            text("access-key", "", "Access key, put into a Secret"),
            secret("secret-key", "Secret key, put into a Secret"),
            SECRET_REF,
            PROXY,
            IGNORE,
        ],
    ],
    complete: |flags, _| {
        flags.required("bucket-name", "bucket-name is required")?;
        flags.required("endpoint", "endpoint is required").map(drop)
    },
};

pub(super) static HELM: Recipe = Recipe {
    kind: "HelmRepository",
    example: "podinfo --url https://stefanprodan.github.io/podinfo --interval 10m --export",
    flags: &[
        INTERVAL,
        FETCH_TIMEOUT,
        &[
            text("url", "/url", "Address of the repository"),
            SECRET_REF,
            text("oci-provider", "", "Provider of credentials of an OCI repository"),
            switch("pass-credentials", "", "Send the credentials also to other hosts that the index names"),
            text("cert-file", "", "File with a client certificate"),
            text("key-file", "", "File with the key of the client certificate"),
            text("ca-file", "", "File with the certificate of the server's authority"),
        ],
        credentials::LOGIN,
    ],
    complete: |flags, spec| {
        let url = flags.required("url", "url is required")?;
        address::check(url, "url parse failed")?;
        let scheme = go_url::scheme(url);
        match scheme.as_str() {
            "http" | "https" | "oci" => {}
            _ => {
                let hint = address::hint_of_scheme(url);
                return refuse(format!(
                    "url scheme '{scheme}' not supported, can be: http, https and oci{hint}"
                ));
            }
        }
        if !go_url::has_host(url) {
            return refuse("url host is required");
        }
        if scheme == "oci" {
            put(spec, "/type", "oci");
            if let Some(provider) = flags.text("oci-provider") {
                put(spec, "/provider", provider);
            }
        }
        if flags.text("secret-ref").is_some() && flags.is_on("pass-credentials") {
            put(spec, "/passCredentials", true);
        }
        Ok(())
    },
};

pub(super) static CHART: Recipe = Recipe {
    kind: "HelmChart",
    example: "podinfo --source HelmRepository/podinfo --chart podinfo --chart-version 6.x --export",
    flags: &[
        INTERVAL,
        UNUSED_FETCH_TIMEOUT,
        &[
            text("source", "", "Source of the chart, <kind>/<name>"),
            text("chart", "/chart", "Name of the chart, or its path in the source"),
            text("chart-version", "/version", "Version, or range of versions"),
            text("reconcile-strategy", "/reconcileStrategy", "ChartVersion or Revision").or("ChartVersion"),
        ],
        VERIFY,
    ],
    complete: |flags, spec| {
        let source = flags.text("source").map(chart_source).transpose()?;
        let Some((kind, name)) = source else { return refuse("chart source is required") };
        flags.required("chart", "chart name or path is required")?;
        put(spec, "/sourceRef", reference::reference(Some(kind), name, None));
        verification(flags, spec)
    },
};

/// Reads the source of a chart.
pub(super) fn chart_source(text: &str) -> Result<(&'static str, &str), Error> {
    reference::of_kind(text, &["HelmRepository", "GitRepository", "Bucket"], None)
}

/// Adds the identity of keyless signatures; nothing is checked unless somebody checks it.
fn verification(flags: &Flags<'_>, spec: &mut Spec) -> Result<(), Error> {
    let part = |name| flags.text(name);
    let has_identity = part("verify-issuer").or(part("verify-subject")).is_some();
    if part("verify-provider").is_none() {
        return match (part("verify-secret-ref"), has_identity) {
            (Some(_), _) => refuse("a verification provider must be specified when a secret is specified"),
            (_, true) => {
                refuse("a verification provider must be specified when OIDC issuer/subject is specified")
            }
            _ => Ok(()),
        };
    }
    if has_identity {
        let text = |name| part(name).unwrap_or_default();
        let identity = json!([{ "issuer": text("verify-issuer"), "subject": text("verify-subject") }]);
        put(spec, "/verify/matchOIDCIdentity", identity);
    }
    Ok(())
}

fn layer(selector: &str, spec: &mut Spec) -> Result<(), Error> {
    let (media_type, operation) = selector.split_once(':').unwrap_or_default();
    if media_type.is_empty() || operation.is_empty() {
        let form = "must be in the format '<media-type>:<operation>'";
        return refuse(format!("invalid --layer-selector \"{selector}\": {form}"));
    }
    if !matches!(operation, "extract" | "copy") {
        return refuse(format!(
            "invalid --layer-selector \"{selector}\": operation must be \"extract\" or \"copy\""
        ));
    }
    put(spec, "/layerSelector", json!({ "mediaType": media_type, "operation": operation }));
    Ok(())
}
