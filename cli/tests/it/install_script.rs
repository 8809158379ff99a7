//! `deploy/install.sh`: the program of a release is installed when its checksum is right (MAN-05).

use std::path::Path;
use std::process::Command;

use weir_testkit::Folder;

/// Lays out a release whose program prints its version, and returns the checksum of its archive.
fn release(folder: &Folder) -> String {
    folder.write("weir", "#!/bin/sh\necho weir: v9.9.9\n").unwrap();
    let script = "chmod +x weir && name=weir_9.9.9_linux_$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/').tar.gz && \
                  tar -czf $name ./weir && sha256sum $name | tee checksums.txt";
    let made = Command::new("sh").args(["-c", script]).current_dir(folder.path()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    String::from_utf8(made.stdout).unwrap()
}

/// Runs the script, and returns its exit code and what it printed.
fn install(release: &Path, into: &Path) -> (Option<i32>, String) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/install.sh");
    let url = format!("file://{}", release.display());
    let output = Command::new("sh").arg(script).arg(url).arg(into).output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(printed).unwrap())
}

#[test]
fn the_program_of_a_release_is_installed() {
    let (files, bin) = (Folder::new("release").unwrap(), Folder::new("bin").unwrap());
    release(&files);
    let (code, printed) = install(files.path(), bin.path());
    assert_eq!((code, printed), (Some(0), format!("{}/weir: weir: v9.9.9\n", bin.path().display())));
}

#[test]
fn another_archive_than_the_checksum_says_is_not_installed() {
    let (files, bin) = (Folder::new("release").unwrap(), Folder::new("bin").unwrap());
    let sums = release(&files);
    let (_, name) = sums.trim().split_once("  ").unwrap();
    files.write(name, "something else").unwrap();
    let (code, printed) = install(files.path(), bin.path());
    assert_eq!(code, Some(1));
    assert_eq!(printed, format!("install.sh: {name} is not the file that checksums.txt names\n"));
    assert!(!bin.path().join("weir").exists());
}

#[test]
fn a_release_without_this_platform_is_refused() {
    let (files, bin) = (Folder::new("release").unwrap(), Folder::new("bin").unwrap());
    files.write("checksums.txt", format!("{}  weir_9.9.9_plan9_mips.tar.gz\n", "0".repeat(64))).unwrap();
    let (code, printed) = install(files.path(), bin.path());
    assert_eq!(code, Some(1));
    assert!(printed.starts_with("install.sh: the release has no program for linux on "), "{printed}");
}
