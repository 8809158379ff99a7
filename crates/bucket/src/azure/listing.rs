//! Pages of a container's listing.

use serde::Deserialize;

use crate::error::Error;
use crate::object::{Object, bare_etag};
use crate::page::Page;
use crate::xml;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EnumerationResults {
    #[serde(default)]
    blobs: Blobs,
    next_marker: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase")]
struct Blobs {
    #[serde(default)]
    blob: Vec<Blob>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Blob {
    name: String,
    properties: Properties,
}

#[derive(Deserialize)]
struct Properties {
    #[serde(rename = "Etag", default)]
    etag: String,
    #[serde(rename = "Content-Length", default)]
    size: u64,
    /// `directory` in accounts that have directories.
    #[serde(rename = "ResourceType", default)]
    resource_type: String,
}

/// Reads a page. Directories are left out: they have no content.
pub(crate) fn read(body: &[u8]) -> Result<Page, Error> {
    let page: EnumerationResults = xml::parse("listing", body)?;
    let files = page.blobs.blob.into_iter().filter(|blob| blob.properties.resource_type != "directory");
    let objects = files.map(|blob| {
        let etag = bare_etag(&blob.properties.etag).to_owned();
        Object { key: blob.name, pin: etag.clone(), etag, size: blob.properties.size }
    });
    Ok(Page { objects: objects.collect(), next: page.next_marker })
}

#[cfg(test)]
mod tests {
    #[test]
    fn blobs_and_no_directories() {
        let page = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ServiceEndpoint=\"https://a\" \
            ContainerName=\"c\"><Blobs><Blob><Name>dir</Name><Properties><Etag>0x1</Etag><ResourceType>directory\
            </ResourceType></Properties></Blob><Blob><Name>dir/a b.yaml</Name><Properties><Etag>0x8D</Etag>\
            <Content-Length>5</Content-Length><ResourceType>file</ResourceType></Properties></Blob></Blobs>\
            <NextMarker>m</NextMarker></EnumerationResults>";
        let page = super::read(page.as_bytes()).unwrap();
        let seen: Vec<_> =
            page.objects.iter().map(|object| (&*object.key, &*object.etag, object.size)).collect();
        assert_eq!(seen, [("dir/a b.yaml", "0x8D", 5)]);
        assert_eq!(page.next.as_deref(), Some("m"));
        let empty = super::read(b"<EnumerationResults><Blobs/><NextMarker/></EnumerationResults>").unwrap();
        assert!(empty.objects.is_empty() && empty.next.unwrap_or_default().is_empty());
    }
}
