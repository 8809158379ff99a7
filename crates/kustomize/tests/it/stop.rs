//! Builds that are given up end at their next step.

use parking_lot::Mutex;
use weir_kustomize::{DirEntry, FileKind, FileSystem, FsError, FsPath, MemoryFs, Options, Stop, build};

use crate::config_map;

/// Files; reading a certain one requests the stop.
struct Giving<'s> {
    files: MemoryFs,
    up_at: &'s str,
    stop: &'s Stop,
    read: Mutex<Vec<String>>,
}

impl FileSystem for Giving<'_> {
    fn read(&self, path: &FsPath, limit: u64) -> Result<Vec<u8>, FsError> {
        if path.as_str() == self.up_at {
            self.stop.request();
        }
        self.read.lock().push(path.as_str().to_owned());
        self.files.read(path, limit)
    }

    fn resolve(&self, path: &FsPath) -> Result<(FsPath, FileKind), FsError> {
        self.files.resolve(path)
    }

    fn list(&self, path: &FsPath) -> Result<Vec<DirEntry>, FsError> {
        self.files.list(path)
    }
}

/// Builds until the file is read; returns the error and the last file that was read.
fn given_up_at(up_at: &str, kustomization: &str) -> (String, String) {
    let (a, b) = (config_map("a"), config_map("b"));
    let files = [
        ("kustomization.yaml", kustomization),
        ("a.yaml", &*a),
        ("b.yaml", &*b),
        ("patch.yaml", r#"[{"op": "test", "path": "/nowhere", "value": 1}]"#),
    ];
    let stop = Stop::default();
    let files = MemoryFs::from_files(files).unwrap();
    let fs = Giving { files, up_at, stop: &stop, read: Mutex::default() };
    let options = Options { stop: stop.clone(), ..Options::gitops() };
    let error = build(&fs, &FsPath::root(), &options).unwrap_err().to_string();
    (error, fs.read.into_inner().pop().unwrap())
}

#[test]
fn no_more_files_are_added() {
    let (error, last) = given_up_at("a.yaml", "resources: [a.yaml, b.yaml]\n");
    assert!(error.ends_with("the build was given up"), "{error}");
    assert_eq!(last, "a.yaml");
}

/// The patch would fail.
#[test]
fn no_transformer_runs_any_more() {
    let patched = "resources: [a.yaml]\npatches: [{path: patch.yaml, target: {kind: ConfigMap}}]\n";
    let (error, _) = given_up_at("patch.yaml", patched);
    assert!(error.ends_with("the build was given up"), "{error}");
    let (error, _) = given_up_at("never", patched);
    assert!(!error.ends_with("the build was given up"), "{error}");
}

/// Names are fixed, and sums made, after all files were read.
#[test]
fn the_steps_after_the_last_file_end_too() {
    let (error, _) = given_up_at("b.yaml", "resources: [b.yaml]\n");
    assert!(error.ends_with("the build was given up"), "{error}");
}
