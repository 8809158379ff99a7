//! The cost of refusing hostile input. The peak is one of a process, so that each case is refused in its own.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

use rstest::rstest;
use weir_kustomize::{FsPath, Options, RootedFs, build};

use crate::hostile::{bomb, gibibyte};

/// Memory that a refusal may take, the test program included.
const MAX_PEAK_KIB: u64 = 64 << 10;
/// Names the directory that [`refuse_one_tree`] builds.
const DIRECTORY: &str = "WEIR_HOSTILE_TREE";

#[rstest]
#[case::aliases_of_aliases(bomb().into_bytes())]
#[case::gibibyte_of_aliases(gibibyte().into_bytes())]
#[case::deep_flow("[".repeat(10_000).into_bytes())]
#[case::deep_mappings("{a: ".repeat(10_000).into_bytes())]
#[case::deep_sequence("- ".repeat(10_000).into_bytes())]
#[case::deep_block((0..10_000).map(|level| format!("{}a:\n", " ".repeat(level))).collect::<String>().into_bytes())]
#[case::invalid_utf8(b"a: \xff".repeat(100_000))]
#[case::nul(b"a: \0\n".repeat(100_000))]
#[case::duplicate_keys("a: 1\n".repeat(100_000).into_bytes())]
#[case::too_large(vec![b'#'; 65 << 20])]
fn a_refusal_takes_little_memory(#[case] resource: Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kustomization.yaml"), "resources: [r.yaml]\n").unwrap();
    std::fs::write(folder.path().join("r.yaml"), resource).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "memory::refuse_one_tree", "--ignored", "--nocapture"]);
    let output = child.env(DIRECTORY, folder.path()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let peak = printed.lines().find_map(|line| line.strip_prefix("peak KiB: ")).expect(&printed);
    let peak: u64 = peak.parse().unwrap();
    assert!(peak < MAX_PEAK_KIB, "{peak} KiB");
}

#[test]
#[ignore = "the child of a_refusal_takes_little_memory"]
fn refuse_one_tree() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let fs = RootedFs::new(Path::new(&directory)).unwrap();
    let error = build(&fs, &FsPath::root(), &Options::gitops()).unwrap_err().to_string();
    assert!(error.len() < 2_000, "an error of {} bytes", error.len());
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("\npeak KiB: {}", peak.trim().trim_end_matches(" kB"));
}
