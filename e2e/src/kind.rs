//! The kinds that scenarios look at.

/// Returns the newest version in which a kind is served here.
pub(crate) fn api_version(kind: &str) -> &'static str {
    match kind {
        "Bucket" | "ExternalArtifact" | "GitRepository" | "HelmChart" | "OCIRepository" => {
            "source.toolkit.fluxcd.io/v1"
        }
        "ArtifactGenerator" => "source.extensions.fluxcd.io/v1beta1",
        "Kustomization" => "kustomize.toolkit.fluxcd.io/v1",
        "ImagePolicy" | "ImageRepository" | "ImageUpdateAutomation" => "image.toolkit.fluxcd.io/v1",
        "Receiver" => "notification.toolkit.fluxcd.io/v1",
        "Alert" | "Provider" => "notification.toolkit.fluxcd.io/v1beta3",
        "Canary" => "flagger.app/v1beta1",
        "SealedSecret" => "bitnami.com/v1alpha1",
        "Deployment" | "ReplicaSet" => "apps/v1",
        "HorizontalPodAutoscaler" => "autoscaling/v2",
        "PodDisruptionBudget" => "policy/v1",
        "CronJob" => "batch/v1",
        "Ingress" => "networking.k8s.io/v1",
        "Lease" => "coordination.k8s.io/v1",
        "ClusterRole" | "ClusterRoleBinding" | "RoleBinding" => "rbac.authorization.k8s.io/v1",
        "CustomResourceDefinition" => "apiextensions.k8s.io/v1",
        _ => "v1",
    }
}
