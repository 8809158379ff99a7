//! What an apply would do, for those who ask; nothing is written.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use weir_api::Kustomization;
use weir_ssa::{Action, Difference, Entry, Manifest};

use super::manifests::refuse_encrypted;
use crate::kustomization::decide::artifact;
use crate::kustomization::failure::{Failure, reason};
use crate::kustomization::{KustomizationReconciler, inventory};

impl KustomizationReconciler {
    /// The manifests of the current artifact, whatever its dependencies; nothing is applied.
    pub(crate) async fn preview(&self, kustomization: &Arc<Kustomization>) -> Result<Vec<Manifest>, Failure> {
        let observed = self.observe(kustomization, &[]).await;
        let artifact = artifact(&observed, &self.settings)?;
        let (files, directory) = self.fetch(&observed, &artifact).await?;
        // Who asked may go away.
        let cancel = CancellationToken::new();
        let _guard = cancel.clone().drop_guard();
        Ok(self.build(&observed, files, directory, cancel).await?.manifests)
    }

    /// What applying the current artifact would change, told with the rights that an apply would have.
    pub(crate) async fn preview_changes(
        &self,
        kustomization: &Arc<Kustomization>,
    ) -> Result<Vec<Difference>, Failure> {
        let manifests = self.preview(kustomization).await?;
        refuse_encrypted(&manifests)?;
        let session = self.cluster.session(kustomization);
        let differences = session.diff(manifests, &self.apply_settings(kustomization)).await;
        let failed =
            |error: weir_ssa::Error| Failure::retry(reason::RECONCILIATION_FAILED, error.to_string());
        let mut differences = differences.map_err(failed)?;
        let kept: Vec<Entry> = differences
            .iter()
            .map(|difference| Entry { id: difference.id.clone(), version: String::new() })
            .collect();
        if kustomization.spec.prune {
            let stale = weir_ssa::stale(&inventory::entries(kustomization), &kept);
            differences.extend(stale.into_iter().map(|entry| Difference {
                id: entry.id,
                action: Action::Deleted,
                fields: Vec::new(),
            }));
        }
        Ok(differences)
    }
}
