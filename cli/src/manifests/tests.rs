//! The manifests that flags choose.

use clap::Parser;
use serde_json::json;

use super::*;

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    choice: Choice,
}

fn objects(flags: &[&str]) -> Result<Vec<Value>, Error> {
    objects_in("gitops", flags)
}

fn objects_in(namespace: &str, flags: &[&str]) -> Result<Vec<Value>, Error> {
    let flags = std::iter::once("install").chain(flags.iter().copied());
    let mut choice = Flags::parse_from(flags).choice;
    choice.drop_empty();
    choice.objects(namespace)
}

fn names(objects: &[Value], kind: &str) -> Vec<String> {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
    objects.iter().filter(|object| object["kind"] == kind).map(name).collect()
}

#[test]
fn every_variant_can_be_chosen() {
    assert!(variants().contains(&"monitoring"));
    for variant in variants() {
        let built = objects(&["--with", variant, "--components-extra", "image-reflector-controller"]);
        assert!(built.as_ref().is_ok_and(|objects| !objects.is_empty()), "{variant}: {:?}", built.err());
    }
}

#[test]
fn an_installation_is_built_for_its_namespace() {
    let objects = objects(&[]).unwrap();
    assert_eq!(names(&objects, "Namespace"), ["gitops"]);
    assert_eq!(
        names(&objects, "Deployment"),
        ["kustomize-controller", "notification-controller", "source-controller"]
    );
    for deployment in objects.iter().filter(|object| object["kind"] == "Deployment") {
        let labels = &deployment["spec"]["template"]["metadata"]["labels"];
        assert_eq!(labels["app.kubernetes.io/instance"], "gitops");
        assert_eq!(labels["app.kubernetes.io/component"], deployment["metadata"]["name"]);
    }
    for binding in objects.iter().filter(|object| object["kind"] == "ClusterRoleBinding") {
        let role = binding["roleRef"]["name"].as_str().unwrap();
        assert!(
            role == "cluster-admin" || names(&objects, "ClusterRole").contains(&role.to_owned()),
            "{role}"
        );
        assert!(binding["metadata"]["name"].as_str().unwrap().ends_with("-gitops"));
    }
    let of_images = names(&objects, "CustomResourceDefinition").into_iter().filter(|it| it.contains("image"));
    assert_eq!(of_images.count(), 0);
}

/// CLI-INS01: each service of images brings its own kinds, and both together bring all.
#[rstest::rstest]
#[case("image-reflector-controller", &["imagepolicies", "imagerepositories"])]
#[case("image-automation-controller", &["imageupdateautomations"])]
#[case("image-reflector-controller,image-automation-controller", &["imagepolicies", "imagerepositories", "imageupdateautomations"])]
fn kinds_come_with_the_service_that_works_on_them(#[case] extra: &str, #[case] expected: &[&str]) {
    let objects = objects(&["--components-extra", extra]).unwrap();
    let mut kinds = names(&objects, "CustomResourceDefinition");
    kinds.retain(|name| name.ends_with(".image.toolkit.fluxcd.io"));
    let expected: Vec<_> = expected.iter().map(|kind| format!("{kind}.image.toolkit.fluxcd.io")).collect();
    assert_eq!(kinds, expected);
}

/// Source-controller does the work of Flux's source-watcher.
#[rstest::rstest]
#[case("source-controller", true)]
#[case("source-watcher", true)]
#[case("kustomize-controller", false)]
fn artifact_generators_come_with_sources(#[case] components: &str, #[case] expected: bool) {
    let kinds = names(&objects(&["--components", components]).unwrap(), "CustomResourceDefinition");
    assert_eq!(kinds.contains(&"artifactgenerators.source.extensions.fluxcd.io".to_owned()), expected);
}

/// Two installations must not share an object without a namespace: the second would change the first one's.
#[test]
fn no_variant_names_another_namespace_or_shares_an_object() {
    let namespace = "my-flux-system";
    for variant in variants() {
        let flags = ["--with", variant, "--components-extra", "image-reflector-controller"];
        for object in objects_in(namespace, &flags).unwrap() {
            let text = object.to_string();
            let rest = text.replace(namespace, "");
            assert!(!rest.contains("flux-system") && !text.contains("my-my-"), "{variant}: {text}");
            let metadata = &object["metadata"];
            let has_own_name = metadata["name"].as_str().unwrap().ends_with(namespace);
            let is_shared = object["kind"] == "CustomResourceDefinition";
            assert!(is_shared || has_own_name || metadata["namespace"] == namespace, "{variant}: {text}");
        }
    }
}

/// RBAC cannot limit these rights to clouds and to a Pod; the policies do, if they match the accounts.
#[rstest::rstest]
#[case("workload-identity", "workload-identity-audiences-gitops")]
#[case("source-standby", "source-controller-own-pod-gitops")]
fn policies_are_about_the_accounts_of_the_namespace(#[case] variant: &str, #[case] name: &str) {
    let objects = objects(&["--with", variant]).unwrap();
    assert_eq!(names(&objects, "ValidatingAdmissionPolicy"), [name]);
    let of_kind = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    let condition = &of_kind("ValidatingAdmissionPolicy")["spec"]["matchConditions"][0]["expression"];
    assert!(
        condition.as_str().unwrap().contains("'system:serviceaccount:gitops:source-controller'"),
        "{condition}"
    );
    assert_eq!(of_kind("ValidatingAdmissionPolicyBinding")["spec"]["policyName"], name);
}

#[test]
fn flags_reach_the_deployments() {
    let flags = [
        "--components-extra=image-reflector-controller",
        "--registry=registry.local:5000/mirror",
        "--image-pull-secret=pull",
        "--toleration-keys=gitops",
        "--log-level=debug",
        "--watch-all-namespaces=false",
        "--cluster-domain=corp.local",
        "--network-policy=false",
        "--with=multi-tenancy",
    ];
    let objects = objects(&flags).unwrap();
    assert_eq!(names(&objects, "NetworkPolicy").len(), 0);
    let is_source =
        |object: &&Value| object["kind"] == "Deployment" && object["metadata"]["name"] == "source-controller";
    let pod = &objects.iter().find(is_source).unwrap()["spec"]["template"]["spec"];
    let shown = json!([pod["containers"][0]["image"], pod["imagePullSecrets"], pod["tolerations"]]);
    let expected = json!([
        format!("registry.local:5000/mirror/source-controller:{VERSION}"),
        [{ "name": "pull" }],
        [{ "key": "gitops", "operator": "Exists" }],
    ]);
    assert_eq!(shown, expected);
    let arguments = pod["containers"][0]["args"].as_array().unwrap();
    let first: Vec<_> = arguments.iter().take(3).map(|it| it.as_str().unwrap()).collect();
    let events = "--events-addr=http://notification-controller.$(RUNTIME_NAMESPACE).svc.corp.local./";
    assert_eq!(first, [events, "--watch-all-namespaces=false", "--log-level=debug"]);
    assert!(arguments.contains(&"--no-cross-namespace-refs=true".into()));
}

/// A toleration without a key would be one of every taint.
#[rstest::rstest]
#[case("--toleration-keys=")]
#[case("--toleration-keys=,")]
#[case("--image-pull-secret=")]
#[case("--registry-creds=")]
#[case("--registry=")]
#[case("--with=")]
#[case("--manifests=")]
fn a_flag_without_a_value_is_none(#[case] flag: &str) {
    assert_eq!(objects(&[flag]).unwrap(), objects(&[]).unwrap());
}

/// Lists are CSV, as in Flux, so that a key may have a comma in it.
#[test]
fn lists_are_records() {
    let objects = objects(&[r#"--toleration-keys="a,b",c"#]).unwrap();
    let tolerations: Vec<_> =
        objects.iter().filter_map(|object| object.pointer("/spec/template/spec/tolerations")).collect();
    let expected = json!([{ "key": "a,b", "operator": "Exists" }, { "key": "c", "operator": "Exists" }]);
    assert_eq!(tolerations, [&expected, &expected, &expected]);
    let refused = Flags::try_parse_from(["install", r#"--components-extra="a"#]).err().unwrap();
    assert!(refused.to_string().contains("extraneous or missing"), "{refused}");
}

#[test]
fn manifests_of_a_directory_are_taken_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("kustomization.yaml", "namePrefix: my-\nresources: [all.yaml]\n");
    write("all.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: other}\n");
    let flag = format!("--manifests={}", folder.path().display());
    let expected = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "my-a", "namespace": "other" } });
    assert_eq!(objects(&[&flag]).unwrap(), [expected]);
    assert!(objects(&["--manifests=/nowhere"]).unwrap_err().to_string().starts_with("/nowhere: "));
}

/// CLI-INS02: as in the service, bases may lie elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn manifests_of_a_directory_may_name_urls() {
    const REMOTE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: remote, namespace: n}\n";
    let app = axum::Router::new().route("/remote.yaml", axum::routing::get(async || REMOTE));
    let server = weir_testkit::Server::start(app, None).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let text = format!("resources: ['http://{}/remote.yaml']\n", server.address());
    std::fs::write(folder.path().join("kustomization.yaml"), text).unwrap();
    let flag = format!("--manifests={}", folder.path().display());
    assert_eq!(names(&objects(&[&flag]).unwrap(), "ConfigMap"), ["remote"]);
}

/// As in Flux, so that the credentials count for the images below a path alone.
#[test]
fn the_pull_secret_is_for_the_whole_registry() {
    let flags = ["install", "--registry=r.io/org", "--image-pull-secret=pull", "--registry-creds=a:b"];
    let choice = Flags::parse_from(flags).choice;
    assert_eq!(choice.pull_secret().unwrap().unwrap().registry, "r.io/org");
}

#[rstest::rstest]
#[case("--components=nope", "component nope is not available")]
#[case(
    "--components-extra=helm-controller",
    "component helm-controller is not available: leave it out here and take Flux's own, which works with Weir; \
     docs/install.md, 'Helm releases', says how"
)]
#[case("--registry-creds=a:b", "--registry-creds requires --image-pull-secret to be set")]
#[case(
    "--registry-creds=a:b --image-pull-secret=pull",
    "--registry-creds requires --registry to be set: it names the host that they are for"
)]
#[case(
    "--registry-creds=a --image-pull-secret=pull --registry=r.io/weir",
    "invalid --registry-creds format, expected 'user:password'"
)]
fn what_cannot_be_installed_is_refused(#[case] flags: &str, #[case] expected: &str) {
    let flags: Vec<_> = flags.split(' ').collect();
    assert_eq!(objects(&flags).unwrap_err().to_string(), expected);
}

#[test]
fn source_watcher_is_part_of_source_controller() {
    let flags =
        Flags::parse_from(["install", "--components-extra=source-watcher,image-reflector-controller"]);
    let expected = [
        "source-controller",
        "kustomize-controller",
        "notification-controller",
        "image-reflector-controller",
    ];
    assert_eq!(flags.choice.components(), expected);
    assert_eq!(
        names(&objects(&["--components=source-watcher"]).unwrap(), "Deployment"),
        ["source-controller"]
    );
}
