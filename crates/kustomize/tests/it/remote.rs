//! Bases and files from elsewhere (§3.2), with a remote in memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rstest::rstest;
use weir_kustomize::{
    Answer, FetchError, FileSystem, FsPath, GitUrl, LoadRestriction, MemoryFs, Options, Output, Remote,
    Warning, build,
};

use crate::config_map;

const REPOSITORY: &str = "https://git.example.com/org/repo";

/// Repositories by URL and files by URL; remembers its requests.
#[derive(Debug, Default)]
struct Fake {
    repositories: HashMap<String, MemoryFs>,
    files: HashMap<String, Vec<u8>>,
    /// A URL whose file is larger than any limit.
    too_large: Option<String>,
    asked: Mutex<Vec<String>>,
}

impl Remote for Fake {
    fn repository(&self, url: &GitUrl) -> Result<Box<dyn FileSystem>, FetchError> {
        let reference = url.reference.clone().unwrap_or_else(|| "HEAD".to_owned());
        self.asked.lock().push(format!("{} {reference}", url.repository));
        match self.repositories.get(&url.repository) {
            Some(files) => Ok(Box::new(files.clone())),
            None if url.timeout < Duration::from_secs(1) => {
                Err(FetchError::Timeout { url: url.repository.clone(), limit: url.timeout })
            }
            None => Err(FetchError::Failed(format!("failed to fetch '{}': not there", url.repository))),
        }
    }

    fn get(&self, url: &str, limit: u64) -> Result<Answer, FetchError> {
        self.asked.lock().push(url.to_owned());
        if self.too_large.as_deref() == Some(url) {
            return Err(FetchError::TooLarge { url: url.to_owned(), limit });
        }
        Ok(match self.files.get(url) {
            Some(content) => Answer::Content(content.clone()),
            None => Answer::Refusal { status: 404, name: "Not Found".into() },
        })
    }
}

impl Fake {
    fn repository(mut self, url: &str, files: &[(&str, &str)]) -> Self {
        self.repositories.insert(url.to_owned(), MemoryFs::from_files(files.iter().copied()).unwrap());
        self
    }

    fn file(mut self, url: &str, content: &str) -> Self {
        self.files.insert(url.to_owned(), content.into());
        self
    }

    /// Builds the directory `app` of a tree; returns the output, or the message, and the requests.
    fn built(self, kustomization: &str) -> (Result<Output, String>, Vec<String>) {
        let local = config_map("local");
        let files = [("app/kustomization.yaml", kustomization), ("local/cm.yaml", &local)];
        let fs = MemoryFs::from_files(files).unwrap();
        let fake = Arc::new(self);
        let remote: Arc<dyn Remote> = fake.clone();
        let options =
            Options { load_restriction: LoadRestriction::None, remote: Some(remote), ..Options::gitops() };
        let output = build(&fs, &FsPath::new("app").unwrap(), &options).map_err(|error| error.to_string());
        let asked = fake.asked.lock().clone();
        (output, asked)
    }

    fn yaml(self, kustomization: &str) -> String {
        self.built(kustomization).0.unwrap().to_yaml().unwrap()
    }

    fn error(self, kustomization: &str) -> String {
        self.built(kustomization).0.map(|output| output.to_yaml().unwrap()).unwrap_err()
    }
}

fn org() -> Fake {
    Fake::default().repository(
        REPOSITORY,
        &[
            ("base/kustomization.yaml", "resources: [cm.yaml, ../other]\nnamePrefix: p-\n"),
            ("base/cm.yaml", &config_map("a")),
            ("other/kustomization.yaml", "configMapGenerator: [{name: g, literals: [a=b]}]\n"),
            ("plain", "x"),
        ],
    )
}

#[test]
fn a_base_in_a_repository_is_built_with_the_bases_it_names_there() {
    let reference = format!("{REPOSITORY}//base?ref=v1");
    let (output, asked) = org().built(&format!("resources: ['{reference}']\n"));
    let yaml = output.unwrap().to_yaml().unwrap();
    assert!(yaml.contains("name: p-a\n") && yaml.contains("name: p-g-"), "{yaml}");
    // As a file first, because the URL does not show its kind.
    assert_eq!(asked, [reference, format!("{REPOSITORY} v1")]);
}

/// As the reference implementation prints it.
#[test]
fn origins_name_the_repository_and_count_from_its_root() {
    let kustomization = format!(
        "resources: ['git::{REPOSITORY}//base?ref=main']\nbuildMetadata: [originAnnotations, transformerAnnotations]\n"
    );
    let (output, _) = org().built(&kustomization);
    let output = output.unwrap();
    assert_eq!(output.warnings, [Warning::ForcedGit(format!("git::{REPOSITORY}//base?ref=main"))]);
    let transformations = format!(
        "    alpha.config.kubernetes.io/transformations: |\n      - repo: {REPOSITORY}\n        ref: main\n        \
         configuredIn: base/kustomization.yaml\n        configuredBy:\n          apiVersion: builtin\n          kind: \
         PrefixTransformer\n"
    );
    let expected = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n{transformations}    \
         config.kubernetes.io/origin: |\n      path: base/cm.yaml\n      repo: {REPOSITORY}\n      ref: main\n  name: \
         p-a\n---\napiVersion: v1\ndata:\n  a: b\nkind: ConfigMap\nmetadata:\n  \
         annotations:\n{transformations}    config.kubernetes.io/origin: |\n      repo: {REPOSITORY}\n      ref: \
         main\n      configuredIn: other/kustomization.yaml\n      configuredBy:\n        apiVersion: builtin\n        \
         kind: ConfigMapGenerator\n  name: p-g-4h2mbtbbt6\n"
    );
    assert_eq!(output.to_yaml().unwrap(), expected);
}

#[test]
fn a_repository_is_fetched_once_for_all_its_directories() {
    let (output, asked) = org()
        .built(&format!("resources: ['git::{REPOSITORY}//other', 'git::{REPOSITORY}//base?timeout=9']\n"));
    assert_eq!(output.unwrap().resources.len(), 3);
    assert_eq!(asked, [format!("{REPOSITORY} HEAD")]);
}

/// A server that has refused a URL as a file is not asked for it as a file again.
#[test]
fn what_is_no_file_is_remembered() {
    let reference = format!("{REPOSITORY}//base?ref=v1");
    for too_large in [None, Some(reference.clone())] {
        repositories_are_asked_for_once(Fake { too_large, ..org() }, reference.clone());
    }
}

fn repositories_are_asked_for_once(fake: Fake, reference: String) {
    let fake = fake.repository(
        "https://git.example.com/org/second",
        &[("kustomization.yaml", &format!("resources: ['{reference}']\nnameSuffix: -s\n"))],
    );
    let second = "https://git.example.com/org/second";
    let (output, asked) = fake.built(&format!("resources: ['{reference}', '{second}']\n"));
    assert_eq!(output.unwrap().resources.len(), 4);
    let repository = format!("{REPOSITORY} v1");
    assert_eq!(asked, [reference, repository, second.to_owned(), format!("{second} HEAD")]);
}

#[test]
fn what_was_fetched_may_have_changed() {
    let (output, _) = org().built(&format!("resources: ['git::{REPOSITORY}//base']\n"));
    let tree = [("app/kustomization.yaml", format!("resources: ['git::{REPOSITORY}//base']\n"))];
    let fs = MemoryFs::from_files(tree.iter().map(|(path, text)| (*path, text.as_str()))).unwrap();
    assert!(!output.unwrap().read_set.still_holds(&fs));
}

#[rstest]
#[case::resource("resources: ['http://x/cm.yaml']\n", "name: fetched\n")]
#[case::patch(
    "resources: [../local/cm.yaml]\npatches: [{path: 'HTTP://x/patch.yaml'}]\n",
    "patched: \"yes\"\n"
)]
#[case::strategic(
    "resources: [../local/cm.yaml]\npatchesStrategicMerge: ['http://x/patch.yaml']\n",
    "patched: \"yes\"\n"
)]
#[case::json(
    "resources: [../local/cm.yaml]\npatchesJson6902: [{path: 'http://x/6902.yaml', target: {kind: ConfigMap, name: local, version: v1}}]\n",
    "patched: \"yes\"\n"
)]
#[case::generator(
    "configMapGenerator: [{name: g, files: ['http://x/dir/env'], envs: ['http://x/dir/env']}]\n",
    "data:\n  A: b\n  env: A=b\n"
)]
#[case::replacement(
    "resources: [../local/cm.yaml]\nreplacements: [{path: 'http://x/replacements.yaml'}]\n",
    "  name: local\n"
)]
#[case::configuration(
    "configurations: ['http://x/config.yaml']\nresources: [../local/cm.yaml]\nnamePrefix: p-\n",
    "name: p-local\n"
)]
#[case::openapi("openapi: {path: 'http://x/schema.json'}\nresources: [../local/cm.yaml]\n", "name: local\n")]
#[case::crds("crds: ['http://x/crds.json']\nresources: [../local/cm.yaml]\n", "name: local\n")]
fn files_of_every_field_may_be_urls(#[case] kustomization: &str, #[case] wanted: &str) {
    let patch = format!("{}data: {{patched: \"yes\"}}\n", config_map("local"));
    let fake = Fake::default()
        .file("http://x/cm.yaml", &config_map("fetched"))
        .file("http://x/patch.yaml", &patch)
        .file("HTTP://x/patch.yaml", &patch)
        .file("http://x/6902.yaml", "- {op: add, path: /data, value: {patched: \"yes\"}}\n")
        .file("http://x/dir/env", "A=b")
        .file("http://x/replacements.yaml", "[]\n")
        .file("http://x/config.yaml", "namePrefix:\n- path: metadata/name\n")
        .file("http://x/schema.json", "{\"definitions\": {}}")
        .file("http://x/crds.json", "{}");
    let yaml = fake.yaml(kustomization);
    assert!(yaml.contains(wanted), "{yaml}");
}

#[rstest]
#[case::missing_file(
    "resources: ['http://x/none.yaml']\n",
    "accumulating resources: accumulating resources from 'http://x/none.yaml': HTTP Error: status code 404 (Not Found)"
)]
#[case::missing_repository(
    "resources: ['http://x/a/none.yaml']\n",
    "accumulating resources: accumulation err='accumulating resources from 'http://x/a/none.yaml': URL is a git \
     repository': failed to fetch 'http://x/a/none.yaml': not there"
)]
#[case::no_directory(
    "resources: ['git::https://git.example.com/org/repo//none']\n",
    "': evalsymlink failure on '/.remote-bases/1/none' : lstat /.remote-bases/1/none: no such file or directory"
)]
#[case::a_file(
    "resources: ['git::https://git.example.com/org/repo//plain']\n",
    "': '/.remote-bases/1/plain' refers to file 'plain'; expecting directory"
)]
#[case::exits(
    "resources: ['ssh://git.example.com/a/b.git//x/../../y']\n",
    "': url path exits repo: a/b.git//x/../../y"
)]
#[case::yaml_and_timeout(
    "resources: ['http://x/a/page?timeout=1ms']\n",
    "accumulation err='accumulating resources from 'http://x/a/page?timeout=1ms': MalformedYAMLError: "
)]
#[case::yaml_and_timeout_both(
    "resources: ['http://x/a/page?timeout=1ms']\n",
    "': hit 1ms timeout fetching 'http://x/a/page'"
)]
#[case::yaml(
    "resources: ['http://x/a/page']\n",
    "accumulating resources: accumulating resources from 'http://x/a/page': MalformedYAMLError: "
)]
#[case::password("resources: ['https://me:secret@x/a/b']\n", "'https://x/a/b': URL is a git repository")]
#[case::reserved_file(
    "resources: ['git::https://git.example.com/org/repo//base', ../.remote-bases/1/base/cm.yaml]\n",
    "security; file '/.remote-bases/1/base/cm.yaml' is not in or below '/app'"
)]
#[case::reserved(
    "resources: ['git::https://git.example.com/org/repo//base', ../.remote-bases/1/base]\n",
    "'/.remote-bases/1/base' cannot be built: the name is reserved"
)]
fn what_cannot_be_fetched_or_used_is_told(#[case] kustomization: &str, #[case] wanted: &str) {
    let page = "<!DOCTYPE html>\n<p class=\"a: b\">\n";
    let error =
        org().file("http://x/a/page", page).file("http://x/a/page?timeout=1ms", page).error(kustomization);
    assert!(error.contains(wanted), "{error}");
    assert!(!error.contains("secret"), "{error}");
}

#[rstest]
#[case::base_outside(
    "resources: [../../../local]\n",
    "security; bases in kustomizations found in cloned git repos must be within the repo, but base '/local' is outside '/.remote-bases/1'"
)]
#[case::next_repository(
    "resources: [../../2]\n",
    "but base '/.remote-bases/2' is outside '/.remote-bases/1'"
)]
#[case::file_outside(
    "resources: [../../../local/cm.yaml]\n",
    "security; file '/local/cm.yaml' is not in or below '/.remote-bases/1/evil'"
)]
#[case::file_beside(
    "resources: [../plain]\n",
    "security; file '/.remote-bases/1/plain' is not in or below '/.remote-bases/1/evil'"
)]
#[case::generator(
    "configMapGenerator: [{name: g, files: [../../../local/cm.yaml]}]\n",
    "security; file '/local/cm.yaml' is not in or below '/.remote-bases/1/evil'"
)]
#[case::itself(
    "resources: ['git::https://git.example.com/org/repo//evil?ref=x']\n",
    "cycle detected: URI 'git::https://git.example.com/org/repo//evil?ref=x' referenced by previous URI 'git::https://git.example.com/org/repo//evil?ref=x'"
)]
#[case::upwards(
    "resources: [..]\n",
    "cycle detected: candidate root '/.remote-bases/1' contains visited root '/.remote-bases/1/evil'"
)]
fn repositories_are_kept_to_themselves(#[case] kustomization: &str, #[case] wanted: &str) {
    let fake = org().repository(REPOSITORY, &[("evil/kustomization.yaml", kustomization), ("plain", "x")]);
    let error = fake.error(&format!("resources: ['git::{REPOSITORY}//evil?ref=x']\n"));
    assert!(error.contains(wanted), "{error}");
}

/// KZ-316: neither fetched, nor silently left out.
#[rstest]
#[case("resources: ['https://x/a.yaml']\n", "https://x/a.yaml")]
#[case("resources: ['github.com/org/repo']\n", "github.com/org/repo")]
#[case("resources: ['ssh://git@x/a/b']\n", "ssh://git@x/a/b")]
#[case("resources: ['file:///srv/repo']\n", "file:///srv/repo")]
#[case("components: ['https://x/org/repo']\n", "https://x/org/repo")]
#[case("bases: ['https://x/org/repo']\n", "https://x/org/repo")]
#[case("generators: ['https://x/org/repo']\n", "https://x/org/repo")]
#[case("transformers: ['https://x/org/repo']\n", "https://x/org/repo")]
#[case("validators: ['https://x/org/repo']\n", "https://x/org/repo")]
#[case("openapi: {path: 'https://x/a.json'}\n", "https://x/a.json")]
#[case("crds: ['https://x/a.json']\n", "https://x/a.json")]
#[case("configurations: ['https://x/a.yaml']\n", "https://x/a.yaml")]
#[case("replacements: [{path: 'https://x/a.yaml'}]\n", "https://x/a.yaml")]
#[case("resources: [../local/cm.yaml]\npatches: [{path: 'https://x/a.yaml'}]\n", "https://x/a.yaml")]
#[case("resources: [../local/cm.yaml]\npatchesStrategicMerge: ['https://x/a.yaml']\n", "https://x/a.yaml")]
#[case("configMapGenerator: [{name: g, files: [k=https://x/a]}]\n", "https://x/a")]
fn without_a_remote_every_reference_is_refused_by_name(#[case] kustomization: &str, #[case] reference: &str) {
    let local = config_map("local");
    let fs =
        MemoryFs::from_files([("app/kustomization.yaml", kustomization), ("local/cm.yaml", &local)]).unwrap();
    let error = build(&fs, &FsPath::new("app").unwrap(), &Options::gitops()).unwrap_err().to_string();
    let wanted = format!("remote resource '{reference}' is not allowed: remote bases are disabled");
    assert!(error.contains(&wanted), "{error}");
}

#[test]
fn fetches_of_one_build_are_counted() {
    let references: Vec<String> = (0..200).map(|number| format!("'http://x/{number}'")).collect();
    let fake = (0..200).fold(Fake::default(), |fake, number| {
        fake.file(&format!("http://x/{number}"), &config_map(&format!("c{number}")))
    });
    let (output, asked) = fake.built(&format!("resources: [{}]\n", references.join(", ")));
    let error = output.unwrap_err();
    assert!(error.ends_with("'http://x/128': more than 128 remote resources in one build"), "{error}");
    assert_eq!(asked.len(), 128);
}

/// A reference that is asked for as a file and as a repository counts once.
#[test]
fn references_are_counted_and_not_requests() {
    let url = |number: usize| format!("https://git.example.com/org/r{number}");
    let built = |count: usize| {
        let fake = (0..count).fold(Fake::default(), |fake, number| {
            let map = config_map(&format!("c{number}"));
            fake.repository(
                &url(number),
                &[("kustomization.yaml", "resources: [cm.yaml]\n"), ("cm.yaml", &map)],
            )
        });
        let references: Vec<String> = (0..count).map(|number| format!("'{}'", url(number))).collect();
        fake.built(&format!("resources: [{}]\n", references.join(", "))).0
    };
    assert_eq!(built(128).unwrap().resources.len(), 128);
    let error = built(129).unwrap_err();
    assert!(error.ends_with("more than 128 remote resources in one build"), "{error}");
}
