//! Packages of Helm charts.

use anyhow::Result;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Packs a chart with these files besides its `Chart.yaml`.
pub(crate) fn package(name: &str, version: &str, more: &[(&str, &str)]) -> Result<Vec<u8>> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let chart = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    for (path, text) in [("Chart.yaml", &*chart)].iter().chain(more) {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, format!("{name}/{path}"), text.as_bytes())?;
    }
    Ok(tar.into_inner()?.finish()?)
}
