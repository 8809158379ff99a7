//! A service that has not heard yet of what is in the API server, its own writes included.

use futures::TryStreamExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tonic::transport::Channel;
use weir_artifact::{Algorithm, Digest};
use weir_proto::source::v1::FetchRequest;
use weir_proto::source::v1::artifacts_client::ArtifactsClient;
use weir_testkit::{ControlPlane, Fault, FaultProxy, Folder, GitServer, authorized};

use super::GIT;
use crate::world::{DEADLINE, Setup, World};

/// In the request lines of lists and watches of all GitRepositories, and of nothing else.
const ALL: &str = "/gitrepositories?";

/// A kubeconfig with all rights that leads through a proxy, which reads the requests.
async fn through(plane: &ControlPlane, proxy: &FaultProxy, folder: &Folder) -> std::path::PathBuf {
    let namespace = plane.unique_namespace("behind").await.unwrap();
    plane.service_account(&namespace, "source", &[]).await.unwrap();
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "source", "namespace": namespace}]});
    plane.apply("", binding).await.unwrap();
    let token = plane.service_account_token(&namespace, "source").await.unwrap();
    let token = folder.write("token", token).unwrap();
    plane.kubeconfig_with(&format!("http://{}", proxy.address()), &token).unwrap()
}

/// A consumer hears of a status as soon as it is written; source may hear of it later.
#[tokio::test]
async fn an_artifact_is_streamed_although_the_watch_is_behind() {
    let plane = ControlPlane::shared().await.unwrap();
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    repository.commit("main", "first", &[("a.yaml", "a")]).unwrap();
    let (proxy, folder) = (FaultProxy::api_server(plane).await.unwrap(), Folder::new("behind").unwrap());
    let kubeconfig = Some(through(plane, &proxy, &folder).await);
    let world = World::start_as(Setup { kubeconfig, ..Setup::default() }).await;
    world.git("app", &server.url("app"), json!({})).await;
    let first = world.ready(GIT, "app").await;
    let second = repository.commit("main", "second", &[("a.yaml", "b")]).unwrap();
    world.reconciled(GIT, "app").await;
    world.at(GIT, "app", &second).await;
    let resources = ("source.toolkit.fluxcd.io", &["gitrepositories"][..]);
    let token = world.plane.token_for(&world.namespace, "reader", resources, &["get"]).await.unwrap();

    // The file of the first artifact is still there; only the watch does not tell that it is advertised, until the end.
    proxy.set(Fault::Away);
    proxy.forget_requests();
    proxy.set_for(ALL, usize::MAX, Fault::Status(503, None));
    proxy.wait_for(ALL, 1, DEADLINE).await.unwrap();
    let status = json!({"status": {"artifact": first["artifact"]}});
    let api = world.api(GIT).await;
    api.patch_status("app", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();

    let digest = first["artifact"]["digest"].as_str().unwrap().to_owned();
    let request =
        FetchRequest { kind: GIT.into(), namespace: world.namespace.clone(), name: "app".into(), digest };
    let url = format!("http://127.0.0.1:{}", world.grpc);
    let mut client = ArtifactsClient::new(Channel::from_shared(url).unwrap().connect_lazy());
    let stream = client.fetch(authorized(&token, request.clone())).await.unwrap().into_inner();
    let chunks: Vec<_> = stream.map_ok(|message| message.chunk).try_collect().await.unwrap();
    assert_eq!(Digest::of(Algorithm::Sha256, &chunks.concat()).to_string(), request.digest);
    let asked = proxy.requests();
    assert!(
        asked.iter().any(|line| line.starts_with("GET ") && line.contains("/gitrepositories/app")),
        "{asked:?}"
    );
}
