//! D: what `kubectl` shows of the toolkit.

use std::time::Duration;

use anyhow::Result;
use weir_e2e::World;
use weir_testkit::wait_ready;

const PODINFO: &str = include_str!("manifests/d-podinfo.yaml");

/// Kinds, plurals and short names of this version.
const KINDS: [(&str, &str, &[&str]); 14] = [
    ("gitrepositories", "GitRepository", &["gitrepo"]),
    ("ocirepositories", "OCIRepository", &["ocirepo"]),
    ("buckets", "Bucket", &[]),
    ("helmrepositories", "HelmRepository", &["helmrepo"]),
    ("helmcharts", "HelmChart", &["hc"]),
    ("externalartifacts", "ExternalArtifact", &["ea"]),
    ("artifactgenerators", "ArtifactGenerator", &["ag"]),
    ("kustomizations", "Kustomization", &["ks"]),
    ("imagerepositories", "ImageRepository", &["imgrepo", "imagerepo"]),
    ("imagepolicies", "ImagePolicy", &["imgpol", "imagepol"]),
    ("imageupdateautomations", "ImageUpdateAutomation", &["iua", "imgupd", "imgauto"]),
    ("alerts", "Alert", &[]),
    ("providers", "Provider", &[]),
    ("receivers", "Receiver", &[]),
];

const DEADLINE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn d1_kubectl_lists_kinds_and_prints_columns() -> Result<()> {
    let world = World::start().await?;
    let repo = world.git.repo("podinfo")?;
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: podinfo}\n";
    let head = repo.commit("master", "podinfo", &[("kustomize/config.yaml", config)])?;
    let url = world.git.url("podinfo");
    world.apply("", &PODINFO.replace("https://github.com/stefanprodan/podinfo", &url)).await?;
    wait_ready(&world.api("Kustomization", "flux-system").await?, "podinfo", DEADLINE).await?;

    let resources = world.plane.kubectl(&["api-resources", "--no-headers"]).await?;
    for (plural, kind, short_names) in KINDS {
        let line = resources.lines().find(|line| line.starts_with(&format!("{plural} "))).unwrap_or_default();
        let words: Vec<_> = line.split_whitespace().collect();
        let joined = short_names.join(",");
        let shown = if short_names.is_empty() { None } else { Some(joined.as_str()) };
        assert_eq!(words.last(), Some(&kind), "{line}");
        assert_eq!(words.get(1).copied().filter(|word| !word.contains('/')), shown, "{line}");
    }

    let printed = world
        .plane
        .kubectl(&["get", "gitrepositories.source.toolkit.fluxcd.io", "-n", "flux-system"])
        .await?;
    assert_eq!(columns(&printed), ["NAME", "URL", "AGE", "READY", "STATUS"]);
    assert!(printed.contains(&url) && printed.contains("True"), "{printed}");
    assert!(printed.contains(&format!("stored artifact for revision 'master@sha1:{head}'")), "{printed}");

    let printed = world.plane.kubectl(&["get", "ks", "-n", "flux-system"]).await?;
    assert_eq!(columns(&printed), ["NAME", "AGE", "READY", "STATUS"]);
    assert!(printed.contains(&format!("Applied revision: master@sha1:{head}")), "{printed}");
    world.api("ConfigMap", "default").await?.get("podinfo").await?;
    Ok(())
}

fn columns(printed: &str) -> Vec<&str> {
    printed.lines().next().unwrap_or_default().split_whitespace().collect()
}
