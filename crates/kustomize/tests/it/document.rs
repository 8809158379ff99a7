//! Builds of a document that the caller has made or changed, and what is asked of the result.

use weir_kustomize::{
    FsPath, Kustomization, MemoryFs, Options, Patch, Reorder, Selector, UnknownFields, Warning, build,
    build_kustomization, validate_manifest,
};

use crate::{built, config_map};

#[test]
fn a_document_stands_in_for_the_file() {
    let map = config_map("c");
    let fs = MemoryFs::from_files([
        ("app/kustomization.yaml", "resources: [c.yaml]\nfuture: field\n"),
        ("app/c.yaml", &map),
    ])
    .unwrap();
    let directory = FsPath::new("app").unwrap();
    let (path, mut document) = Kustomization::load(&fs, &directory, UnknownFields::Drop).unwrap().unwrap();
    assert_eq!(path.to_string(), "/app/kustomization.yaml");
    assert!(Kustomization::load(&fs, &directory, UnknownFields::Reject).is_err());
    document.namespace = "prod".to_owned();
    document.patches.push(Patch {
        patch: "[{\"op\": \"add\", \"path\": \"/data\", \"value\": {\"a\": \"1\"}}]".to_owned(),
        target: Some(Selector { kind: "ConfigMap".to_owned(), ..Selector::default() }),
        ..Patch::default()
    });
    let output = build_kustomization(&fs, &directory, document, &Options::gitops()).unwrap();
    let resource = &output.resources[0];
    assert_eq!((resource.kind(), resource.name(), resource.namespace()), ("ConfigMap", "c", "prod"));
    assert_eq!(resource.to_json().unwrap()["data"]["a"], "1");
}

#[test]
fn a_directory_without_file_builds_from_a_made_document() {
    let map = config_map("c");
    let fs = MemoryFs::from_files([("app/c.yaml", map.as_str())]).unwrap();
    let directory = FsPath::new("app").unwrap();
    assert!(Kustomization::load(&fs, &directory, UnknownFields::Drop).unwrap().is_none());
    let document = Kustomization { resources: vec!["./c.yaml".to_owned()], ..Kustomization::default() };
    let output = build_kustomization(&fs, &directory, document, &Options::gitops()).unwrap();
    assert_eq!(output.to_yaml().unwrap(), map);
}

#[test]
fn an_empty_document_is_refused_and_one_without_effect_builds_to_nothing() {
    let fs = MemoryFs::new();
    let empty = build_kustomization(&fs, &FsPath::root(), Kustomization::default(), &Options::gitops());
    assert_eq!(empty.unwrap_err().to_string(), "kustomization.yaml is empty");
    let placeholder = Kustomization { namespace: "_placeholder".to_owned(), ..Kustomization::default() };
    let output = build_kustomization(&fs, &FsPath::root(), placeholder, &Options::gitops()).unwrap();
    assert_eq!(output.to_yaml().unwrap(), "");
    assert!(built(&[("kustomization.yaml", "patches: []\n")], "").is_ok());
    assert!(built(&[("kustomization.yaml", "patches:\n")], "").is_err());
}

#[test]
fn deprecated_fields_are_told() {
    let map = config_map("c");
    let output =
        built(&[("kustomization.yaml", "commonLabels: {a: b}\nresources: [c.yaml]\n"), ("c.yaml", &map)], "");
    let warnings = output.unwrap().warnings;
    assert_eq!(warnings, [Warning::DeprecatedField { old: "commonLabels", new: "labels" }]);
    assert!(
        warnings[0]
            .to_string()
            .starts_with("# Warning: 'commonLabels' is deprecated. Please use 'labels' instead.")
    );
}

/// KZ-1301: as the reference, for any order that somebody asks for.
#[test]
fn an_order_that_the_root_overrules_is_told() {
    let map = config_map("c");
    let files =
        [("kustomization.yaml", "sortOptions: {order: fifo}\nresources: [c.yaml]\n"), ("c.yaml", &map)];
    let fs = MemoryFs::from_files(files).unwrap();
    for (reorder, is_told) in [
        (Reorder::Unset, false),
        (Reorder::Unspecified, false),
        (Reorder::Legacy, true),
        (Reorder::None, true),
    ] {
        let options = Options { reorder, ..Options::cli() };
        let warnings = build(&fs, &FsPath::root(), &options).unwrap().warnings;
        assert_eq!(warnings.contains(&Warning::SortedTwice), is_told, "{reorder:?}");
    }
}

#[test]
fn manifests_can_be_checked_without_building() {
    let check = |text: &str| validate_manifest(&FsPath::new("a.yaml").unwrap(), text.into());
    assert_eq!(check(&format!("{}---\n{}", config_map("a"), config_map("b"))).unwrap(), 2);
    assert_eq!(check("# nothing\n").unwrap(), 0);
    assert!(check("creation_rules: []\n").unwrap_err().to_string().contains("missing Resource metadata"));
}

/// The reference takes such a file for the input of a function, which has no objects.
#[test]
fn a_resource_list_without_items_is_nothing() {
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n";
    let count = |file: &str| {
        let files = [("kustomization.yaml", "resources: [l.yaml]\n"), ("l.yaml", file)];
        built(&files, "").unwrap().resources.len()
    };
    assert_eq!(count(&format!("{list}functionConfig: {{a: b}}\n")), 0);
    assert_eq!(
        count(&format!("{list}functionConfig: {{a: b}}\nitems: [{{kind: Foo, metadata: {{name: a}}}}]\n")),
        1
    );
    assert_eq!(count(list), 1);
}

#[test]
fn origins_name_the_file_that_a_document_stands_for() {
    let configured_in = |files: &[(&str, &str)]| {
        let fs = MemoryFs::from_files(files.iter().copied()).unwrap();
        let text = "configMapGenerator: [{name: c, literals: [a=b]}]\nbuildMetadata: [originAnnotations]\n";
        let document = Kustomization::parse(text.as_bytes(), UnknownFields::Drop).unwrap();
        let output = build_kustomization(&fs, &FsPath::new("app").unwrap(), document, &Options::gitops());
        let text = output.unwrap().to_yaml().unwrap();
        text.lines().find_map(|line| line.trim().strip_prefix("configuredIn: ").map(str::to_owned)).unwrap()
    };
    assert_eq!(configured_in(&[("app/kustomization.yml", "")]), "kustomization.yml");
    assert_eq!(configured_in(&[("app/Kustomization", "")]), "Kustomization");
    assert_eq!(configured_in(&[("app/x.yaml", "")]), "kustomization.yaml");
}
