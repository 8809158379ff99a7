//! Large files, which are parsed beside each other.

use crate::{built, config_map};

/// A ConfigMap that is larger than the files that are parsed at once.
fn large(name: &str) -> String {
    format!("{}data:\n  text: {}\n", config_map(name), "x".repeat(100 << 10))
}

#[test]
fn files_and_directories_are_added_in_the_order_they_are_listed() {
    let names: Vec<String> = (0..10).map(|number| format!("m{number}")).collect();
    let mut list = Vec::new();
    let mut files = vec![("d/kustomization.yaml".to_owned(), "resources: [m.yaml]\n".to_owned())];
    files.push(("d/m.yaml".to_owned(), large("d")));
    for name in &names {
        // Among them a small file, and a directory.
        let content = if name == "m4" { config_map(name) } else { large(name) };
        files.push((format!("{name}.yaml"), content));
        list.push(format!("{name}.yaml"));
    }
    list.insert(7, "d".to_owned());
    files.push(("kustomization.yaml".to_owned(), format!("resources: [{}]\n", list.join(", "))));
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, content)| (path.as_str(), content.as_str())).collect();
    let output = built(&files, "").unwrap();
    let found: Vec<&str> = output.resources.iter().map(|resource| resource.name()).collect();
    assert_eq!(found, ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "d", "m7", "m8", "m9"]);
}

#[test]
fn the_first_mistake_is_the_one_that_is_told() {
    let (good, bad) = (large("a"), format!("{}\t- x\n", large("b")));
    let files = [
        ("kustomization.yaml", "resources: [a.yaml, b.yaml, again.yaml, missing.yaml]\n"),
        ("a.yaml", &*good),
        ("b.yaml", &*bad),
        ("again.yaml", &*good),
    ];
    let error = built(&files, "").unwrap_err().to_string();
    assert!(error.contains("MalformedYAMLError") && error.contains("b.yaml"), "{error}");
}
