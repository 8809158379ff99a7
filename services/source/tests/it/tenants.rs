//! Everything of one namespace stays there (SRC-SCK-6). The controller watches all namespaces, of which only the
//! objects of this test are its own.

mod references;

use kube::core::DynamicObject;
use serde_json::{Value, json};
use weir_testkit::{condition, free_port, wait_for};

use crate::bucket::stand_in::StandIn;
use crate::chart_server::ChartServer;
use crate::world::{DEADLINE, SOURCE, Setup, World};

const HELM: &str = "HelmRepository";
const CHART: &str = "HelmChart";
const BUCKET: &str = "Bucket";
const GENERATOR: &str = "ArtifactGenerator";
const SHARD: &str = "sharding.fluxcd.io/key";

/// A controller of two tenants: the namespace of the world, and another one.
struct Tenants {
    world: World,
    shard: String,
    other: String,
}

fn setup(shard: &str, more: &[&str]) -> Setup {
    let selector = format!("--watch-label-selector={SHARD}={shard}");
    let flags = ["--watch-all-namespaces=true", selector.as_str()];
    Setup { arguments: flags.iter().chain(more).map(ToString::to_string).collect(), ..Setup::default() }
}

impl Tenants {
    async fn start() -> Self {
        let shard = format!("tenants-{}", free_port().unwrap());
        let world = World::start_as(setup(&shard, &[])).await;
        let other = world.plane.unique_namespace("other").await.unwrap();
        Self { world, shard, other }
    }

    async fn apply(&self, namespace: &str, kind: &str, name: &str, spec: Value) {
        let api = if kind == GENERATOR { "source.extensions.fluxcd.io/v1beta1" } else { SOURCE };
        let metadata = json!({"name": name, "labels": {SHARD: self.shard}});
        let object = json!({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec});
        self.world.plane.apply(namespace, object).await.unwrap();
    }

    async fn login(&self, namespace: &str) {
        let data = json!({"username": "user", "password": "pass"});
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "stringData": data});
        self.world.plane.apply(namespace, secret).await.unwrap();
    }

    /// Waits until Ready of the newest generation has this status, reason, and part of a message.
    async fn says(&self, namespace: &str, kind: &str, name: &str, expected: (&str, &str, &str)) {
        let api = if kind == GENERATOR { "source.extensions.fluxcd.io/v1beta1" } else { SOURCE };
        let api = self.world.plane.api(api, kind, namespace).await.unwrap();
        let (status, reason, part) = expected;
        let is_so = |object: Option<&DynamicObject>| {
            object.and_then(|object| condition(object, "Ready")).is_some_and(|ready| {
                (ready.status.as_str(), ready.reason.as_str()) == (status, reason)
                    && ready.message.contains(part)
            })
        };
        if let Err(error) = wait_for(&api, name, &format!("{expected:?}"), DEADLINE, is_so).await {
            panic!("{error}\n{:?}\n{}", api.get(name).await, self.world.controller.log_tail());
        }
    }
}

fn chart(kind: &str, source: &str, chart: &str) -> Value {
    json!({"chart": chart, "interval": "1h", "sourceRef": {"kind": kind, "name": source}})
}

#[tokio::test]
async fn references_stay_in_their_namespace() {
    let (tenants, server, bucket) =
        (Tenants::start().await, ChartServer::start().await, StandIn::start(None).await);
    let (own, other) = (tenants.world.namespace.as_str(), tenants.other.as_str());
    server.publish("/private/charts", &["1.0.0"]);
    let url = server.url("/private/charts");
    let private = |secret: &str| json!({"url": url, "interval": "1h", "secretRef": {"name": secret}});
    tenants.login(other).await;
    tenants.apply(other, HELM, "repo", private("login")).await;
    tenants.says(other, HELM, "repo", ("True", "Succeeded", "stored artifact")).await;

    // A source, by its name and by a name that would be a path.
    tenants.apply(own, CHART, "named", chart(HELM, "repo", "app")).await;
    tenants.apply(own, CHART, "path", chart(HELM, &format!("../{other}/repo"), "app")).await;
    for name in ["named", "path"] {
        tenants.says(own, CHART, name, ("False", "SourceUnavailable", "not found")).await;
    }
    // Credentials and stored index of a repository that a chart needs.
    let needs = format!("dependencies: [{{name: app, version: 1.x, repository: '{url}'}}]\n");
    bucket.put("web/Chart.yaml", &format!("apiVersion: v2\nname: web\nversion: 0.1.0\n{needs}"));
    tenants
        .apply(
            own,
            BUCKET,
            "src",
            json!({"endpoint": bucket.endpoint(), "bucketName": "apps", "interval": "1h", "insecure": true}),
        )
        .await;
    tenants.apply(own, CHART, "web", chart(BUCKET, "src", "web")).await;
    tenants.says(own, CHART, "web", ("False", "DependencyBuildError", "401 Unauthorized")).await;
    // A Secret, likewise.
    tenants.apply(own, HELM, "named", private("login")).await;
    tenants.apply(own, HELM, "path", private(&format!("../../{other}/secrets/login"))).await;
    let failed = "AuthenticationFailed";
    tenants.says(own, HELM, "named", ("False", failed, "secrets \"login\" not found")).await;
    tenants.says(own, HELM, "path", ("False", failed, "a name is no part of a path")).await;

    tenants.login(own).await;
    tenants
        .apply(own, HELM, "named", json!({"url": url, "interval": "2h", "secretRef": {"name": "login"}}))
        .await;
    tenants.says(own, HELM, "named", ("True", "Succeeded", "stored artifact")).await;
    tenants.apply(own, CHART, "again", chart(BUCKET, "src", "web")).await;
    tenants.says(own, CHART, "again", ("True", "ChartPackageSucceeded", "packaged 'web' chart")).await;
}

/// SRC-AGN-3: generators may reach other namespaces until the cluster's administrator forbids it.
#[tokio::test]
async fn generators_reach_other_namespaces_unless_that_is_forbidden() {
    let (mut tenants, bucket) = (Tenants::start().await, StandIn::start(None).await);
    let (own, other) = (tenants.world.namespace.clone(), tenants.other.clone());
    bucket.put("a.yaml", "a");
    let spec =
        json!({"endpoint": bucket.endpoint(), "bucketName": "apps", "interval": "1h", "insecure": true});
    for namespace in [&own, &other] {
        tenants.apply(namespace, BUCKET, "src", spec.clone()).await;
    }
    let generator = |name: &str, namespace: Option<&str>| {
        let mut source = json!({"alias": "src", "kind": BUCKET, "name": "src"});
        if let Some(namespace) = namespace {
            source["namespace"] = json!(namespace);
        }
        let copy = json!([{"from": "@src/**", "to": "@artifact/"}]);
        json!({"sources": [source], "artifacts": [{"name": name, "copy": copy}]})
    };
    tenants.apply(&own, GENERATOR, "far", generator("far", Some(&other))).await;
    tenants.says(&own, GENERATOR, "far", ("True", "Succeeded", "generated 1 artifact(s)")).await;

    tenants.world.controller.kill();
    tenants.world.start_as_again(setup(&tenants.shard, &["--no-cross-namespace-refs=true"]));
    let refused = format!("cross-namespace reference to source {BUCKET}/{other}/src is not allowed");
    tenants.says(&own, GENERATOR, "far", ("False", "AccessDenied", &refused)).await;
    tenants.apply(&own, GENERATOR, "near", generator("near", None)).await;
    tenants.apply(&own, GENERATOR, "told", generator("told", Some(&own))).await;
    for name in ["near", "told"] {
        tenants.says(&own, GENERATOR, name, ("True", "Succeeded", "generated 1 artifact(s)")).await;
    }
}
