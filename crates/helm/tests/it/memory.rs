//! The cost of reading a large index (A17, DEV 20). The peak is one of a process, so that each index is read in its
//! own.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::process::Command;

use rstest::rstest;
use weir_helm::index;

/// Memory that the index may take, the test program included.
const MAX_PEAK_KIB: u64 = 64 << 10;
/// Bytes of the index: the largest one that is taken by default.
const INDEX: u64 = 50 << 20;
/// Names the directory in which [`read_one_index`] finds an index.
const DIRECTORY: &str = "WEIR_LARGE_INDEX";

#[derive(Clone, Copy)]
enum Form {
    Yaml,
    Json,
}

/// An index of `INDEX` bytes: many charts of some versions, or one chart of many.
fn write_index(path: &Path, form: Form, charts: usize) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    let filler = "y".repeat(900);
    let (mut written, mut version, mut chart) = (0, 0, 0);
    let versions_each = INDEX as usize / (charts * (filler.len() + 100));
    let head = match form {
        Form::Yaml => "apiVersion: v1\nentries:\n",
        Form::Json => "{\"apiVersion\":\"v1\",\"entries\":{",
    };
    out.write_all(head.as_bytes()).unwrap();
    while written < INDEX - 4096 {
        let first = version % versions_each == 0 && chart < charts;
        chart += usize::from(first);
        version += 1;
        let line = match (form, first) {
            (Form::Yaml, true) => format!("  chart{chart}:\n"),
            (Form::Yaml, false) => String::new(),
            (Form::Json, true) if chart == 1 => format!("\"chart{chart}\":["),
            (Form::Json, true) => format!("],\"chart{chart}\":["),
            (Form::Json, false) => ",".to_owned(),
        };
        let entry = match form {
            Form::Yaml => format!(
                "  - name: chart{chart}\n    version: 1.0.{version}\n    description: {filler}\n    urls: [a.tgz]\n"
            ),
            Form::Json => format!(
                "{{\"name\":\"chart{chart}\",\"version\":\"1.0.{version}\",\"description\":\"{filler}\",\"urls\":[\"a.tgz\"]}}"
            ),
        };
        written += (line.len() + entry.len()) as u64;
        write!(out, "{line}{entry}").unwrap();
    }
    if matches!(form, Form::Json) {
        out.write_all(b"]}}").unwrap();
    }
    out.flush().unwrap();
}

#[rstest]
#[case::yaml_of_many_charts(Form::Yaml, 1000)]
#[case::json_of_many_charts(Form::Json, 1000)]
#[case::json_of_one_chart(Form::Json, 1)]
fn fifty_mebibytes_take_little_memory(#[case] form: Form, #[case] charts: usize) {
    let folder = tempfile::tempdir().unwrap();
    write_index(&folder.path().join("index.yaml"), form, charts);
    let (_, peak) = child("memory::read_one_index", folder.path());
    assert!(peak < MAX_PEAK_KIB, "{peak} KiB");
}

/// A scalar is held whole: one that is the whole index ends before it does harm (SRC-SCK-10).
#[rstest]
#[case::plain("apiVersion: v1\nentries:\n  a:\n  - name: ", "")]
#[case::quoted("apiVersion: v1\nentries:\n  a:\n  - description: \"", "\"\n")]
#[case::block("apiVersion: v1\nentries:\n  a:\n  - description: |\n      ", "\n")]
#[case::name("apiVersion: v1\nentries:\n  ? ", "\n")]
#[case::json("{\"apiVersion\":\"v1\",\"entries\":{\"a\":[{\"name\":\"", "\"}]}}")]
#[case::beside("annotations: {a: \"", "\"}\n")]
fn a_scalar_without_end_takes_little_memory(#[case] head: &str, #[case] tail: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.yaml");
    let mut out = File::create(&path).unwrap();
    out.write_all(head.as_bytes()).unwrap();
    std::io::copy(&mut std::io::repeat(b'x').take(INDEX), &mut out).unwrap();
    out.write_all(tail.as_bytes()).unwrap();
    let (printed, peak) = child("memory::refuse_one_index", folder.path());
    assert!(printed.contains("one entry of the index is larger than 1048576 bytes"), "{printed}");
    assert!(peak < MAX_PEAK_KIB, "{peak} KiB");
}

/// Runs a test of this module in a process of its own: what it prints and its peak in KiB.
fn child(test: &str, folder: &Path) -> (String, u64) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--ignored", "--nocapture"]);
    let output = child.env(DIRECTORY, folder).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let peak = printed.lines().find_map(|line| line.strip_prefix("peak KiB: ")).expect(&printed);
    let peak = peak.parse().unwrap();
    (printed, peak)
}

fn print_peak() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("\npeak KiB: {}", peak.trim().trim_end_matches(" kB"));
}

#[test]
#[ignore = "the child of a_scalar_without_end_takes_little_memory"]
fn refuse_one_index() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let raw = File::open(Path::new(&directory).join("index.yaml")).unwrap();
    println!("\n{}", index::convert(raw, &mut tempfile::tempfile().unwrap()).unwrap_err());
    print_peak();
}

#[test]
#[ignore = "the child of fifty_mebibytes_take_little_memory"]
fn read_one_index() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let directory = Path::new(&directory);
    let mut stored =
        File::options().read(true).write(true).create_new(true).open(directory.join("json")).unwrap();
    let converted = index::convert(File::open(directory.join("index.yaml")).unwrap(), &mut stored).unwrap();
    assert!(converted.releases > 45_000, "{converted:?}");
    let last =
        index::releases(File::open(directory.join("json")).unwrap(), &format!("chart{}", converted.charts));
    assert!(!last.unwrap().unwrap().is_empty());
    print_peak();
}
