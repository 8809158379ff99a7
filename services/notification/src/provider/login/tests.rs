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
#[case::no_app("github", "https://github.com/org/repo", "", "None")]
#[case::others("slack", "https://h", "", "None")]
fn logins(#[case] kind: &str, #[case] address: &str, #[case] token: &str, #[case] expected: &str) {
    assert_eq!(format!("{:?}", needed(&settings(kind, address, token), None).unwrap()), expected);
}

#[test]
fn a_key_of_googles_goes_before_the_identity() {
    let found = needed(&settings("googlepubsub", "project", USER), None).unwrap();
    assert!(matches!(found, Some(Needed::Key(_))));
    let refused = needed(&settings("googlepubsub", "project", "hunter2"), None).unwrap_err().to_string();
    assert!(
        refused
            .starts_with("the entry 'token' of the secret cannot be used for GCP Pub/Sub: it is not a JSON"),
        "{refused}"
    );
    assert!(!refused.contains("hunter2"));
}

#[rstest]
#[case("github", "", true)]
#[case("githubdispatch", "", true)]
#[case("githubpullrequestcomment", "", true)]
#[case("github", "t", false)]
#[case("gitlab", "", false)]
fn an_app_serves_githubs_types_without_a_token(
    #[case] kind: &str,
    #[case] token: &str,
    #[case] serves: bool,
) {
    let data = [("githubAppID", "1"), ("githubAppInstallationID", "2"), ("githubAppPrivateKey", "k")];
    let data = data.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec())).into();
    let secret = Secret { place: "ns/s".to_owned(), data, ..Secret::default() };
    let found = needed(&settings(kind, "https://github.com/org/repo", token), Some(&secret)).unwrap();
    assert_eq!(matches!(found, Some(Needed::App(_))), serves);
}
