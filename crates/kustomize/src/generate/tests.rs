use crate::{FsPath, MemoryFs, Options, build};

fn built(kustomization: &str, files: &[(&str, &str)]) -> Result<String, crate::Error> {
    let mut fs = MemoryFs::from_files(files.iter().copied()).unwrap();
    fs.insert("kustomization.yaml", kustomization).unwrap();
    build(&fs, &FsPath::root(), &Options::gitops())?.to_yaml()
}

#[test]
fn secrets_wrap_long_base64_and_always_have_data() {
    let value = "x".repeat(60);
    let out =
        built(&format!("secretGenerator:\n- name: s\n  literals: [k={value}]\n- name: e\n"), &[]).unwrap();
    assert!(out.contains("  k: |\n    eHh4"), "{out}");
    assert!(out.contains("data: {}\nkind: Secret"), "{out}");
}

#[test]
fn options_of_the_generator_win_per_key_and_flags_add_up() {
    let kustomization = "generatorOptions:\n  labels: {a: global, b: global}\n  disableNameSuffixHash: true\n\
                         configMapGenerator:\n- name: c\n  options:\n    labels: {a: local}\n    \
                         disableNameSuffixHash: false\n    immutable: true\n";
    let out = built(kustomization, &[]).unwrap();
    let wanted = "apiVersion: v1\nimmutable: true\nkind: ConfigMap\nmetadata:\n  labels:\n    a: local\n    b: global\n  \
                  name: c\n";
    assert_eq!(out, wanted);
}

#[test]
fn bytes_that_are_not_utf8_become_binary_data() {
    let mut fs = MemoryFs::new();
    fs.insert("kustomization.yaml", "configMapGenerator:\n- {name: c, files: [data.bin]}\n").unwrap();
    fs.insert("data.bin", b"\xffhello".repeat(30)).unwrap();
    let out = build(&fs, &FsPath::root(), &Options::gitops()).unwrap().to_yaml().unwrap();
    assert!(out.contains("name: c-96gmmt6gt5"), "{out}");
}

#[test]
fn keys_from_two_sources_are_refused() {
    let error =
        built("configMapGenerator:\n- {name: c, literals: [a=1], envs: [e]}\n", &[("e", "a=2")]).unwrap_err();
    assert_eq!(error.to_string(), "configmap c illegally repeats the key `a`");
}

#[test]
fn helm_charts_are_refused_with_a_reason() {
    let error = built("helmCharts:\n- name: minecraft\n", &[]).unwrap_err().to_string();
    assert!(error.contains("name: minecraft") && error.contains("must specify --enable-helm"), "{error}");
    let rest = "namespace: games\nhelmGlobals: {chartHome: charts}\nhelmCharts:\n- {version: 1.2.3, name: minecraft}\n";
    let error = built(rest, &[]).unwrap_err().to_string();
    let config = "`\nchartHome: charts\nname: minecraft\nnamespace: games\nversion: 1.2.3\n`";
    assert!(error.contains(config), "with what the chart takes from the rest of the file: {error}");
}
