//! Puts the controller of generators together.

use weir_api::{ArtifactGenerator, ExternalArtifact, FluxObject};
use weir_artifact::fetch::Fetcher;
use weir_runtime::{Cache, ServiceError};

use super::inputs::SourceCaches;
use super::{GeneratorReconciler, GeneratorSettings};
use crate::args::{DIRECT_SOURCE_FETCH, HTTP_RETRY};
use crate::external_artifact::ExternalArtifacts;
use crate::source::Wiring;

/// Environment variable that leads artifact downloads elsewhere, for local development (SRC-CNS-2).
const LOCAL_SOURCE: &str = "SOURCE_CONTROLLER_LOCALHOST";

/// Adds the loop of ArtifactGenerators to the service.
pub(crate) async fn start(
    wiring: &Wiring<'_>,
    external: Cache<ExternalArtifact>,
) -> Result<(), ServiceError> {
    let (service, args) = (wiring.service, wiring.args);
    tell_of_no_effect(wiring);
    let host = std::env::var(LOCAL_SOURCE).ok().filter(|host| !host.is_empty());
    let fetcher = Fetcher::new(wiring.storage.limits(), host);
    let sources = SourceCaches::watch(service, external.clone()).await?;
    let generators: Cache<ArtifactGenerator> = service.cache_sharded().await?;
    let reconciler = GeneratorReconciler {
        sources: sources.clone(),
        external: ExternalArtifacts::new(service.client().clone(), external),
        fetcher: fetcher.map_err(|error| ServiceError::Other(error.to_string()))?,
        storage: wiring.storage.clone(),
        settings: GeneratorSettings {
            no_cross_namespace_refs: args.runtime.no_cross_namespace_refs,
            requeue_dependency: args.generator.generator_requeue_dependency.to_std(),
            timeout: args.generator.reconciliation_timeout.to_std(),
        },
    };
    let name = ArtifactGenerator::KIND.to_lowercase();
    let queue =
        service.controller(&name, generators.clone(), reconciler, args.generator.generator_concurrent);
    sources.wake(&generators, &queue);
    Ok(())
}

/// Logs the flags that Flux's controller needs and this one does not (SRC-OPS-1).
fn tell_of_no_effect(wiring: &Wiring<'_>) {
    if wiring.service.gates().enabled(DIRECT_SOURCE_FETCH) {
        tracing::info!(gate = DIRECT_SOURCE_FETCH, "the gate has no effect: sources are read from a watch");
    }
    if wiring.args.generator.http_retry != HTTP_RETRY {
        tracing::info!(
            "--http-retry has no effect: failed downloads are tried again after --generator-requeue-dependency"
        );
    }
}
