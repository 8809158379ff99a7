//! The conditions, Kubernetes events and events posted to `--events-addr` of a source of each kind through its life,
//! word by word (A8, SRC-REC-7…12, SRC-EVT-1…3). The texts are in `snapshots`.

use std::collections::BTreeMap;
use std::fmt::Write;

use k8s_openapi::api::core::v1::Event;
use kube::api::DynamicObject;
use rstest::rstest;
use serde_json::{Value, json};
use weir_testkit::{GitRepo, GitServer, Registry, SinkRequest, WebhookSink, eventually};

use crate::bucket::stand_in::StandIn;
use crate::chart_server::{ChartServer, chart};
use crate::transcript::{all_events, event_line, lines};
use crate::world::{DEADLINE, SOURCE, Setup, World};

const GIT: &str = "GitRepository";
const OCI: &str = "OCIRepository";
const BUCKET: &str = "Bucket";
const HELM: &str = "HelmRepository";
const CHART: &str = "HelmChart";

/// Servers that ask who one is.
struct Private {
    git: GitServer,
    repository: GitRepo,
    registry: Registry,
    bucket: StandIn,
    charts: ChartServer,
}

impl Private {
    async fn start() -> Self {
        let (git, registry) =
            (GitServer::start().await.unwrap(), Registry::start_with_basic_auth().await.unwrap());
        let repository = git.repo("private/app").unwrap();
        let (bucket, charts) = (StandIn::start(Some("AKID")).await, ChartServer::start().await);
        Self { git, repository, registry, bucket, charts }
    }

    /// Publishes the remote content of a source of the kind, for the `number`th time.
    async fn publish(&self, kind: &str, number: usize) {
        let text = format!("a: {number}\n");
        let versions: Vec<String> = (0..number).map(|minor| format!("1.{minor}.0")).collect();
        let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
        match kind {
            GIT => drop(
                self.repository.commit("main", &format!("change {number}"), &[("a.yaml", &text)]).unwrap(),
            ),
            OCI => drop(self.registry.push_artifact("app", "latest", &[("a.yaml", &text)]).await.unwrap()),
            BUCKET => self.bucket.put("a.yaml", &text),
            HELM => self.charts.publish("/private", &versions),
            _ => self.publish_index(&versions),
        }
    }

    /// An index that all may read, of packages that some may.
    fn publish_index(&self, versions: &[&str]) {
        let entry = |version: &&str| {
            let path = format!("/private/app-{version}.tgz");
            self.charts.put(&path, chart("app", version, &[]));
            json!({"apiVersion": "v2", "name": "app", "version": version, "urls": [path]})
        };
        let entries: Vec<Value> = versions.iter().map(entry).collect();
        let index = json!({"apiVersion": "v1", "entries": {"app": entries}});
        self.charts.put("/charts/index.yaml", index.to_string());
    }

    fn spec(&self, kind: &str) -> Value {
        let login = json!({"name": "login"});
        match kind {
            GIT => json!({"url": self.git.url("private/app"), "ref": {"branch": "main"}, "secretRef": login}),
            OCI => json!({"url": self.registry.url("app"), "insecure": true, "secretRef": login}),
            BUCKET => json!({
                "endpoint": self.bucket.endpoint(), "bucketName": "apps", "insecure": true, "secretRef": login,
            }),
            HELM => json!({"url": self.charts.url("/private"), "secretRef": login}),
            _ => json!({"chart": "app", "sourceRef": {"kind": HELM, "name": "repo"}}),
        }
    }

    /// Type and content of the Secret, with credentials that are right or wrong.
    fn login(&self, kind: &str, is_right: bool) -> (&'static str, Value) {
        let password = if is_right { "pass" } else { "hunter2" };
        match kind {
            OCI => {
                let auth =
                    json!({"auths": {self.registry.address(): {"username": "user", "password": password}}});
                ("kubernetes.io/dockerconfigjson", json!({".dockerconfigjson": auth.to_string()}))
            }
            BUCKET => {
                let key = if is_right { "AKID" } else { "NOPE" };
                ("Opaque", json!({"accesskey": key, "secretkey": password}))
            }
            _ => ("Opaque", json!({"username": "user", "password": password})),
        }
    }

    fn address(&self, kind: &str) -> String {
        match kind {
            GIT => self.git.url("").split('/').nth(2).unwrap().to_owned(),
            OCI => self.registry.address().to_owned(),
            BUCKET => self.bucket.endpoint(),
            _ => self.charts.address().to_string(),
        }
    }
}

/// A source in its life, and what was written down of it.
struct Story {
    kind: &'static str,
    world: World,
    sink: WebhookSink,
    servers: Private,
    /// Names that differ from run to run, with their replacements.
    names: Vec<(String, String)>,
    /// Names of events with their counts.
    told: BTreeMap<String, i32>,
    posted: usize,
    pages: String,
}

impl Story {
    async fn begin(kind: &'static str) -> Self {
        let (sink, servers) = (WebhookSink::start().await.unwrap(), Private::start().await);
        // Once is enough of what fails.
        let arguments = vec![format!("--events-addr={}", sink.url("/")), "--min-retry-delay=10m".to_owned()];
        let environment = vec![("HOSTNAME", "source-0".to_owned())];
        let world = World::start_as(Setup { arguments, environment, ..Setup::default() }).await;
        let names = vec![
            (world.namespace.clone(), "<namespace>".to_owned()),
            (servers.address(kind), "<server>".to_owned()),
        ];
        let story = Self {
            kind,
            world,
            sink,
            servers,
            names,
            told: BTreeMap::new(),
            posted: 0,
            pages: String::new(),
        };
        story.login(true).await;
        if kind == CHART {
            story.servers.publish(kind, 1).await;
            let spec = json!({
                "url": story.servers.charts.url("/charts"), "interval": "1h", "secretRef": {"name": "login"},
            });
            story.world.apply(HELM, "repo", spec).await;
            story.world.ready(HELM, "repo").await;
        }
        story
    }

    async fn login(&self, is_right: bool) {
        let (type_, data) = self.servers.login(self.kind, is_right);
        self.world.secret("login", type_, data).await;
    }

    async fn apply(&self) {
        let mut spec = self.servers.spec(self.kind);
        spec["interval"] = json!("1h");
        let annotations = json!({"event.toolkit.fluxcd.io/team": "web", "example.com/team": "kept"});
        let object = json!({
            "apiVersion": SOURCE, "kind": self.kind, "spec": spec,
            "metadata": {"name": "app", "annotations": annotations},
        });
        self.world.plane.apply(&self.world.namespace, object).await.unwrap();
    }

    /// Lets the source be looked at; a chart is, when its repository has something new.
    async fn look(&self) {
        if self.kind == CHART {
            self.world.reconciled(HELM, "repo").await;
        } else {
            self.world.reconciled(self.kind, "app").await;
        }
    }

    /// Writes down the present texts, as soon as this many events have been recorded and posted since the last page.
    async fn page(&mut self, title: &str, told: usize, posted: usize) {
        let object = self.world.api(self.kind).await.get("app").await.unwrap();
        self.learn(title, &object);
        let is_news = |event: &Event| {
            event.involved_object.uid == object.metadata.uid
                && self.told.get(event.metadata.name.as_ref().unwrap()) != event.count.as_ref()
        };
        let what = format!("{told} events, {posted} of them posted: {title}");
        let come = eventually(&what, DEADLINE, async || {
            let events: Vec<_> = all_events(&self.world).await.into_iter().filter(is_news).collect();
            let bodies = self.sink.requests().into_iter().map(|request| request.json());
            let bodies = bodies.filter(|body| body["involvedObject"]["kind"] == self.kind);
            let bodies: Vec<Value> = bodies.skip(self.posted).collect();
            (events.len() >= told && bodies.len() >= posted).then_some((events, bodies))
        });
        let (events, bodies) = come.await.unwrap();
        self.told
            .extend(events.iter().map(|event| (event.metadata.name.clone().unwrap(), event.count.unwrap())));
        self.posted += bodies.len();
        let mut page = format!("# {title}\n\n");
        for line in lines(&object.data["status"]) {
            writeln!(page, "{line}").unwrap();
        }
        for event in events {
            let annotations = serde_json::to_string(&event.metadata.annotations).unwrap();
            let from = event.source.as_ref().and_then(|source| source.component.clone()).unwrap();
            let again = if event.count > Some(1) { " again" } else { "" };
            write!(page, "\n{from} records{again} {}\n  {annotations}\n", event_line(event)).unwrap();
        }
        for mut body in bodies {
            assert_eq!(body["involvedObject"]["uid"], *object.metadata.uid.as_ref().unwrap());
            for place in ["/involvedObject/uid", "/involvedObject/resourceVersion", "/timestamp"] {
                let value = body.pointer_mut(place).unwrap_or_else(|| panic!("no {place}"));
                assert!(!value.as_str().unwrap().is_empty(), "{place}");
                *value = json!("<set>");
            }
            write!(page, "\nposts {body:#}\n").unwrap();
        }
        for (value, name) in &self.names {
            page = page.replace(value, name);
        }
        self.pages += &page;
        self.pages.push('\n');
    }

    /// Stops the controller, which first sends its remaining events: all of them have been written down already.
    async fn end(&mut self) {
        self.world.controller.stop(DEADLINE).await.unwrap();
        let of_kind = |request: &SinkRequest| request.json()["involvedObject"]["kind"] == self.kind;
        let posted: Vec<String> =
            self.sink.requests().iter().filter(|request| of_kind(request)).map(SinkRequest::text).collect();
        assert_eq!(posted.len(), self.posted, "{posted:#?}");
        let of_object = |event: &Event| {
            let involved = &event.involved_object;
            involved.kind.as_deref() == Some(self.kind) && involved.name.as_deref() == Some("app")
        };
        let events = all_events(&self.world).await.into_iter().filter(of_object);
        let told = events.map(|event| (event.metadata.name.unwrap(), event.count.unwrap()));
        assert_eq!(told.collect::<BTreeMap<_, _>>(), self.told);
    }

    /// Names digest and revision of the artifact, where they are new.
    fn learn(&mut self, title: &str, object: &DynamicObject) {
        for field in ["revision", "digest"] {
            let value = object.data["status"]["artifact"][field].as_str().unwrap();
            // The version of a chart is the same in each run.
            if value.contains(':') && !self.names.iter().any(|(known, _)| known == value) {
                self.names.push((value.to_owned(), format!("<{field} of {title}>")));
            }
        }
    }
}

/// Success, a new revision, an authentication failure, recovery.
#[rstest]
#[tokio::test]
async fn a_life(#[values(GIT, OCI, BUCKET, HELM, CHART)] kind: &'static str) {
    let mut story = Story::begin(kind).await;
    let is_ready = |object: &DynamicObject, status: &str, reason: &str| {
        weir_testkit::condition(object, "Ready")
            .is_some_and(|ready| ready.status == status && ready.reason == reason)
    };
    story.servers.publish(kind, 1).await;
    story.apply().await;
    story.world.ready(kind, "app").await;
    story.page("success", 1, 1).await;

    let before = story.world.api(kind).await.get("app").await.unwrap();
    let is_new = |object: &DynamicObject| {
        object.data["status"]["artifact"]["revision"] != before.data["status"]["artifact"]["revision"]
    };
    story.servers.publish(kind, 2).await;
    story.look().await;
    story.world.until(kind, "app", "a new artifact", is_new).await;
    story.page("a new revision", 1, 1).await;

    story.login(false).await;
    if kind == CHART {
        // A stored artifact is not fetched again.
        story.servers.publish(kind, 3).await;
    }
    story.look().await;
    story.world.failure(kind, "app").await;
    story.page("an authentication failure", 1, 1).await;

    story.login(true).await;
    story.world.reconciled(kind, "app").await;
    let success = if kind == CHART { "ChartPullSucceeded" } else { "Succeeded" };
    story.world.until(kind, "app", "recovery", |object| is_ready(object, "True", success)).await;
    story.page("recovery", if kind == CHART { 1 } else { 2 }, 1).await;
    story.end().await;
    insta::assert_snapshot!(format!("a_life_of_{kind}"), story.pages);
}
