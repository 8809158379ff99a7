//! The benchmark of sources: a source controller alone beside a control plane and real servers; Weir's, and Flux's in the
//! same run where its binary is given.

mod objects;
mod remotes;
mod report;
mod subject;

use std::future::Future;
use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use serde_json::json;
use weir_testkit::{BucketProgram, BucketServer, ControlPlane, GitServer, Registry};

use self::objects::Objects;
use self::remotes::Content;
use self::subject::Subject;
use crate::bench::Programs;
use crate::bench::scenarios::{self, Results};
use crate::weir_process::crds;

/// Measures many small sources, a large repository, a large Helm index and a bucket of many objects.
#[derive(Debug, Parser)]
pub struct Options {
    /// Weir's source controller.
    #[arg(long, default_value = "target/release/source-controller")]
    weir: PathBuf,
    /// Flux's source controller; without it Weir's is measured alone.
    #[arg(long, env = "FLUX_SOURCE_CONTROLLER")]
    flux: Option<PathBuf>,
    /// OCIRepositories and GitRepositories.
    #[arg(long, default_value_t = 1000)]
    n: usize,
    /// MiB of each of the two large repositories.
    #[arg(long, default_value_t = 1024)]
    monorepo: usize,
    /// MiB of the Helm index.
    #[arg(long, default_value_t = 50)]
    index: usize,
    /// Objects of the bucket.
    #[arg(long, default_value_t = 10_000)]
    objects: usize,
    /// MiB of memory that the program may use, pages of files included; takes root.
    #[arg(long)]
    memory: Option<usize>,
    /// Scenarios: oci, git, monorepo, whole, helm, bucket; all by default.
    #[arg(long)]
    only: Vec<String>,
    /// Only print; leave docs/benchmarks-log.md as it is.
    #[arg(long)]
    dry_run: bool,
}

/// Runs the scenarios with each program.
///
/// # Errors
/// When a server does not start or a scenario does not end in time.
pub async fn run(options: &Options) -> Result<()> {
    let mut results = Results::default();
    let flux = options.flux.iter().map(|program| (Programs::FLUX, program.clone()));
    for (name, program) in [(Programs::WEIR, options.weir.clone())].into_iter().chain(flux) {
        let bench = Bench { name, program, options };
        bench.oci(&mut results).await?;
        bench.git(&mut results).await?;
        bench.monorepo(&mut results).await?;
        bench.whole(&mut results).await?;
        bench.helm(&mut results).await?;
        bench.bucket(&mut results).await?;
    }
    let text = report::section(&results, options)?;
    println!("\n{text}");
    if options.dry_run { Ok(()) } else { crate::bench::append(&text) }
}

struct Bench<'a> {
    name: &'static str,
    program: PathBuf,
    options: &'a Options,
}

/// A program that runs beside a control plane of its own.
struct Stage {
    // Fields drop in order: the program goes before what it talks to.
    subject: Subject,
    objects: Objects,
    plane: ControlPlane,
}

impl Bench<'_> {
    fn is_wanted(&self, scenario: &str) -> bool {
        self.options.only.is_empty() || self.options.only.iter().any(|only| scenario.starts_with(only))
    }

    async fn stage(&self) -> Result<Stage> {
        let plane = ControlPlane::options().audit().start().await?;
        plane.apply_crds(&crds()).await?;
        plane.namespace("flux-system").await?;
        let subject = Subject::start(&self.program, &plane, self.options.memory).await?;
        let objects = Objects::new(&plane).await?;
        Ok(Stage { subject, objects, plane })
    }

    async fn measure(
        &self,
        results: &mut Results,
        stage: &Stage,
        scenario: &'static str,
        units: usize,
        work: impl Future<Output = Result<()>>,
    ) -> Result<()> {
        let subject = scenarios::Subject {
            maker: self.name,
            controller: &stage.subject.controller,
            plane: &stage.plane,
        };
        results.measure(&subject, scenario, units, work).await
    }

    async fn oci(&self, results: &mut Results) -> Result<()> {
        if !self.is_wanted("oci") {
            return Ok(());
        }
        let (registry, stage) = (Registry::start().await?, self.stage().await?);
        registry.push_artifact("app", "v1", &[("app.yaml", "kind: ConfigMap\n")]).await?;
        let spec =
            json!({"interval": "1h", "url": registry.url("app"), "insecure": true, "ref": {"tag": "v1"}});
        let size = self.options.n;
        let work = stage.objects.create("OCIRepository", size, &spec);
        self.measure(results, &stage, "oci: to Ready", size, work).await?;
        let work = stage.objects.request("OCIRepository", size);
        self.measure(results, &stage, "oci: unchanged", size, work).await
    }

    async fn git(&self, results: &mut Results) -> Result<()> {
        if !self.is_wanted("git") {
            return Ok(());
        }
        let (server, stage) = (GitServer::start().await?, self.stage().await?);
        server.repo("app")?.commit("main", "first", &[("app.yaml", "kind: ConfigMap\n")])?;
        let spec = json!({"interval": "1h", "url": server.url("app"), "ref": {"branch": "main"}});
        let size = self.options.n;
        let work = stage.objects.create("GitRepository", size, &spec);
        self.measure(results, &stage, "git: to Ready", size, work).await?;
        let work = stage.objects.request("GitRepository", size);
        self.measure(results, &stage, "git: unchanged", size, work).await
    }

    /// Of a large repository only one folder becomes the artifact, as users of such repositories have it.
    async fn monorepo(&self, results: &mut Results) -> Result<()> {
        let scenarios = ["monorepo: to Ready", "monorepo: a one-file commit"];
        self.large(results, scenarios, Content::Noise, "/*\n!/deploy\n").await
    }

    /// All of a large repository becomes the artifact: a quarter of it cannot be compressed, the rest is like source code.
    async fn whole(&self, results: &mut Results) -> Result<()> {
        let scenarios = ["whole: to Ready", "whole: a one-file commit"];
        self.large(results, scenarios, Content::Mixed, "/.nothing\n").await
    }

    async fn large(
        &self,
        results: &mut Results,
        [first, next]: [&'static str; 2],
        content: Content,
        ignore: &str,
    ) -> Result<()> {
        if !self.is_wanted(first) {
            return Ok(());
        }
        let (server, stage) = (GitServer::start().await?, self.stage().await?);
        let repository = server.repo("mono")?;
        remotes::fill(&repository, self.options.monorepo, content)?;
        let spec = json!({"interval": "1h", "url": server.url("mono"), "ref": {"branch": "main"},
            "timeout": "10m", "ignore": ignore});
        let work = stage.objects.create("GitRepository", 1, &spec);
        self.measure(results, &stage, first, 1, work).await?;
        let id = repository.commit("main", "one file", &[("deploy/app.yaml", "kind: Secret\n")])?;
        let work = async {
            stage.objects.request("GitRepository", 1).await?;
            stage.objects.at("GitRepository", &id).await
        };
        self.measure(results, &stage, next, 1, work).await
    }

    async fn helm(&self, results: &mut Results) -> Result<()> {
        if !self.is_wanted("helm") {
            return Ok(());
        }
        let (server, stage) = (remotes::serve_index(self.options.index).await?, self.stage().await?);
        let spec = json!({"interval": "1h", "url": format!("http://{}", server.address())});
        let work = stage.objects.create("HelmRepository", 1, &spec);
        self.measure(results, &stage, "helm: the index", 1, work).await?;
        let spec = json!({"interval": "1h", "chart": "chart-0", "version": "1.0.0",
            "sourceRef": {"kind": "HelmRepository", "name": "unit-0"}});
        let work = stage.objects.create("HelmChart", 1, &spec);
        self.measure(results, &stage, "helm: a chart of the index", 1, work).await
    }

    async fn bucket(&self, results: &mut Results) -> Result<()> {
        if !self.is_wanted("bucket") {
            return Ok(());
        }
        let Some(server) = BucketServer::start(BucketProgram::GoFakeS3).await? else { return Ok(()) };
        let stage = self.stage().await?;
        remotes::fill_bucket(&server, self.options.objects).await?;
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bucket"},
            "stringData": {"accesskey": "user", "secretkey": "password"}});
        stage.plane.apply(objects::NAMESPACE, secret).await?;
        let spec = json!({"interval": "1h", "bucketName": remotes::BUCKET, "endpoint": server.endpoint(),
            "insecure": true, "secretRef": {"name": "bucket"}, "timeout": "10m"});
        let work = stage.objects.create("Bucket", 1, &spec);
        self.measure(results, &stage, "bucket: to Ready", 1, work).await?;
        let work = stage.objects.request("Bucket", 1);
        self.measure(results, &stage, "bucket: unchanged", 1, work).await
    }
}
