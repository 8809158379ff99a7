//! All of `deploy/kustomize`: each overlay and component, as users build and apply them.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use weir_e2e::{Installation, NAMESPACE, Overlay, SERVICES};
use weir_testkit::{ControlPlane, Folder, built_program, eventually, wait_for};

const DEADLINE: Duration = Duration::from_secs(90);

const OVERLAYS: [&str; 3] = ["default", "single", "sharded"];

/// The only component that drops a rule of Pod security: OpenShift sets the profile itself.
const OPENSHIFT: &str = "openshift";

/// Components that do not go with all others: tls is part of tls-self-signed, sharding of the overlay `sharded`, and one
/// volume serves one Pod.
const ALONE: [&str; 4] = ["tls", "sharding", "source-standby", OPENSHIFT];

fn overlay<'a>(base: &'a str, components: &'a [&'a str]) -> Overlay<'a> {
    Overlay { base, components, patches: "[]", images: "[]" }
}

/// Components that the overlay `single` takes too.
const OF_SINGLE: [&str; 7] = [
    "multi-tenancy",
    "workload-identity",
    "persistent-storage",
    "monitoring",
    "tolerations",
    "pull-secret",
    "tls-self-signed",
];

/// Each overlay alone, the default and the sharded one with each component, the default with all that go together, and the
/// single one with its own.
fn combinations() -> Result<Vec<(&'static str, Vec<String>)>> {
    let components = Installation::optional_components()?;
    assert!(ALONE.iter().all(|name| components.contains(*name)), "{components:?}");
    let mut all: Vec<_> = OVERLAYS.into_iter().map(|base| (base, vec![])).collect();
    for base in ["default", "sharded"] {
        all.extend(components.iter().map(|name| (base, vec![name.clone()])));
    }
    all.push(("single", OF_SINGLE.map(str::to_owned).into()));
    all.push(("single", OF_SINGLE.iter().rev().map(|name| (*name).to_owned()).collect()));
    all.push(("default", components.into_iter().filter(|name| !ALONE.contains(&name.as_str())).collect()));
    Ok(all)
}

#[tokio::test]
async fn everything_builds_to_the_bytes_of_kubectl() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    for (base, components) in combinations()? {
        let components: Vec<&str> = components.iter().map(String::as_str).collect();
        let (overlay, folder) = (overlay(base, &components), Folder::new("overlay")?);
        let path = overlay.write(folder.path())?;
        let kubectl = plane.kubectl(&["kustomize", &path.display().to_string()]).await?;
        let output = overlay.build()?;
        assert!(output.warnings.is_empty(), "{base} with {components:?}: {:?}", output.warnings);
        assert!(output.to_yaml()? == kubectl, "{base} with {components:?} is not what kubectl builds");
    }
    Ok(())
}

/// CMP-02: `weir uninstall` finds objects by this label (CLI-UNI01), also those of components that a user lists over an overlay,
/// whose labels do not reach them.
#[test]
fn each_object_has_the_label_of_the_installation() -> Result<()> {
    for (base, components) in combinations()? {
        let names: Vec<&str> = components.iter().map(String::as_str).collect();
        for object in Installation::of(overlay(base, &names))?.objects() {
            let label = object.pointer("/metadata/labels/app.kubernetes.io~1part-of");
            let (kind, name) = (&object["kind"], &object["metadata"]["name"]);
            assert_eq!(label, Some(&json!("flux")), "{base} with {components:?}: {kind} {name}");
        }
    }
    Ok(())
}

/// A Pod as its Deployment would have it made.
fn pod_of(deployment: &Value) -> Result<Pod> {
    let template = deployment.pointer("/spec/template").context("no template")?;
    let mut pod: Pod = serde_json::from_value(template.clone())?;
    pod.metadata.generate_name = Some("pod-".to_owned());
    // Accounts are made elsewhere, and admission would ask for this one.
    let spec = pod.spec.as_mut().context("no spec")?;
    spec.service_account_name = None;
    Ok(pod)
}

/// Has the API server judge a Pod by the rules of `restricted`; its refusal is the error.
async fn judged(plane: &ControlPlane, namespace: &str, pod: &Pod) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(plane.client()?, namespace);
    pods.create(&PostParams { dry_run: true, ..PostParams::default() }, pod).await?;
    Ok(())
}

async fn restricted(plane: &ControlPlane, namespace: &str) -> Result<()> {
    plane.namespace(namespace).await?;
    let label = "pod-security.kubernetes.io/enforce=restricted";
    plane.kubectl(&["label", "--overwrite", "namespace", namespace, label]).await?;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    plane.apply(namespace, account).await?;
    Ok(())
}

#[tokio::test]
async fn each_pod_is_restricted_and_writes_to_its_volumes_only() -> Result<()> {
    let (plane, namespace) = (ControlPlane::shared().await?, "restricted");
    restricted(plane, namespace).await?;
    for (base, components) in combinations()? {
        if components == [OPENSHIFT] {
            continue;
        }
        let names: Vec<&str> = components.iter().map(String::as_str).collect();
        let installation = Installation::of(overlay(base, &names))?;
        for deployment in installation.objects_of("Deployment") {
            let pod = pod_of(deployment)?;
            judged(plane, namespace, &pod).await.with_context(|| format!("{base} with {components:?}"))?;
            for container in pod.spec.context("no spec")?.containers {
                let context = container.security_context.context("no securityContext")?;
                assert_eq!(context.read_only_root_filesystem, Some(true), "{base} with {components:?}");
            }
        }
    }
    let installation = Installation::with_components(&[OPENSHIFT])?;
    let refused = judged(plane, namespace, &pod_of(installation.object("Deployment", SERVICES[0])?)?).await;
    let refused = refused.expect_err("OpenShift's variant has no profile").to_string();
    assert!(refused.contains("seccompProfile") && !refused.contains("runAsNonRoot"), "{refused}");
    Ok(())
}

#[tokio::test]
async fn kubectl_applies_the_default_overlay_and_its_pods_are_made() -> Result<()> {
    let plane = ControlPlane::start().await?;
    restricted(&plane, NAMESPACE).await?;
    let folder = Folder::new("overlay")?;
    let path = overlay("default", &[]).write(folder.path())?.display().to_string();
    plane.kubectl(&["apply", "--server-side", "-k", &path]).await?;
    let pods: Api<Pod> = Api::namespaced(plane.client()?, NAMESPACE);
    let made = async || {
        let pods = pods.list(&Default::default()).await.ok()?.items;
        let apps: BTreeSet<_> =
            pods.iter().filter_map(|pod| pod.metadata.labels.as_ref()?.get("app").cloned()).collect();
        (apps == SERVICES.map(str::to_owned).into()).then_some(())
    };
    eventually("Pods of all services", DEADLINE, made).await?;
    // Applied again, nothing changes; deleted, nothing is left.
    let again = plane.kubectl(&["diff", "--server-side", "-k", &path]).await?;
    assert_eq!(again, "");
    assert_ne!(not_deleted(&plane).await?, "");
    // The namespace goes first, and takes along what kubectl is about to delete.
    plane.kubectl(&["delete", "-k", &path, "--wait=false", "--ignore-not-found"]).await?;
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(plane.client()?);
    wait_for(&namespaces, NAMESPACE, "the namespace to be gone", DEADLINE, |found| found.is_none()).await?;
    assert_eq!(not_deleted(&plane).await?, "");
    Ok(())
}

/// Names the installation's objects without a namespace that nobody has asked to delete.
///
/// CRDs end when the API server gets to them, which is not ours to time.
async fn not_deleted(plane: &ControlPlane) -> Result<String> {
    let names = "{{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{end}}{{end}}";
    let (kinds, label) = ("crd,clusterrole,clusterrolebinding", "app.kubernetes.io/part-of=flux");
    let listed =
        plane.kubectl(&["get", kinds, "-l", label, "-o", "go-template", "--template", names]).await?;
    Ok(listed)
}

/// The port of a Service is one of exactly one Deployment's containers.
#[test]
fn each_service_leads_to_one_deployment() -> Result<()> {
    for base in OVERLAYS {
        let installation = Installation::of(overlay(base, &[]))?;
        for service in installation.objects_of("Service") {
            let app = service.pointer("/spec/selector/app").context("no app")?;
            let leads_there =
                |deployment: &&Value| deployment.pointer("/spec/template/metadata/labels/app") == Some(app);
            let deployments: Vec<_> = installation.objects_of("Deployment").filter(leads_there).collect();
            let [deployment] = deployments[..] else { panic!("{base}: {app} selects {}", deployments.len()) };
            assert_eq!(deployment.pointer("/spec/selector/matchLabels/app"), Some(app), "{base}");
            let ports =
                deployment.pointer("/spec/template/spec/containers/0/ports").and_then(Value::as_array);
            let named: BTreeSet<_> =
                ports.context("no ports")?.iter().map(|port| &port["name"]).map(Value::to_string).collect();
            for port in service.pointer("/spec/ports").and_then(Value::as_array).context("no ports")? {
                assert!(named.contains(&port["targetPort"].to_string()), "{base}: {app} has no {port}");
            }
        }
    }
    Ok(())
}

#[test]
fn the_single_deployment_has_the_rights_of_the_five() -> Result<()> {
    let single = Installation::of(overlay("single", &[]))?;
    let five = Installation::with_components(&[])?;
    let subject = json!({"kind": "ServiceAccount", "name": "weir", "namespace": NAMESPACE});
    for kind in ["ClusterRoleBinding", "RoleBinding"] {
        let bindings: Vec<_> = single.objects_of(kind).collect();
        assert_eq!(bindings.len(), five.objects_of(kind).count());
        for binding in bindings {
            let subjects = binding["subjects"].as_array().context("no subjects")?;
            assert!(subjects.contains(&subject), "{binding}");
        }
    }
    for kind in ["CustomResourceDefinition", "ClusterRole", "Role"] {
        assert!(single.objects_of(kind).eq(five.objects_of(kind)), "{kind}s differ");
    }
    assert_parsed(&single.arguments("weir")?)
}

fn assert_parsed(arguments: &[String]) -> Result<()> {
    let parsed = Command::new(built_program("weir")?).args(arguments).arg("--help").output()?;
    assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stderr));
    Ok(())
}

/// Tenants are locked in where one Deployment does all, too.
#[test]
fn the_single_deployment_has_the_flags_of_components() -> Result<()> {
    let flags = |components: &[&str], deployments: &[&str]| -> Result<BTreeSet<String>> {
        let base = if deployments == ["weir"] { "single" } else { "default" };
        let (with, without) =
            (Installation::of(overlay(base, components))?, Installation::of(overlay(base, &[]))?);
        let mut flags = BTreeSet::new();
        for name in deployments {
            let (with, without) = (with.arguments(name)?, without.arguments(name)?);
            flags.extend(with.into_iter().filter(|flag| !without.contains(flag)));
        }
        Ok(flags)
    };
    let (tenants, clouds) = ("multi-tenancy", "workload-identity");
    for components in
        [&[tenants][..], &[clouds], &["tls-self-signed"], &[tenants, clouds], &[clouds, tenants]]
    {
        let of_single = flags(components, &["weir"])?;
        assert!(!of_single.is_empty(), "{components:?}");
        assert_eq!(of_single, flags(components, &SERVICES)?, "{components:?}");
        assert_parsed(&Installation::of(overlay("single", components))?.arguments("weir")?)?;
    }
    Ok(())
}

/// KS-TEN-1, KS-DEC-10: where objects may have identities, those of tenants never get a service's own.
#[test]
fn tenants_log_in_to_clouds_as_themselves() -> Result<()> {
    let (tenants, clouds) = ("multi-tenancy", "workload-identity");
    for components in [[tenants, clouds], [clouds, tenants]] {
        for base in ["default", "sharded"] {
            let installation = Installation::of(overlay(base, &components))?;
            for deployment in installation.objects_of("Deployment") {
                let name = deployment["metadata"]["name"].as_str().context("no name")?;
                let arguments = installation.arguments(name)?;
                let given = |flag: &str| arguments.iter().filter(|it| *it == flag).count();
                assert_eq!(given("--default-service-account=default"), 1, "{base}: {name}");
                let builds = usize::from(name.starts_with("kustomize-controller"));
                assert_eq!(given("--default-decryption-service-account=default"), builds, "{base}: {name}");
                assert_eq!(given("--default-kubeconfig-service-account=default"), builds, "{base}: {name}");
            }
        }
    }
    // The other services refuse to start with the flag where the gate is off.
    let locked = Installation::with_components(&[tenants])?;
    for service in SERVICES {
        let has = locked.arguments(service)?.contains(&"--default-service-account=default".to_owned());
        assert_eq!(has, service == "kustomize-controller", "{service}");
    }
    Ok(())
}

/// Components that would break each other: a builder says so, whichever is listed first.
#[test]
fn components_that_do_not_go_together_are_refused() {
    for (one, other, reason) in [
        ("tls", "tls-self-signed", "tls is part of tls-self-signed, list one of them"),
        ("persistent-storage", "source-standby", "persistent-storage and source-standby do not go together"),
    ] {
        for components in [[one, other], [other, one]] {
            let refused = Installation::of(overlay("default", &components)).unwrap_err();
            assert!(format!("{refused:#}").contains(reason), "{components:?}: {refused:#}");
        }
    }
}

/// MAN-04, but for the group that may write to a claimed volume.
#[test]
fn pods_own_their_volumes_on_openshift() -> Result<()> {
    let installation = Installation::with_components(&[OPENSHIFT, "persistent-storage"])?;
    for deployment in installation.objects_of("Deployment") {
        let context = deployment.pointer("/spec/template/spec/securityContext");
        assert_eq!(context, Some(&json!({"fsGroup": 1337})), "{}", deployment["metadata"]["name"]);
    }
    Ok(())
}

/// CMP-26: users patch volumes by their place.
#[test]
fn components_leave_the_first_volume_where_it_is() -> Result<()> {
    for (base, components) in combinations()? {
        let names: Vec<&str> = components.iter().map(String::as_str).collect();
        for deployment in Installation::of(overlay(base, &names))?.objects_of("Deployment") {
            let volume = deployment.pointer("/spec/template/spec/volumes/0/name");
            let name = volume.and_then(Value::as_str).context("no volume")?;
            assert!(["data", "temp", "tmp"].contains(&name), "{base} with {components:?}: {name}");
        }
    }
    Ok(())
}

/// A standby is elsewhere, outlives a drain, and takes over in an upgrade; without the component all is as before.
#[tokio::test]
async fn a_standby_comes_and_goes() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let apply = async |components: &[&str]| -> Result<Value> {
        let folder = Folder::new("overlay")?;
        let path = overlay("default", components).write(folder.path())?.display().to_string();
        plane.kubectl(&["apply", "--server-side", "-k", &path]).await?;
        let get = ["get", "deployment", "source-controller", "-n", NAMESPACE, "-o", "json"];
        Ok(serde_json::from_str(&plane.kubectl(&get).await?)?)
    };
    let strategy = |deployment: &Value| {
        deployment.pointer("/spec/strategy/type").and_then(Value::as_str).map(str::to_owned)
    };
    apply(&[]).await?;
    let two = apply(&["source-standby"]).await?;
    assert_eq!((&two["spec"]["replicas"], strategy(&two).as_deref()), (&json!(2), Some("RollingUpdate")));
    let spread = two.pointer("/spec/template/spec/topologySpreadConstraints/0/topologyKey");
    assert_eq!(spread, Some(&json!("kubernetes.io/hostname")));
    let is_guarded = async || {
        let of_budget = ["get", "pdb", "source-controller", "-n", NAMESPACE, "-o", "json"];
        let budget: Value = serde_json::from_str(&plane.kubectl(&of_budget).await.ok()?).ok()?;
        (budget["status"]["expectedPods"] == 2).then_some(())
    };
    eventually("a budget for both Pods", DEADLINE, is_guarded).await?;
    let one = apply(&[]).await?;
    assert_eq!((&one["spec"]["replicas"], strategy(&one).as_deref()), (&json!(1), Some("Recreate")));
    Ok(())
}

/// One process has no standby and is no shard: a builder says so, in place of a Service that leads to no Pod.
#[test]
fn the_single_overlay_refuses_what_takes_five() {
    for component in ["source-standby", "sharding"] {
        let refused = Installation::of(overlay("single", &[component])).unwrap_err();
        let reason = format!("{component} is for five Deployments, not for the overlay single");
        assert!(format!("{refused:#}").contains(&reason), "{refused:#}");
    }
}

#[test]
fn artifacts_are_on_the_volume_that_is_claimed() -> Result<()> {
    for (base, deployment) in [("default", "source-controller"), ("single", "weir")] {
        let installation = Installation::of(overlay(base, &["persistent-storage"]))?;
        let volumes =
            installation.object("Deployment", deployment)?.pointer("/spec/template/spec/volumes").cloned();
        let claim = json!({"name": "data", "persistentVolumeClaim": {"claimName": "source-controller"}});
        assert_eq!(volumes.and_then(|volumes| volumes.get(0).cloned()), Some(claim), "{base}");
        installation.object("PersistentVolumeClaim", "source-controller")?;
    }
    Ok(())
}

/// An instance removes artifacts of objects that it does not work on, so that no two may have one volume.
#[test]
fn no_two_pods_share_a_volume() -> Result<()> {
    for (base, components) in combinations()? {
        let names: Vec<&str> = components.iter().map(String::as_str).collect();
        let mut claims = BTreeSet::new();
        for deployment in Installation::of(overlay(base, &names))?.objects_of("Deployment") {
            let volumes = deployment.pointer("/spec/template/spec/volumes").and_then(Value::as_array);
            for volume in volumes.into_iter().flatten() {
                let Some(claim) = volume.pointer("/persistentVolumeClaim/claimName") else { continue };
                assert!(claims.insert(claim.to_string()), "{base} with {components:?}: {claim}");
            }
        }
    }
    Ok(())
}

/// A build that lists them again fails, instead of making copies without a namespace.
#[test]
fn parts_of_the_default_overlay_are_refused_once_more() {
    for component in ["network-policies", "critical-pods-quota"] {
        let refused = Installation::of(overlay("default", &[component])).unwrap_err();
        assert!(format!("{refused:#}").contains("already registered id"), "{component}: {refused:#}");
    }
}

/// A shard that an overlay of one's own lists beside `sharded`.
#[test]
fn a_shard_is_in_the_namespace_of_its_accounts() -> Result<()> {
    let shard = Installation::of(overlay("../shards/shard1", &[]))?;
    assert_eq!(shard.objects().len(), 4);
    for object in shard.objects() {
        assert_eq!(object["metadata"]["namespace"], NAMESPACE, "{object}");
    }
    Ok(())
}

#[test]
fn every_service_has_the_gate_of_workload_identity() -> Result<()> {
    let installation = Installation::with_components(&["workload-identity"])?;
    for service in SERVICES {
        let gate = "--feature-gates=ObjectLevelWorkloadIdentity=true".to_owned();
        assert!(installation.arguments(service)?.contains(&gate), "{service}");
    }
    Ok(())
}

/// A shard acts on its label, the main instances on objects without one (SHA-01).
#[test]
fn shards_share_the_objects() -> Result<()> {
    let sharded = Installation::of(overlay("sharded", &[]))?;
    for service in ["source-controller", "kustomize-controller"] {
        for (name, selector) in [
            (service.to_owned(), "!sharding.fluxcd.io/key"),
            (format!("{service}-shard1"), "sharding.fluxcd.io/key=shard1"),
            (format!("{service}-shard2"), "sharding.fluxcd.io/key=shard2"),
        ] {
            let arguments = sharded.arguments(&name)?;
            let flag = "--watch-label-selector=";
            let given: Vec<_> = arguments.iter().filter_map(|argument| argument.strip_prefix(flag)).collect();
            assert_eq!(given, [selector], "{name}");
            let deployment = sharded.object("Deployment", &name)?;
            assert_eq!(deployment.pointer("/spec/template/spec/serviceAccountName"), Some(&json!(service)));
        }
    }
    Ok(())
}
