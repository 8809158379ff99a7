//! A host, a cluster and rights other than those that tests usually have.

use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};
use weir_testkit::{ControlPlane, GitServer, condition, eventually, free_port, repo_path, wait_gone};

use crate::every_kind::Remotes;
use crate::transcript::{all_events, conditions, event_line};
use crate::world::{DEADLINE, Plane, SOURCE, Setup, World};

const CHART: &str = "HelmChart";

/// SRC-STO-2: an address of all interfaces is advertised by the host's name, also where no variable has it.
#[tokio::test]
async fn the_host_is_advertised_by_its_name() {
    let server = GitServer::start().await.unwrap();
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    let port = free_port().unwrap();
    let arguments = vec![format!("--storage-addr=0.0.0.0:{port}")];
    let kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let mut world = World::start_as(Setup {
        environment: vec![("HOSTNAME", String::new())],
        arguments: arguments.clone(),
        ..Setup::default()
    })
    .await;
    world.git("app", &server.url("app"), json!({})).await;
    for (variable, expected) in [("", kernel.trim()), ("source-0", "source-0")] {
        world.start_again(&[("HOSTNAME", variable)]);
        let status = world.reconciled("GitRepository", "app").await;
        let url = status["artifact"]["url"].as_str().unwrap();
        assert!(url.starts_with(&format!("http://{expected}:{port}/gitrepository/")), "{url}");
    }
}

/// Lets charts name sources of any kind, as the definitions of other versions may.
async fn any_source_kind(plane: &ControlPlane) {
    let definitions: Api<DynamicObject> =
        plane.api("apiextensions.k8s.io/v1", "CustomResourceDefinition", "").await.unwrap();
    let name = "helmcharts.source.toolkit.fluxcd.io";
    let mut definition = definitions.get(name).await.unwrap();
    for version in definition.data["spec"]["versions"].as_array_mut().unwrap() {
        let kind = version
            .pointer_mut("/schema/openAPIV3Schema/properties/spec/properties/sourceRef/properties/kind")
            .unwrap();
        kind.as_object_mut().unwrap().remove("enum").unwrap();
    }
    definitions.replace(name, &Default::default(), &definition).await.unwrap();
}

/// SRC-CHT-2: nothing but another spec can help, so that nobody tries again.
#[tokio::test]
async fn a_chart_of_an_unknown_kind_of_source_is_stalled() {
    let plane = Plane::Own(Box::new(ControlPlane::start().await.unwrap()));
    let world = World::start_on(plane, Setup::default()).await;
    any_source_kind(&world.plane).await;
    for kind in ["GitLab", "OCIRepository", "HelmChart"] {
        let name = kind.to_lowercase();
        let spec = json!({"chart": "app", "interval": "1h", "sourceRef": {"kind": kind, "name": "app"}});
        let object: Value =
            json!({"apiVersion": SOURCE, "kind": CHART, "metadata": {"name": name}, "spec": spec});
        // The API server takes a moment to notice.
        eventually("the kind to be taken", DEADLINE, async || {
            world.plane.apply(&world.namespace, object.clone()).await.ok()
        })
        .await
        .unwrap();
        let stalled = |object: &DynamicObject| condition(object, "Stalled").is_some();
        world.until(CHART, &name, "stalled", stalled).await;
        let message = format!(
            "failed to get source: unsupported source kind '{kind}', must be one of: [HelmRepository GitRepository Bucket]"
        );
        assert_eq!(
            conditions(&world, CHART, &name).await,
            [
                format!("Stalled True UnsupportedSourceKind: {message}"),
                format!("Ready False SourceUnavailable: {message}"),
                format!("FetchFailed True SourceUnavailable: {message}"),
            ]
        );
        let told = format!("Warning UnsupportedSourceKind: {message}");
        eventually("the event", DEADLINE, async || {
            all_events(&world).await.into_iter().any(|event| event_line(event) == told).then_some(())
        })
        .await
        .unwrap();
    }
}

/// SRC-OPS-8: the rights that the manifests give are enough, and no more than those of the account are used.
#[tokio::test]
async fn the_rights_of_the_deployment_are_enough() {
    let plane = ControlPlane::start().await.unwrap();
    plane.apply_crds(&repo_path("deploy/kustomize/crds")).await.unwrap();
    plane.namespace("flux-system").await.unwrap();
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "source-controller"}});
    plane.apply("flux-system", account).await.unwrap();
    let rights = repo_path("deploy/kustomize/base/rbac").display().to_string();
    plane.kubectl(&["apply", "--server-side", "-k", &rights]).await.unwrap();
    let rights = repo_path("deploy/kustomize/base/source-controller/rbac.yaml").display().to_string();
    plane.kubectl(&["apply", "--server-side", "-f", &rights]).await.unwrap();
    // The right to write Leases holds in the namespace of the service only.
    let namespace = plane.unique_namespace("source").await.unwrap();
    let lease = repo_path("deploy/kustomize/base/rbac/leader-election.yaml").display().to_string();
    plane.kubectl(&["apply", "--server-side", "-n", &namespace, "-f", &lease]).await.unwrap();
    let token = plane.service_account_token("flux-system", "source-controller").await.unwrap();
    let kubeconfig = Some(plane.kubeconfig_for(&token).unwrap());
    let arguments = vec!["--enable-leader-election".to_owned()];
    let setup = Setup { kubeconfig, arguments, ..Setup::default() };
    let world = World::start_in(Plane::Own(Box::new(plane)), namespace, setup);
    let plane = &world.plane;

    let remotes = Remotes::start().await;
    remotes.applied(&world).await;
    // Secrets, and accounts with their pull Secrets.
    world
        .secret("pull", "kubernetes.io/dockerconfigjson", json!({".dockerconfigjson": "{\"auths\":{}}"}))
        .await;
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "tenant"}, "imagePullSecrets": [{"name": "pull"}],
    });
    plane.apply(&world.namespace, account).await.unwrap();
    let tenant = json!({"ref": {"tag": "v1"}, "serviceAccountName": "tenant", "secretRef": {"name": "pull"}});
    world.oci("tenant", &remotes.registry.url("app"), tenant).await;
    world.ready("OCIRepository", "tenant").await;
    let copy = json!([{"from": "@app/**", "to": "@artifact/"}]);
    let generator = json!({
        "apiVersion": "source.extensions.fluxcd.io/v1beta1", "kind": "ArtifactGenerator", "metadata": {"name": "app"},
        "spec": {"sources": [{"alias": "app", "kind": "GitRepository", "name": "app"}],
            "artifacts": [{"name": "made", "copy": copy}]},
    });
    plane.apply(&world.namespace, generator).await.unwrap();
    world.until("ExternalArtifact", "made", "Ready", |object| condition(object, "Ready").is_some()).await;
    let told = async || {
        let events = all_events(&world).await;
        events.iter().any(|event| event.reason.as_deref() == Some("NewArtifact")).then_some(())
    };
    eventually("an event", DEADLINE, told).await.unwrap();
    for (kind, _) in remotes.sources().into_iter().rev() {
        let api = world.api(kind).await;
        api.delete("app", &Default::default()).await.unwrap();
        wait_gone(&api, "app", DEADLINE).await.unwrap();
    }
    let log = world.controller.log();
    assert!(!log.contains("forbidden"), "{log}");
}
