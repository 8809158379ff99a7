//! Packages made by hand, so that nothing of the crate under test is in them.

use flate2::{Compression, write::GzEncoder};

/// A gzipped tarball of files; names are written as they are, however wrong.
pub(crate) fn package(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, *content).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

/// A chart of one template.
pub(crate) fn chart(name: &str, version: &str) -> Vec<u8> {
    let description = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    package(&[
        (&format!("{name}/Chart.yaml"), description.as_bytes()),
        (&format!("{name}/values.yaml"), b"replicas: 1\n"),
        (&format!("{name}/templates/cm.yaml"), b"kind: ConfigMap\n"),
    ])
}

/// Names and contents of the files in a package, in its order.
pub(crate) fn contents(package: &[u8]) -> Vec<(String, String)> {
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(package));
    let read = |entry: std::io::Result<tar::Entry<'_, _>>| {
        let mut entry = entry.unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut entry, &mut text).unwrap();
        (entry.path().unwrap().display().to_string(), text)
    };
    tar.entries().unwrap().map(read).collect()
}
