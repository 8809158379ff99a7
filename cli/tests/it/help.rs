//! Help texts, and command lines that are wrong.

use crate::weir::Weir;

#[tokio::test]
async fn every_command_explains_itself() {
    let commands = [
        "-h",
        "get -h",
        "get sources -h",
        "get sources git -h",
        "get artifacts -h",
        "get kustomizations -h",
        "get all -h",
        "reconcile -h",
        "reconcile kustomization -h",
        "reconcile image policy -h",
        "reconcile helmrelease -h",
        "check -h",
        "demo -h",
        "install -h",
        "uninstall -h",
        "bootstrap -h",
        "bootstrap git -h",
        "bootstrap github -h",
        "create -h",
        "create source -h",
        "create source git -h",
        "create kustomization -h",
        "create secret -h",
        "create secret git -h",
        "create tenant -h",
        "export source git -h",
        "delete kustomization -h",
        "suspend source -h",
        "suspend kustomization -h",
        "resume kustomization -h",
        "watch -h",
        "build -h",
        "build kustomization -h",
        "why -h",
        "tree -h",
        "tree kustomization -h",
        "tree artifact generator -h",
        "trace -h",
        "events -h",
        "logs -h",
        "stats -h",
        "debug kustomization -h",
        "debug helmrelease -h",
        "envsubst -h",
        "migrate -h",
        "plugin -h",
        "plugin install -h",
        "trigger receiver -h",
        "diff kustomization -h",
        "plan source git -h",
        "plan source oci -h",
        "build artifact -h",
        "push artifact -h",
        "pull artifact -h",
        "tag artifact -h",
        "list artifacts -h",
        "diff artifact -h",
        "completion -h",
        "version -h",
    ];
    insta::assert_snapshot!(Weir::default().transcript(&commands).await);
}

#[tokio::test]
async fn all_flags_are_in_the_long_help() {
    insta::assert_snapshot!(Weir::default().transcript(&["--help", "run --help"]).await);
}

#[tokio::test]
async fn wrong_command_lines_are_one_line_and_exit_code_one() {
    let commands = [
        "nope",
        "get kustomisations",
        "get ks --timeout soon",
        "build --reorder sideways",
        "completion tcsh",
        "watch nope",
        "get ks",
        "get ks --kubeconfig /nonexistent",
    ];
    insta::assert_snapshot!(Weir::default().transcript(&commands).await);
}
