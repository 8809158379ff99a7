//! A chart in memory: what is in a package or in a directory, and how it becomes a package again.

mod ignore;
mod package;
mod source;

use std::collections::BTreeMap;
use std::io;

use bytes::Bytes;
use weir_artifact::{RelPath, RelPathError, Untar, UntarError};

pub use self::source::read;
use crate::Limits;
use crate::metadata::{self, Dependency, Metadata, MetadataError, V1};
use crate::values::ValuesError;

/// Files with a meaning of their own.
pub const CHART_FILE: &str = "Chart.yaml";
/// Default values of a chart.
pub const VALUES_FILE: &str = "values.yaml";
const LOCK_FILE: &str = "Chart.lock";
const REQUIREMENTS_FILE: &str = "requirements.yaml";
const REQUIREMENTS_LOCK_FILE: &str = "requirements.lock";
const SCHEMA_FILE: &str = "values.schema.json";
/// Directory of the templates.
const TEMPLATES: &str = "templates/";
/// Directory of the charts that a chart needs.
const CHARTS: &str = "charts";
/// Charts inside charts inside charts; Helm's umbrella charts have two or three levels.
const MAX_NESTING: usize = 8;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Errors in a chart. The texts are Helm's.
#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    /// The description is missing or wrong.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// There is no description.
    #[error("open {path}: no such file or directory")]
    NoChartFile {
        /// Its expected place.
        path: String,
    },
    /// A package without description.
    #[error("no '{CHART_FILE}' found")]
    NoDescription,
    /// A chart inside the chart, or a directory, without description.
    #[error("{CHART_FILE} file is missing")]
    Undescribed,
    /// There is nothing at a path.
    #[error("stat {path}: no such file or directory")]
    NotFound {
        /// The path, below the source's root.
        path: String,
    },
    /// The package is too large.
    #[error("size of chart '{name}' exceeds '{limit}' bytes limit")]
    TooLarge {
        /// The package.
        name: String,
        /// The cap.
        limit: u64,
    },
    /// One file of a directory is too large.
    #[error("cannot load file {path} as file size ({size}) exceeds limit ({limit})")]
    FileTooLarge {
        /// The file.
        path: String,
        /// Its bytes.
        size: u64,
        /// The cap.
        limit: u64,
    },
    /// More files, or more bytes in all, than a chart may have.
    #[error("chart has more than {limit} {what}")]
    TooMuch {
        /// Files or bytes.
        what: &'static str,
        /// The cap.
        limit: u64,
    },
    /// A path that starts at the root.
    #[error("chart illegally contains absolute paths")]
    Absolute,
    /// A path that leads up.
    #[error("chart illegally references parent directory")]
    Parent,
    /// A file beside the chart's directory.
    #[error("chart illegally contains content outside the base directory: {name}")]
    Outside {
        /// Its name in the package.
        name: String,
    },
    /// Drive letters and other names that are no paths.
    #[error("chart contains illegally named files")]
    Name,
    /// The package has nothing in it.
    #[error("no files in chart archive")]
    Empty,
    /// The package is none, but for example a page.
    #[error("{reason}")]
    NotGzip {
        /// The fault found.
        reason: &'static str,
    },
    /// The package is damaged or hostile.
    #[error("failed to load chart archive: {source}")]
    Archive {
        /// The fault found.
        #[source]
        source: UntarError,
    },
    /// Charts inside charts, without end.
    #[error("charts are nested deeper than {MAX_NESTING} levels")]
    Nesting,
    /// A chart inside the chart is none.
    #[error("error unpacking subchart {subchart} in {chart}: {source}")]
    Subchart {
        /// The chart below `charts/`.
        subchart: String,
        /// The chart around it.
        chart: String,
        /// The fault in it.
        #[source]
        source: Box<Self>,
    },
    /// A pattern that Helm does not know.
    #[error("double-star (**) syntax is not supported")]
    DoubleStar,
    /// The patterns of a directory cannot be used.
    #[error("cannot load ignore rules for chart: {source}")]
    Ignore {
        /// The fault in them.
        #[source]
        source: Box<Self>,
    },
    /// The files of a directory cannot be had.
    #[error("failed to load files from {place}: {source}")]
    Files {
        /// The directory, from the source's root.
        place: String,
        /// The file at fault.
        #[source]
        source: Box<Self>,
    },
    /// The files of a directory are no chart.
    #[error("failed to load chart from {place}: {source}")]
    Directory {
        /// The directory, from the source's root.
        place: String,
        /// The fault in them.
        #[source]
        source: Box<Self>,
    },
    /// `values.yaml` is no mapping.
    #[error("cannot load {VALUES_FILE}: cannot unmarshal yaml document: {}", source.fault())]
    Values {
        /// The fault in it.
        #[source]
        source: ValuesError,
    },
    /// The file system failed.
    #[error("failed to read {path}: {source}")]
    Read {
        /// The file or directory.
        path: String,
        /// The file system's words.
        #[source]
        source: io::Error,
    },
}

impl ChartError {
    /// Returns true when the description can be read, and is that of no chart.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(self, Self::Metadata(error) if !matches!(error, MetadataError::Syntax { .. }))
    }
}

/// Files by their path in the chart.
type Files = BTreeMap<RelPath, Bytes>;

/// A chart with the charts that it brings along.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Metadata of the chart, with the dependencies of `requirements.yaml` in the old format.
    pub metadata: Metadata,
    /// Everything but `Chart.yaml` and what lies in `charts/`.
    files: Files,
    /// The charts in `charts/`.
    subcharts: Vec<Self>,
    /// Dependencies that the lock file pins.
    locked: Option<Vec<Dependency>>,
}

impl Chart {
    /// Reads a packaged chart. Its description is checked.
    ///
    /// # Errors
    /// When it is damaged, hostile, beyond the limits, or no chart.
    pub fn from_archive(archive: &[u8], limits: &Limits) -> Result<Self, ChartError> {
        Self::from_package(archive, &mut Room::new(limits), 0).map_err(|error| match error {
            ChartError::Undescribed => ChartError::NoDescription,
            error => error,
        })
    }

    fn from_package(archive: &[u8], room: &mut Room<'_>, level: usize) -> Result<Self, ChartError> {
        Self::assemble(unpack(archive, room)?, room, level)
    }

    /// Puts a chart together from its files.
    fn assemble(mut files: Files, room: &mut Room<'_>, level: usize) -> Result<Self, ChartError> {
        if level > MAX_NESTING {
            return Err(ChartError::Nesting);
        }
        let chart_file = files.remove(CHART_FILE).ok_or(ChartError::Undescribed)?;
        let mut metadata = Metadata::parse(&chart_file)?;
        let locked = requirements(&mut files, &mut metadata)?;
        metadata.validate()?;
        let subcharts = subcharts(&mut files, &metadata.name, room, level)?;
        Ok(Self { metadata, files, subcharts, locked })
    }

    /// A file of the chart.
    #[must_use]
    pub fn file(&self, path: &RelPath) -> Option<&Bytes> {
        self.files.get(path)
    }

    /// A file that has no meaning of its own to Helm: not the values, their schema, the lock file or a template.
    #[must_use]
    pub fn plain_file(&self, path: &RelPath) -> Option<&Bytes> {
        let has_meaning = [VALUES_FILE, SCHEMA_FILE, LOCK_FILE].contains(&path.as_str());
        self.file(path).filter(|_| !has_meaning && !path.as_str().starts_with(TEMPLATES))
    }

    /// Replaces the chart's default values. Returns true when it has some that could be replaced (SRC-CHT-15).
    pub fn replace_values(&mut self, values: String) -> bool {
        match self.files.get_mut(VALUES_FILE) {
            Some(content) => {
                *content = values.into();
                true
            }
            None => false,
        }
    }

    /// Returns the chart's dependencies: as pinned by its lock file, otherwise as it declares them (SRC-CHT-13).
    #[must_use]
    pub fn required(&self) -> Vec<&Dependency> {
        match &self.locked {
            Some(locked) => locked.iter().collect(),
            None => self.metadata.dependencies().collect(),
        }
    }

    /// The charts that it brings along.
    #[must_use]
    pub fn subcharts(&self) -> &[Self] {
        &self.subcharts
    }

    /// Adds a chart that it needs.
    pub fn add(&mut self, subchart: Self) {
        self.subcharts.push(subchart);
    }
}

/// Adds the dependencies of `requirements.yaml` to a chart's metadata, and returns those that a lock file pins. As in Helm,
/// files of the old format count in a chart of the new one, too, and become part of its files. A lock file of the new format
/// does not count in a chart of the old one.
fn requirements(files: &mut Files, metadata: &mut Metadata) -> Result<Option<Vec<Dependency>>, ChartError> {
    if let Some(requirements) = files.get(REQUIREMENTS_FILE) {
        metadata.dependencies = metadata::dependencies(REQUIREMENTS_FILE, requirements)?;
    }
    let names = [REQUIREMENTS_LOCK_FILE, LOCK_FILE];
    let lock = names.iter().find_map(|name| files.get(*name).map(|lock| (*name, lock.clone())));
    let locked = lock.as_ref().map(|(name, lock)| metadata::dependencies(name, lock)).transpose()?;
    if metadata.api_version == V1 {
        files.remove(LOCK_FILE);
    } else {
        files.remove(REQUIREMENTS_FILE);
        files.remove(REQUIREMENTS_LOCK_FILE);
        if let (Some((_, lock)), Ok(path)) = (lock, RelPath::parse(LOCK_FILE)) {
            files.insert(path, lock);
        }
    }
    Ok(locked.map(|locked| locked.into_iter().flatten().collect()))
}

/// The room that a chart has, together with the charts in it.
struct Room<'a> {
    limits: &'a Limits,
    files: usize,
    bytes: u64,
}

impl<'a> Room<'a> {
    fn new(limits: &'a Limits) -> Self {
        Self { limits, files: 0, bytes: 0 }
    }

    /// Counts a file.
    fn add(&mut self, content: &Bytes) -> Result<(), ChartError> {
        self.files += 1;
        self.bytes += content.len() as u64;
        if self.files > self.limits.files {
            return Err(ChartError::TooMuch { what: "files", limit: self.limits.files as u64 });
        }
        if self.bytes > self.limits.unpacked {
            return Err(ChartError::TooMuch { what: "bytes", limit: self.limits.unpacked });
        }
        Ok(())
    }
}

/// The files of a package, without the directory around them.
fn unpack(archive: &[u8], room: &mut Room<'_>) -> Result<Files, ChartError> {
    let Limits { chart, unpacked, files, file, depth, .. } = *room.limits;
    let limits = weir_artifact::Limits {
        download: chart,
        unpacked,
        entries: files,
        file,
        depth,
        ..weir_artifact::Limits::default()
    };
    let unpacked = Untar::new(limits).backslashes().to_map(archive).map_err(archive_failure)?;
    if unpacked.is_empty() {
        return Err(ChartError::Empty);
    }
    let mut files = Files::new();
    for (path, entry) in unpacked {
        let outside = || ChartError::Outside { name: path.to_string() };
        let (_, inner) = path.as_str().split_once('/').ok_or_else(outside)?;
        let mut characters = inner.chars();
        let is_drive = characters.next().is_some_and(|c| c.is_ascii_alphabetic())
            && characters.as_str().starts_with(":/");
        let inner = RelPath::parse(inner).ok().filter(|_| !is_drive).ok_or(ChartError::Name)?;
        room.add(&entry.bytes)?;
        files.insert(inner, without_mark(entry.bytes));
    }
    Ok(files)
}

fn archive_failure(error: UntarError) -> ChartError {
    match error {
        UntarError::Name { source: RelPathError::Absolute { .. }, .. } => ChartError::Absolute,
        UntarError::Name { source: RelPathError::Parent { .. }, .. } => ChartError::Parent,
        UntarError::Name { .. } => ChartError::Name,
        UntarError::NotGzip { reason } => ChartError::NotGzip { reason },
        source => ChartError::Archive { source },
    }
}

/// The charts below `charts/`, taken out of `files`: packages and directories. Names that start with `_` or `.` are not
/// charts, and neither are signatures.
fn subcharts(
    files: &mut Files,
    chart: &str,
    room: &mut Room<'_>,
    level: usize,
) -> Result<Vec<Chart>, ChartError> {
    let mut by_name: BTreeMap<String, Files> = BTreeMap::new();
    let mut packages: BTreeMap<String, Bytes> = BTreeMap::new();
    let inside: Vec<RelPath> = files.keys().filter(|path| is_of_subchart(path)).cloned().collect();
    for path in inside {
        let Some(content) = files.remove(&path) else { continue };
        let mut parts = path.as_str().splitn(3, '/').skip(1);
        let Some(name) = parts.next().filter(|name| !name.starts_with(['_', '.'])) else { continue };
        match parts.next().map(RelPath::parse) {
            Some(Ok(inner)) => drop(by_name.entry(name.to_owned()).or_default().insert(inner, content)),
            None if name.ends_with(".tgz") => drop(packages.insert(name.to_owned(), content)),
            // A file that lies beside the charts.
            _ => {}
        }
    }
    let failed = |name: String| {
        move |source| ChartError::Subchart {
            subchart: name,
            chart: chart.to_owned(),
            source: Box::new(source),
        }
    };
    let mut found = Vec::with_capacity(by_name.len() + packages.len());
    for (name, files) in by_name {
        found.push(Chart::assemble(files, room, level + 1).map_err(failed(name))?);
    }
    for (name, package) in packages {
        found.push(Chart::from_package(&package, room, level + 1).map_err(failed(name))?);
    }
    Ok(found)
}

fn is_of_subchart(path: &RelPath) -> bool {
    let below = path.as_str().strip_prefix(CHARTS).is_some_and(|rest| rest.starts_with('/'));
    below && !path.as_str().ends_with(".prov")
}

fn without_mark(content: Bytes) -> Bytes {
    if content.starts_with(BYTE_ORDER_MARK) { content.slice(BYTE_ORDER_MARK.len()..) } else { content }
}
