//! Kubeconfig files of tenants, without what reaches beyond them (KS-IMP-6): files of this machine, programs, other users.

use kube::config::{AuthInfo, Kubeconfig};

/// The parts of kubeconfigs that the operator allows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trust {
    /// Programs may be run (`--insecure-kubeconfig-exec`).
    pub(crate) exec: bool,
    /// Certificates may be left unchecked (`--insecure-kubeconfig-tls`).
    pub(crate) tls: bool,
}

/// Reads a kubeconfig and takes out what is not allowed.
pub(super) fn read(bytes: &[u8], trust: Trust) -> Result<Kubeconfig, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the kubeconfig is no UTF-8 text".to_owned())?;
    // The parser's words may repeat a part of the text, which holds credentials.
    let config = Kubeconfig::from_yaml(text).map_err(|_| "the kubeconfig cannot be parsed".to_owned())?;
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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const FULL: &str = r#"
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://k.example:6443/path", certificate-authority: /etc/passwd,
  insecure-skip-tls-verify: true, tls-server-name: k, proxy-url: "http://proxy.example"}}]
users: [{name: u, user: {token: t, tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token, username: n, password: p,
  client-certificate: /etc/a, client-key: /etc/b, as: system:admin, as-groups: [system:masters],
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
        assert_eq!(cluster.certificate_authority, None);
        assert_eq!(cluster.insecure_skip_tls_verify, trust.tls.then_some(true));
        let user = config.auth_infos[0].auth_info.as_ref().unwrap();
        assert!(user.token.is_some() && user.password.is_some() && user.username.as_deref() == Some("n"));
        assert!(user.token_file.is_none() && user.client_certificate.is_none() && user.client_key.is_none());
        assert!(
            user.impersonate.is_none() && user.impersonate_groups.is_none() && user.auth_provider.is_none()
        );
        assert_eq!(user.exec.is_some(), trust.exec);
    }

    #[test]
    fn what_is_no_kubeconfig_is_not_repeated() {
        let error = read(b"users: hunter2", Trust::default()).unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
