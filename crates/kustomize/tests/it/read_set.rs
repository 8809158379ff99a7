//! The read-set shows if a build would come out the same.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use weir_kustomize::{DirEntry, FileKind, FileSystem, FsError, FsPath, MemoryFs, Options, Seen, build};

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
    let read_set = build(&fs, &FsPath::new("app").unwrap(), &Options::gitops()).unwrap().read_set;
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
    let read_set = build(&fs, &FsPath::new("app").unwrap(), &Options::gitops()).unwrap().read_set;
    fs.insert("app/Kustomization", "namePrefix: a\n").unwrap();
    assert!(!read_set.still_holds(&fs));
}

/// Counts how often each file is read.
struct Counting {
    files: MemoryFs,
    reads: Mutex<BTreeMap<String, usize>>,
}

impl FileSystem for Counting {
    fn read(&self, path: &FsPath, limit: u64) -> Result<Vec<u8>, FsError> {
        *self.reads.lock().entry(path.to_string()).or_default() += 1;
        self.files.read(path, limit)
    }

    fn resolve(&self, path: &FsPath) -> Result<(FsPath, FileKind), FsError> {
        self.files.resolve(path)
    }

    fn list(&self, path: &FsPath) -> Result<Vec<DirEntry>, FsError> {
        self.files.list(path)
    }
}

#[test]
fn a_base_of_several_overlays_is_read_once() {
    let overlay = |name: &str| format!("resources: [../base]\nnamePrefix: {name}-\n");
    let base = "resources: [c.yaml]\npatches: [{path: patch.json, target: {kind: ConfigMap}}]\n\
                configMapGenerator: [{name: g, files: [data.txt]}]\n";
    let files = MemoryFs::from_files([
        ("kustomization.yaml", "resources: [one, two]\n"),
        ("one/kustomization.yaml", &*overlay("one")),
        ("two/kustomization.yaml", &*overlay("two")),
        ("base/kustomization.yaml", base),
        ("base/c.yaml", &*config_map("c")),
        ("base/patch.json", "[{\"op\": \"add\", \"path\": \"/immutable\", \"value\": true}]"),
        ("base/data.txt", "x"),
    ]);
    let fs = Counting { files: files.unwrap(), reads: Mutex::default() };
    let output = build(&fs, &FsPath::root(), &Options::gitops()).unwrap();
    assert_eq!(output.resources.len(), 4);
    let reads = fs.reads.into_inner();
    assert_eq!(reads.len(), 7);
    assert!(reads.values().all(|count| *count == 1), "{reads:?}");
}
