//! A preview of an apply; nothing is written.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use weir_api::Kustomization;
use weir_kustomize::SecretPart;
use weir_ssa::{Action, Difference, Entry, Manifest};

use super::manifests::{Made, refuse_encrypted};
use crate::builds::Budgeted;
use crate::kustomization::decide::artifact;
use crate::kustomization::failure::{Failure, reason};
use crate::kustomization::observe::Observed;
use crate::kustomization::{KustomizationReconciler, inventory};
use crate::mask::Masks;
use crate::source::SourceId;

impl KustomizationReconciler {
    /// The manifests of the current artifact, whatever its dependencies, and what of them is not to be seen: the variables that
    /// come from Secrets are not even in them. Nothing is applied.
    pub(crate) async fn preview(
        &self,
        kustomization: &Arc<Kustomization>,
    ) -> Result<(Vec<Manifest>, Masks), Failure> {
        let mut observed = self.observed(kustomization).await;
        let variables = observed.variables.take();
        observed.variables = variables.map(|variables| variables.map(|variables| variables.masked()));
        let (manifests, parts) = self.manifests(&observed).await?;
        let masks = observed.masks(&manifests, &parts);
        Ok((manifests, masks))
    }

    /// Returns the changes that applying the current artifact would make, found with the rights of an apply; and, also of a
    /// failure, what of it is not to be seen.
    pub(crate) async fn preview_changes(
        &self,
        kustomization: &Arc<Kustomization>,
    ) -> Result<(Vec<Difference>, Masks), (Failure, Masks)> {
        let observed = self.observed(kustomization).await;
        let hidden = |failure: Failure, masks: Masks| {
            (Failure { message: masks.text(&failure.message), ..failure }, masks)
        };
        let built = self.manifests(&observed).await;
        let (manifests, parts) = built.map_err(|failure| hidden(failure, observed.masks(&[], &[])))?;
        let masks = observed.masks(&manifests, &parts);
        match self.changes(&observed, manifests).await {
            Ok(differences) => Ok((differences, masks)),
            Err(failure) => Err(hidden(failure, masks)),
        }
    }

    /// Looks beside any run: what a preview sees is news for the next run all the same.
    async fn observed(&self, kustomization: &Arc<Kustomization>) -> Observed {
        let source = self.sources.find(&SourceId::of(kustomization)).await;
        self.observe(kustomization, source, &[]).await
    }

    /// The manifests, and parts of values of Secrets that stand elsewhere.
    async fn manifests(&self, observed: &Observed) -> Result<(Vec<Manifest>, Vec<SecretPart>), Failure> {
        let artifact = artifact(observed, &self.settings)?;
        let (files, directory) = self.fetch(observed, &artifact).await?;
        // The caller may go away.
        let cancel = CancellationToken::new();
        let _guard = cancel.clone().drop_guard();
        // The share of memory goes back at once: there are no more than a few previews, and readers may be slow.
        let Budgeted { made, .. } = self.build(observed, files, directory, None, cancel).await?;
        match made {
            Made::Built(built) => Ok((built.manifests, built.secret_parts)),
            // Not without a last apply to compare with. No manifests at all would be told as the deletion of everything.
            Made::Same(_) => {
                Err(Failure::retry(reason::BUILD_FAILED, "the build was not made anew".to_owned()))
            }
        }
    }

    async fn changes(
        &self,
        observed: &Observed,
        manifests: Vec<Manifest>,
    ) -> Result<Vec<Difference>, Failure> {
        refuse_encrypted(&manifests)?;
        let (kustomization, session) = (&observed.kustomization, observed.session()?);
        let differences = session.diff(manifests, &self.apply_settings(observed)?).await;
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
