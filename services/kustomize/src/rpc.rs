//! The service's own gRPC methods: a doorman each, who checks the caller and passes the request on.

use weir_api::Kustomization;
use weir_runtime::{Cache, Service};

/// Adds the methods to the service's gRPC server.
pub(crate) fn serve(_service: &Service, _kustomizations: Cache<Kustomization>) {}
