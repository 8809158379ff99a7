use crate::{FsPath, MemoryFs, Options, build};

fn built(files: &[(&str, &str)]) -> Result<String, String> {
    let fs = MemoryFs::from_files(files.iter().copied()).unwrap();
    let output = build(&fs, &FsPath::root(), &Options::gitops()).map_err(|error| error.to_string())?;
    Ok(output.to_yaml().unwrap())
}

const BINDING: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: crb}\n\
                       subjects:\n- {kind: ServiceAccount, name: default}\n\
                       - {kind: ServiceAccount, name: default, namespace: other}\n\
                       - {kind: ServiceAccount, name: sa, namespace: orig}\n\
                       - {kind: ServiceAccount, name: unknown, namespace: zzz}\n- {kind: User, name: default}\n";

#[test]
fn subjects_follow_the_namespace_of_service_accounts_in_the_build() {
    let out = built(&[
        ("kustomization.yaml", "namespace: newns\nresources: [crb.yaml, sa.yaml]\n"),
        ("crb.yaml", BINDING),
        ("sa.yaml", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: sa, namespace: orig}\n"),
    ])
    .unwrap();
    let namespaces: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("  namespace: ")).collect();
    assert_eq!(namespaces, ["newns", "newns", "newns", "zzz", "newns", "newns"]);
}

#[test]
fn references_lead_to_the_resource_of_the_same_overlay() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  volumes:\n  - {name: v, configMap: {name: c}}\n";
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
    let out = built(&[
        ("kustomization.yaml", "resources: [a, b]\n"),
        ("a/kustomization.yaml", "namePrefix: a-\nresources: [../base]\n"),
        ("b/kustomization.yaml", "namePrefix: b-\nresources: [../base]\n"),
        ("base/kustomization.yaml", "resources: [pod.yaml, config.yaml]\n"),
        ("base/pod.yaml", pod),
        ("base/config.yaml", config),
    ])
    .unwrap();
    assert_eq!(out.matches("      name: a-c").count(), 1, "{out}");
    assert_eq!(out.matches("      name: b-c").count(), 1, "{out}");
}

#[test]
fn names_nobody_changed_are_left_alone() {
    let out = built(&[
        ("kustomization.yaml", "namePrefix: x-\nresources: [pod.yaml]\n"),
        ("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {serviceAccountName: outside}\n"),
    ])
    .unwrap();
    assert!(out.contains("serviceAccountName: outside"), "{out}");
}
