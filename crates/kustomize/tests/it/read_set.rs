//! The read-set tells whether a build would come out the same.

use weir_kustomize::{MemoryFs, Options, RelPath, Seen, build};

use crate::config_map;

fn tree() -> MemoryFs {
    let map = config_map("c");
    let files = [
        ("app/kustomization.yaml", "resources: [c.yaml, ../base]\n"),
        ("app/c.yaml", map.as_str()),
        ("base/kustomization.yml", "configMapGenerator:\n- {name: g, files: [data.txt]}\n"),
        ("base/data.txt", "x"),
        ("unrelated.yaml", "a: 1"),
    ];
    MemoryFs::from_files(files).unwrap()
}

#[test]
fn it_holds_while_nothing_that_was_read_changes() {
    let mut fs = tree();
    let read_set = build(&fs, &RelPath::new("app").unwrap(), &Options::gitops()).unwrap().read_set;
    let files: Vec<String> = read_set
        .iter()
        .filter(|(_, seen)| matches!(seen, Seen::File { .. }))
        .map(|(path, _)| path.to_string())
        .collect();
    assert_eq!(
        files,
        ["/app/c.yaml", "/app/kustomization.yaml", "/base/data.txt", "/base/kustomization.yml"]
    );
    assert!(read_set.still_holds(&fs));
    fs.insert("unrelated.yaml", "a: 2").unwrap();
    assert!(read_set.still_holds(&fs));
    fs.insert("base/data.txt", "y").unwrap();
    assert!(!read_set.still_holds(&fs));
}

#[test]
fn it_breaks_when_something_appears_that_was_looked_for() {
    let mut fs = tree();
    let read_set = build(&fs, &RelPath::new("app").unwrap(), &Options::gitops()).unwrap().read_set;
    fs.insert("app/Kustomization", "namePrefix: a\n").unwrap();
    assert!(!read_set.still_holds(&fs));
}
