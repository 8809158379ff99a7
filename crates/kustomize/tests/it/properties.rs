//! Laws that hold for every build.

use proptest::prelude::*;
use weir_kustomize::{FsPath, MemoryFs, Options, build};

use crate::{built, config_map};

/// A tree with a few resources that refer to each other by name.
fn tree(names: &[String], kustomization: &str) -> Vec<(String, String)> {
    let mut resources = String::new();
    for name in names {
        resources.push_str(&format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  k: \"{name}\"\n---\napiVersion: \
             v1\nkind: Pod\nmetadata:\n  name: {name}\nspec:\n  volumes:\n  - name: v\n    configMap:\n      name: \
             {name}\n---\n"
        ));
    }
    vec![
        ("base/kustomization.yaml".to_owned(), "resources: [r.yaml]\n".to_owned()),
        ("base/r.yaml".to_owned(), resources),
        ("top/kustomization.yaml".to_owned(), format!("resources: [../base]\n{kustomization}")),
    ]
}

fn output(files: &[(String, String)], directory: &str) -> String {
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    built(&files, directory).unwrap().to_yaml().unwrap()
}

fn names() -> impl Strategy<Value = Vec<String>> {
    // With a dash no name is a YAML boolean or number, which a prefix would free of its quotes.
    proptest::collection::hash_set("[a-z]{2}-[a-z0-9-]{0,8}[a-z]", 1..6)
        .prop_map(|names| names.into_iter().collect())
}

fn kustomization() -> impl Strategy<Value = String> {
    let parts = prop_oneof![
        Just("namePrefix: pre-\n"),
        Just("nameSuffix: -suf\n"),
        Just("namespace: ns\n"),
        Just("labels:\n- {pairs: {a: b}, includeSelectors: true}\n"),
        Just("commonAnnotations: {note: 'x: y'}\n"),
        Just("buildMetadata: [originAnnotations]\n"),
        Just("configMapGenerator:\n- {name: gen, literals: [a=b]}\n"),
    ];
    proptest::collection::hash_set(parts, 0..5).prop_map(|parts| parts.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn builds_are_deterministic(names in names(), kustomization in kustomization()) {
        let files = tree(&names, &kustomization);
        prop_assert_eq!(output(&files, "top"), output(&files, "top"));
    }

    #[test]
    fn building_the_output_again_changes_nothing(names in names(), kustomization in kustomization()) {
        let first = output(&tree(&names, &kustomization), "top");
        // Origins would be replaced by those of the second build.
        prop_assume!(!kustomization.contains("originAnnotations"));
        let mut fs = MemoryFs::new();
        fs.insert("kustomization.yaml", "resources: [all.yaml]\n").unwrap();
        fs.insert("all.yaml", first.clone()).unwrap();
        let second = build(&fs, &FsPath::root(), &Options::gitops()).unwrap().to_yaml().unwrap();
        prop_assert_eq!(first, second);
    }

    #[test]
    fn a_prefix_can_be_taken_off_again(names in names()) {
        let plain = output(&tree(&names, ""), "top");
        let prefixed = output(&tree(&names, "namePrefix: zz-\n"), "top");
        prop_assert_eq!(plain, prefixed.replace("name: zz-", "name: "));
    }

    #[test]
    fn any_text_survives_as_data(text in "\\PC{0,60}") {
        let mut fs = MemoryFs::new();
        fs.insert("kustomization.yaml", "configMapGenerator:\n- {name: c, files: [value]}\n").unwrap();
        fs.insert("value", text.clone()).unwrap();
        let made = build(&fs, &FsPath::root(), &Options::gitops()).unwrap();
        let mut fs = MemoryFs::new();
        fs.insert("kustomization.yaml", "resources: [all.yaml]\n").unwrap();
        fs.insert("all.yaml", made.to_yaml().unwrap()).unwrap();
        let read = build(&fs, &FsPath::root(), &Options::gitops()).unwrap();
        prop_assert_eq!(&read.resources[0].to_json().unwrap()["data"]["value"], &serde_json::Value::from(text));
    }
    #[test]
    fn quoted_lines_join_whatever_their_indentation(
        words in proptest::collection::vec("[a-z]{1,5}", 2..6),
        blanks in proptest::collection::vec("[ \t]{0,6}", 6),
        quote in "[\"']",
    ) {
        let lines: Vec<String> =
            words.iter().zip(&blanks).skip(1).map(|(word, blanks)| format!("\n{blanks}{word}")).collect();
        let map = config_map("c");
        let text = format!("{map}---\na:\n  - b: {quote}{}{}{quote}# c\n", words[0], lines.concat());
        let source = weir_yaml::Source::file("f.yaml", text);
        let nodes = weir_yaml::parse_documents(&source, &weir_yaml::Limits::default()).unwrap();
        prop_assert_eq!(&nodes[1].to_json().unwrap()["a"][0]["b"], &serde_json::Value::from(words.join(" ")));
    }
}
