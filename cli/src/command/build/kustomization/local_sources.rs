//! `--local-sources`: directories that stand for sources (CLI-BLD03).

use std::path::PathBuf;
use std::str::FromStr;

use kube::ResourceExt;
use weir_api::Kustomization;
use weir_api::kustomize::CrossNamespaceSourceReference;

use crate::error::Error;

/// A source and the directory that stands for it.
#[derive(Debug, Clone)]
pub(super) struct LocalSource {
    /// `Kind/namespace/name`.
    source: String,
    directory: PathBuf,
}

impl FromStr for LocalSource {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((source, directory)) if source.split('/').count() == 3 => {
                Ok(Self { source: source.to_owned(), directory: PathBuf::from(directory) })
            }
            _ => Err("must be Kind/namespace/name=path"),
        }
    }
}

/// Returns the source of a Kustomization as `Kind/namespace/name`.
pub(crate) fn source_of(kustomization: &Kustomization) -> String {
    let CrossNamespaceSourceReference { kind, namespace, name, .. } = &kustomization.spec.source_ref;
    let namespace = namespace.clone().filter(|name| !name.is_empty()).or(kustomization.namespace());
    format!("{kind}/{}/{name}", namespace.unwrap_or_default())
}

/// The place of a Kustomization's files.
pub(super) fn directory<'a>(
    mut sources: impl Iterator<Item = &'a LocalSource>,
    kustomization: &Kustomization,
) -> Result<PathBuf, Error> {
    let source = source_of(kustomization);
    let found = sources.find(|local| local.source == source);
    let missing = || Error::LocalSource { source_ref: source.clone(), name: kustomization.name_any() };
    let local = found.ok_or_else(missing)?;
    let path = kustomization.spec.path.as_deref().unwrap_or_default();
    Ok(local.directory.join(path.trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kustomization(namespace: Option<&str>, path: &str) -> Kustomization {
        let mut kustomization = Kustomization::new("apps", Default::default());
        kustomization.metadata.namespace = Some("ns".to_owned());
        kustomization.spec.path = Some(path.to_owned());
        kustomization.spec.source_ref = CrossNamespaceSourceReference {
            kind: "GitRepository".to_owned(),
            name: "fleet".to_owned(),
            namespace: namespace.map(str::to_owned),
            ..CrossNamespaceSourceReference::default()
        };
        kustomization
    }

    #[rstest::rstest]
    #[case(None, "./apps", Some("repo/./apps"))]
    #[case(Some("ns"), "/apps", Some("repo/apps"))]
    #[case(Some("other"), "apps", None)]
    fn a_source_stands_in_the_namespace_of_its_object(
        #[case] namespace: Option<&str>,
        #[case] path: &str,
        #[case] wanted: Option<&str>,
    ) {
        let sources = ["GitRepository/ns/fleet=repo".parse().unwrap()];
        let found = directory(sources.iter(), &kustomization(namespace, path));
        assert_eq!(found.ok(), wanted.map(PathBuf::from));
    }

    #[rstest::rstest]
    #[case("GitRepository/ns/fleet")]
    #[case("fleet=repo")]
    fn what_names_no_source_is_refused(#[case] text: &str) {
        assert!(text.parse::<LocalSource>().is_err());
    }
}
