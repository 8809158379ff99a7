//! Every target of the repository is one that CI replays.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

/// The `fuzz` folders of all crates.
fn rooms() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let crates = ["crates", "services"].map(|group| std::fs::read_dir(root.join(group)).unwrap());
    let folders = crates.into_iter().flatten().map(|entry| entry.unwrap().path().join("fuzz"));
    folders.filter(|folder| folder.is_dir()).collect()
}

/// The names of what is in a folder, less `.rs`.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let name = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    entries.map(|entry| name(entry.unwrap().path())).collect()
}

#[test]
fn every_target_is_built_seeded_replayed_and_documented() {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fuzzing.md")).unwrap();
    let mut count = 0;
    for room in rooms() {
        let read = |file: &str| std::fs::read_to_string(room.join(file)).unwrap();
        let (manifest, replay) = (read("Cargo.toml"), read("../tests/it/fuzz.rs"));
        let targets: Vec<String> = names(&room.join("fuzz_targets"))
            .into_iter()
            .filter(|name| read(&format!("fuzz_targets/{name}.rs")).contains("fuzz_target!("))
            .collect();
        for target in &targets {
            let file = format!("fuzz_targets/{target}.rs\"");
            assert!(manifest.contains(&file), "{target}: no [[bin]] in {}", room.display());
            assert!(replay.contains(&file), "{target}: not in tests/it/fuzz.rs of {}", room.display());
            assert!(
                !names(&room.join("seeds").join(target)).is_empty(),
                "{target}: no seeds in {}",
                room.display()
            );
            assert!(page.contains(&format!("| `{target}` |")), "{target}: not in docs/fuzzing.md");
        }
        let strays: Vec<String> =
            names(&room.join("seeds")).into_iter().filter(|name| !targets.contains(name)).collect();
        assert_eq!(strays, Vec::<String>::new(), "seeds of no target in {}", room.display());
        count += targets.len();
    }
    assert!(count > 30, "{count} targets were found");
}
