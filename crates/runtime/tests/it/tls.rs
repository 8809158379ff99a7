//! TLS between services.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::transport::Channel;
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use weir_runtime::args::EventsArgs;
use weir_runtime::certificate::{Certificate, Protocol, TlsFiles};
use weir_runtime::grpc::{GrpcServer, PeerChannel, Peers};
use weir_runtime::service::Entry;
use weir_runtime::{Environment, run_together};
use weir_testkit::{ControlPlane, Folder, Identity, wait_for};

use crate::world::{DEADLINE, MarkReady, World, flags};

/// A gRPC server with a certificate, and the folder of the Secret that it and its clients have mounted.
struct Served {
    folder: Folder,
    address: String,
    stop: CancellationToken,
    serving: JoinSet<()>,
}

impl Served {
    async fn start() -> Self {
        let served = Self::without_certificate().await;
        install(&served.folder);
        served
    }

    async fn without_certificate() -> Self {
        weir_runtime::service::install_crypto();
        let folder = Folder::new("grpc-tls").unwrap();
        let files = TlsFiles { cert: folder.join("tls.crt"), key: folder.join("tls.key") };
        let certificate = Certificate::new(files, Protocol::Http2);
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let address = format!("localhost:{}", listener.local_addr().unwrap().port());
        let (stop, mut serving) = (CancellationToken::new(), JoinSet::new());
        let until = stop.clone();
        serving.spawn(async move {
            GrpcServer::default().serve(listener, Some(certificate), until).await.unwrap();
        });
        Self { folder, address, stop, serving }
    }

    fn peers(&self) -> Peers {
        peers(&self.folder, self.folder.join("ca.crt"))
    }

    async fn stop(self) {
        self.stop.cancel();
        self.serving.join_all().await;
    }
}

/// Puts another certificate of another authority into the folder.
fn install(folder: &Folder) {
    let identity = Identity::for_names(&[]).unwrap();
    folder.write("tls.key", identity.key_pem).unwrap();
    folder.write("ca.crt", identity.ca_pem).unwrap();
    folder.write("tls.crt", identity.certificate_pem).unwrap();
}

fn peers(folder: &Folder, ca: PathBuf) -> Peers {
    let token = format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(r#"{"aud":["weir"]}"#));
    let token = folder.write("token", token).unwrap();
    let (token, ca) =
        (format!("--peer-token-file={}", token.display()), format!("--grpc-tls-ca={}", ca.display()));
    Peers::of_service(&flags(&[&token, &ca]))
}

async fn health(channel: PeerChannel) -> Result<i32, Status> {
    let answer = HealthClient::new(channel).check(HealthCheckRequest::default()).await?;
    Ok(answer.into_inner().status)
}

const SERVING: i32 = ServingStatus::Serving as i32;

#[tokio::test]
async fn a_new_certificate_and_a_new_authority_need_no_restart() {
    let served = Served::start().await;
    let (peers, former) = (served.peers(), served.folder.write("former.crt", "").unwrap());
    std::fs::copy(served.folder.join("ca.crt"), &former).unwrap();
    let long_lived = peers.connect(&served.address).unwrap();
    assert_eq!(health(long_lived.clone()).await.unwrap(), SERVING);

    install(&served.folder);
    // Connections that are there go on, new ones are greeted with the new certificate.
    assert_eq!(health(long_lived).await.unwrap(), SERVING);
    assert_eq!(health(peers.connect(&served.address).unwrap()).await.unwrap(), SERVING);
    let who_trusts_the_former = self::peers(&served.folder, former);
    health(who_trusts_the_former.connect(&served.address).unwrap()).await.unwrap_err();
    served.stop().await;
}

/// As when somebody makes the Secret after the services.
#[tokio::test]
async fn a_certificate_that_comes_late_is_taken() {
    let served = Served::without_certificate().await;
    let channel = served.peers().connect(&served.address).unwrap();
    health(channel.clone()).await.unwrap_err();
    install(&served.folder);
    assert_eq!(health(channel).await.unwrap(), SERVING);
    served.stop().await;
}

#[tokio::test]
async fn a_broken_certificate_leaves_the_old_one_in_use() {
    let served = Served::start().await;
    let peers = served.peers();
    assert_eq!(health(peers.connect(&served.address).unwrap()).await.unwrap(), SERVING);
    for file in ["tls.crt", "ca.crt"] {
        served.folder.write(file, "no certificate").unwrap();
    }
    assert_eq!(health(peers.connect(&served.address).unwrap()).await.unwrap(), SERVING);
    served.stop().await;
}

#[tokio::test]
async fn another_authority_and_another_name_are_refused() {
    let served = Served::start().await;
    let other = served.folder.write("other.crt", Identity::for_names(&[]).unwrap().ca_pem).unwrap();
    let wrong = peers(&served.folder, other).connect(&served.address).unwrap();
    let error = format!("{:?}", health(wrong).await.unwrap_err());
    assert!(error.contains("UnknownIssuer") || error.contains("BadSignature"), "{error}");
    let address = served.address.replace("localhost", "127.0.0.2");
    let error = format!("{:?}", health(served.peers().connect(&address).unwrap()).await.unwrap_err());
    assert!(error.contains("NotValidForName"), "{error}");
    let missing = peers(&served.folder, served.folder.join("missing.crt"));
    let error = format!("{:?}", health(missing.connect(&served.address).unwrap()).await.unwrap_err());
    assert!(error.contains("missing.crt"), "{error}");
    served.stop().await;
}

/// Whoever has the key of one server that is believed does not speak for others.
#[tokio::test]
async fn the_certificate_of_a_server_vouches_for_no_other() {
    let served = Served::without_certificate().await;
    let params = || rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let [key, other_key] = [(); 2].map(|()| rcgen::KeyPair::generate().unwrap());
    let (own, key_pem) = (params().self_signed(&key).unwrap(), key.serialize_pem());
    let forged = params().signed_by(&other_key, &rcgen::Issuer::new(params(), key)).unwrap();
    served.folder.write("ca.crt", own.pem()).unwrap();
    for (certificate, key, is_believed) in [(own, key_pem, true), (forged, other_key.serialize_pem(), false)]
    {
        served.folder.write("tls.key", key).unwrap();
        served.folder.write("tls.crt", certificate.pem()).unwrap();
        assert_eq!(health(served.peers().connect(&served.address).unwrap()).await.is_ok(), is_believed);
    }
    served.stop().await;
}

/// `--grpc-tls-issue-secret`: the Secret holds what the other flags need. The test does what kubelet does with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_issues_a_certificate_that_its_peers_trust() {
    let args = flags(&["--grpc-tls-issue-secret=weir-tls"]);
    let world = World::start(args, EventsArgs::default(), MarkReady::default()).await;
    let secrets: Api<Secret> = Api::namespaced(world.plane.client().unwrap(), &world.namespace);
    let is_there = |secret: Option<&Secret>| secret.is_some();
    let secret = wait_for(&secrets, "weir-tls", "the Secret", DEADLINE, is_there).await.unwrap().unwrap();
    assert_eq!(secret.type_.as_deref(), Some("kubernetes.io/tls"));
    let served = Served::without_certificate().await;
    for (key, value) in secret.data.unwrap() {
        served.folder.write(&key, value.0).unwrap();
    }
    assert_eq!(health(served.peers().connect(&served.address).unwrap()).await.unwrap(), SERVING);
    served.stop().await;
    world.stop().await;
}

/// `weir run` has one certificate for all services.
#[tokio::test]
async fn services_of_one_process_have_a_certificate_issued() {
    let namespace = World::namespace().await;
    let plane = ControlPlane::shared().await.unwrap();
    let env = Environment::new(plane.config().unwrap(), namespace.clone()).unwrap();
    let stop = env.shutdown.clone();
    let service: Entry = Box::new(|env| {
        Box::pin(async move {
            env.shutdown.cancelled().await;
            Ok(())
        })
    });
    let args = flags(&["--grpc-tls-issue-secret=weir-tls"]);
    let issued = async {
        let secrets: Api<Secret> = Api::namespaced(plane.client().unwrap(), &namespace);
        wait_for(&secrets, "weir-tls", "the Secret", DEADLINE, |secret| secret.is_some()).await.unwrap();
        stop.cancel();
    };
    let (outcome, ()) = tokio::join!(run_together(&args, env, vec![service]), issued);
    outcome.unwrap();
}

/// Without authorities a client speaks plain text, and the server does not listen to it.
#[tokio::test]
async fn plain_text_is_refused_by_a_server_with_a_certificate() {
    let served = Served::start().await;
    let channel = Channel::from_shared(format!("http://{}", served.address)).unwrap().connect_lazy();
    HealthClient::new(channel).check(HealthCheckRequest::default()).await.unwrap_err();
    served.stop().await;
}

/// The server has lost its certificate, or somebody else listens at its address.
#[tokio::test]
async fn a_client_with_authorities_says_nothing_in_plain_text() {
    weir_runtime::service::install_crypto();
    let folder = Folder::new("grpc-tls").unwrap();
    install(&folder);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let channel =
        peers(&folder, folder.join("ca.crt")).connect(&listener.local_addr().unwrap().to_string()).unwrap();
    let listening = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut first = [0; 3];
        stream.read_exact(&mut first).await.unwrap();
        first
    };
    let (said, answer) = tokio::join!(listening, health(channel));
    assert_eq!(said[..2], [0x16, 0x03], "the greeting of TLS");
    answer.unwrap_err();
}
