//! The committed code is what the protobuf files generate.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prost::Message;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("proto/ is readable") {
        let path = entry.expect("proto/ is readable").path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
    found.sort();
}

fn generate(out: &Path) {
    let mut protos = Vec::new();
    files(&root(), &mut protos);
    let descriptors = protox::compile(&protos, [root()]).expect("proto/ compiles");
    std::fs::write(out.join("descriptor.bin"), descriptors.encode_to_vec()).expect("output is writable");
    tonic_prost_build::configure().out_dir(out).compile_fds(descriptors).expect("code generation");
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("folder is readable");
    let entries = entries.map(|entry| entry.expect("folder is readable"));
    entries
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with("google."))
        .map(|entry| {
            (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("file"))
        })
        .collect()
}

#[test]
fn generated_code_is_current() {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/gen");
    if std::env::var_os("WEIR_REGENERATE").is_some() {
        generate(&committed);
    }
    let fresh = tempfile::tempdir().expect("temporary folder");
    generate(fresh.path());
    let (committed, fresh) = (contents(&committed), contents(fresh.path()));
    assert_eq!(committed.keys().collect::<Vec<_>>(), fresh.keys().collect::<Vec<_>>());
    for (name, bytes) in &fresh {
        assert!(
            committed.get(name) == Some(bytes),
            "{name} is stale: WEIR_REGENERATE=1 cargo test -p weir-proto"
        );
    }
}
