//! Builds in process, as the kustomize service makes them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use weir_kustomize::{MemoryFs, Options, RelPath, build};

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
spec:
  replicas: 2
  selector:
    matchLabels: {app: NAME}
  template:
    metadata:
      labels: {app: NAME}
    spec:
      serviceAccountName: workload
      containers:
      - name: app
        image: registry.example.com/apps/app:1.0.0
        envFrom:
        - configMapRef: {name: NAME}
        ports:
        - {name: http, containerPort: 8080}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: NAME
data:
  KEY: \"value\"
---
";

const OVERLAY: &str = "resources: [../base]
namePrefix: prod-
namespace: prod
labels:
- {pairs: {env: prod}, includeSelectors: true}
images:
- {name: registry.example.com/apps/app, newTag: 2.0.0}
patches:
- target: {kind: Deployment}
  patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: any}
    spec: {template: {spec: {containers: [{name: app, resources: {limits: {memory: 64Mi}}}]}}}
";

/// An overlay over `count` Deployments with a ConfigMap each.
fn tree(count: usize) -> MemoryFs {
    let resources: String =
        (0..count).map(|index| DEPLOYMENT.replace("NAME", &format!("app-{index}"))).collect();
    let mut fs = MemoryFs::new();
    fs.insert("base/kustomization.yaml", "resources: [all.yaml]\n").unwrap();
    fs.insert("base/all.yaml", resources).unwrap();
    fs.insert("prod/kustomization.yaml", OVERLAY).unwrap();
    fs
}

/// The cost per resource should not depend on their number.
fn overlays(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("overlay");
    let directory = RelPath::new("prod").unwrap();
    for count in [1, 50, 500, 2_500] {
        let fs = tree(count);
        group.sample_size(10).throughput(Throughput::Elements(count as u64 * 2));
        group.bench_with_input(BenchmarkId::from_parameter(count * 2), &fs, |bencher, fs| {
            bencher.iter(|| black_box(build(fs, &directory, &Options::gitops()).unwrap().to_yaml().unwrap()));
        });
    }
    group.finish();
}

criterion_group!(benches, overlays);
criterion_main!(benches);
