//! Files of the real program, and files for it.

use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use weir_sops::{DataKey, Document, Format, Keyring, MasterKey, Member, Metadata, Node, ScopeRule, Value};

use crate::keys::{all, data, key};

fn cases() -> Vec<(PathBuf, Format)> {
    let entries = std::fs::read_dir(data().join("cases")).unwrap().map(|entry| entry.unwrap().path());
    let encrypted = entries.filter(|path| path.extension().is_some_and(|extension| extension != "plain"));
    encrypted
        .map(|path| {
            let format = Format::parse(path.extension().unwrap().to_str().unwrap()).unwrap();
            (path, format)
        })
        .collect()
}

/// KS-SOPS-1 to KS-SOPS-7: every case is decrypted to the bytes that the program wrote, with a MAC that agrees.
#[test]
fn files_of_the_program_are_decrypted_as_by_it() {
    let (ring, cases) = (all(), cases());
    assert_eq!(cases.len(), 29);
    for (path, format) in cases {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        assert!(format.is_marked(&bytes), "{name}");
        let document = Document::read(&bytes, format).unwrap_or_else(|error| panic!("{name}: {error}"));
        let key = document.data_key(&ring).unwrap_or_else(|error| panic!("{name}: {error}"));
        let plain = document.clone().decrypt(&key).unwrap_or_else(|error| panic!("{name}: {error}"));
        // The program itself finds another MAC in this one.
        assert_eq!(plain.verify(&document.metadata, &key).is_ok(), name != "list_comment.yaml", "{name}");
        let expected = std::fs::read(format!("{}.plain", path.display())).unwrap();
        let written = plain.write(format).unwrap();
        let [written, expected] = [written.as_slice(), &expected].map(String::from_utf8_lossy);
        assert_eq!(written, expected, "{name}");
    }
}

/// KS-SOPS-4: two of three groups are enough, one is not.
#[test]
fn shares_of_groups() {
    let bytes = std::fs::read(data().join("cases/groups.yaml")).unwrap();
    let document = Document::read(&bytes, Format::Yaml).unwrap();
    assert_eq!((document.metadata.groups.len(), document.metadata.shamir_threshold), (3, 2));
    let mut ring = Keyring::default();
    ring.identities.add(&key("age.agekey")).unwrap();
    let error = document.data_key(&ring).unwrap_err().to_string().replace('\n', " ");
    assert!(error.contains("Shamir threshold of 2, but only 1 part(s)"), "{error}");
    ring.pgp.add(key("pgp_curve.asc").as_bytes()).unwrap();
    let two = document.data_key(&ring).unwrap();
    assert_eq!(two.bytes(), document.data_key(&all()).unwrap().bytes());
}

/// Whoever builds the project has no Go program of this name; the committed cases are its answers.
fn program() -> Option<PathBuf> {
    weir_testkit::named_program("SOPS_BIN", "sops").unwrap()
}

fn run(program: &Path, arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(program);
    command.args(arguments).env("SOPS_AGE_KEY_FILE", data().join("keys/age.agekey"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The data key of a case, with its key groups, encrypts something new; the program reads it and finds the same MAC.
#[rstest]
#[case("age", Format::Yaml, "doc.yaml")]
#[case("age", Format::Json, "doc.json")]
#[case("age", Format::Dotenv, "doc.env")]
#[case("age", Format::Ini, "doc.ini")]
#[case("mac_only", Format::Yaml, "doc.yaml")]
#[case("encrypted_comment", Format::Yaml, "doc.yaml")]
fn the_program_decrypts_what_was_encrypted_here(
    #[case] name: &str,
    #[case] format: Format,
    #[case] plain: &str,
) {
    let Some(program) = program() else { return };
    let path = data().join("cases").join(format!("{name}.{}", format.name()));
    let theirs = Document::read(&std::fs::read(&path).unwrap(), format).unwrap();
    let key = theirs.data_key(&all()).unwrap();
    let trees = theirs.clone().decrypt(&key).unwrap().trees;
    let ours = Document::encrypt(trees, theirs.metadata.clone(), &key).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(plain);
    std::fs::write(&file, ours.write(format).unwrap()).unwrap();
    let arguments =
        ["decrypt", "--input-type", format.name(), "--output-type", format.name(), file.to_str().unwrap()];
    let expected = std::fs::read(format!("{}.plain", path.display())).unwrap();
    assert_eq!(String::from_utf8_lossy(&run(&program, &arguments)), String::from_utf8_lossy(&expected));
}

/// As the program writes the key of a merge, whose mapping it has written out.
#[test]
fn a_merge_key_has_its_tag() {
    let bytes = std::fs::read(data().join("cases/age.yaml")).unwrap();
    let document = Document::read(&bytes, Format::Yaml).unwrap();
    let mut plain = document.clone().decrypt(&document.data_key(&all()).unwrap()).unwrap();
    let mapping = Node::Map(vec![Member::Entry("a".to_owned(), Node::Value(Value::text("<<")))]);
    plain.trees = vec![Node::Map(vec![Member::Entry("<<".to_owned(), mapping)])];
    let written = plain.write(Format::Yaml).unwrap();
    assert_eq!(String::from_utf8_lossy(&written), "!!merge <<:\n    a: !!merge <<\n");
}

/// Without the program too: what is encrypted here is decrypted here, and differs each time.
#[test]
fn there_and_back() {
    let bytes = std::fs::read(data().join("cases/age.yaml")).unwrap();
    let theirs = Document::read(&bytes, Format::Yaml).unwrap();
    let plain = theirs.clone().decrypt(&theirs.data_key(&all()).unwrap()).unwrap();
    let (key, metadata) = (
        DataKey::generate(),
        Metadata {
            rule: ScopeRule::EncryptedRegex("^stringData$".to_owned()),
            groups: vec![vec![MasterKey::Age { recipient: "age1x".to_owned(), enc: "none".to_owned() }]],
            ..theirs.metadata
        },
    );
    let ours = Document::encrypt(plain.trees.clone(), metadata, &key).unwrap();
    let written = ours.write(Format::Yaml).unwrap();
    let text = String::from_utf8_lossy(&written);
    assert!(!text.contains("correct horse") && text.contains("int: 42"), "{text}");
    let again = Document::read(&written, Format::Yaml).unwrap();
    let decrypted = again.clone().decrypt(&key).unwrap();
    decrypted.verify(&again.metadata, &key).unwrap();
    assert_eq!(*decrypted.write(Format::Yaml).unwrap(), *plain.write(Format::Yaml).unwrap());
}
