//! The parts of all sources, found in each kind.

use std::time::Duration;

use weir_api::{Bucket, GitRepository, HelmChart, HelmRepository, OciRepository};

use super::{DEFAULT_TIMEOUT, Source, StatusParts};

/// Implements [`Source`]; the braces say which fields of `spec` and `status` the kind has beside those that all have.
macro_rules! source {
    ($kind:ty { $($timeout:ident)? } { $($url:ident)? }) => {
        impl Source for $kind {
            fn status_mut(&mut self) -> StatusParts<'_> {
                let status = self.status.get_or_insert_default();
                StatusParts {
                    conditions: &mut status.conditions,
                    artifact: &mut status.artifact,
                    observed_generation: &mut status.observed_generation,
                    url: None$(.or(Some(&mut status.$url)))?,
                }
            }

            fn timeout(&self) -> Duration {
                None$(.or(self.spec.$timeout))?.map_or(DEFAULT_TIMEOUT, weir_api::Duration::to_std)
            }
        }
    };
}

source!(GitRepository { timeout } {});
source!(OciRepository { timeout } { url });
source!(Bucket { timeout } { url });
source!(HelmRepository { timeout } { url });
// Charts have no timeout of their own: that of their repository counts (SRC 8.1).
source!(HelmChart {} { url });
