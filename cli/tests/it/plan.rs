//! `weir plan`: a branch, a commit and a folder against what the services have applied. Then the branch is merged, and the cluster
//! becomes what the plan said.

use std::fmt::Write;

use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::{Value, json};
use weir_testkit::{ControlPlane, GitRepo, GitServer, repo_path, wait_for, wait_gone, wait_ready};

use crate::bootstrap::{Home, shown};
use crate::build::write;
use crate::weir::{DEADLINE, Weir};

const NAMESPACE: &str = "flux-system";
const GROUP: &str = "kustomize.toolkit.fluxcd.io/v1";

/// A Kustomization below the fleet's folder.
macro_rules! kustomization {
    ($name:literal, $more:literal) => {
        concat!(
            "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: ",
            $name,
            ", namespace: flux-system}\nspec: {interval: 10m, prune: true, path: ./",
            $name,
            ", sourceRef: {kind: GitRepository, name: fleet}",
            $more,
            "}\n"
        )
    };
}

/// A ConfigMap of the namespace.
macro_rules! config {
    ($name:literal, $data:literal) => {
        concat!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ",
            $name,
            ", namespace: flux-system}\ndata: {",
            $data,
            "}\n"
        )
    };
}

const MAIN: [(&str, &str); 7] = [
    (
        "fleet/all.yaml",
        concat!(
            kustomization!(
                "apps",
                ", dependsOn: [{name: infra}], postBuild: {substitute: {color: blue}, substituteFrom: [{kind: ConfigMap, name: vars}]}"
            ),
            kustomization!("infra", ""),
            kustomization!("old", "")
        ),
    ),
    (
        "apps/all.yaml",
        concat!(
            config!("web", "color: '${color}', owned: ours, shape: '${shape}'"),
            config!("goes", "a: b"),
            "---\napiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: flux-system}\nstringData: {key: before, same: same}\n"
        ),
    ),
    // The variables of `apps` are made by what is built after it.
    ("infra/all.yaml", concat!(config!("infra", "a: b"), config!("vars", "shape: round"))),
    ("old/all.yaml", config!("old", "a: b")),
    ("team/all.yaml", config!("team", "a: b")),
    ("paused/all.yaml", config!("paused", "a: b")),
    // The service does not see it: a plan must not either.
    (".sourceignore", "*.draft.yaml\n"),
];

/// The changes of the branch; an empty text deletes a file.
const FEATURE: [(&str, &str); 8] = [
    (
        "fleet/all.yaml",
        concat!(
            kustomization!(
                "apps",
                ", dependsOn: [{name: infra}], postBuild: {substitute: {color: green}, substituteFrom: [{kind: ConfigMap, name: vars}]}, ignore: [{paths: [/data/owned], target: {name: web}}]"
            ),
            kustomization!("extra", ", dependsOn: [{name: apps}]"),
            kustomization!("infra", "")
        ),
    ),
    (
        "apps/all.yaml",
        concat!(
            config!("web", "color: '${color}', owned: theirs, shape: '${shape}'"),
            "---\napiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: flux-system}\nstringData: {key: after, same: same}\n",
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop, namespace: shop}\n",
            "---\napiVersion: example.com/v1\nkind: Widget\nmetadata: {name: first, namespace: shop}\n"
        ),
    ),
    (
        "infra/all.yaml",
        concat!(
            config!("infra", "a: b"),
            config!("vars", "shape: square"),
            "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n",
            "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n",
            "spec: {group: example.com, scope: Namespaced, names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}, ",
            "versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n"
        ),
    ),
    ("old/all.yaml", ""),
    ("extra/all.yaml", config!("extra", "a: b")),
    ("team/all.yaml", config!("team", "a: c")),
    ("paused/all.yaml", config!("paused", "a: c")),
    ("apps/later.draft.yaml", "no: manifest\n"),
];

fn commit(repository: &GitRepo, branch: &str, files: &[(&str, &str)]) -> String {
    let mut change = repository.change(branch);
    for (path, text) in files {
        change = if text.is_empty() { change.delete(path) } else { change.file(path, text) };
    }
    change.commit().unwrap()
}

/// A fleet that the services have applied, from a repository that wants credentials.
struct Fleet {
    home: Home,
    repository: GitRepo,
    url: String,
    _server: GitServer,
}

impl Fleet {
    async fn start() -> Self {
        let plane = ControlPlane::start().await.unwrap();
        plane.apply_crds(&repo_path("deploy/kustomize/crds")).await.unwrap();
        for namespace in [NAMESPACE, "team"] {
            plane.namespace(namespace).await.unwrap();
        }
        let (home, server) = (Home::on(plane).await, GitServer::start().await.unwrap());
        let (repository, url) = (server.repo("private/fleet").unwrap(), server.url("private/fleet"));
        let main = commit(&repository, "main", &MAIN);
        repository.set_branch("feature", &main).unwrap();
        commit(&repository, "feature", &FEATURE);
        let fleet = Self { home, repository, url, _server: server };
        fleet.make().await;
        fleet
    }

    /// Makes the source and the Kustomizations that nobody else applies, and waits until all is applied.
    async fn make(&self) {
        let plane = &self.home.plane;
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "login" },
            "stringData": { "username": "user", "password": "pass" } });
        plane.apply(NAMESPACE, secret).await.unwrap();
        let source = json!({ "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": { "name": "fleet" },
            "spec": { "url": self.url, "interval": "10m", "ref": { "branch": "main" }, "secretRef": { "name": "login" } } });
        plane.apply(NAMESPACE, source).await.unwrap();
        let own = |name: &str, is_suspended: bool| {
            json!({ "apiVersion": GROUP, "kind": "Kustomization", "metadata": { "name": name },
                "spec": { "interval": "10m", "prune": true, "path": format!("./{name}"), "suspend": is_suspended,
                    "sourceRef": { "kind": "GitRepository", "name": "fleet", "namespace": NAMESPACE } } })
        };
        plane.apply(NAMESPACE, own("fleet", false)).await.unwrap();
        plane.apply(NAMESPACE, own("paused", true)).await.unwrap();
        plane.apply("team", own("team", false)).await.unwrap();
        for (namespace, name) in
            [(NAMESPACE, "fleet"), (NAMESPACE, "apps"), (NAMESPACE, "old"), ("team", "team")]
        {
            let api = self.api(GROUP, "Kustomization", namespace).await;
            wait_for(&api, name, "to exist", DEADLINE, |object| object.is_some()).await.unwrap();
            wait_ready(&api, name, DEADLINE).await.unwrap();
        }
    }

    async fn api(&self, version: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
        self.home.plane.api(version, kind, namespace).await.unwrap()
    }

    fn weir(&self) -> Weir {
        self.home.weir().with_env("FLUX_SYSTEM_NAMESPACE", NAMESPACE)
    }

    /// Lists the objects of the cluster, each with its version.
    async fn state(&self) -> String {
        let mut state = String::new();
        for (version, kind) in [("v1", "ConfigMap"), ("v1", "Secret"), (GROUP, "Kustomization")] {
            for namespace in [NAMESPACE, "team"] {
                let api = self.api(version, kind, namespace).await;
                for object in api.list(&ListParams::default()).await.unwrap() {
                    let version = object.resource_version().unwrap_or_default();
                    writeln!(state, "{kind} {namespace} {} {version}", object.name_any()).unwrap();
                }
            }
        }
        state
    }

    async fn transcript(&self, commands: &[&str]) -> String {
        shown(&self.weir().transcript(commands).await, &self.url)
    }
}

/// The lines of the plan of the branch that name objects.
const PLANNED: [&str; 22] = [
    "📁 Kustomization/flux-system/fleet changed",
    "► Kustomization/flux-system/apps drifted",
    "► Kustomization/flux-system/extra created",
    "► Kustomization/flux-system/old deleted",
    "📁 Kustomization/flux-system/old deleted",
    "► ConfigMap/flux-system/old deleted",
    "⚠️ Kustomization/flux-system/paused skipped: it is suspended",
    "📁 Kustomization/team/team changed",
    "► ConfigMap/flux-system/team drifted",
    "📁 Kustomization/flux-system/infra changed",
    "► ConfigMap/flux-system/vars drifted",
    "► Namespace/shop created",
    "► CustomResourceDefinition/widgets.example.com created",
    "📁 Kustomization/flux-system/apps changed",
    "► ConfigMap/flux-system/web drifted",
    "► Secret/flux-system/token drifted",
    "► ConfigMap/shop/shop created",
    "► Widget/shop/first created",
    "► ConfigMap/flux-system/goes deleted",
    "📁 Kustomization/flux-system/extra created",
    "► ConfigMap/flux-system/extra created",
    "6 to create, 5 to change, 3 to prune",
];

/// Returns the plan of a branch as programs read it.
async fn plan_of(fleet: &Fleet, branch: &str) -> Value {
    let text = fleet.weir().stdout(&format!("plan source git fleet --branch {branch} -o json")).await;
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_what_a_merge_makes_of_the_cluster() {
    let fleet = Fleet::start().await;
    let before = fleet.state().await;
    let none = json!({ "create": 0, "change": 0, "prune": 0 });
    assert_eq!(plan_of(&fleet, "main").await["summary"], none);
    let text = fleet.transcript(&["plan source git fleet --branch feature"]).await;
    let is_named = |line: &&str| {
        ["📁 ", "► ", "⚠️ "].iter().any(|sign| line.starts_with(sign)) || line.contains("to create")
    };
    assert_eq!(text.lines().filter(is_named).collect::<Vec<_>>(), PLANNED, "{text}");
    assert!(
        text.ends_with("[exit status: 1]\n\n") && text.contains("✔ fetched revision feature@sha1:[commit]"),
        "{text}"
    );
    assert!(text.contains("*** (after)") && !text.contains("theirs"), "Secrets and fields of others: {text}");
    let plan = plan_of(&fleet, "feature").await;
    let changes =
        plan["kustomizations"].as_array().unwrap().iter().flat_map(|it| it["changes"].as_array().unwrap());
    let web = changes.clone().find(|change| change["name"] == "web").unwrap();
    assert_eq!(
        web["differences"],
        json!([
            { "path": ["data", "color"], "before": "blue", "after": "green" },
            { "path": ["data", "shape"], "before": "round", "after": "square" },
        ])
    );
    assert_eq!(fleet.state().await, before, "a plan writes nothing");

    let feature = fleet.repository.head("feature").unwrap();
    fleet.repository.set_branch("main", &feature).unwrap();
    let transcript = fleet.transcript(&["reconcile source git fleet"]).await;
    assert!(!transcript.contains("exit status"), "{transcript}");
    let is_applied = |object: Option<&DynamicObject>| {
        let revision = object.and_then(|object| object.data.pointer("/status/lastAppliedRevision")?.as_str());
        revision.is_some_and(|revision| revision.ends_with(&feature))
    };
    for (namespace, name) in [
        (NAMESPACE, "fleet"),
        (NAMESPACE, "infra"),
        (NAMESPACE, "apps"),
        (NAMESPACE, "extra"),
        ("team", "team"),
    ] {
        let api = fleet.api(GROUP, "Kustomization", namespace).await;
        wait_for(&api, name, "the branch is applied", DEADLINE, is_applied).await.unwrap();
    }
    let maps = fleet.api("v1", "ConfigMap", NAMESPACE).await;
    for gone in ["old", "goes"] {
        wait_gone(&maps, gone, DEADLINE).await.unwrap();
    }
    let web = maps.get("web").await.unwrap();
    assert_eq!(web.data["data"], json!({ "color": "green", "owned": "ours", "shape": "square" }));
    assert_eq!(plan_of(&fleet, "main").await["summary"], none);
}

const COMMANDS: [&str; 7] = [
    "plan source git fleet --path checkout",
    "plan source git fleet --path broken",
    "plan source git fleet --branch nowhere",
    "plan source git fleet",
    "plan source git fleet --branch main --path checkout",
    "plan source git nowhere --path checkout",
    "plan source git fleet --path nowhere",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_stands_for_a_revision() {
    let fleet = Fleet::start().await;
    let folder = fleet.home.folder.path();
    write(&folder.join("checkout"), &MAIN);
    write(
        &folder.join("checkout"),
        &[("infra/all.yaml", concat!(config!("infra", "a: c"), config!("vars", "shape: round")))],
    );
    write(&folder.join("broken"), &[("fleet/all.yaml", MAIN[0].1), ("infra/all.yaml", "kind: none\n")]);
    insta::assert_snapshot!(fleet.transcript(&COMMANDS).await);
}

/// A parent that no longer applies its children; then one of them leaves its objects, and one may not be pruned.
#[tokio::test(flavor = "multi_thread")]
async fn kustomizations_that_go_take_their_objects_along() {
    let fleet = Fleet::start().await;
    let folder = fleet.home.folder.path();
    write(
        &folder.join("empty"),
        &[("fleet/kustomization.yaml", "resources: []\n"), ("team/all.yaml", MAIN[4].1)],
    );
    let gone = "plan source git fleet --path empty";
    let mut transcript = fleet.transcript(&[gone]).await;
    let keep = json!({ "apiVersion": GROUP, "kind": "Kustomization", "metadata": { "name": "apps" },
        "spec": { "deletionPolicy": "Orphan" } });
    let params = kube::api::PatchParams::apply("hand").force();
    let api = fleet.api(GROUP, "Kustomization", NAMESPACE).await;
    api.patch("apps", &params, &kube::api::Patch::Apply(&keep)).await.unwrap();
    let mark = json!({ "apiVersion": GROUP, "kind": "Kustomization",
        "metadata": { "name": "old", "annotations": { "kustomize.toolkit.fluxcd.io/prune": "disabled" } } });
    api.patch("old", &params, &kube::api::Patch::Apply(&mark)).await.unwrap();
    transcript.push_str(&fleet.transcript(&[gone]).await);
    // The service would refuse it.
    let limit = json!({ "metadata": { "annotations": { "kustomize.weir.dev/prune-limit": "2" } } });
    api.patch("fleet", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(limit)).await.unwrap();
    let warned = fleet.transcript(&[gone]).await;
    let expected = "2> ⚠️ Kustomization/flux-system/fleet: refused to prune 3 of 3 objects, the limit is 2: ";
    assert!(warned.contains(expected), "{warned}");
    insta::assert_snapshot!(transcript);
}
