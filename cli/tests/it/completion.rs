//! Scripts that shells take.

use std::process::Command;

use crate::weir::Weir;

#[tokio::test]
async fn bash_takes_the_script_and_completes_by_it() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("weir.bash");
    std::fs::write(&script, Weir::default().stdout("completion bash").await).unwrap();
    let complete = format!(
        "source {}; COMP_WORDS=(weir get ku); COMP_CWORD=2; _weir weir ku get; echo \"${{COMPREPLY[@]}}\"; complete -p weir",
        script.display()
    );
    let output = Command::new("bash").args(["-c", &complete]).output().unwrap();
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());
}

#[rstest::rstest]
#[case("zsh", "#compdef weir")]
#[case("fish", "# Print an optspec for argparse")]
#[case("powershell", "\nusing namespace System.Management.Automation")]
#[tokio::test]
async fn other_shells_have_a_script(#[case] shell: &str, #[case] start: &str) {
    let script = Weir::default().stdout(&format!("completion {shell}")).await;
    assert!(script.starts_with(start), "{}", &script[..200]);
    assert!(script.contains("kustomizations"));
}
