//! Files and keys that are refused, and texts that show nothing of them.

use rstest::rstest;
use weir_sops::{Document, Error, Format, Keyring};

use crate::keys::{all, data, key};

fn case(name: &str) -> String {
    std::fs::read_to_string(data().join("cases").join(name)).unwrap()
}

fn decrypted(text: &str) -> Result<(), Error> {
    let document = Document::read(text.as_bytes(), Format::Yaml)?;
    let key = document.data_key(&all())?;
    let plain = document.clone().decrypt(&key)?;
    plain.verify(&document.metadata, &key)
}

/// A value that was moved to another key has other additional data.
#[test]
fn a_moved_value_is_noticed() {
    let text = case("age.yaml").replacen("    blank:", "    moved:", 1);
    let error = decrypted(&text).unwrap_err().to_string();
    assert_eq!(
        error,
        "could not decrypt value at 'stringData.moved': Could not decrypt with AES_GCM: cipher: message authentication failed"
    );
}

/// A value that is not encrypted by the document's rule is changed: only the MAC tells.
#[test]
fn a_changed_open_value_is_noticed_by_the_mac() {
    let text = case("age.yaml").replacen("app_unencrypted: shop", "app_unencrypted: evil", 1);
    let error = decrypted(&text).unwrap_err();
    assert!(matches!(&error, Error::Mac { .. }), "{error}");
    let without = case("encrypted_regex.yaml").replacen("        mac: ", "        old: ", 1);
    let without = without.replacen("    mac: ENC", "    nomac: ENC", 1);
    assert!(decrypted(&without).unwrap_err().to_string().contains("no MAC"), "no MAC");
}

#[test]
fn plaintext_in_place_of_ciphertext_is_refused_and_not_shown() {
    let text = case("age.yaml");
    let start = text.find("    blank: ENC").unwrap();
    let end = start + text[start..].find('\n').unwrap();
    let text = format!("{}    blank: hunter2{}", &text[..start], &text[end..]);
    let error = decrypted(&text).unwrap_err().to_string();
    assert_eq!(
        error,
        "could not decrypt value at 'stringData.blank': Input string <redacted> does not match sops' data format"
    );
}

#[rstest]
#[case("a: b\n", "sops metadata not found")]
#[case("- a\n", "YAML documents that are not maps")]
#[case("sops: {version: 3.9.0}\n", "No keys found in file")]
#[case("sops: {age: [{enc: x}]}\n", "sops metadata: lastmodified is missing")]
#[case("sops: {age: [{enc: x}], lastmodified: yesterday}\n", "sops metadata: lastmodified is missing")]
#[case("sops: {age: x}\n", "sops metadata: age is missing or of a wrong type")]
#[case(
    "sops: {pgp: [{enc: x}], lastmodified: '2026-01-01T00:00:00Z'}\n",
    "sops metadata: created_at is missing"
)]
#[case(
    "sops: {age: [{enc: x}], lastmodified: '2026-01-01T00:00:00Z', encrypted_suffix: a, encrypted_regex: b}\n",
    "Cannot use more than one of"
)]
#[case("1: x\n", "Tree contains a non-string key (type int): 1. Only string keys are supported")]
#[case("a: {true: x}\n", "Tree contains a non-string key (type bool): true. Only string keys are supported")]
#[case("sops: {age: [{enc: [x]}]}\n", "sops metadata: enc is missing")]
fn bad_documents(#[case] text: &str, #[case] words: &str) {
    let error = Document::read(text.as_bytes(), Format::Yaml).unwrap_err().to_string();
    assert!(error.contains(words), "{error}");
}

/// KS-SOPS-6: as the library reads it with which SOPS does.
#[rstest]
#[case("age: {enc: x}, version: 3.9", 1, "3.9")]
#[case("key_groups: {age: [{enc: x}]}, version: 3", 1, "3")]
#[case(
    "key_groups: [{age: {enc: x}}, {pgp: {enc: x, created_at: '2026-01-01T00:00:00Z'}}], version: true",
    2,
    "1"
)]
fn metadata_of_other_types_is_read(#[case] fields: &str, #[case] groups: usize, #[case] version: &str) {
    let text =
        format!("sops: {{{fields}, lastmodified: '2026-01-01T00:00:00Z', mac_only_encrypted: 1, mac: 42}}\n");
    let Document { metadata, .. } = Document::read(text.as_bytes(), Format::Yaml).unwrap();
    assert_eq!((metadata.groups.len(), metadata.version.as_str()), (groups, version));
    assert_eq!((metadata.mac_only_encrypted, metadata.mac.as_str()), (true, "42"));
}

/// Both count for the MAC of SOPS. Of two entries with metadata none is the right one.
#[test]
fn keys_that_stand_twice_in_json() {
    let sops = r#""sops": {"age": [{"enc": "x"}], "lastmodified": "2026-01-01T00:00:00Z"}"#;
    let document =
        Document::read(format!("{{\"a\": 1, \"a\": 2, {sops}}}").as_bytes(), Format::Json).unwrap();
    let keys: Vec<&str> = document.trees[0].entries().map(|(key, _)| key).collect();
    assert_eq!(keys, ["a", "a"]);
    let error = Document::read(format!("{{{sops}, {sops}}}").as_bytes(), Format::Json).unwrap_err();
    assert_eq!(error.to_string(), "Found duplicate sops entry");
}

#[test]
fn no_key_at_hand() {
    let document = Document::read(case("several.yaml").as_bytes(), Format::Yaml).unwrap();
    let error = document.data_key(&Keyring::default()).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot get sops data key: Failed to get the data key required to decrypt"),
        "{error}"
    );
    assert!(error.contains("failed to load age identities") && error.contains("PGP"), "{error}");
}

#[rstest]
#[case("AGE-SECRET-KEY-PQ-1QQQ\n", "malformed secret key (line 1)")]
// A seed of 31 bytes with a checksum that is right.
#[case(
    "AGE-SECRET-KEY-PQ-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC2NQVTJ\n",
    "malformed secret key (line 1)"
)]
#[case("# fine\nnonsense\n", "failed to parse and add to age identities: unknown identity type (line 2)")]
#[case("AGE-PLUGIN-YUBIKEY-1QQQ\n", "plugins are not supported")]
#[case("-----BEGIN OPENSSH PRIVATE KEY-----\nxx\n", "SSH key")]
fn bad_identities(#[case] text: &str, #[case] words: &str) {
    let error = Keyring::default().identities.add(text).unwrap_err().to_string();
    assert!(error.contains(words), "{error}");
}

/// Of one case are both forms of Bech32, and age takes the upper one (KS-SOPS-5).
#[test]
fn identities_in_lower_case_are_refused() {
    let text = key("age.agekey").to_lowercase();
    let error = Keyring::default().identities.add(&text).unwrap_err().to_string();
    assert!(
        error.starts_with("failed to parse and add to age identities: unknown identity type (line "),
        "{error}"
    );
}

/// Only the key that a message is for opens it, of either kind.
#[rstest]
#[case("age_pq.yaml", "age.agekey")]
#[case("age.yaml", "age_pq.agekey")]
fn keys_of_another_kind_open_nothing(#[case] file: &str, #[case] other: &str) {
    let document = Document::read(case(file).as_bytes(), Format::Yaml).unwrap();
    let mut ring = Keyring::default();
    ring.identities.add(&key(other)).unwrap();
    // The report breaks lines between words.
    let words = |ring: &Keyring| {
        let error = document.data_key(ring).unwrap_err().to_string();
        error.split_whitespace().filter(|word| *word != "|").collect::<Vec<_>>().join(" ")
    };
    let one = "age: identity did not match any of the recipients: incorrect identity for recipient block";
    assert!(words(&ring).contains(one), "{}", words(&ring));
    ring.identities.add(&key(other)).unwrap();
    assert!(words(&ring).contains("age: no identity matched any of the recipients"), "{}", words(&ring));
}

/// KS-DEC-2: as gpg imports them.
#[test]
fn several_pgp_keys_in_one_text() {
    let public = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDME\n-----END PGP PUBLIC KEY BLOCK-----\n";
    let text = format!("{public}{}# another one\n{}", key("pgp_curve.asc"), key("pgp.asc"));
    let mut ring = Keyring::default();
    ring.pgp.add(text.as_bytes()).unwrap();
    for file in ["pgp.yaml", "curve.yaml"] {
        Document::read(case(file).as_bytes(), Format::Yaml).unwrap().data_key(&ring).unwrap();
    }
}

#[test]
fn bad_pgp_keys() {
    let mut ring = Keyring::default();
    ring.pgp.add(b"no key").unwrap_err();
    let secret = key("pgp.asc");
    let broken = secret.replacen("\nlQ", "\nAA", 1);
    ring.pgp.add(broken.as_bytes()).unwrap_err();
    assert!(ring.pgp.is_empty());
}

/// KS-DEC-29.
#[test]
fn security_a_pgp_key_that_is_cut_off_is_not_shown() {
    let secret = key("pgp.asc");
    let cut = &secret[..secret.len() - 200];
    let error = Keyring::default().pgp.add(cut.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "failed to import armored PGP key: a block of it cannot be read");
}

#[test]
fn deep_documents_are_refused() {
    let deep = format!("a: {}1{}\n", "[".repeat(500), "]".repeat(500));
    Document::read(deep.as_bytes(), Format::Yaml).unwrap_err();
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
    Document::read(deep.as_bytes(), Format::Json).unwrap_err();
}
