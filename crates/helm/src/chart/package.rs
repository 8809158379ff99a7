//! Writing a chart as a package whose bytes depend on its content alone (SRC-CHT-17, SRC-STO-9).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use flate2::{Compression, GzBuilder, write::GzEncoder};
use serde::de::IgnoredAny;

use super::{CHART_FILE, CHARTS, Chart};
use crate::metadata::{Metadata, V1};

/// Schema of the chart's values.
const SCHEMA_FILE: &str = "values.schema.json";

/// Level of compression. Part of the package's bytes.
const LEVEL: u32 = 6;
/// "Unknown" in the gzip header, so that no platform leaves its mark.
const OPERATING_SYSTEM: u8 = 255;
/// Mode of all files, as Helm writes them.
const MODE: u32 = 0o644;

type Tar<W> = tar::Builder<GzEncoder<W>>;

impl Chart {
    /// Writes the chart as gzipped tarball: its description first, then its files, then the charts that it brings along.
    ///
    /// # Errors
    /// When the schema of its values is no JSON, which Helm packs into no chart, or `out` does not take the bytes.
    pub fn package(&self, out: impl Write) -> io::Result<()> {
        let gzip = GzBuilder::new().mtime(0).operating_system(OPERATING_SYSTEM);
        let mut tar = tar::Builder::new(gzip.write(out, Compression::new(LEVEL)));
        self.append(&mut tar, &self.metadata.name)?;
        tar.into_inner()?.finish()?.flush()
    }

    fn append<W: Write>(&self, tar: &mut Tar<W>, base: &str) -> io::Result<()> {
        file(tar, &format!("{base}/{CHART_FILE}"), description(&self.metadata)?.as_bytes())?;
        for (path, content) in &self.files {
            if path.as_str() == SCHEMA_FILE && serde_json::from_slice::<IgnoredAny>(content).is_err() {
                return Err(io::Error::other(format!("invalid JSON in {SCHEMA_FILE}")));
            }
            file(tar, &format!("{base}/{path}"), content)?;
        }
        let (mut taken, mut counts) = (BTreeSet::new(), BTreeMap::new());
        for subchart in &self.subcharts {
            let Metadata { name, version, .. } = &subchart.metadata;
            // Helm finds charts by what they say of themselves: another one of that name only needs a place of its own.
            let mut place = name.clone();
            if taken.contains(&place) {
                place = format!("{name}-{version}");
            }
            while !taken.insert(place.clone()) {
                let count = counts.entry((name, version)).or_insert(1);
                *count += 1;
                place = format!("{name}-{version}-{count}");
            }
            subchart.append(tar, &format!("{base}/{CHARTS}/{place}"))?;
        }
        Ok(())
    }
}

/// `Chart.yaml`. In the old format dependencies stand in a file of their own.
fn description(metadata: &Metadata) -> io::Result<String> {
    let mut written = metadata.clone();
    if written.api_version == V1 {
        written.dependencies.clear();
    }
    serde_saphyr::to_string(&written).map_err(io::Error::other)
}

fn file<W: Write>(tar: &mut Tar<W>, name: &str, content: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mode(MODE);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(content.len() as u64);
    tar.append_data(&mut header, name, content)
}
