//! The services of a cluster: their Services are found by label, and reached by name in a Pod and through the API server elsewhere.

use std::collections::BTreeMap;
use std::io;

use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::{Pod, Service, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use tokio::io::DuplexStream;
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

use crate::cluster::Cluster;
use crate::error::Error;

/// Services of Flux and Weir carry it.
const PART_OF: &str = "app.kubernetes.io/part-of=flux";

/// The port that those of Weir have and those of Flux have not.
const PORT: &str = "grpc";

/// Kubernetes tells the processes of a Pod where the API server is.
const IN_POD: &str = "KUBERNETES_SERVICE_HOST";

/// A way to the gRPC API of a service.
#[derive(Clone)]
pub(super) enum Way {
    /// Host and port, or a URL, that this machine reaches.
    Address(String),
    /// A Pod behind a Service, through the API server.
    Forward(Forward),
}

/// A port of a Service, forwarded as `kubectl port-forward` does, but without a port of this machine.
#[derive(Clone)]
pub(super) struct Forward {
    client: Client,
    namespace: String,
    service: String,
    selector: String,
    port: IntOrString,
}

impl Way {
    /// Text for messages: the address, or the Service's name.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Address(address) => address.clone(),
            Self::Forward(forward) => format!("{}.{}.svc", forward.service, forward.namespace),
        }
    }

    /// Prepares a connection; nothing is sent yet.
    pub(super) fn channel(&self, endpoint: &Endpoint) -> Channel {
        match self {
            Self::Address(_) => endpoint.connect_lazy(),
            Self::Forward(forward) => {
                let forward = forward.clone();
                endpoint.connect_with_connector_lazy(service_fn(move |_| {
                    let forward = forward.clone();
                    async move { forward.open().await.map(TokioIo::new) }
                }))
            }
        }
    }
}

impl Forward {
    /// Connects to a Pod that is ready; after a restart of the service that is another one.
    async fn open(&self) -> io::Result<DuplexStream> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        let found =
            pods.list(&ListParams::default().labels(&self.selector)).await.map_err(io::Error::other)?;
        let pod =
            found.items.iter().find(|pod| is_ready(pod)).ok_or_else(|| {
                io::Error::other(format!("no Pod of the Service {} is ready", self.service))
            })?;
        let port = port_of(pod, &self.port)
            .ok_or_else(|| io::Error::other(format!("Pod {} has no port {PORT}", pod.name_any())))?;
        let mut forwarder = pods.portforward(&pod.name_any(), &[port]).await.map_err(io::Error::other)?;
        forwarder.take_stream(port).ok_or_else(|| io::Error::other(format!("port {port} is not forwarded")))
    }
}

/// Returns a way to each of Weir's services in the cluster's namespace; none where there are none.
///
/// # Errors
/// When the Services cannot be listed.
pub(super) async fn find(cluster: &Cluster) -> Result<Vec<Way>, Error> {
    let services: Api<Service> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let listed = cluster.in_time(services.list(&ListParams::default().labels(PART_OF))).await??;
    let in_pod = std::env::var_os(IN_POD).is_some();
    // Several Services may lead to the same Pods, as those of `weir run` do.
    let mut ways = BTreeMap::new();
    for service in listed.items {
        if let Some((selector, port)) = selector_and_port(&service) {
            let name = service.name_any();
            let way = if in_pod {
                Way::Address(format!("{name}.{}.svc:{}", cluster.namespace, port.port))
            } else {
                Way::Forward(Forward {
                    client: cluster.client.clone(),
                    namespace: cluster.namespace.clone(),
                    service: name,
                    selector: selector.clone(),
                    port: port.target_port.unwrap_or(IntOrString::Int(port.port)),
                })
            };
            ways.entry(selector).or_insert(way);
        }
    }
    Ok(ways.into_values().collect())
}

/// The Pods of a Service of Weir, as a label selector, and its port.
fn selector_and_port(service: &Service) -> Option<(String, ServicePort)> {
    let spec = service.spec.as_ref()?;
    let port = spec.ports.iter().flatten().find(|port| port.name.as_deref() == Some(PORT))?;
    let labels: Vec<_> =
        spec.selector.iter().flatten().map(|(key, value)| format!("{key}={value}")).collect();
    (!labels.is_empty()).then(|| (labels.join(","), port.clone()))
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    pod.metadata.deletion_timestamp.is_none()
        && conditions.into_iter().flatten().any(|it| it.type_ == "Ready" && it.status == "True")
}

/// The number of a Pod's port, which Services may call by its name.
fn port_of(pod: &Pod, port: &IntOrString) -> Option<u16> {
    let number = match port {
        IntOrString::Int(number) => *number,
        IntOrString::String(name) => {
            let containers = pod.spec.as_ref().into_iter().flat_map(|spec| &spec.containers);
            let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
            ports.find(|port| port.name.as_ref() == Some(name))?.container_port
        }
    };
    u16::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(port: &str, selector: serde_json::Value) -> Service {
        let ports = json!([{"name": "http", "port": 80}, {"name": port, "port": 9393, "targetPort": "grpc"}]);
        serde_json::from_value(
            json!({"metadata": {"name": "x"}, "spec": {"ports": ports, "selector": selector}}),
        )
        .unwrap()
    }

    #[test]
    fn services_of_weir_have_a_port_for_grpc() {
        let labels = json!({"app": "weir", "role": "leader"});
        let (selector, port) = selector_and_port(&service("grpc", labels.clone())).unwrap();
        assert_eq!((selector.as_str(), port.port), ("app=weir,role=leader", 9393));
        assert!(selector_and_port(&service("other", labels)).is_none(), "Flux's");
        assert!(selector_and_port(&service("grpc", json!({}))).is_none(), "leads nowhere");
    }

    #[test]
    fn a_port_is_found_by_its_name() {
        let ports = json!([{"name": "http", "containerPort": 8080}, {"name": "grpc", "containerPort": 9394}]);
        let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "x"},
            "spec": {"containers": [{"name": "manager", "ports": ports}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}}))
        .unwrap();
        assert!(is_ready(&pod));
        assert_eq!(port_of(&pod, &IntOrString::String("grpc".into())), Some(9394));
        assert_eq!(port_of(&pod, &IntOrString::String("other".into())), None);
        assert_eq!(port_of(&pod, &IntOrString::Int(9393)), Some(9393));
    }
}
