//! Caps on what is downloaded and unpacked (SRC 14.6, SRC-CHT-18).

/// Bytes of an index: Flux's default of `--helm-index-max-size`.
const INDEX: u64 = 50 << 20;
/// Bytes of a packaged chart: Flux's default of `--helm-chart-max-size`.
const CHART: u64 = 10 << 20;
/// Bytes of one file of a chart: Flux's default of `--helm-chart-file-max-size`.
const FILE: u64 = 5 << 20;
/// Bytes of all files of a chart together, its dependencies included: Helm's own limit.
const UNPACKED: u64 = 100 << 20;
/// Files of a chart; the largest ones in public have some hundred.
const FILES: usize = 20_000;
/// Components of a path in a chart.
const DEPTH: usize = 32;

/// Caps for one index or chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an index.
    pub index: u64,
    /// Bytes of a packaged chart.
    pub chart: u64,
    /// Bytes of one file in a chart.
    pub file: u64,
    /// Bytes of all files of a chart.
    pub unpacked: u64,
    /// Number of files of a chart.
    pub files: usize,
    /// Components of a path in a chart.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { index: INDEX, chart: CHART, file: FILE, unpacked: UNPACKED, files: FILES, depth: DEPTH }
    }
}
