//! `weir sops decrypt`, with the files and throw-away keys of `crates/sops`.

use std::path::PathBuf;
use std::process::{Command, Output};

use weir_sops::{Document, Format, MasterKey, Metadata};

fn data(name: &str) -> PathBuf {
    weir_testkit::repo_path(&format!("crates/sops/tests/data/{name}"))
}

fn weir(arguments: &[&str], environment: &[(&str, PathBuf)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command
        .args(["sops", "decrypt"])
        .args(arguments)
        .env("HOME", "/nonexistent")
        .env_remove("SOPS_AGE_KEY")
        .env_remove("SOPS_AGE_KEY_FILE")
        .env_remove("XDG_CONFIG_HOME");
    command.envs(environment.iter().map(|(name, path)| (name, path)));
    command.output().unwrap()
}

#[test]
fn plaintext_is_printed() {
    let expected = std::fs::read(data("cases/age.yaml.plain")).unwrap();
    let file = data("cases/age.yaml");
    let file = file.to_str().unwrap();
    let by_environment = weir(&[file], &[("SOPS_AGE_KEY_FILE", data("keys/age.agekey"))]);
    assert_eq!(String::from_utf8_lossy(&by_environment.stdout), String::from_utf8_lossy(&expected));
    let keys = std::fs::read_to_string(data("keys/age.agekey")).unwrap();
    let key = keys.lines().find(|line| line.starts_with("AGE-")).unwrap();
    let in_one_line = weir(&[file], &[("SOPS_AGE_KEY", format!("# mine\n{key} {key}").into())]);
    assert_eq!(String::from_utf8_lossy(&in_one_line.stdout), String::from_utf8_lossy(&expected));
    let config = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(config.path().join("sops/age")).unwrap();
    std::fs::write(config.path().join("sops/age/keys.txt"), &keys).unwrap();
    let by_config = weir(&[file], &[("XDG_CONFIG_HOME", config.path().to_owned())]);
    assert_eq!(String::from_utf8_lossy(&by_config.stdout), String::from_utf8_lossy(&expected));
    let key = data("keys/age.agekey");
    let by_pipe = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["sops", "decrypt", "-", "--key-file", key.to_str().unwrap()])
        .stdin(std::fs::File::open(file).unwrap())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&by_pipe.stdout), String::from_utf8_lossy(&expected));
    let pgp = data("keys/pgp.asc");
    let file = data("cases/pgp.yaml");
    let by_flag = weir(&["--key-file", pgp.to_str().unwrap(), file.to_str().unwrap()], &[]);
    assert_eq!(String::from_utf8_lossy(&by_flag.stdout), String::from_utf8_lossy(&expected));
}

#[test]
fn without_a_key_and_with_a_wrong_mac() {
    let file = data("cases/age.yaml");
    let refused = weir(&[file.to_str().unwrap()], &[]);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && text.contains("cannot get sops data key"), "{text}");
    let changed = tempfile::NamedTempFile::with_suffix(".yaml").unwrap();
    let content =
        std::fs::read_to_string(&file).unwrap().replace("app_unencrypted: shop", "app_unencrypted: evil");
    std::fs::write(changed.path(), content).unwrap();
    let key = [("SOPS_AGE_KEY_FILE", data("keys/age.agekey"))];
    let refused = weir(&[changed.path().to_str().unwrap()], &key);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.stdout.is_empty() && text.contains("failed to verify sops data integrity"), "{text}");
    let ignored = weir(&["--ignore-mac", changed.path().to_str().unwrap()], &key);
    assert!(ignored.status.success() && !ignored.stdout.is_empty());
}

/// A key that a server keeps is asked for there, with the credentials of the environment.
#[test]
fn a_server_that_keeps_the_key_is_asked() {
    let read = |name: &str| std::fs::read(data(name)).unwrap();
    let theirs = Document::read(&read("cases/age.yaml"), Format::Yaml).unwrap();
    let port = weir_testkit::free_port().unwrap();
    let vault = MasterKey::Vault {
        address: format!("http://127.0.0.1:{port}"),
        engine: "transit".to_owned(),
        key: "sops".to_owned(),
        enc: "vault:v1:x".to_owned(),
    };
    let metadata = Metadata { groups: vec![vec![vault]], ..theirs.metadata };
    let ours = Document { metadata, ..theirs }.write(Format::Yaml).unwrap();
    let file = tempfile::NamedTempFile::with_suffix(".yaml").unwrap();
    std::fs::write(file.path(), ours).unwrap();
    let refused = weir(&[file.path().to_str().unwrap()], &[]);
    let text = String::from_utf8_lossy(&refused.stderr).replace("\n      | ", " ");
    assert!(text.contains(&format!("http://127.0.0.1:{port}/v1/transit/keys/sops: FAILED")), "{text}");
    assert!(!refused.status.success() && text.contains("connection refused"), "{text}");
}
