//! Runs the corpus of cases captured from the reference implementation.
//!
//! The corpus is not part of the repository: it is looked for in `WEIR_CONFORMANCE`, else beside the checkout; without it the
//! test is left out, which `WEIR_TESTS_MUST_NOT_SKIP` forbids. Cases that do not pass stand in `conformance-allowed.txt`, and those that
//! fail as they should with another message in `conformance-messages.txt`, each with its reason. A listed case that passes or is not
//! there is an error, so the lists only shrink.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;
use weir_kustomize::{FsPath, LoadRestriction, Options, Reorder, RootedFs, build};

const ALLOWED: &str = include_str!("conformance-allowed.txt");
const OTHER_MESSAGES: &str = include_str!("conformance-messages.txt");

/// As many cases there were when this was written. A corpus with fewer is not whole.
const CASES: usize = 353;

/// The folders of the cases, sorted.
fn corpus() -> Result<Vec<PathBuf>, String> {
    let root = std::env::var_os("WEIR_CONFORMANCE")
        .map_or_else(|| weir_testkit::repo_path("../shared/conformance"), PathBuf::from);
    let folder = root.join("kustomize");
    let entries = std::fs::read_dir(&folder).map_err(|error| {
        format!("{}: {error}; WEIR_CONFORMANCE names the folder above it", folder.display())
    })?;
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    Ok(folders)
}

/// The reasons of a list by the names of its cases.
fn listed(text: &'static str) -> BTreeMap<&'static str, &'static str> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once(": ").expect("each line is `case: reason`"))
        .collect()
}

/// The result of a case.
enum Verdict {
    Passes,
    /// It fails as it should, and says something else.
    OtherMessage(String),
    Fails(String),
}

/// The expected result of a case, and the way it is built.
struct Case {
    folder: PathBuf,
    settings: Value,
}

impl Case {
    fn open(folder: PathBuf) -> Option<Self> {
        let settings = std::fs::read(folder.join("case.json")).ok()?;
        Some(Self { settings: serde_json::from_slice(&settings).unwrap(), folder })
    }

    fn text(&self, key: &str) -> &str {
        self.settings[key].as_str().unwrap_or_default()
    }

    fn options(&self) -> Options {
        let restriction = match self.text("load_restrictor") {
            "none" => LoadRestriction::None,
            _ => LoadRestriction::RootOnly,
        };
        let reorder = match self.text("reorder") {
            "none" => Reorder::None,
            "legacy" => Reorder::Legacy,
            _ => Reorder::Unspecified,
        };
        let managed_by_label = self.settings["managed_by_label"].as_bool().unwrap_or_default();
        Options { load_restriction: restriction, reorder, managed_by_label, ..Options::cli() }
    }

    fn built(&self) -> Result<String, String> {
        let fs = RootedFs::new(&self.folder.join("in")).map_err(|error| error.to_string())?;
        let root = FsPath::new(self.text("root")).map_err(|error| error.to_string())?;
        let output = build(&fs, &root, &self.options()).map_err(|error| error.to_string())?;
        output.to_yaml().map_err(|error| error.to_string())
    }

    /// Both results count where releases differ and the requirements do not choose.
    fn check(&self) -> Verdict {
        let built = self.built();
        let read = |name: &str| std::fs::read_to_string(self.folder.join(name)).ok();
        let accepted: Vec<String> = ["out.yaml", "out.v5.8.1.yaml"].into_iter().filter_map(read).collect();
        let errors: Vec<String> = ["error.txt", "error.v5.8.1.txt"].into_iter().filter_map(read).collect();
        match (built, errors.first()) {
            (Ok(text), _) if accepted.contains(&text) => Verdict::Passes,
            (Ok(text), None) => Verdict::Fails(difference(&accepted[0], &text)),
            (Ok(text), Some(wanted)) => {
                Verdict::Fails(format!("built, but should fail with: {wanted}\n{text}"))
            }
            (Err(error), _) if errors.iter().any(|wanted| wanted.trim() == error.trim()) => Verdict::Passes,
            (Err(error), Some(wanted)) => Verdict::OtherMessage(format!("wanted: {wanted}found: {error}")),
            (Err(error), None) => Verdict::Fails(format!("failed: {error}")),
        }
    }
}

/// The first line in which two texts differ.
pub(crate) fn difference(wanted: &str, found: &str) -> String {
    let mut lines = wanted.lines().zip(found.lines()).enumerate();
    match lines.find(|(_, (wanted, found))| wanted != found) {
        Some((index, (wanted, found))) => format!("line {}: wanted `{wanted}`, found `{found}`", index + 1),
        None => format!("wanted {} lines, found {}", wanted.lines().count(), found.lines().count()),
    }
}

#[test]
fn every_case_of_the_corpus_passes_or_is_listed_with_a_reason() {
    // Only `.ci/run` sets it, on a machine that cannot have the corpus.
    if std::env::var_os("WEIR_CONFORMANCE_ABSENT").is_some() {
        return weir_testkit::skipped("the kustomize corpus is not beside the checkout");
    }
    let Some(folders) = weir_testkit::found_or_skipped("the kustomize corpus", corpus()).unwrap() else {
        return;
    };
    let cases: Vec<Case> = folders.into_iter().filter_map(Case::open).collect();
    assert!(cases.len() >= CASES, "the corpus has {} cases, which are fewer than {CASES}", cases.len());
    let (allowed, other_messages) = (listed(ALLOWED), listed(OTHER_MESSAGES));
    let mut unseen: BTreeSet<&str> = allowed.keys().chain(other_messages.keys()).copied().collect();
    let (mut problems, mut passed) = (Vec::new(), 0);
    for case in &cases {
        let name = case.folder.file_name().unwrap().to_str().unwrap();
        let is_listed = unseen.remove(name);
        match case.check() {
            Verdict::Passes if is_listed => problems.push(format!("{name}: passes, take it off the list")),
            Verdict::Passes => passed += 1,
            Verdict::OtherMessage(_) if other_messages.contains_key(name) => {}
            Verdict::Fails(_) if allowed.contains_key(name) => {}
            Verdict::OtherMessage(problem) | Verdict::Fails(problem) => {
                problems.push(format!("{name}: {problem}"));
            }
        }
    }
    problems.extend(unseen.iter().map(|name| format!("{name}: is listed, and is no case of the corpus")));
    println!(
        "{passed} of {} cases pass, {} fail with another message, {} are allowed to do something else",
        cases.len(),
        other_messages.len(),
        allowed.len()
    );
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}
