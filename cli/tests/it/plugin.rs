//! Plugins (CLI-PLG01): programs of a folder are commands.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use weir_testkit::Folder;

use crate::weir::Weir;

/// Writes a program that shows how it was called.
fn program(folder: &Path, name: &str, mode: u32) {
    let path = folder.join(name);
    let text = format!("#!/bin/sh\necho \"{name} in $PWD got: $*\"\n[ \"$1\" != fail ] || exit 7\n");
    // Another program makes it executable: a child that a test starts meanwhile would inherit the open file.
    std::fs::write(folder.join("draft"), text).unwrap();
    let mode = format!("{mode:o}");
    let mut install = std::process::Command::new("install");
    assert!(install.args(["-m", &mode]).arg(folder.join("draft")).arg(&path).status().unwrap().success());
}

#[tokio::test]
async fn programs_of_the_folder_are_commands() {
    let folder = Folder::new("plugins").unwrap();
    let path = folder.path();
    program(path, "flux-operator", 0o755);
    program(path, "flux-both", 0o755);
    program(path, "weir-both", 0o755);
    program(path, "flux-get", 0o755);
    program(path, "flux-plugin", 0o755);
    program(path, "flux-no-program", 0o644);
    program(path, "other", 0o755);
    std::fs::create_dir(path.join("flux-folder")).unwrap();
    symlink(path.join("other"), path.join("flux-linked")).unwrap();
    symlink(path.join("nowhere"), path.join("flux-broken")).unwrap();
    folder.write("flux-operator.yaml", "name: operator\nversion: 0.45.0\n").unwrap();
    let home = Folder::new("home").unwrap();
    let weir = Weir::default().in_folder(home.path()).with_env("FLUXCD_PLUGINS", path.to_str().unwrap());
    let shown = |text: String| {
        text.replace(path.to_str().unwrap(), "[plugins]").replace(home.path().to_str().unwrap(), "[here]")
    };
    let commands = [
        "plugin list",
        "operator",
        "operator --help -n apps --export=x -- y",
        "operator fail",
        "-n apps operator tree",
        "both",
        "linked x",
        "get --bad",
        "broken",
        "no-program",
        "folder",
        "oprator",
    ];
    insta::assert_snapshot!(shown(weir.transcript(&commands).await));
    let help = weir.stdout("--help").await;
    assert!(help.contains("  operator     Run the plugin operator\n"), "{help}");
    let own = weir.with_env("WEIR_PLUGINS", home.path().to_str().unwrap());
    assert_eq!(own.transcript(&["plugin list"]).await, "$ weir plugin list\n2> No plugins found\n\n");
}

#[tokio::test]
async fn the_folder_in_the_home_folder() {
    let home = Folder::new("home").unwrap();
    let folder = home.path().join(".fluxcd/plugins");
    std::fs::create_dir_all(&folder).unwrap();
    program(&folder, "weir-hello", 0o755);
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    let weir = Weir::default().in_folder(home.path()).with_env("HOME", home.path().to_str().unwrap());
    let text = weir.stdout("hello world").await;
    assert!(text.starts_with("weir-hello in ") && text.ends_with(" got: world\n"), "{text}");
}
