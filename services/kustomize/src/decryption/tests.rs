use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use weir_kustomize::{FileSystem, FsPath, Kustomization, MemoryFs, UnknownFields};
use weir_sops::Keyring;

use super::*;

fn data(name: &str) -> String {
    let path = weir_testkit::repo_path(&format!("crates/sops/tests/data/{name}"));
    std::fs::read_to_string(path).unwrap()
}

fn decryption() -> Decryption {
    let mut ring = Keyring::default();
    ring.identities.add(&data("keys/age.agekey")).unwrap();
    Decryption::new(Box::new(ring), 1)
}

fn document(files: &MemoryFs, directory: &FsPath) -> Kustomization {
    Kustomization::load(files, directory, UnknownFields::Drop).unwrap().unwrap().1
}

/// KS-DEC-24: the object as a whole.
#[test]
fn an_encrypted_object() {
    let mut object: Value = serde_json::from_str(&data("cases/age.json")).unwrap();
    let decryption = decryption();
    assert!(decrypt_object(&mut object, &decryption).unwrap());
    let expected: Value = serde_json::from_str(&data("cases/age.json.plain")).unwrap();
    assert_eq!(object, expected);
    assert!(decryption.revealed().iter().any(|text| text.as_str() == "closed"), "messages hide it");
    assert!(!decrypt_object(&mut object, &decryption).unwrap(), "nothing is left to decrypt");
}

/// KS-DEC-25: values of a Secret, by their markers and into the format of their key.
#[test]
fn values_of_a_secret() {
    let encoded = |name: &str| STANDARD.encode(data(name));
    let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {
        "a.yaml": encoded("cases/age.yaml"), "b.env": encoded("cases/age.dotenv"), "c": encoded("cases/age.binary"),
        "d.ini": encoded("cases/age.ini"), "plain": STANDARD.encode("x"), "odd": "no base64!",
        // As generators break it.
        "e.yaml": encoded("cases/age.yaml").as_bytes().chunks(70).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\n")}});
    assert!(decrypt_object(&mut object, &decryption()).unwrap());
    let value = |key: &str| {
        let decoded = STANDARD.decode(object["data"][key].as_str().unwrap()).unwrap();
        String::from_utf8(decoded).unwrap()
    };
    assert_eq!(value("a.yaml"), data("cases/age.yaml.plain"));
    assert_eq!(value("e.yaml"), data("cases/age.yaml.plain"));
    assert_eq!(value("b.env"), data("cases/age.dotenv.plain"));
    assert_eq!(value("c"), data("cases/age.binary.plain"));
    assert_eq!(value("d.ini"), data("cases/age.ini.plain"));
    assert_eq!((value("plain").as_str(), &object["data"]["odd"]), ("x", &json!("no base64!")));
}

/// KS-DEC-25: the history has the digest of what is left, as in Flux.
#[test]
fn a_secret_without_values_has_no_field_for_them() {
    for empty in [json!({}), Value::Null] {
        let mut secret = json!({"kind": "Secret", "data": empty, "stringData": {}});
        let mut map = json!({"kind": "ConfigMap", "data": empty});
        assert!(!decrypt_object(&mut secret, &decryption()).unwrap());
        assert!(!decrypt_object(&mut map, &decryption()).unwrap());
        assert_eq!(secret, json!({"kind": "Secret", "stringData": {}}));
        assert_eq!(map, json!({"kind": "ConfigMap", "data": empty}));
    }
}

/// KS-DEC-26
#[test]
fn an_object_that_opts_out_stays() {
    let mut object: Value = serde_json::from_str(&data("cases/age.json")).unwrap();
    object["metadata"] = json!({"annotations": {"kustomize.toolkit.fluxcd.io/decrypt": "Disabled"}});
    let before = object.clone();
    assert!(!decrypt_object(&mut object, &decryption()).unwrap());
    assert_eq!(object, before);
}

/// KS-DEC-20, KS-DEC-21: generators and patches of a directory and of those that it names, and no other files.
#[test]
fn files_of_generators_and_patches() {
    let base = "secretGenerator:\n- name: s\n  files: [app.conf.yaml=secret, other.bin]\n  envs: [settings]\npatches:\n- path: p.yaml\n";
    let content = [
        ("app/kustomization.yaml", "resources: [../base, ../missing, cm.yaml]\n".to_owned()),
        ("base/kustomization.yaml", format!("resources: [../app]\n{base}")),
        ("base/secret", data("cases/age.yaml")),
        ("base/other.bin", data("cases/age.binary")),
        ("base/settings", data("cases/age.dotenv")),
        ("base/p.yaml", data("cases/age.yaml")),
        ("app/cm.yaml", data("cases/age.yaml")),
    ];
    let files = MemoryFs::from_files(content.iter().map(|(path, text)| (*path, text.as_str()))).unwrap();
    let path = |text: &str| FsPath::new(text).unwrap();
    let decrypted =
        decrypt_files(&files, &path("app"), &document(&files, &path("app")), &decryption()).unwrap();
    let read = |text: &str| String::from_utf8(decrypted.read(&path(text), 1 << 20).unwrap()).unwrap();
    assert_eq!(read("base/secret"), data("cases/age.yaml.plain"));
    assert_eq!(read("base/other.bin"), data("cases/age.binary.plain"));
    assert_eq!(read("base/settings"), data("cases/age.dotenv.plain"));
    assert_eq!(read("base/p.yaml"), data("cases/age.yaml.plain"));
    assert_eq!(read("app/cm.yaml"), data("cases/age.yaml"), "objects are decrypted when they are built");
}

#[test]
fn a_large_file_is_refused() {
    let file = format!("mac: ENC[{}", " ".repeat(MAX_BYTES));
    let list = "secretGenerator:\n- name: s\n  files: [large.yaml]\n".to_owned();
    let files =
        MemoryFs::from_files([("kustomization.yaml", list.as_str()), ("large.yaml", file.as_str())]).unwrap();
    let root = FsPath::root();
    let error =
        decrypt_files(&files, &root, &document(&files, &root), &decryption()).err().unwrap().to_string();
    assert!(
        error.contains("'/large.yaml'") && error.contains("size (5242889 bytes) exceeding limit (5242880)"),
        "{error}"
    );
}

/// KS-DEC-23: of several files the one that is broken is named.
#[test]
fn a_broken_kustomization_file_is_named() {
    let content =
        [("kustomization.yaml", "resources: [base]\n"), ("base/kustomization.yaml", "resources: [\n")];
    let files = MemoryFs::from_files(content).unwrap();
    let root = FsPath::root();
    let error = decrypt_files(&files, &root, &document(&files, &root), &decryption()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "failed to unmarshal kustomization file from '/base/kustomization.yaml': error converting YAML to JSON: \
         yaml: line 1: did not find expected node content"
    );
}
