//! Rules over claims.

use rstest::rstest;
use serde_json::json;
use weir_api::notification::{OidcValidation, OidcVariable};

use super::*;

fn provider(variables: &[(&str, &str)], validations: &[(&str, &str)]) -> OidcProvider {
    OidcProvider {
        issuer_url: "https://issuer.example".into(),
        audience: "notification-controller".into(),
        variables: variables
            .iter()
            .map(|(name, expression)| OidcVariable {
                name: name.to_string(),
                expression: expression.to_string(),
            })
            .collect(),
        validations: validations
            .iter()
            .map(|(expression, message)| OidcValidation {
                expression: expression.to_string(),
                message: message.to_string(),
            })
            .collect(),
    }
}

#[tokio::test]
async fn variables_see_earlier_ones_and_all_failing_messages_are_joined() {
    let variables = [("repo", "claims.repository"), ("org", "vars.repo.split('/')[0]")];
    let validations =
        [("vars.org == 'weir'", "wrong org"), ("claims.ref == 'main'", "wrong ref"), ("true", "never")];
    let provider = provider(&variables, &validations);
    let good = check(&provider, json!({"repository": "weir/app", "ref": "main"})).await;
    assert_eq!(good, Ok(()));
    let bad = check(&provider, json!({"repository": "evil/app", "ref": "x"})).await;
    assert_eq!(bad, Err("token validation failed: wrong org; wrong ref".to_owned()));
    let absent = check(&provider, json!({"repository": "weir/app"})).await.unwrap_err();
    assert!(absent.starts_with("failed to evaluate validation: "), "{absent}");
}

#[tokio::test]
async fn variables_keep_their_types() {
    let variables = [
        ("count", "size(claims.groups)"),
        ("next", "vars.count + 1"),
        ("until", "timestamp(int(claims.exp))"),
    ];
    let validations =
        [("vars.next == 3", "count"), ("vars.until > timestamp('2020-01-01T00:00:00Z')", "time")];
    let claims = json!({"groups": ["a", "b"], "exp": 1_700_000_000});
    assert_eq!(check(&provider(&variables, &validations), claims).await, Ok(()));
}

fn fault(providers: &[OidcProvider]) -> String {
    match (check_providers(providers), compile_providers(providers)) {
        (Ok(()), Ok(())) => "ok".to_owned(),
        (Err(text), _) => format!("spec: {text}"),
        (_, Err(text)) => format!("expression: {text}"),
    }
}

#[rstest]
#[case(provider(&[], &[("true", "m")]), "ok")]
#[case(provider(&[], &[]), "spec: oidcProviders[0] (issuerURL=\"https://issuer.example\"): at least one validation is required; without validations any caller able to obtain a token from this issuer can trigger the Receiver")]
#[case(provider(&[("", "claims.x")], &[("true", "m")]), "spec: oidcProviders[0] (issuerURL=\"https://issuer.example\"): variables[0]: name is required")]
#[case(provider(&[("a", "")], &[("true", "m")]), "spec: oidcProviders[0] (issuerURL=\"https://issuer.example\"): variables[0] (name=\"a\"): expression is required")]
#[case(provider(&[], &[("true", "")]), "spec: oidcProviders[0] (issuerURL=\"https://issuer.example\"): validations[0]: message is required")]
#[case(provider(&[], &[("claims.x", "m")]), "expression: oidcProviders[0] (issuerURL=\"https://issuer.example\"): invalid expression for validation \"m\": CEL expression output type mismatch: expected bool, got dyn")]
fn providers_must_be_sound(#[case] provider: OidcProvider, #[case] expected: &str) {
    assert_eq!(fault(&[provider]), expected);
}

#[test]
fn an_issuer_stands_once() {
    let one = provider(&[], &[("true", "m")]);
    assert_eq!(
        fault(&[one.clone(), one]),
        "spec: oidcProviders[1]: duplicate issuerURL \"https://issuer.example\""
    );
}
