//! The services of a cluster: their Services are found by label, and reached by name in a Pod and through the API server elsewhere.

use std::collections::BTreeMap;
use std::io;

use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::{Api, DynamicObject, ListParams};
use kube::{Client, ResourceExt};
use serde::Deserialize;
use serde_json::Value;
use tokio::io::DuplexStream;
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

use crate::builtin;
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
        let pods = builtin::namespaced::<Pod>(&self.client, &self.namespace);
        let found =
            pods.list(&ListParams::default().labels(&self.selector)).await.map_err(io::Error::other)?;
        let pod =
            found.items.iter().find(|pod| is_ready(pod)).ok_or_else(|| {
                io::Error::other(format!("no Pod of the Service {} is ready", self.service))
            })?;
        let port = port_of(pod, &self.port)
            .ok_or_else(|| io::Error::other(format!("Pod {} has no port {PORT}", pod.name_any())))?;
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        let mut forwarder = pods.portforward(&pod.name_any(), &[port]).await.map_err(io::Error::other)?;
        forwarder.take_stream(port).ok_or_else(|| io::Error::other(format!("port {port} is not forwarded")))
    }
}

/// Returns a way to each of Weir's services in the cluster's namespace; none where there are none.
///
/// # Errors
/// When the Services cannot be listed.
pub(super) async fn find(cluster: &Cluster) -> Result<Vec<Way>, Error> {
    let services = builtin::namespaced::<Service>(&cluster.client, &cluster.namespace);
    let listed = cluster.in_time(services.list(&ListParams::default().labels(PART_OF))).await??;
    let in_pod = std::env::var_os(IN_POD).is_some();
    // Several Services may lead to the same Pods, as those of `weir run` do.
    let mut ways = BTreeMap::new();
    for service in listed.items {
        if let Some((selector, port)) = selector_and_port(&service) {
            let name = service.name_any();
            let way = if in_pod {
                Way::Address(format!("{name}.{}.svc:{}", cluster.namespace, port.number))
            } else {
                Way::Forward(Forward {
                    client: cluster.client.clone(),
                    namespace: cluster.namespace.clone(),
                    service: name,
                    selector: selector.clone(),
                    port: port.target,
                })
            };
            ways.entry(selector).or_insert(way);
        }
    }
    Ok(ways.into_values().collect())
}

/// A port of a Service.
struct Port {
    number: i32,
    /// The Pods' port, by its number or name.
    target: IntOrString,
}

/// The Pods of a Service of Weir, as a label selector, and its port.
fn selector_and_port(service: &DynamicObject) -> Option<(String, Port)> {
    let port = builtin::array(service, "/spec/ports").iter().find(|port| is_named(port, PORT))?;
    let number = i32::try_from(port.get("port")?.as_i64()?).ok()?;
    let target = port.get("targetPort").and_then(|target| IntOrString::deserialize(target).ok());
    let labels = builtin::selector(service, "/spec/selector");
    (!labels.is_empty())
        .then(|| (labels, Port { number, target: target.unwrap_or(IntOrString::Int(number)) }))
}

fn is_named(port: &Value, name: &str) -> bool {
    port.get("name").and_then(Value::as_str) == Some(name)
}

fn is_ready(pod: &DynamicObject) -> bool {
    pod.metadata.deletion_timestamp.is_none() && builtin::is_ready(pod)
}

/// The number of a Pod's port, which Services may call by its name.
fn port_of(pod: &DynamicObject, port: &IntOrString) -> Option<u16> {
    let number = match port {
        IntOrString::Int(number) => i64::from(*number),
        IntOrString::String(name) => {
            let containers = builtin::array(pod, "/spec/containers").iter();
            let mut ports = containers.filter_map(|it| it.get("ports")?.as_array()).flatten();
            ports.find(|port| is_named(port, name))?.get("containerPort")?.as_i64()?
        }
    };
    u16::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(port: &str, selector: Value) -> DynamicObject {
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
        assert_eq!((selector.as_str(), port.number), ("app=weir,role=leader", 9393));
        assert!(selector_and_port(&service("other", labels)).is_none(), "Flux's");
        assert!(selector_and_port(&service("grpc", json!({}))).is_none(), "leads nowhere");
    }

    #[test]
    fn a_port_is_found_by_its_name() {
        let ports = json!([{"name": "http", "containerPort": 8080}, {"name": "grpc", "containerPort": 9394}]);
        let pod: DynamicObject = serde_json::from_value(json!({"metadata": {"name": "x"},
            "spec": {"containers": [{"name": "manager", "ports": ports}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}}))
        .unwrap();
        assert!(is_ready(&pod));
        assert_eq!(port_of(&pod, &IntOrString::String("grpc".into())), Some(9394));
        assert_eq!(port_of(&pod, &IntOrString::String("other".into())), None);
        assert_eq!(port_of(&pod, &IntOrString::Int(9393)), Some(9393));
    }
}
