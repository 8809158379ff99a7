//! The files that a build may read (§3), and the steps named in messages of failures.

use rstest::rstest;
use weir_kustomize::{FsPath, LoadRestriction, MemoryFs, Options, RootedFs, build};

use crate::config_map;

fn build_error(files: &[(&str, &str)], directory: &str, restriction: LoadRestriction) -> String {
    let fs = MemoryFs::from_files(files.iter().copied()).unwrap();
    let options = Options { load_restriction: restriction, ..Options::gitops() };
    match build(&fs, &FsPath::new(directory).unwrap(), &options) {
        Ok(output) => panic!("built: {}", output.to_yaml().unwrap()),
        Err(error) => error.to_string(),
    }
}

#[rstest]
#[case("../c.yaml", "security; file '/c.yaml' is not in or below '/app'")]
#[case("/c.yaml", "security; file '/c.yaml' is not in or below '/app'")]
#[case("../../c.yaml", "path '../../c.yaml' is not in or below '/'")]
#[case(
    "../../c.yaml",
    "must build at directory: not a valid directory: fs-security-constraint abs ../../c.yaml"
)]
#[case("missing.yaml", "lstat /app/missing.yaml: no such file or directory")]
#[case(
    "none/at/all.yaml",
    "evalsymlink failure on '/app/none/at/all.yaml' : lstat /app/none: no such file or directory"
)]
#[case("https://example.com/x.yaml", "remote resource 'https://example.com/x.yaml' is not allowed")]
#[case("github.com/org/repo?ref=v1", "remote resource 'github.com/org/repo?ref=v1' is not allowed")]
#[case("git@github.com:org/repo", "is not allowed")]
#[case("../app", "cycle detected: candidate root '/app' contains visited root '/app'")]
#[case("..", "cycle detected: candidate root '/' contains visited root '/app'")]
#[case("../other - ../more", "path \"../other - ../more\" is ambiguous")]
#[case("", "new root cannot be empty")]
#[case(
    "empty",
    "unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '/app/empty'"
)]
#[case("twice", "Found multiple kustomization files under: /app/twice")]
fn resources_outside_of_what_is_allowed_are_refused(#[case] reference: &str, #[case] wanted: &str) {
    let map = config_map("c");
    let kustomization = format!("resources: ['{reference}']\n");
    let files = [
        ("app/kustomization.yaml", kustomization.as_str()),
        ("app/empty/x", ""),
        ("app/twice/kustomization.yaml", "namePrefix: a\n"),
        ("app/twice/Kustomization", "namePrefix: a\n"),
        ("c.yaml", &map),
    ];
    let error = build_error(&files, "app", LoadRestriction::RootOnly);
    assert!(error.contains(wanted), "{error}");
}

#[test]
fn without_restriction_files_of_the_whole_tree_may_be_read() {
    let map = config_map("c");
    let fs = MemoryFs::from_files([("app/kustomization.yaml", "resources: [../c.yaml]\n"), ("c.yaml", &map)])
        .unwrap();
    let output = build(&fs, &FsPath::new("app").unwrap(), &Options::gitops()).unwrap();
    assert_eq!(output.to_yaml().unwrap(), map);
}

#[rstest]
#[case("patches:\n- path: ../../secret\n  target: {kind: X}\n")]
#[case("configMapGenerator:\n- {name: c, files: [../../secret]}\n")]
#[case("configMapGenerator:\n- {name: c, envs: ['https://example.com/env']}\n")]
#[case("openapi: {path: ../../schema.json}\n")]
#[case("configurations: [../../config.yaml]\n")]
#[case("crds: [../../crd.json]\n")]
#[case("replacements: [{path: ../../r.yaml}]\n")]
#[case("components: [../../c]\n")]
#[case("transformers: [../../t.yaml]\n")]
fn no_field_leads_out_of_the_tree(#[case] kustomization: &str) {
    let error = build_error(&[("app/kustomization.yaml", kustomization)], "app", LoadRestriction::None);
    assert!(error.contains("is not in or below '/'") || error.contains("is not allowed"), "{error}");
}

#[rstest]
#[case("resources: [bad.yaml]")]
#[case("bases: [bad.yaml]")]
#[case("components: [bad.yaml]")]
#[case("patches: [{path: bad.yaml, target: {kind: X}}]")]
#[case("patchesStrategicMerge: [bad.yaml]")]
#[case("patchesJson6902: [{path: bad.yaml, target: {version: v1, kind: X, name: x}}]")]
#[case("replacements: [{path: bad.yaml}]")]
#[case("configurations: [bad.yaml]")]
#[case("crds: [bad.yaml]")]
#[case("openapi: {path: bad.yaml}")]
#[case("transformers: [bad.yaml]")]
#[case("generators: [bad.yaml]")]
#[case("validators: [bad.yaml]")]
#[case("configMapGenerator: [{name: g, files: [bad.yaml/none]}]")]
#[case("secretGenerator: [{name: g, envs: [bad.yaml/none]}]")]
fn errors_name_the_chain_of_files_that_led_to_them(#[case] base: &str) {
    let files = [
        ("top/kustomization.yaml", "resources: [../middle]\n"),
        ("middle/kustomization.yaml", "resources: [../base]\n"),
        ("base/kustomization.yaml", base),
        ("base/bad.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a\n"),
    ];
    let error = build_error(&files, "top", LoadRestriction::None);
    for part in ["'../middle'", "'/middle'", "'../base'", "/base: is a directory'", "bad.yaml"] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
}

#[test]
fn mistakes_in_the_kustomization_file_are_told_with_line_and_hint() {
    let files = [("kustomization.yaml", "namePrefix: a\nresource: [x.yaml]\n")];
    let error = build_error(&files, "", LoadRestriction::None);
    assert_eq!(
        error,
        "invalid Kustomization: json: unknown field \"resource\" (/kustomization.yaml:2, did you mean \"resources\"?)"
    );
    let files = [("kustomization.yaml", "images:\n- name: a\n  newTag: 1.0\n")];
    let error = build_error(&files, "", LoadRestriction::None);
    assert_eq!(
        error,
        "invalid Kustomization: json: cannot unmarshal number 1.0 into Go struct field Image.images.newTag of type \
         string (/kustomization.yaml:3)"
    );
}

#[test]
fn symlinks_that_leave_the_root_lead_nowhere() {
    let outside = tempfile::tempdir().unwrap();
    let root = outside.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(outside.path().join("secret.yaml"), config_map("stolen")).unwrap();
    std::os::unix::fs::symlink("../secret.yaml", root.join("inside.yaml")).unwrap();
    std::fs::write(root.join("kustomization.yaml"), "resources: [inside.yaml]\n").unwrap();
    let fs = RootedFs::new(&root).unwrap();
    let error = build(&fs, &FsPath::root(), &Options::gitops()).unwrap_err().to_string();
    assert!(error.contains("fs-security-constraint"), "{error}");
}

/// KZ-302: the restriction holds for the kustomization file itself, too.
#[test]
fn a_kustomization_file_that_leads_out_of_its_directory_is_none() {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in [("shared/k.yaml", "resources: [c.yaml]\n"), ("app/c.yaml", &config_map("c"))] {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    std::os::unix::fs::symlink("../shared/k.yaml", root.path().join("app/kustomization.yaml")).unwrap();
    let fs = RootedFs::new(root.path()).unwrap();
    let app = FsPath::new("app").unwrap();
    let error = build(&fs, &app, &Options::cli()).unwrap_err().to_string();
    assert!(error.contains("unable to find one of 'kustomization.yaml'"), "{error}");
    assert!(build(&fs, &app, &Options::gitops()).is_ok());
}
