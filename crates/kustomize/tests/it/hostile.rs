//! Input that is meant to hurt: each case must fail fast and say why.

use std::time::Duration;

use rstest::rstest;
use weir_kustomize::{FsPath, MemoryFs, Options, build};

use crate::{built, config_map};

/// CPU time of one refusal. The goal is 100 ms; the rest is for slow machines and, without optimisation, for reading
/// the input at all. Wall time proves nothing on a machine that others use.
const PATIENCE: Duration =
    if cfg!(debug_assertions) { Duration::from_secs(4) } else { Duration::from_millis(300) };

/// Counters of the thread that reads them: nanoseconds of CPU time and of waiting, and how often it got its turn. A kernel that does
/// not count has zeros or no such file.
const COUNTERS: &str = "/proc/thread-self/schedstat";

/// CPU time that this thread has used. Where nobody counts it, a line says so, or the test fails.
fn cpu_time() -> Option<Duration> {
    let counted = std::fs::read_to_string(COUNTERS).map_err(|error| format!("{COUNTERS}: {error}"));
    let counted = counted.and_then(|counters| {
        let nanoseconds = counters.split(' ').next().and_then(|used| used.parse().ok());
        nanoseconds.filter(|_| counters.trim() != "0 0 0").ok_or_else(|| format!("{COUNTERS}: {counters}"))
    });
    weir_testkit::found_or_skipped("the CPU time of a thread", counted).unwrap().map(Duration::from_nanos)
}

/// Checks that some work takes no longer than it may.
fn in_time<T>(work: impl FnOnce() -> T) -> T {
    let before = cpu_time();
    let result = work();
    if let (Some(before), Some(after)) = (before, cpu_time()) {
        assert!(after - before < PATIENCE, "took {:?}", after - before);
    }
    result
}

fn ends_fast(resource: Vec<u8>) -> Result<String, String> {
    let mut fs = MemoryFs::new();
    fs.insert("kustomization.yaml", "resources: [r.yaml]\n").unwrap();
    fs.insert("r.yaml", resource).unwrap();
    let result =
        in_time(|| build(&fs, &FsPath::root(), &Options::gitops()).and_then(|output| output.to_yaml()));
    result.map_err(|error| error.to_string())
}

pub(crate) fn bomb() -> String {
    let mut text =
        String::from("apiVersion: v1\nkind: A\nmetadata: {name: a}\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        let list = vec![format!("*a{}", level - 1); 10].join(",");
        text.push_str(&format!("a{level}: &a{level} [{list}]\n"));
    }
    text
}

/// One megabyte, a thousand times: few nodes, much text.
pub(crate) fn gibibyte() -> String {
    let aliases = vec!["*a"; 1024].join(",");
    format!("apiVersion: v1\nkind: A\nmetadata: {{name: a}}\na: &a {}\nb: [{aliases}]\n", "x".repeat(1 << 20))
}

#[rstest]
#[case::gibibyte(gibibyte().into_bytes(), "excessive aliasing")]
#[case::many_documents_of_aliases(vec![format!("a: &a {}\nb: [*a,*a]\n", "x".repeat(1 << 20)); 20].join("---\n").into_bytes(), "excessive aliasing")]
#[case::alias_bomb(bomb().into_bytes(), "excessive aliasing")]
#[case::deep_flow(format!("a: {}", "[".repeat(100_000)).into_bytes(), "nested deeper than")]
#[case::deep_block((0..3_000).map(|level| format!("{}a:\n", " ".repeat(level))).collect::<String>().into_bytes(), "nested deeper than")]
#[case::invalid_utf8(b"a: \xff\xfe".to_vec(), "invalid UTF-8")]
#[case::nul(b"a: \0".to_vec(), "control characters are not allowed")]
#[case::too_large(vec![b'#'; 65 << 20], "is larger than")]
#[case::many_documents("a: 1\n---\n".repeat(60_000).into_bytes(), "more than 50000 documents")]
#[case::duplicate_key(b"apiVersion: v1\nkind: A\nmetadata: {name: a}\nx: 1\nx: 2\n".to_vec(), "mapping key \"x\" already defined at line 4")]
#[case::complex_key(b"{a: 1}: b\n".to_vec(), "keys must be scalars")]
#[case::self_alias(b"a: &a [*a]\n".to_vec(), "contains itself")]
fn hostile_resources_are_refused(#[case] resource: Vec<u8>, #[case] wanted: &str) {
    let error = ends_fast(resource).unwrap_err();
    assert!(error.contains(wanted), "{}", error.chars().take(500).collect::<String>());
}

const OBJECT: &str = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n";

/// Each of many small things must not look at the whole file again.
#[rstest]
#[case::aliases_below_a_comment(format!("#{}\n{OBJECT}a: &a 1\nb: [{}]\n", "x".repeat(4 << 20), "*a,".repeat(20_000)))]
#[case::merges_below_a_comment(format!("#{}\n{OBJECT}a: &a {{x: 1}}\nb: [{}]\n", "x".repeat(4 << 20), "{<<: *a},".repeat(10_000)))]
#[case::blocks_above_a_long_line(format!("{OBJECT}b:\n{}c: {}", "- |\n x\n y\n".repeat(10_000), "x".repeat(4 << 20)))]
fn large_resources_are_read_once(#[case] resource: String) {
    ends_fast(resource.into_bytes()).unwrap();
}

#[test]
fn a_map_of_many_keys_is_compared_once() {
    let keys = (0..100_000).map(|key| format!("\"k{key}\":1")).collect::<Vec<_>>().join(",");
    let (object, patch) = (
        format!("{OBJECT}b: {{{keys}}}\n"),
        format!("[{{\"op\":\"test\",\"path\":\"/b\",\"value\":{{{keys}}}}}]"),
    );
    let kustomization = "resources: [r.yaml]\npatches: [{path: p.json, target: {kind: A}}]\n";
    let files =
        [("kustomization.yaml", kustomization), ("r.yaml", object.as_str()), ("p.json", patch.as_str())];
    in_time(|| built(&files, "")).unwrap();
}

/// Types that refer to each other have paths without end, and many of them.
#[test]
fn types_that_refer_to_each_other() {
    let schema = |properties: &str| format!("{{\"Schema\": {{\"properties\": {{{properties}}}}}}}");
    let reference = |name: &str| format!("\"{name}\": {{\"$ref\": \"io.Node\"}}");
    let node = [reference("left"), reference("right")].join(",");
    let root = format!("\"kind\": {{}}, \"apiVersion\": {{}}, \"metadata\": {{}}, {node}");
    let types = format!("{{\"io.Root\": {}, \"io.Node\": {}}}", schema(&root), schema(&node));
    let files = [("kustomization.yaml", "crds: [types.json]\n"), ("types.json", types.as_str())];
    let error = in_time(|| built(&files, "")).unwrap_err().to_string();
    assert!(error.ends_with("'types.json': more than 100000 fields"), "{error}");
}

#[test]
fn bases_cannot_nest_without_end() {
    let mut files: Vec<(String, String)> = (0..150)
        .map(|level| (format!("d{level}/kustomization.yaml"), format!("resources: [../d{}]\n", level + 1)))
        .collect();
    files.push(("d150/kustomization.yaml".to_owned(), "resources: [c.yaml]\n".to_owned()));
    files.push(("d150/c.yaml".to_owned(), config_map("c")));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let error = built(&files, "d0").unwrap_err().to_string();
    assert!(error.contains("nested deeper than"), "{error}");
}

#[test]
fn expressions_that_backtrack_elsewhere_are_linear_here() {
    let map = config_map(&"a".repeat(5_000));
    let patch = "patches:\n- target: {name: '(a+)+b'}\n  patch: '[{\"op\": \"remove\", \"path\": \"/x\"}]'\n";
    let kustomization = format!("resources: [c.yaml]\n{patch}");
    in_time(|| built(&[("kustomization.yaml", &kustomization), ("c.yaml", &map)], "")).unwrap();
}
