//! Links in repositories lead nowhere but within them.

use rstest::rstest;
use weir_testkit::GitServer;

use crate::{config_map, resource};

const BASE: &str = "resources: [../linked/cm.yaml]\n";

#[tokio::test]
async fn links_within_are_followed() {
    let server = GitServer::start().await.unwrap();
    let map = config_map("app", "1");
    server
        .repo("app")
        .unwrap()
        .change("main")
        .file("real/deep/kustomization.yaml", "resources: [cm.yaml]\n")
        .file("real/deep/cm.yaml", &map)
        .symlink("real/up", "../real/./deep")
        .symlink("base", "real/up")
        .commit()
        .unwrap();
    assert_eq!(resource(&format!("{}//base", server.url("app"))).await.unwrap(), map);
}

#[rstest]
#[case::root("..", "\"/.remote-bases/1/linked\" refers to directory outside of repo \"/.remote-bases/1\"")]
#[case::absolute(
    "/etc",
    "\"/.remote-bases/1/linked\" refers to directory outside of repo \"/.remote-bases/1\""
)]
#[case::round("../linked", "\"/.remote-bases/1/linked\" refers to directory outside of repo")]
#[case::in_a_circle("linked", "read '/.remote-bases/1/linked': more than 40 links")]
#[tokio::test]
async fn a_directory_that_leads_out_is_refused(#[case] target: &str, #[case] wanted: &str) {
    let server = GitServer::start().await.unwrap();
    server.repo("app").unwrap().change("main").symlink("linked", target).commit().unwrap();
    let error = resource(&format!("{}//linked", server.url("app"))).await.unwrap_err();
    assert!(error.contains(wanted), "{error}");
}

#[rstest]
#[case::resource("resources: [cm.yaml]\n", "fs-security-constraint abs /.remote-bases/1/base/cm.yaml: path")]
#[case::generator(
    "configMapGenerator: [{name: g, files: [cm.yaml]}]\n",
    "is not in or below '/.remote-bases/1'"
)]
#[case::base("resources: [dir]\n", "fs-security-constraint abs /.remote-bases/1/base/dir: path")]
#[tokio::test]
async fn files_and_bases_that_lead_out_are_refused(#[case] kustomization: &str, #[case] wanted: &str) {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    let change = repository.change("main").file("base/kustomization.yaml", kustomization);
    change.symlink("base/cm.yaml", "../../secret").symlink("base/dir", "/etc").commit().unwrap();
    let error = resource(&format!("{}//base", server.url("app"))).await.unwrap_err();
    assert!(error.contains(wanted), "{error}");
}

/// Files stay in the directory that names them, even where a link is followed.
#[tokio::test]
async fn a_link_to_a_file_beside_the_base_is_refused() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    let change =
        repository.change("main").file("base/kustomization.yaml", BASE).file("other/cm.yaml", "a: b\n");
    change.symlink("linked", "other").commit().unwrap();
    let error = resource(&format!("{}//base", server.url("app"))).await.unwrap_err();
    assert!(
        error.contains(
            "security; file '/.remote-bases/1/other/cm.yaml' is not in or below '/.remote-bases/1/base'"
        ),
        "{error}"
    );
}
