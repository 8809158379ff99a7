use rstest::rstest;

use super::*;

const USER: &str = r#"{"type":"authorized_user","client_id":"i","client_secret":"s","refresh_token":"r"}"#;

fn settings(kind: &str, address: &str, token: &str) -> Settings {
    Settings {
        provider_type: kind.into(),
        address: address.into(),
        channel: "topic".into(),
        token: token.into(),
        ..Settings::default()
    }
}

#[rstest]
#[case::of_azure("azuredevops", "https://dev.azure.com/org/project/_git/repo", "", "Some(DevOps)")]
#[case::personal_token("azuredevops", "https://dev.azure.com/org/project/_git/repo", "t", "None")]
#[case::of_azure("azureeventhub", "hub", "", "Some(EventHub)")]
#[case::static_token("azureeventhub", "hub", "t", "None")]
#[case::shared_key("azureeventhub", "Endpoint=sb://h/;SharedAccessKey=k", "", "None")]
#[case::no_hub("azureeventhub", "", "", "None")]
#[case::of_google("googlepubsub", "project", "", "Some(PubSub)")]
#[case::no_project("googlepubsub", "", "", "None")]
#[case::others("slack", "https://h", "", "None")]
fn logins(#[case] kind: &str, #[case] address: &str, #[case] token: &str, #[case] expected: &str) {
    assert_eq!(format!("{:?}", needed(&settings(kind, address, token)).unwrap()), expected);
}

#[test]
fn a_key_of_googles_goes_before_the_identity() {
    let found = needed(&settings("googlepubsub", "project", USER)).unwrap();
    assert!(matches!(found, Some(Needed::Key(_))));
    let refused = needed(&settings("googlepubsub", "project", "hunter2")).unwrap_err().to_string();
    assert!(
        refused
            .starts_with("the entry 'token' of the secret cannot be used for GCP Pub/Sub: it is not a JSON"),
        "{refused}"
    );
    assert!(!refused.contains("hunter2"));
}
