//! Linker options of `weir`: at a fixed address, so that starting it relocates nothing (docs/adr/0005-fixed-address.md), and with
//! what daily commands run lying together (docs/adr/0012-build-order.md). The manifests of the services are put into it.

use std::env::var;
use std::path::{Path, PathBuf};

/// Folder of the manifests that `weir install` applies.
const MANIFESTS: &str = "../deploy/kustomize";

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    embed_manifests()?;
    link();
    Ok(())
}

/// Writes the table of the manifests: path and content of each file. New files are picked up.
fn embed_manifests() -> std::io::Result<()> {
    let root = Path::new(&var("CARGO_MANIFEST_DIR").unwrap_or_default()).join(MANIFESTS).canonicalize()?;
    println!("cargo::rerun-if-changed={}", root.display());
    let mut table = String::from("&[\n");
    for file in files(&root)? {
        let name = file.strip_prefix(&root).unwrap_or(&file).display();
        table.push_str(&format!(
            "    ({:?}, include_str!({:?})),\n",
            name.to_string(),
            file.display().to_string()
        ));
    }
    table.push_str("]\n");
    std::fs::write(Path::new(&var("OUT_DIR").unwrap_or_default()).join("manifests.rs"), table)
}

fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut entries: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        match entry.file_type()?.is_dir() {
            true => found.extend(files(&entry.path())?),
            false => found.push(entry.path()),
        }
    }
    Ok(found)
}

fn link() {
    println!("cargo::rerun-if-changed=build-order.ld");
    let target = |key: &str| var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    if target("OS") != "linux" || target("ENV") != "gnu" {
        return;
    }
    println!("cargo::rustc-link-arg-bin=weir=-no-pie");
    // A debug build is not measured, and is linked in a tenth of the time without; elsewhere rustc brings no linker along.
    if var("PROFILE").is_ok_and(|profile| profile == "release") && target("ARCH") == "x86_64" {
        let folder = var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bin=weir=-Wl,-T,{folder}/build-order.ld");
    }
}
