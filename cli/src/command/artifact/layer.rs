//! The content of an artifact that is in a registry.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use weir_oci::{Manifest, Reference, Registry};

use super::failed;
use crate::error::Error;

/// First bytes of gzip streams.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Largest layer that is pulled or pushed, in bytes. Artifacts of manifests have some MiB; the cap ends one that would fill the disk.
pub(super) const MAX_LAYER: u64 = 4 << 30;

/// An artifact: its manifest, and its first layer in a temporary file.
pub(super) struct Pulled {
    pub(super) manifest: Manifest,
    pub(super) layer: File,
}

/// Pulls an artifact.
pub(super) async fn pull(registry: &mut Registry, reference: &Reference) -> Result<Pulled, Error> {
    let digest = match (reference.digest(), reference.tag()) {
        (Some(digest), _) => digest.clone(),
        (None, tag) => registry.read(tag.unwrap_or_default()).await.map_err(failed(""))?,
    };
    let manifest = registry.manifest(&digest).await.map_err(failed(""))?;
    let first = manifest.layers.first();
    let first = first.ok_or_else(|| Error::Artifact("no layers found in artifact".to_owned()))?;
    check_size(first.size)?;
    let mut blob = registry.blob(first).await.map_err(failed("extracting layer failed: "))?;
    let mut layer = tempfile::tempfile()?;
    while let Some(chunk) = blob.next().await.map_err(failed("extracting layer failed: "))? {
        layer.write_all(&chunk)?;
    }
    layer.seek(SeekFrom::Start(0))?;
    Ok(Pulled { manifest, layer })
}

/// Refuses a layer that is too large.
pub(super) fn check_size(size: u64) -> Result<(), Error> {
    match size > MAX_LAYER {
        true => {
            Err(Error::Artifact(format!("the layer has {size} bytes, and at most {MAX_LAYER} are taken")))
        }
        false => Ok(()),
    }
}

impl Pulled {
    /// Returns true when the layer is a compressed tarball, and not a file as it is.
    pub(super) fn is_archive(&mut self) -> Result<bool, Error> {
        let mut start = Vec::new();
        (&mut self.layer).take(GZIP.len() as u64).read_to_end(&mut start)?;
        self.layer.seek(SeekFrom::Start(0))?;
        Ok(start == GZIP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_has_a_size_that_a_disk_has_room_for() {
        assert!(check_size(MAX_LAYER).is_ok());
        let reason = check_size(MAX_LAYER + 1).unwrap_err().to_string();
        assert_eq!(reason, "the layer has 4294967297 bytes, and at most 4294967296 are taken");
    }
}
