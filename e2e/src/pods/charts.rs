//! Charts with Pods: D3's HelmRepository and HelmChart, and a release of C9, which Flux's helm-controller makes of Weir's sources.

use anyhow::{Result, ensure};
use axum::http::StatusCode;
use kube::api::DynamicObject;
use serde_json::json;
use weir_testkit::{FaultProxy, SinkAnswer, WebhookSink, wait_for, wait_gone, wait_ready};

use super::fleet::Fleet;
use super::flux::Flux;
use super::world::host_of;
use super::{DEADLINE, text};
use crate::{NAMESPACE, chart};

const CHART: &str = "create source chart web --source=HelmRepository/charts --chart=web --chart-version=1.x \
                     --interval=5m --export";
const RELEASE: &str = "create helmrelease web --source=HelmRepository/charts --chart=web --chart-version=1.x \
                       --target-namespace=prod --interval=5m --export";

/// Shows the chart's version in the cluster.
const TEMPLATE: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {version: '{{ .Chart.Version }}'}\n";

/// Files in the cluster's repository.
const REPOSITORY_FILE: &str = "clusters/prod/charts.yaml";
const CHART_FILE: &str = "clusters/prod/chart.yaml";
const RELEASE_FILE: &str = "clusters/prod/release.yaml";
const HELM_CONTROLLER_FILE: &str = "clusters/prod/helm-controller.yaml";

/// A repository of one chart, over HTTP.
pub(super) struct Charts<'a> {
    fleet: &'a Fleet<'a>,
    front: FaultProxy,
    server: WebhookSink,
}

impl<'a> Charts<'a> {
    pub(super) async fn new(fleet: &'a Fleet<'a>) -> Result<Self> {
        let server = WebhookSink::start().await?;
        let front = fleet.world.cluster.front_for(host_of(&server.url("/"))?).await?;
        Ok(Self { fleet, front, server })
    }

    /// D3: repository and chart by two commands whose manifests are committed; a newer version is pulled.
    pub(super) async fn are_pulled(&self) -> Result<()> {
        self.publish(&["1.0.0"])?;
        let url = format!("http://{}", self.front.address());
        let repository = format!("create source helm charts --url={url} --interval=5m --export");
        let files = [
            (REPOSITORY_FILE, self.fleet.weir(&repository).await?),
            (CHART_FILE, self.fleet.weir(CHART).await?),
        ];
        self.fleet.push("Add a chart", &files.each_ref().map(|(path, text)| (*path, text.as_str()))).await?;
        let charts = self.fleet.world.api("HelmChart", NAMESPACE).await?;
        wait_ready(&charts, "web", DEADLINE).await?;
        self.fleet.printed("get sources chart", &["pulled 'web' chart with version '1.0.0'"]).await?;
        self.publish(&["1.0.0", "1.1.0"])?;
        self.fleet.weir("reconcile source chart web --with-source").await?;
        self.fleet.printed("get sources chart", &["pulled 'web' chart with version '1.1.0'"]).await?;
        self.fleet.remove("Remove the chart", &[CHART_FILE]).await?;
        wait_gone(&charts, "web", DEADLINE).await?;
        Ok(())
    }

    /// C9: helm-controller comes from the cluster's repository too; what it installs follows the newest version of the chart.
    pub(super) async fn are_released(&self, flux: &Flux) -> Result<()> {
        let world = self.fleet.world;
        let controller = flux.helm_controller(world).await?;
        self.fleet.push("Add Flux's helm-controller", &[(HELM_CONTROLLER_FILE, &controller)]).await?;
        let release = self.fleet.weir(RELEASE).await?;
        self.fleet.push("Add a release", &[(RELEASE_FILE, &release)]).await?;
        self.shows("1.1.0").await?;
        self.publish(&["1.0.0", "1.1.0", "1.2.0"])?;
        self.fleet.weir("reconcile helmrelease web --with-source").await?;
        self.shows("1.2.0").await?;
        self.fleet.printed("get helmreleases", &["web", "web@1.2.0"]).await?;
        self.fleet.remove("Remove the release", &[RELEASE_FILE]).await?;
        wait_gone(&world.api("ConfigMap", "prod").await?, "web", DEADLINE).await?;
        Ok(())
    }

    /// Serves an index of these versions, and their packages.
    fn publish(&self, versions: &[&str]) -> Result<()> {
        let mut files = Vec::new();
        let mut entries = Vec::new();
        for version in versions {
            let package = format!("web-{version}.tgz");
            entries.push(json!({"apiVersion": "v2", "name": "web", "version": version, "urls": [package]}));
            files.push((
                format!("/{package}"),
                chart::package("web", version, &[("templates/web.yaml", TEMPLATE)])?,
            ));
        }
        let index = json!({"apiVersion": "v1", "entries": {"web": entries}});
        files.push(("/index.yaml".to_owned(), index.to_string().into_bytes()));
        self.server.answer_with(move |request| match files.iter().find(|(path, _)| *path == request.path) {
            Some((_, body)) => SinkAnswer { body: body.clone().into(), ..SinkAnswer::default() },
            None => SinkAnswer { status: StatusCode::NOT_FOUND, ..SinkAnswer::default() },
        });
        Ok(())
    }

    /// Waits for the object of the release of this version, whose package must have come from the repository.
    async fn shows(&self, version: &str) -> Result<()> {
        let maps = self.fleet.world.api("ConfigMap", "prod").await?;
        let shows = |map: Option<&DynamicObject>| {
            map.is_some_and(|map| text(&map.data, "/data/version").is_ok_and(|it| it == version))
        };
        wait_for(&maps, "web", version, DEADLINE, shows).await?;
        let package = format!("/web-{version}.tgz");
        let requests = self.server.requests();
        let downloads = requests.iter().filter(|request| request.path == package).count();
        ensure!(downloads > 0, "nobody has downloaded {package}");
        Ok(())
    }
}
