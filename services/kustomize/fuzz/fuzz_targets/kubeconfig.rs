//! Kubeconfigs of tenants: refused, or without what reaches beyond them; then a configuration comes of it, or an error.
#![no_main]

use kube::config::KubeConfigOptions;
use libfuzzer_sys::fuzz_target;
use weir_kustomize_controller::kubeconfig::{Trust, read};
use weir_runtime::client::kubeconfig::config;

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = read(bytes, Trust::default()) else { return };
    for cluster in file.clusters.iter().filter_map(|named| named.cluster.as_ref()) {
        assert!(cluster.certificate_authority.is_none() && cluster.insecure_skip_tls_verify.is_none());
    }
    for user in file.auth_infos.iter().filter_map(|named| named.auth_info.as_ref()) {
        assert!(user.exec.is_none() && user.auth_provider.is_none(), "a program or a plugin");
        assert!(user.impersonate.is_none() && user.impersonate_groups.is_none(), "another user");
        assert!(user.token_file.is_none() && user.client_certificate.is_none() && user.client_key.is_none());
    }
    let _config = config(&file, &KubeConfigOptions::default());
});
