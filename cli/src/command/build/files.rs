//! One file a resource, named as kustomize names them.

use std::collections::BTreeSet;
use std::path::Path;

use weir_kustomize::{Output, Resource};

use super::directory::write;
use crate::error::Error;

/// Writes each resource into `directory`. With several namespaces, names start with the namespace; objects that stand in none
/// do not count.
pub(super) fn write_all(directory: &Path, output: &Output) -> Result<(), Error> {
    let namespaces: BTreeSet<_> = output.resources.iter().filter_map(namespace_of).collect();
    for resource in &output.resources {
        let text = resource.to_yaml().map_err(|error| Error::Build(error.to_string()))?;
        let namespace = namespace_of(resource).filter(|_| namespaces.len() > 1);
        write(&directory.join(file_name(resource, namespace)), &text)?;
    }
    Ok(())
}

fn namespace_of(resource: &Resource) -> Option<&str> {
    resource.id().standing_namespace()
}

/// `[<namespace>_][<group>_]<version>_<kind>_<name>.yaml`, all in lower case.
fn file_name(resource: &Resource, namespace: Option<&str>) -> String {
    let api_version = resource.api_version().replace('/', "_");
    let parts = [namespace.unwrap_or_default(), &api_version, resource.kind(), resource.name()];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    // A name is a path segment for the API server, but the resource has not been there yet.
    let name = parts.join("_").to_lowercase().replace(['/', '\\'], "_");
    format!("{name}.yaml")
}
