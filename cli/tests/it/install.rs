//! `weir install --export` (CLI-INS03).

use crate::weir::Weir;

#[tokio::test]
async fn manifests_are_printed_without_a_cluster() {
    let yaml = Weir::default().stdout("install --export --namespace gitops").await;
    let head: Vec<_> = yaml.lines().take(6).collect();
    insta::assert_snapshot!(head.join("\n").replace(env!("CARGO_PKG_VERSION"), "[version]"));
    assert!(yaml.contains("\n---\napiVersion: apps/v1\nkind: Deployment\n"));
}
