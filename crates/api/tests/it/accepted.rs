//! Manifests that have to be taken as they are. Server-side apply refuses fields that a schema does not know, so taking
//! them means that nothing is pruned either (SRC-API-7).

use kube::api::DynamicObject;
use rstest::rstest;
use weir_api::*;

use super::{full_text, world};

/// Reads the object in the version that is stored, as the services do.
async fn read<K>(object: &DynamicObject) -> Option<K>
where
    K: FluxObject + kube::Resource<Scope = kube::core::NamespaceResourceScope>,
{
    if object.types.as_ref()?.kind != K::KIND {
        return None;
    }
    let plane = weir_testkit::ControlPlane::shared().await.unwrap();
    let api = kube::Api::<K>::namespaced(plane.client().unwrap(), object.metadata.namespace.as_deref()?);
    Some(api.get(object.metadata.name.as_deref()?).await.unwrap())
}

/// Returns true when the object decodes into the Rust type of its kind.
async fn is_read_by_services(object: &DynamicObject) -> bool {
    read::<GitRepository>(object).await.is_some()
        || read::<OciRepository>(object).await.is_some()
        || read::<Bucket>(object).await.is_some()
        || read::<HelmRepository>(object).await.is_some()
        || read::<HelmChart>(object).await.is_some()
        || read::<ExternalArtifact>(object).await.is_some()
        || read::<ArtifactGenerator>(object).await.is_some()
        || read::<Kustomization>(object).await.is_some()
        || read::<ImageRepository>(object).await.is_some()
        || read::<ImagePolicy>(object).await.is_some()
        || read::<ImageUpdateAutomation>(object).await.is_some()
        || read::<Alert>(object).await.is_some()
        || read::<Provider>(object).await.is_some()
        || read::<Receiver>(object).await.is_some()
}

#[rstest]
#[case::seeds(include_str!("manifests/seeds.yaml"))]
#[case::source(include_str!("manifests/source.yaml"))]
#[case::source_old(include_str!("manifests/source-old.yaml"))]
#[case::bucket(include_str!("manifests/bucket.yaml"))]
#[case::helm(include_str!("manifests/helm.yaml"))]
#[case::generator(include_str!("manifests/generator.yaml"))]
#[case::kustomize(include_str!("manifests/kustomize.yaml"))]
#[case::kustomize_old(include_str!("manifests/kustomize-old.yaml"))]
#[case::image(include_str!("manifests/image.yaml"))]
#[case::image_old(include_str!("manifests/image-old.yaml"))]
#[case::notification(include_str!("manifests/notification.yaml"))]
#[case::notification_old(include_str!("manifests/notification-old.yaml"))]
#[tokio::test]
async fn manifests_apply_unchanged(#[case] manifests: &str) {
    let (plane, namespace) = world("accepted").await;
    let manifests = manifests.replace("namespace: flux-system", &format!("namespace: {namespace}"));
    let applied = plane.apply_yaml(&namespace, &manifests).await;
    let applied = applied.unwrap_or_else(|error| panic!("{}", full_text(&error)));
    assert!(!applied.is_empty());
    for object in applied {
        assert!(is_read_by_services(&object).await, "{:?}", object.types);
    }
}
