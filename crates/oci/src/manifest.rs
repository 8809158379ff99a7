//! Manifests: what an artifact is made of.

use std::collections::BTreeMap;

use oci_client::manifest::{
    OCI_IMAGE_INDEX_MEDIA_TYPE, OCI_IMAGE_MEDIA_TYPE, OciDescriptor, OciImageIndex, OciManifest,
};
use weir_artifact::Digest;

use crate::error::Error;

/// The platform that an index is resolved to (SRC-OCI-9).
const PLATFORM: (&str, &str) = ("linux", "amd64");

/// Something in a registry, by digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// Its media type.
    pub media_type: String,
    /// Its digest; what is pulled must have it.
    pub digest: Digest,
    /// Its bytes.
    pub size: u64,
}

/// A manifest whose content has its digest.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// Its digest.
    pub digest: Digest,
    /// Its media type; the standard's where it names none.
    pub media_type: String,
    /// Media type of its configuration. Empty for an index.
    pub config_media_type: String,
    /// Its layers, in order. Empty for an index.
    pub layers: Vec<Descriptor>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Form of the manifest.
    pub(crate) form: Form,
}

/// An image, or a list of images for several platforms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    Image,
    /// The image for our platform, if there is one.
    Index(Option<Digest>),
}

impl Manifest {
    /// Reads the manifest that was found at `url` and has `digest`, which the caller has checked.
    ///
    /// # Errors
    /// When it is no manifest that we understand.
    pub fn parse(digest: Digest, bytes: &[u8], url: &str) -> Result<Self, Error> {
        let malformed = |reason: String| Error::Malformed { what: "manifest", url: url.to_owned(), reason };
        let manifest: OciManifest =
            serde_json::from_slice(bytes).map_err(|error| malformed(error.to_string()))?;
        match manifest {
            OciManifest::Image(image) => {
                let layers = image.layers.iter().map(|layer| descriptor(layer).map_err(&malformed));
                Ok(Self {
                    digest,
                    media_type: image.media_type.unwrap_or_else(|| OCI_IMAGE_MEDIA_TYPE.to_owned()),
                    config_media_type: image.config.media_type.clone(),
                    layers: layers.collect::<Result<_, _>>()?,
                    annotations: image.annotations.unwrap_or_default(),
                    form: Form::Image,
                })
            }
            OciManifest::ImageIndex(index) => {
                let image = for_platform(&index).map(Digest::parse).transpose()?;
                let annotations = index.annotations.unwrap_or_default();
                Ok(Self {
                    digest,
                    media_type: index.media_type.unwrap_or_else(|| OCI_IMAGE_INDEX_MEDIA_TYPE.to_owned()),
                    config_media_type: String::new(),
                    layers: Vec::new(),
                    annotations,
                    form: Form::Index(image),
                })
            }
        }
    }
}

pub(crate) fn descriptor(layer: &OciDescriptor) -> Result<Descriptor, String> {
    Ok(Descriptor {
        media_type: layer.media_type.clone(),
        digest: Digest::parse(&layer.digest).map_err(|error| error.to_string())?,
        size: u64::try_from(layer.size).map_err(|_| format!("layer has {} bytes", layer.size))?,
    })
}

/// Returns the digest of the first image of an index that is for our platform or names none; of a single image
/// in any case.
fn for_platform(index: &OciImageIndex) -> Option<&str> {
    let fits = index.manifests.iter().find(|entry| {
        entry.platform.as_ref().is_none_or(|platform| {
            (platform.os.to_string().as_str(), platform.architecture.to_string().as_str()) == PLATFORM
        })
    });
    match (fits, index.manifests.as_slice()) {
        (Some(entry), _) | (None, [entry]) => Some(&entry.digest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::{Form, Manifest};

    /// SRC-OCI-9: the first image that is for our platform or does not say for which one, as in Flux.
    #[rstest]
    #[case::ours(&[Some("arm64"), Some("amd64")], Some(1))]
    #[case::unnamed(&[None, None], Some(0))]
    #[case::unnamed_after_another(&[Some("arm64"), None], Some(1))]
    #[case::the_only_one(&[Some("arm64")], Some(0))]
    #[case::others(&[Some("arm64"), Some("s390x")], None)]
    #[case::none(&[], None)]
    fn the_image_of_an_index(#[case] architectures: &[Option<&str>], #[case] expected: Option<usize>) {
        let digest = |index: usize| format!("sha256:{index:064}");
        let entry = |(index, architecture): (usize, &Option<&str>)| {
            let mut entry = json!({ "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "digest": digest(index), "size": 1 });
            if let Some(architecture) = architecture {
                entry["platform"] = json!({ "os": "linux", "architecture": architecture });
            }
            entry
        };
        let entries: Vec<Value> = architectures.iter().enumerate().map(entry).collect();
        let index = json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": entries });
        let own = weir_artifact::Digest::parse(&digest(9)).unwrap();
        let manifest = Manifest::parse(own, index.to_string().as_bytes(), "u").unwrap();
        let expected = expected.map(|at| weir_artifact::Digest::parse(&digest(at)).unwrap());
        assert_eq!(manifest.form, Form::Index(expected));
    }
}
