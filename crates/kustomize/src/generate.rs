//! `configMapGenerator`, `secretGenerator` and generator configurations (§9).

mod absorb;
pub(crate) mod error;
mod object;
mod sources;

use std::sync::Arc;

use error::GenerateError;
pub(crate) use object::{config_map, secret};
use weir_yaml::Node;

use crate::Error;
use crate::accumulator::Accumulator;
use crate::build::Build;
use crate::error::Context;
use crate::kustomization::{GeneratorOptions, Kustomization};
use crate::origin::Origin;
use crate::resource::Resource;
use crate::target::Target;

/// Runs the built-in generators of a kustomization in the order of KZ-404 and absorbs what they make.
pub(crate) fn run(build: &Build<'_>, target: &Target, accumulated: &mut Accumulator) -> Result<(), Error> {
    let kustomization = &target.kustomization;
    let global = kustomization.generator_options.as_ref();
    let merged = |local: &Option<GeneratorOptions>| GeneratorOptions::merged(local.as_ref(), global);
    for args in &kustomization.config_map_generator {
        let made = config_map(build, &target.loader, args, &merged(&args.options))?;
        absorb_built_in(build, target, accumulated, "ConfigMapGenerator", made)?;
    }
    for args in &kustomization.secret_generator {
        let made = secret(build, &target.loader, args, &merged(&args.common.options))?;
        absorb_built_in(build, target, accumulated, "SecretGenerator", made)?;
    }
    match kustomization.helm_charts.first() {
        Some(chart) => Err(GenerateError::Helm(chart_config(kustomization, &chart.0)).into()),
        None => Ok(()),
    }
}

/// The configuration of a chart as the message shows it: with what it takes from the rest of the kustomization.
fn chart_config(kustomization: &Kustomization, chart: &Node) -> String {
    let mut chart = chart.clone();
    let globals = kustomization.helm_globals.clone().unwrap_or_default();
    let given = [
        ("chartHome", globals.chart_home),
        ("configHome", globals.config_home),
        ("namespace", kustomization.namespace.clone()),
    ];
    if let Some(fields) = chart.as_map_mut() {
        for (field, value) in given {
            if !value.is_empty() && !fields.contains(field) {
                fields.set(field, Node::string(value));
            }
        }
    }
    let mut config = String::new();
    let _printed = weir_yaml::emit(&chart, &mut config);
    config
}

/// Adds what generators have made to what is there.
pub(crate) fn absorb(
    build: &Build<'_>,
    accumulated: &mut Accumulator,
    made: Vec<Resource>,
) -> Result<(), Error> {
    made.into_iter()
        .try_for_each(|generated| absorb::into(accumulated, generated, build.schema()).context(merging))
}

fn absorb_built_in(
    build: &Build<'_>,
    target: &Target,
    accumulated: &mut Accumulator,
    name: &str,
    mut made: Resource,
) -> Result<(), Error> {
    made.origin =
        build.is_tracking.then(|| Origin::builtin(&target.file, target.loader.home(&build.root), name));
    absorb::into(accumulated, made, build.schema()).context(merging)
}

fn merging() -> String {
    "merging from generator".to_owned()
}

/// Shares an origin among the resources of one generator.
pub(crate) fn with_origin(mut resources: Vec<Resource>, origin: Option<&Arc<Origin>>) -> Vec<Resource> {
    for resource in &mut resources {
        resource.origin = resource.origin.take().or_else(|| origin.cloned());
    }
    resources
}

#[cfg(test)]
mod tests;
