//! Bases over SSH, from a real `sshd`.

use tokio_util::sync::CancellationToken;
use weir_testkit::{Folder, SshGitServer};

use crate::{PATIENCE, bases, built_with, config_map};

async fn built(folder: &Folder, reference: &str) -> Result<String, String> {
    let bases = bases().with_ssh_folder(folder.path().to_owned());
    let fetcher = bases.for_build(PATIENCE, CancellationToken::new());
    built_with(fetcher, &format!("resources: ['{reference}']\n")).await
}

#[tokio::test]
async fn the_host_must_be_known_and_the_key_there() {
    let server = SshGitServer::start().await.unwrap();
    let map = config_map("app", "ssh");
    let files = [("base/kustomization.yaml", "resources: [cm.yaml]\n"), ("base/cm.yaml", map.as_str())];
    server.repo("app").unwrap().commit("main", "x", &files).unwrap();
    let reference = format!("{}//base?ref=main", server.url("app"));
    let folder = Folder::new("ssh").unwrap();

    let error = built(&folder, &reference).await.unwrap_err();
    assert!(error.contains("SSH needs a key: there is none of id_ed25519, id_ecdsa, id_rsa in"), "{error}");
    folder.write("id_ed25519", server.identity()).unwrap();
    let error = built(&folder, &reference).await.unwrap_err();
    assert!(error.contains("/known_hosts': No such file or directory"), "{error}");
    folder.write("known_hosts", server.other_known_hosts()).unwrap();
    let error = built(&folder, &reference).await.unwrap_err();
    assert!(error.contains("knownhosts: key mismatch"), "{error}");
    folder.write("known_hosts", server.known_hosts()).unwrap();
    assert_eq!(built(&folder, &reference).await.unwrap(), map);
}
