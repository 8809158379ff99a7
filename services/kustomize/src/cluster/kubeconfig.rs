//! Kubeconfig files of tenants, without what reaches beyond them (KS-IMP-6): files of this machine, programs, other users.

use kube::config::{AuthInfo, Kubeconfig};
use secrecy::ExposeSecret;
use weir_runtime::client;

/// The reason why a kubeconfig cannot name files.
const NO_FILES: &str = "no files of the controller are read for kubeconfigs";

/// The parts of kubeconfigs that the operator allows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trust {
    /// Programs may be run (`--insecure-kubeconfig-exec`).
    pub exec: bool,
    /// Certificates may be left unchecked (`--insecure-kubeconfig-tls`).
    pub tls: bool,
}

/// Reads a kubeconfig and takes out what is not allowed.
///
/// # Errors
/// It is no kubeconfig, or its current cluster or user needs a file.
pub fn read(bytes: &[u8], trust: Trust) -> Result<Kubeconfig, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the kubeconfig is no UTF-8 text".to_owned())?;
    let config = client::kubeconfig::parse(text)
        .map_err(|error| format!("the kubeconfig cannot be parsed: {error}"))?;
    refuse_files(&config)?;
    let mut clean = Kubeconfig {
        current_context: config.current_context,
        contexts: config.contexts,
        clusters: config.clusters,
        auth_infos: config.auth_infos,
        ..Kubeconfig::default()
    };
    for cluster in clean.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
        cluster.certificate_authority = None;
        if !trust.tls {
            cluster.insecure_skip_tls_verify = None;
        }
    }
    for user in clean.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut()) {
        let kept = std::mem::take(user);
        *user = AuthInfo {
            username: kept.username,
            password: kept.password,
            token: kept.token,
            client_certificate_data: kept.client_certificate_data,
            client_key_data: kept.client_key_data,
            exec: kept.exec.filter(|_| trust.exec),
            ..AuthInfo::default()
        };
    }
    Ok(clean)
}

/// Refuses a current cluster or user that needs files, as Flux does where they are not there. They never count as there: else a tenant
/// could find out which files the controller has (KS-TEN-5).
fn refuse_files(config: &Kubeconfig) -> Result<(), String> {
    let current = config.current_context.as_ref();
    let context = config.contexts.iter().find(|named| Some(&named.name) == current);
    let Some(context) = context.and_then(|named| named.context.as_ref()) else { return Ok(()) };
    let user = config.auth_infos.iter().find(|named| Some(&named.name) == context.user.as_ref());
    let cluster = config.clusters.iter().find(|named| named.name == context.cluster);
    let user = user.and_then(|named| Some((&named.name, named.auth_info.as_ref()?)));
    let cluster = cluster.and_then(|named| Some((&named.name, named.cluster.as_ref()?)));
    let mut unread = user.map(|(name, user)| certificate_files(name, user)).unwrap_or_default();
    unread.extend(cluster.and_then(|(name, cluster)| {
        let file = given(cluster.certificate_authority.as_ref())?;
        Some(unreadable("certificate-authority", file, name))
    }));
    match (unread.as_slice(), user.and_then(|(_, user)| token_file(user))) {
        ([], None) => Ok(()),
        ([], Some(file)) => Err(format!("open {file}: {NO_FILES}")),
        ([one], _) => Err(format!("invalid configuration: {one}")),
        (several, _) => Err(format!("invalid configuration: [{}]", several.join(", "))),
    }
}

/// A key without a certificate is not looked at.
fn certificate_files(name: &str, user: &AuthInfo) -> Vec<String> {
    let certificate = given(user.client_certificate.as_ref());
    if certificate.or(given(user.client_certificate_data.as_ref())).is_none() {
        return Vec::new();
    }
    let files = [("client-cert", certificate), ("client-key", given(user.client_key.as_ref()))];
    files.into_iter().filter_map(|(what, file)| Some(unreadable(what, file?, name))).collect()
}

/// Returns the file of a token that nothing else stands for.
fn token_file(user: &AuthInfo) -> Option<&String> {
    let has_token = user.token.as_ref().is_some_and(|token| !token.expose_secret().is_empty());
    given(user.token_file.as_ref()).filter(|_| !has_token)
}

fn unreadable(what: &str, file: &str, name: &str) -> String {
    format!("unable to read {what} {file} for {name} due to open {file}: {NO_FILES}")
}

fn given(text: Option<&String>) -> Option<&String> {
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const FULL: &str = r#"
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://k.example:6443/path", insecure-skip-tls-verify: true,
  tls-server-name: k, proxy-url: "http://proxy.example"}}, {name: other, cluster: {certificate-authority: /etc/passwd}}]
users: [{name: other, user: {username: me, password: p, client-certificate: /etc/a}},
  {name: u, user: {token: t, tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token, client-key: /etc/b, as: system:admin, as-groups: [system:masters],
  auth-provider: {name: gcp, config: {}}, exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/true}}}]
"#;

    #[rstest]
    #[case(Trust::default())]
    #[case(Trust { exec: true, tls: false })]
    #[case(Trust { exec: false, tls: true })]
    fn only_what_is_allowed_stays(#[case] trust: Trust) {
        let config = read(FULL.as_bytes(), trust).unwrap();
        let cluster = config.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://k.example:6443/path"));
        assert_eq!(cluster.tls_server_name.as_deref(), Some("k"));
        assert_eq!(cluster.proxy_url.as_deref(), Some("http://proxy.example"));
        assert_eq!(config.clusters[1].cluster.as_ref().unwrap().certificate_authority, None);
        assert_eq!(cluster.insecure_skip_tls_verify, trust.tls.then_some(true));
        let other = config.auth_infos[0].auth_info.as_ref().unwrap();
        assert!(other.password.is_some() && other.username.as_deref() == Some("me"));
        assert!(other.client_certificate.is_none());
        let user = config.auth_infos[1].auth_info.as_ref().unwrap();
        assert!(user.token.is_some());
        assert!(user.token_file.is_none() && user.client_key.is_none());
        assert!(
            user.impersonate.is_none() && user.impersonate_groups.is_none() && user.auth_provider.is_none()
        );
        assert_eq!(user.exec.is_some(), trust.exec);
    }

    /// KS-IMP-6: as Flux names it, but for the reason why a file is not read.
    #[rstest]
    #[case::authority(
        "certificate-authority: /a",
        "token: t",
        Some(
            "invalid configuration: unable to read certificate-authority /a for k due to open /a: <reason>"
        )
    )]
    #[case::files(
        "",
        "client-certificate: /c, client-key: /k",
        Some(
            "invalid configuration: [unable to read client-cert /c for u due to open /c: <reason>, unable to read client-key /k for u due to open /k: <reason>]"
        )
    )]
    #[case::key_alone("", "client-key: /k, token: t", None)]
    #[case::token_file("", "tokenFile: /t", Some("open /t: <reason>"))]
    #[case::token_and_file("", "tokenFile: /t, token: t", None)]
    fn files_that_are_needed_are_named(
        #[case] cluster: &str,
        #[case] user: &str,
        #[case] expected: Option<&str>,
    ) {
        let text = format!(
            "current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
             clusters: [{{name: k, cluster: {{server: 'https://k', {cluster}}}}}]\n\
             users: [{{name: u, user: {{{user}}}}}, {{name: other, user: {{tokenFile: /o}}}}]"
        );
        let found = read(text.as_bytes(), Trust::default()).err();
        assert_eq!(found, expected.map(|text| text.replace("<reason>", NO_FILES)));
    }

    #[test]
    fn what_is_no_kubeconfig_is_not_repeated() {
        let error = read(b"users: hunter2", Trust::default()).unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
