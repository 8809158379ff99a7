//! From what a repository serves to what is stored.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};

use serde::de::DeserializeSeed;

use super::meter::Meter;
use super::read::{Flow, Head, Sink, Top, Walk, walk_json};
use super::scratch::Scratch;
use super::{IndexError, MAX_RELEASES};
use crate::metadata::{Metadata, V1};

/// Time that Go writes where none was set.
const NO_TIME: &str = "0001-01-01T00:00:00Z";
/// Spaces before a chart's name, and before a version.
const CHART_INDENT: &str = "    ";
const RELEASE_INDENT: &str = "      ";
/// Nested collections of an index; real ones have seven.
const MAX_DEPTH: usize = 64;
/// Anchors, aliases and merge keys of an index; generators write none.
const MAX_ALIASES: usize = 10_000;
/// Bytes and events that anchors may hold in memory.
const MAX_ANCHORED_BYTES: usize = 4 << 20;
const MAX_ANCHORED_EVENTS: usize = 100_000;
/// Bytes of something that is no index and is read once more, for what Go's parser says of it: pages of web servers are
/// smaller.
const MAX_EXPLAINED: u64 = 1 << 20;
/// Nodes of an index: a version of a chart has some thirty.
const MAX_NODES: usize = MAX_RELEASES * 100;

/// The result of a conversion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Converted {
    /// Charts.
    pub charts: usize,
    /// Versions that were kept.
    pub releases: usize,
    /// Versions that Helm cannot use and that were left out.
    pub dropped: usize,
}

/// Reads an index as a repository serves it, YAML or JSON, and writes it as indented JSON. Versions of a chart come in
/// descending order, and invalid ones are left out (SRC-HRP-5, SRC-HRP-6).
///
/// # Errors
/// When it is no index, holds more than an index may, or `out` does not take the bytes; what was written is useless then.
pub fn convert(mut raw: impl Read + Seek, out: &mut File) -> Result<Converted, IndexError> {
    let io = |source| IndexError::Io { source };
    let start = first_byte(&mut raw).map_err(io)?.ok_or(IndexError::Empty)?;
    if start == b'{' {
        match convert_json(&mut raw, out) {
            // YAML may start with a brace, too.
            Err(IndexError::Json { .. } | IndexError::Shape { .. }) => {}
            result => return result,
        }
        raw.rewind().map_err(io)?;
        out.rewind().map_err(io)?;
        out.set_len(0).map_err(io)?;
    }
    let meter = Meter::default();
    let mut sink = Writer::begin(BufWriter::new(out), meter.clone())?;
    match walk_yaml(meter.read(&mut raw), &mut sink) {
        // Helm refuses keys that it does not know, which are no reason to do without an index.
        Ok(Head { api_version, unknown: Some(key), .. }) if api_version.is_empty() => {
            Err(IndexError::UnknownKey { key })
        }
        Ok(head) => sink.finish(head),
        Err(error) => Err(in_go(meter.explain(error), &mut raw)),
    }
}

/// Returns an error in the words of Go's parser, where that finds fault with the YAML.
fn in_go(error: IndexError, raw: &mut (impl Read + Seek)) -> IndexError {
    if !matches!(error, IndexError::Yaml { .. } | IndexError::Shape { .. }) {
        return error;
    }
    let mut bytes = Vec::new();
    let read = raw.rewind().and_then(|()| raw.take(MAX_EXPLAINED + 1).read_to_end(&mut bytes));
    if read.is_err() || bytes.len() as u64 > MAX_EXPLAINED {
        return error;
    }
    if let IndexError::Shape { found, wanted, .. } = error
        && serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok()
    {
        return IndexError::Shape { way: "", found, wanted };
    }
    match weir_yaml::read_first_document("index.yaml", bytes) {
        Ok(_) => error,
        Err(fault) => {
            let words = fault.to_string();
            IndexError::Yaml { problem: words.strip_prefix("yaml: ").unwrap_or(&words).to_owned() }
        }
    }
}

fn convert_json(raw: impl Read, out: &File) -> Result<Converted, IndexError> {
    let meter = Meter::default();
    let mut sink = Writer::begin(BufWriter::new(out), meter.clone())?;
    let head = walk_json(meter.read(raw), &mut sink).map_err(|error| meter.explain(error))?;
    sink.finish(head)
}

/// The first byte that is no white space; the reader stands at its start again.
fn first_byte(raw: &mut (impl Read + Seek)) -> std::io::Result<Option<u8>> {
    raw.rewind()?;
    let mut first = None;
    for byte in BufReader::new(&mut *raw).bytes() {
        let byte = byte?;
        if !byte.is_ascii_whitespace() {
            first = Some(byte);
            break;
        }
    }
    raw.rewind()?;
    Ok(first)
}

fn walk_yaml(reader: impl Read, sink: &mut impl Sink) -> Result<Head, IndexError> {
    let budget = serde_saphyr::budget! {
        max_reader_input_bytes: None,
        max_events: 2 * MAX_NODES,
        max_nodes: MAX_NODES,
        max_depth: MAX_DEPTH,
        max_documents: 1,
        max_aliases: MAX_ALIASES,
        max_anchors: MAX_ALIASES,
        max_merge_keys: MAX_ALIASES,
        max_recorded_anchor_events: MAX_ANCHORED_EVENTS,
        max_recorded_anchor_bytes: MAX_ANCHORED_BYTES,
        max_total_scalar_bytes: usize::MAX,
    };
    let options = serde_saphyr::options! { budget: budget, with_snippet: false };
    let parse = |walk: &mut Walk<'_, _>| {
        let mut is_read = false;
        let parsed =
            serde_saphyr::with_deserializer_from_reader_with_options(reader, options, |deserializer| {
                let read = Top(walk).deserialize(deserializer);
                is_read = read.is_ok();
                read
            });
        // The first document counts, as with Go's parser, which reads no further.
        if is_read { Ok(()) } else { parsed }
    };
    Walk::new(sink).run(parse, yaml_failure)
}

fn yaml_failure(error: serde_saphyr::Error) -> IndexError {
    match error.without_snippet() {
        serde_saphyr::Error::DuplicateMappingKey { key: Some(key), location } => {
            IndexError::DuplicateKey { key: key.clone(), line: location.line() }
        }
        other => IndexError::Yaml { problem: other.to_string() },
    }
}

/// Writes the stored form.
struct Writer<W: Write> {
    out: W,
    scratch: Scratch,
    names: HashSet<String>,
    name: String,
    converted: Converted,
    meter: Meter,
}

impl<W: Write> Writer<W> {
    fn begin(mut out: W, meter: Meter) -> Result<Self, IndexError> {
        out.write_all(b"{\n  \"entries\": {").map_err(|source| IndexError::Io { source })?;
        Ok(Self {
            out,
            scratch: Scratch::new(),
            names: HashSet::new(),
            name: String::new(),
            converted: Converted::default(),
            meter,
        })
    }

    fn finish(mut self, mut head: Head) -> Result<Converted, IndexError> {
        if head.api_version.is_empty() {
            return Err(IndexError::NoApiVersion);
        }
        head.generated.get_or_insert_with(|| NO_TIME.to_owned());
        let mut write = || {
            let end = if self.converted.charts == 0 { "" } else { "\n  " };
            // The object is open already.
            let head = serde_json::to_string_pretty(&head)?;
            write!(self.out, "{end}}},{}", head.trim_start_matches('{'))?;
            self.out.flush()
        };
        write().map_err(|source| IndexError::Io { source })?;
        Ok(self.converted)
    }

    fn write_chart(&mut self, is_null: bool) -> std::io::Result<()> {
        let comma = if self.converted.charts == 1 { "" } else { "," };
        write!(self.out, "{comma}\n{CHART_INDENT}{}: ", quoted(&self.name))?;
        if self.scratch.is_empty() {
            return write!(self.out, "{}", if is_null { "null" } else { "[]" });
        }
        let out = &mut self.out;
        let mut separator = "[";
        self.scratch.in_order(|json| {
            out.write_all(separator.as_bytes())?;
            separator = ",";
            for line in json.split(|byte| *byte == b'\n') {
                write!(out, "\n{RELEASE_INDENT}")?;
                out.write_all(line)?;
            }
            Ok(())
        })?;
        write!(out, "\n{CHART_INDENT}]")
    }
}

/// A JSON string.
fn quoted(text: &str) -> serde_json::Value {
    text.into()
}

impl<W: Write> Sink for Writer<W> {
    fn chart(&mut self, name: &str) -> Result<bool, IndexError> {
        if !self.names.insert(name.to_owned()) {
            return Err(IndexError::Json { problem: format!("chart {name:?} stands in the index twice") });
        }
        self.meter.restart();
        name.clone_into(&mut self.name);
        self.converted.charts += 1;
        self.scratch.clear().map_err(|source| IndexError::Io { source })?;
        Ok(true)
    }

    fn release(&mut self, mut release: Metadata) -> Result<(), IndexError> {
        self.meter.restart();
        if release.api_version.is_empty() {
            V1.clone_into(&mut release.api_version);
        }
        if release.created.is_empty() {
            NO_TIME.clone_into(&mut release.created);
        }
        if release.validate_for_index().is_err() {
            self.converted.dropped += 1;
            return Ok(());
        }
        self.converted.releases += 1;
        self.scratch.push(&release)
    }

    fn chart_end(&mut self, is_null: bool) -> Result<Flow, IndexError> {
        self.write_chart(is_null).map_err(|source| IndexError::Io { source })?;
        Ok(Flow::Continue)
    }
}
