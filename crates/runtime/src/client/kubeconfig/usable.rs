//! Clusters and users of a kubeconfig that contradict themselves (CLI-G02).

use kube::config::{AuthInfo, Cluster, ExecConfig};
use secrecy::{ExposeSecret, SecretString};

use super::Error;

/// Versions of logins by a program that need not say how they deal with a terminal.
const OLD_LOGINS: [&str; 2] =
    ["client.authentication.k8s.io/v1beta1", "client.authentication.k8s.io/v1alpha1"];

/// Refuses a cluster or a user that kubectl refuses, in its words, with all that is wrong.
pub(super) fn check(cluster: (&str, &Cluster), user: (&str, &AuthInfo)) -> Result<(), Error> {
    let mut wrong = of_user(user.0, user.1);
    wrong.extend(of_cluster(cluster.0, cluster.1));
    match wrong.as_slice() {
        [] => Ok(()),
        [one] => Err(Error::Invalid(one.clone())),
        several => Err(Error::Invalid(format!("[{}]", several.join(", ")))),
    }
}

/// Takes away what is there and empty, as good as not there for kubectl: kube would send an empty login instead of the token beside it.
pub(super) fn drop_empty(user: &mut AuthInfo) {
    if !is_set(&user.username) {
        (user.username, user.password) = (None, None);
    }
    for secret in [&mut user.token, &mut user.client_key_data] {
        secret.take_if(|secret| secret.expose_secret().is_empty());
    }
    let texts = [
        &mut user.token_file,
        &mut user.client_certificate,
        &mut user.client_certificate_data,
        &mut user.client_key,
    ];
    for text in texts {
        text.take_if(|text| text.is_empty());
    }
}

fn of_cluster(name: &str, cluster: &Cluster) -> Option<String> {
    let is_both = is_set(&cluster.certificate_authority) && is_set(&cluster.certificate_authority_data);
    is_both.then(|| {
        format!(
            "certificate-authority-data and certificate-authority are both specified for {name}. \
             certificate-authority-data will override."
        )
    })
}

fn of_user(name: &str, user: &AuthInfo) -> Vec<String> {
    let mut wrong = of_certificate(name, user);
    let is_login = user.exec.is_some();
    if is_login && user.auth_provider.is_some() {
        wrong.push(format!("authProvider cannot be provided in combination with an exec plugin for {name}"));
    }
    wrong.extend(user.exec.iter().flat_map(|program| of_program(name, program)));
    let has_basic = is_set(&user.username) || is_given(user.password.as_ref());
    if is_given(user.token.as_ref()) && has_basic {
        wrong.push(format!(
            "more than one authentication method found for {name}; found [token basicAuth], only one is allowed"
        ));
    }
    wrong
}

fn of_certificate(name: &str, user: &AuthInfo) -> Vec<String> {
    let certificate = [&user.client_certificate, &user.client_certificate_data].map(is_set);
    let key = [is_set(&user.client_key), is_given(user.client_key_data.as_ref())];
    if certificate == [false; 2] {
        return Vec::new();
    }
    let rules = [
        (
            certificate == [true; 2],
            format!(
                "client-cert-data and client-cert are both specified for {name}. client-cert-data will override."
            ),
        ),
        (
            key == [true; 2],
            format!(
                "client-key-data and client-key are both specified for {name}; client-key-data will override"
            ),
        ),
        (
            key == [false; 2],
            format!(
                "client-key-data or client-key must be specified for {name} to use the clientCert authentication method."
            ),
        ),
    ];
    rules.into_iter().filter_map(|(is_broken, text)| is_broken.then_some(text)).collect()
}

fn of_program(name: &str, program: &ExecConfig) -> impl Iterator<Item = String> {
    let version = program.api_version.as_deref().unwrap_or_default();
    let has_mode = program.interactive_mode.is_some() || OLD_LOGINS.contains(&version);
    let is_named = |variable: &std::collections::HashMap<String, String>| {
        variable.get("name").is_some_and(|name| !name.is_empty())
    };
    let missing = [
        ("command", is_set(&program.command)),
        ("apiVersion", !version.is_empty()),
        ("env variable name", program.env.iter().flatten().all(is_named)),
        ("interactiveMode", has_mode),
    ];
    let text = move |what| format!("{what} must be specified for {name} to use exec authentication plugin");
    missing.into_iter().filter(|(_, is_there)| !is_there).map(move |(what, _)| text(what))
}

fn is_given(secret: Option<&SecretString>) -> bool {
    secret.is_some_and(|secret| !secret.expose_secret().is_empty())
}

fn is_set(text: &Option<String>) -> bool {
    text.as_ref().is_some_and(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use crate::client::kubeconfig::{config, parse};

    #[rstest::rstest]
    #[case("token: t, username: '', password: ''", "token")]
    #[case("token: '', tokenFile: f", "file")]
    #[case("token: '', username: u, password: ''", "login")]
    fn empty_fields_stand_for_nothing(#[case] user: &str, #[case] expected: &str) {
        let text = format!(
            "clusters: [{{name: c, cluster: {{server: 'https://c'}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n\
             contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
        );
        let auth = config(&parse(&text).unwrap(), &Default::default()).unwrap().auth_info;
        let is_there = [
            ("token", auth.token.is_some()),
            ("file", auth.token_file.is_some()),
            ("login", auth.username.is_some() && auth.password.is_some()),
        ];
        let there: Vec<_> =
            is_there.into_iter().filter(|(_, is_there)| *is_there).map(|(what, _)| what).collect();
        assert_eq!(there, [expected]);
    }

    /// The texts are those of kubectl and Flux.
    #[rstest::rstest]
    #[case("", "token: t", None)]
    #[case("", "token: t, as-groups: [a], as: jane", None)]
    #[case("", "token: '', username: me", None)]
    #[case("", "client-certificate-data: YQ==, client-key: k, client-key-data: ''", None)]
    #[case("", "client-certificate-data: YQ==, client-key: k, token: '', username: ''", None)]
    #[case("", "exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1}", None)]
    #[case(
        "",
        "exec: {command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, env: [{name: A, value: b}]}",
        None
    )]
    #[case(
        "",
        "exec: {command: x}",
        Some(
            "[apiVersion must be specified for u to use exec authentication plugin, \
              interactiveMode must be specified for u to use exec authentication plugin]"
        )
    )]
    #[case(
        "",
        "exec: {apiVersion: client.authentication.k8s.io/v1beta1, env: [{value: b}]}, auth-provider: {name: oidc}",
        Some(
            "[authProvider cannot be provided in combination with an exec plugin for u, \
              command must be specified for u to use exec authentication plugin, \
              env variable name must be specified for u to use exec authentication plugin]"
        )
    )]
    #[case(
        "",
        "token: t, username: me",
        Some(
            "more than one authentication method found for u; found [token basicAuth], only one is allowed"
        )
    )]
    #[case(
        "",
        "client-certificate: a, client-certificate-data: YQ==, client-key: b, client-key-data: YQ==",
        Some(
            "[client-cert-data and client-cert are both specified for u. client-cert-data will override., \
              client-key-data and client-key are both specified for u; client-key-data will override]"
        )
    )]
    #[case(
        "",
        "client-certificate: a",
        Some(
            "client-key-data or client-key must be specified for u to use the clientCert authentication method."
        )
    )]
    #[case(
        "certificate-authority: a, certificate-authority-data: YQ==",
        "token: t",
        Some(
            "certificate-authority-data and certificate-authority are both specified for c. \
              certificate-authority-data will override."
        )
    )]
    fn contradictions_are_refused(#[case] cluster: &str, #[case] user: &str, #[case] reason: Option<&str>) {
        let text = format!(
            "clusters: [{{name: c, cluster: {{server: 'https://c', {cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n\
             contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
        );
        let refused =
            config(&parse(&text).unwrap(), &Default::default()).err().map(|error| error.to_string());
        assert_eq!(refused, reason.map(|reason| format!("invalid configuration: {reason}")));
    }
}
