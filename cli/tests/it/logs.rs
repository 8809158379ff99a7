//! `weir logs` (CLI-LOG01). The kubelet is a server of the test: the API server asks it for the logs of Pods.

use serde_json::{Value, json};
use weir_testkit::{Identity, SinkAnswer, TlsFront, WebhookSink};

use crate::world::World;

const SOURCE: &str = r#"I0101 not JSON
{"level":"info","ts":"2023-08-16T09:36:41.286Z","msg":"starting manager"}
{"level":"info","ts":"2023-08-16T09:36:42.286Z","msg":"stored artifact","controller":"gitrepository","controllerKind":"GitRepository","GitRepository":{"name":"podinfo","namespace":"NS"},"namespace":"NS","name":"podinfo"}
{"level":"error","ts":"2023-08-16T09:36:43.286Z","msg":"Reconciler error","error":"no such host","controllerKind":"GitRepository","namespace":"NS","name":"other"}
{"level":"debug","ts":"2023-08-16T09:36:44.286Z","msg":"nothing new","reconciler kind":"Bucket","controllerKind":"x","namespace":"elsewhere","name":"podinfo"}
"#;

const KUSTOMIZE: &str = r#"{"level":"info","ts":"2023-08-16T09:36:45.286Z","msg":"server-side apply completed","controllerKind":"Kustomization","namespace":"NS","name":"apps"}
"#;

/// An installation with two services, whose Pods are on a node that this test plays.
pub(crate) struct Installation {
    pub(crate) world: World,
    kubelet: WebhookSink,
    _front: TlsFront,
}

impl Installation {
    async fn new(namespace: &str) -> Self {
        Self::in_world(World::new(namespace).await).await
    }

    pub(crate) async fn in_world(world: World) -> Self {
        let namespace = &world.namespace.clone();
        let kubelet = WebhookSink::start().await.unwrap();
        let logs = namespace.clone();
        kubelet.answer_with(move |request| {
            let body = match request.path.as_str() {
                path if path.contains("source-controller") => SOURCE,
                path if path.contains("kustomize-controller") => KUSTOMIZE,
                _ => "",
            };
            SinkAnswer { body: body.replace("NS", &logs).into(), ..SinkAnswer::default() }
        });
        let identity = Identity::for_names(&["127.0.0.1"]).unwrap();
        let address = kubelet.url("/").parse::<url::Url>().unwrap();
        let target = format!("127.0.0.1:{}", address.port().unwrap()).parse().unwrap();
        let front = TlsFront::start(&identity, target).await.unwrap();
        let node = format!("node-{namespace}");
        let object = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node } });
        world.plane.apply("", object).await.unwrap();
        let status = json!({
            "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": front.address().port() } },
        });
        patch_status(&world, "v1", "Node", &node, status).await;
        let installation = Self { world, kubelet, _front: front };
        installation.service("source-controller", &node, &["manager", "sidecar"]).await;
        installation.service("kustomize-controller", &node, &["manager"]).await;
        installation
    }

    async fn service(&self, name: &str, node: &str, containers: &[&str]) {
        let containers: Vec<_> =
            containers.iter().map(|name| json!({ "name": name, "image": "x" })).collect();
        let template =
            json!({ "metadata": { "labels": { "app": name } }, "spec": { "containers": containers } });
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": name, "labels": { "app.kubernetes.io/part-of": "flux" } },
            "spec": { "replicas": 0, "selector": { "matchLabels": { "app": name } }, "template": template },
        });
        self.world.plane.apply(&self.world.namespace, deployment).await.unwrap();
        for (pod, node) in [("running", Some(node)), ("waiting", None)] {
            let mut spec = template["spec"].clone();
            spec["nodeName"] = json!(node);
            let name = format!("{name}-{pod}");
            let object = json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "labels": template["metadata"]["labels"] }, "spec": spec,
            });
            self.world.plane.apply(&self.world.namespace, object).await.unwrap();
            let phase = if node.is_some() { "Running" } else { "Pending" };
            patch_status(&self.world, "v1", "Pod", &name, json!({ "phase": phase })).await;
        }
    }

    /// The commands to run in the installation's namespace.
    fn commands(&self) -> Vec<String> {
        let flags = [
            "",
            "-A",
            "-A --level error",
            "-A --kind bucket",
            "-A --name PODINFO",
            "--kind Kustomization --name apps",
            "-n elsewhere",
            // Lines of several Pods come as they are read.
            "-A --follow --kind GitRepository",
            "-A --tail 0x5 --since 90s",
            "-A --since-time 2023-08-16T09:36:43Z",
            "-A --tail -5 --since 500ms",
            "-A --since-time 2023-08-16T09:36:43+02:00 --kind= --name=",
            "-A --follow --level info --kind Kustomization",
            "--since-time 2023-08-16",
            "--since-time soon",
            "--since 1m --since-time 2023-08-16T09:36:43Z",
            "--level loud",
            "more",
        ];
        let namespace = &self.world.namespace;
        flags
            .iter()
            .map(|flags| format!("logs --flux-namespace {namespace} {flags}").trim_end().to_owned())
            .collect()
    }
}

async fn patch_status(world: &World, api_version: &str, kind: &str, name: &str, status: Value) {
    let api = world.plane.api(api_version, kind, &world.namespace).await.unwrap();
    let patch = kube::api::Patch::Merge(json!({ "status": status }));
    api.patch_status(name, &Default::default(), &patch).await.unwrap();
}

#[tokio::test]
async fn lines_are_those_of_one_pod_of_each_service() {
    let installation = Installation::new("logs").await;
    let commands = installation.commands();
    let mut commands: Vec<_> = commands.iter().map(String::as_str).collect();
    commands.push("logs --flux-namespace default");
    insta::assert_snapshot!(installation.world.weir().transcript(&commands).await);
    let requests = installation.kubelet.requests();
    let asked = |part: &str| {
        requests.iter().any(|request| request.path.contains(part) || request.query.contains(part))
    };
    assert!(asked("source-controller-running/manager") && asked("tailLines=5") && asked("sinceSeconds=90"));
    assert!(!asked("waiting"), "a Pod without a node has no logs");
}

/// Every replica that is ready is read: from here nobody knows which one works, and which one is in waiting. The environment says where the
/// services are.
#[tokio::test]
async fn lines_of_all_ready_replicas_are_printed() {
    let Installation { world, kubelet, .. } = &Installation::new("logs-replicas").await;
    let pod = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": name, "labels": { "app": "source-controller" } },
            "spec": { "nodeName": "node-logs-replicas", "containers": [{ "name": "manager", "image": "x" }] },
        })
    };
    for name in ["source-controller-standby", "source-controller-starting"] {
        world.plane.apply(&world.namespace, pod(name)).await.unwrap();
    }
    for (name, ready) in [("running", "True"), ("standby", "True"), ("starting", "False")] {
        let status = json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": ready }] });
        patch_status(world, "v1", "Pod", &format!("source-controller-{name}"), status).await;
    }
    let transcript = world.weir().transcript(&["logs -A --level error"]).await;
    assert_eq!(transcript.matches("GitRepository/other.logs-replicas").count(), 2, "{transcript}");
    let asked = |pod: &str| kubelet.requests().iter().any(|request| request.path.contains(pod));
    assert!(asked("source-controller-running") && asked("source-controller-standby"));
    assert!(!asked("source-controller-starting"));
}

#[tokio::test]
async fn flux_prints_the_same_lines() {
    let installation = Installation::new("logs-flux").await;
    let commands = installation.commands();
    let commands: Vec<_> =
        commands.iter().map(String::as_str).filter(|line| !line.ends_with("--level loud")).collect();
    installation.world.weir().agrees_wholly_with_flux(&commands).await;
}
