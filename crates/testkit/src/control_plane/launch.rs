use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rcgen::KeyPair;
use tokio::time::Instant;

use super::api_server::ApiServer;
use super::{ControlPlane, ControlPlaneOptions, Endpoint, Program, identity};
use crate::tls::Identity;
use crate::{Error, Folder, Process, free_port};

/// A quiet machine needs 1.3 s (CP-03); the limit is for one that compiles on every core meanwhile.
const READY_DEADLINE: Duration = Duration::from_secs(120);

/// A port can be taken between the look and the start; the second try takes others.
const TRIES: usize = 3;

/// Those that users meet without a node: workloads move, namespaces end, owners are collected, tokens exist (CP-04).
const CONTROLLERS: &str = "deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller,\
    job-controller,cronjob-controller,disruption-controller,namespace-controller,garbage-collector-controller,\
    serviceaccount-controller,serviceaccount-token-controller,root-ca-certificate-publisher-controller,\
    clusterrole-aggregation-controller";

/// Notes who asked for which object, without bodies: enough to count requests. Reviews say in their bodies whose rights they are
/// about.
const AUDIT_POLICY: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n\
    - {level: Request, resources: [{group: authorization.k8s.io}]}\n\
    - {level: Metadata}\n";

/// The first address of the range of Services, at which Pods find the API server.
const SERVICE_ADDRESS: &str = "10.96.0.1";

/// Issuer of ServiceAccount tokens.
const ISSUER: &str = "https://kubernetes.default.svc";

const ADMIN_TOKEN: &str = "weir-test-admin";
const CONTROLLER_MANAGER_TOKEN: &str = "weir-test-controller-manager";
const WEIR_TOKEN: &str = "weir-test-weir";
/// The token of the kubelet of the one node that a [`Cluster`](crate::Cluster) has.
pub(crate) const NODE_TOKEN: &str = "weir-test-node";

pub(super) async fn launch(options: ControlPlaneOptions) -> Result<ControlPlane, Error> {
    let program = Program::find().await?;
    let mut last = Error::NoPort;
    for _ in 0..TRIES {
        match launch_once(&options, program.clone()).await {
            Ok(plane) => return Ok(plane),
            Err(error @ Error::Exited { .. }) => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

async fn launch_once(options: &ControlPlaneOptions, program: Program) -> Result<ControlPlane, Error> {
    let folder = Folder::new("control-plane")?;
    let [client_port, peer_port, api_port] = [free_port()?, free_port()?, free_port()?];
    let address = options.nodes_at.unwrap_or(Ipv4Addr::LOCALHOST);
    let ca_pem = write_keys(&folder, address)?;
    write_configuration(&folder, options)?;
    let endpoint =
        Endpoint { server: format!("https://{address}:{api_port}"), ca_pem, admin_token: ADMIN_TOKEN.into() };
    let weir_kubeconfig = folder.write("weir.kubeconfig", identity::kubeconfig(&endpoint, WEIR_TOKEN))?;
    let kubeconfig = folder.write("kubeconfig", identity::kubeconfig(&endpoint, ADMIN_TOKEN))?;
    folder
        .write("controller-manager.kubeconfig", identity::kubeconfig(&endpoint, CONTROLLER_MANAGER_TOKEN))?;

    let etcd_url = format!("http://127.0.0.1:{client_port}");
    let mut etcd = program.etcd(&folder.join("etcd"), &etcd_url, &format!("http://127.0.0.1:{peer_port}"));
    let mut api_server = program.api_server();
    api_server_flags(&mut api_server, folder.path(), &etcd_url, api_port, options);
    let mut manager = program.controller_manager();
    let controllers = if options.nodes_at.is_some() { "*" } else { CONTROLLERS };
    controller_manager_flags(&mut manager, folder.path(), controllers);

    let mut etcd = Process::start("etcd", &mut etcd, &folder.join("etcd.log"))?;
    let api_server = ApiServer::start(api_server, folder.join("kube-apiserver.log"))?;
    wait_until_served(&endpoint, &api_server, || etcd.check_running()).await?;
    let log = folder.join("kube-controller-manager.log");
    let manager = Process::start("kube-controller-manager", &mut manager, &log)?;
    let mut plane = ControlPlane {
        etcd,
        api_server,
        manager,
        endpoint,
        clients: Default::default(),
        kubeconfig,
        weir_kubeconfig,
        audit_log: options.audit.then(|| folder.join("audit.log")),
        program,
        applied_crds: Default::default(),
        folder,
    };
    // The controller-manager makes this account, and Pods and tokens need it: the last thing to come up.
    plane.wait_for_default_account(READY_DEADLINE).await?;
    Ok(plane)
}

/// Writes the files of the API server that its flags name, but for the keys.
fn write_configuration(folder: &Folder, options: &ControlPlaneOptions) -> Result<(), Error> {
    folder.write(
        "tokens.csv",
        format!(
            "{ADMIN_TOKEN},admin,1,\"system:masters\"\n\
             {CONTROLLER_MANAGER_TOKEN},system:kube-controller-manager,2,\"system:masters\"\n\
             {WEIR_TOKEN},weir,3,\"system:masters\"\n\
             {NODE_TOKEN},system:node:node,4,\"system:nodes\"\n"
        ),
    )?;
    folder.write("audit.yaml", AUDIT_POLICY)?;
    if let Some(trusted) = &options.trusted {
        let reviews = format!("{}/apis/authentication.k8s.io/v1/tokenreviews", trusted.server);
        let reviews = Endpoint { server: reviews, ..trusted.clone() };
        folder.write("trusted.kubeconfig", identity::kubeconfig(&reviews, &trusted.admin_token))?;
    }
    Ok(())
}

/// Writes the server's certificate and the keys that sign and check ServiceAccount tokens; returns the CA's certificate.
fn write_keys(folder: &Folder, address: Ipv4Addr) -> Result<String, Error> {
    let identity = Identity::for_names(&["kubernetes.default.svc", SERVICE_ADDRESS, &address.to_string()])?;
    folder.write("ca.crt", &identity.ca_pem)?;
    folder.write("server.crt", &identity.certificate_pem)?;
    folder.write("server.key", &identity.key_pem)?;
    let service_account_key = KeyPair::generate()?;
    folder.write("service-account.key", service_account_key.serialize_pem())?;
    folder.write("service-account.pub", service_account_key.public_key_pem())?;
    Ok(identity.ca_pem)
}

fn api_server_flags(
    command: &mut Command,
    folder: &Path,
    etcd_url: &str,
    port: u16,
    options: &ControlPlaneOptions,
) {
    let file = |name: &str| folder.join(name).display().to_string();
    let address = options.nodes_at.unwrap_or(Ipv4Addr::LOCALHOST);
    command.args([
        format!("--etcd-servers={etcd_url}"),
        format!("--secure-port={port}"),
        format!("--bind-address={address}"),
        // Without it a machine that has no default route cannot start it.
        format!("--advertise-address={address}"),
        "--kubelet-preferred-address-types=InternalIP".into(),
        format!("--cert-dir={}", file("certificates")),
        format!("--tls-cert-file={}", file("server.crt")),
        format!("--tls-private-key-file={}", file("server.key")),
        format!("--token-auth-file={}", file("tokens.csv")),
        "--authorization-mode=Node,RBAC".into(),
        format!("--service-account-key-file={}", file("service-account.pub")),
        format!("--service-account-signing-key-file={}", file("service-account.key")),
        format!("--service-account-issuer={ISSUER}"),
        "--service-cluster-ip-range=10.96.0.0/16".into(),
        "--allow-privileged=true".into(),
    ]);
    if options.nodes_at.is_none() {
        // No Service may lead to the loopback address.
        command.arg("--endpoint-reconciler-type=none");
    }
    if options.trusted.is_some() {
        // The other one is asked about each token, as if it were made for this.
        command.arg(format!("--authentication-token-webhook-config-file={}", file("trusted.kubeconfig")));
        command.arg("--authentication-token-webhook-version=v1");
        command.arg(format!("--api-audiences={ISSUER},https://{address}:{port}"));
    }
    if options.audit {
        command.arg(format!("--audit-policy-file={}", file("audit.yaml")));
        command.arg(format!("--audit-log-path={}", file("audit.log")));
        // In MB: never rotated, since the whole log is counted.
        command.arg("--audit-log-maxsize=100000");
    }
}

fn controller_manager_flags(command: &mut Command, folder: &Path, controllers: &str) {
    let file = |name: &str| folder.join(name).display().to_string();
    command.args([
        format!("--kubeconfig={}", file("controller-manager.kubeconfig")),
        format!("--service-account-private-key-file={}", file("service-account.key")),
        format!("--root-ca-file={}", file("ca.crt")),
        format!("--cert-dir={}", file("certificates")),
        // Nobody asks it anything: no port that another one may have taken by the time it starts.
        "--secure-port=0".into(),
        "--leader-elect=false".into(),
        format!("--controllers={controllers}"),
        // Its default of 20 requests a second would be what tests and benchmarks measure.
        "--kube-api-qps=500".into(),
        "--kube-api-burst=1000".into(),
    ]);
}

/// Polls `/readyz`: an API server that is not up yet has no watch to offer. `others` says that all else still runs.
pub(super) async fn wait_until_served(
    endpoint: &Endpoint,
    api_server: &ApiServer,
    mut others: impl FnMut() -> Result<(), Error>,
) -> Result<(), Error> {
    let client = identity::client(endpoint, ADMIN_TOKEN)?;
    let since = Instant::now();
    loop {
        let request = http::Request::get("/readyz")
            .body(Vec::new())
            .map_err(|error| Error::Kubeconfig(error.into()))?;
        let last = match client.request_text(request).await {
            Ok(_) => return Ok(()),
            Err(error) => error.to_string(),
        };
        others()?;
        api_server.check_running()?;
        if since.elapsed() > READY_DEADLINE {
            let what = "kube-apiserver to be ready".to_owned();
            let last = format!("{last}\n{}", api_server.log_tail());
            return Err(Error::Deadline { what, deadline: READY_DEADLINE, last });
        }
        #[expect(clippy::disallowed_methods, reason = "a test waits, no run does")]
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
