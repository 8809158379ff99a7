//! Signed commits of `weir bootstrap` (cli.md 11.2), checked by `git` with `gpg` and `ssh-keygen`.

use weir_testkit::{Folder, GitServer, GpgHome, SshKey};

use crate::bootstrap::{Home, PATH};
use crate::nodes::with_nodes;
use crate::weir::Weir;

const FLUX: &str = "flux@example.com";
const PASSPHRASE: &str = "correct-horse";

#[tokio::test]
async fn commits_are_signed_with_gpg_and_with_ssh() {
    let (home, server) = (Home::start().await, GitServer::start().await.unwrap());
    let (repository, url) = (server.repo("fleet").unwrap(), server.url("fleet"));
    let (gpg, ssh) = (GpgHome::create().unwrap(), SshKey::generate("ed25519").unwrap());
    let with = ["--passphrase", PASSPHRASE];
    gpg.gpg(&[&with[..], &["--quick-gen-key", FLUX, "ed25519", "sign", "0"]].concat(), b"").unwrap();
    let ring = gpg.gpg(&[&with[..], &["--armor", "--export-secret-keys"]].concat(), b"").unwrap();
    home.folder.write("ring.asc", ring).unwrap();
    home.folder.write("key", ssh.private().unwrap()).unwrap();
    let line = format!("bootstrap git --url {url} --allow-insecure-http --token-auth -p pass {PATH}");
    let with_gpg = format!("{line} --gpg-key-ring ring.asc --gpg-passphrase {PASSPHRASE}");
    let with_ssh = format!("{line} --interval 2m --ssh-signing-key-file key");
    let transcript = with_nodes(&home.plane, home.weir().transcript(&[&with_gpg, &with_ssh])).await;
    assert_eq!(transcript.matches("✔ all components are healthy").count(), 2, "{transcript}");
    assert!(!transcript.contains("[exit status"), "{transcript}");
    assert_eq!(repository.log("main").unwrap().len(), 3);
    repository.verify_commit("main", &ssh.signer()).unwrap();
    repository.verify_commit("main~1", &gpg.signer(FLUX)).unwrap();
    repository.verify_commit("main~2", &gpg.signer(FLUX)).unwrap();
    assert!(repository.verify_commit("main", &gpg.signer(FLUX)).is_err());
}

/// Before anything is asked of a cluster or a Git server.
#[tokio::test]
async fn keys_that_cannot_sign_are_refused() {
    let (folder, gpg) = (Folder::new("signing").unwrap(), GpgHome::create().unwrap());
    let with = ["--passphrase", PASSPHRASE];
    gpg.gpg(&[&with[..], &["--quick-gen-key", FLUX, "ed25519", "sign", "0"]].concat(), b"").unwrap();
    let ring = gpg.gpg(&[&with[..], &["--armor", "--export-secret-keys"]].concat(), b"").unwrap();
    folder.write("ring", ring).unwrap();
    folder.write("public", gpg.public(FLUX).unwrap()).unwrap();
    folder.write("junk", "junk").unwrap();
    for (name, arguments) in
        [("locked", ["-t", "ed25519", "-N", PASSPHRASE]), ("short", ["-t", "rsa", "-b1024", "-N"])]
    {
        let arguments = if name == "short" { [&arguments[..], &[""]].concat() } else { arguments.to_vec() };
        folder.write(name, SshKey::generate_with(&arguments).unwrap().private().unwrap()).unwrap();
    }
    let weir = Weir::default().in_folder(folder.path());
    let git = "bootstrap git --url https://h.io/r --token-auth -p pass";
    let flags = [
        "--gpg-key-ring ring --ssh-signing-key-file locked",
        "--ssh-signing-key-file locked --ssh-signing-reuse-private-key",
        "--ssh-signing-reuse-private-key",
        "--ssh-signing-password x",
        "--ssh-signing-key-file locked --ssh-signing-password x --ssh-signing-passphrase y",
        "--gpg-passphrase x",
        "--gpg-key-ring missing",
        "--gpg-key-ring junk",
        "--gpg-key-ring public",
        "--gpg-key-ring ring",
        "--gpg-key-ring ring --gpg-passphrase wrong",
        "--gpg-key-ring ring --gpg-key-id 1234",
        "--gpg-key-ring ring --gpg-key-id 0x00000000deadbeef",
        "--ssh-signing-key-file missing",
        "--ssh-signing-key-file junk",
        "--ssh-signing-key-file locked",
        "--ssh-signing-key-file locked --ssh-signing-passphrase wrong",
        "--ssh-signing-key-file short",
        "--private-key-file short --ssh-signing-reuse-private-key",
    ];
    let mut lines: Vec<_> = flags.iter().map(|flags| format!("{git} {flags}")).collect();
    lines.push("bootstrap github --owner o --repository r --ssh-signing-reuse-private-key".to_owned());
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    insta::assert_snapshot!(weir.with_env("GITHUB_TOKEN", "t").transcript(&lines).await);
}
