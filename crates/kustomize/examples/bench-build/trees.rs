//! The trees that need no generator.

use std::path::{Path, PathBuf};

use anyhow::Result;

const HELLO_WORLD: [(&str, &str); 4] = [
    (
        "kustomization.yaml",
        "namePrefix: hello-\nresources: [deployment.yaml, service.yaml]\nconfigMapGenerator:\n- name: greeting\n  files: [greeting.txt]\n",
    ),
    ("greeting.txt", "Good Morning!\n"),
    (
        "service.yaml",
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  selector: {app: web}\n  ports:\n  - port: 80\n",
    ),
    ("deployment.yaml", DEPLOYMENT),
];

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: app
        image: registry.example.com/web:1.0.0
        envFrom:
        - configMapRef: {name: greeting}
";

const OVERLAY: &str = "resources: [../base]
namePrefix: prod-
namespace: prod
labels:
- {pairs: {env: prod}, includeSelectors: true}
images:
- {name: registry.example.com/web, newTag: 2.0.0}
";

/// A Deployment, a Service and a generated ConfigMap.
pub(crate) fn hello_world(folder: &Path) -> Result<PathBuf> {
    for (name, content) in HELLO_WORLD {
        std::fs::write(folder.join(name), content)?;
    }
    Ok(folder.to_owned())
}

/// An overlay over `count` resources: Deployments, and a ConfigMap for each to refer to.
pub(crate) fn of_size(folder: &Path, count: usize) -> Result<PathBuf> {
    let (base, overlay) = (folder.join("base"), folder.join("prod"));
    std::fs::create_dir_all(&base)?;
    std::fs::create_dir_all(&overlay)?;
    let mut resources = String::new();
    for index in 0..count / 2 {
        let deployment = DEPLOYMENT.replace("web\n", &format!("web-{index}\n"));
        let deployment = deployment.replace("greeting", &format!("greeting-{index}"));
        let config =
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: greeting-{index}\ndata:\n  a: b\n");
        std::fs::write(base.join(format!("{index}.yaml")), format!("{deployment}---\n{config}"))?;
        resources.push_str(&format!("- {index}.yaml\n"));
    }
    std::fs::write(base.join("kustomization.yaml"), format!("resources:\n{resources}"))?;
    std::fs::write(overlay.join("kustomization.yaml"), OVERLAY)?;
    Ok(overlay)
}

/// A kustomization of this one file.
pub(crate) fn around(folder: &Path, resource: &[u8]) -> Result<PathBuf> {
    std::fs::write(folder.join("kustomization.yaml"), "resources: [resource.yaml]\n")?;
    std::fs::write(folder.join("resource.yaml"), resource)?;
    Ok(folder.to_owned())
}

/// Files that are small and mean harm.
pub(crate) fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    const HEAD: &str = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n";
    let bomb: String = (1..12)
        .map(|level| format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(",")))
        .collect();
    let megabyte = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 1024].join(","));
    vec![
        ("aliases of aliases, 10^12 nodes", format!("{HEAD}a0: &a0 [x,x]\n{bomb}").into_bytes()),
        ("1 GiB of one alias", format!("{HEAD}{megabyte}").into_bytes()),
        ("10,000 levels, flow", format!("{HEAD}a: {}", "[".repeat(10_000)).into_bytes()),
        ("10,000 levels, block", (0..10_000).map(|_| "- ").collect::<String>().into_bytes()),
        ("invalid UTF-8", format!("{HEAD}a: ").bytes().chain(*b"\xff\xfe").collect()),
        ("a NUL byte", format!("{HEAD}a: \0").into_bytes()),
        ("a key twice", format!("{HEAD}x: 1\nx: 2\n").into_bytes()),
    ]
}
