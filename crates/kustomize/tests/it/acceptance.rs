//! One tree a line of the acceptance list (§20): what the requirements ask for most, built as `kustomize build` builds it and
//! compared byte by byte with what release v5.8.1 has printed for the same tree.
//!
//! A case is a text file in `acceptance/`: a first line with the requirements that it shows, the files of the tree,
//! each behind `== <path>`, and the output behind `== = output`.

use std::path::PathBuf;

use weir_kustomize::{FsPath, MemoryFs, Options, build};

use crate::conformance::difference;

/// Stands before the output; no path starts like this.
const OUTPUT: &str = "\n== = output\n";

fn tree(files: &str) -> MemoryFs {
    let mut fs = MemoryFs::new();
    for part in files.split("\n== ").skip(1) {
        let (path, content) = part.split_once('\n').unwrap();
        fs.insert(path, format!("{content}\n")).unwrap();
    }
    fs
}

#[rstest::rstest]
fn a_tree_is_built_as_the_reference_builds_it(#[files("tests/it/acceptance/*.txt")] case: PathBuf) {
    let text = std::fs::read_to_string(case).unwrap();
    let (files, wanted) = text.split_once(OUTPUT).unwrap();
    let output = build(&tree(files), &FsPath::root(), &Options::cli()).unwrap();
    let built = output.to_yaml().unwrap();
    assert!(built == wanted, "{}\n{built}", difference(wanted, &built));
}
