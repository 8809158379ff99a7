//! The shape of an index, walked as a stream: what is found goes to a [`Sink`].

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufReader, Read};

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{IndexError, MAX_CHARTS, MAX_RELEASES, MAX_VERSIONS, Release};
use crate::metadata::Metadata;

/// Words of Helm's parser about YAML that it reads as JSON.
const OVER_YAML: &str = "error unmarshaling JSON: while decoding JSON: ";
/// Names of an index and its parts in Helm's library.
const INDEX: &str = "value of type repo.IndexFile";
const CHARTS: &str = "struct field IndexFile.entries of type map[string]repo.ChartVersions";
const VERSIONS: &str = "struct field IndexFile.entries of type repo.ChartVersions";

/// Lets a visitor refuse texts, numbers and the like in Go's words.
macro_rules! no_scalars {
    ($wanted:expr) => {
        fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Self::Value, E> {
            self.0.other("string", $wanted)
        }

        fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<Self::Value, E> {
            self.0.other("bool", $wanted)
        }

        fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<Self::Value, E> {
            self.0.other("number", $wanted)
        }

        fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<Self::Value, E> {
            self.0.other("number", $wanted)
        }

        fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Self::Value, E> {
            self.0.other("number", $wanted)
        }
    };
}

/// The taker of the entries found.
pub(super) trait Sink {
    /// A chart begins; returns true when its versions are wanted.
    fn chart(&mut self, name: &str) -> Result<bool, IndexError>;
    /// A version of the chart that began last.
    fn release(&mut self, release: Metadata) -> Result<(), IndexError>;
    /// The chart's versions are over. `is_null` is true when there was no list at all.
    fn chart_end(&mut self, is_null: bool) -> Result<Flow, IndexError>;
}

/// True when the rest of the index is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Continue,
    Stop,
}

/// The fields beside the entries, in the order in which they are stored.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Head {
    pub(super) api_version: String,
    pub(super) generated: Option<String>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    server_info: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    public_keys: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, Option<String>>,
    /// The first key that an index does not have.
    #[serde(skip)]
    pub(super) unknown: Option<String>,
}

/// A walk over one index, with the reason for which it ended early.
pub(super) struct Walk<'a, S> {
    sink: &'a mut S,
    head: Head,
    charts: usize,
    releases: usize,
    ended: Option<Result<(), IndexError>>,
}

impl<'a, S: Sink> Walk<'a, S> {
    pub(super) fn new(sink: &'a mut S) -> Self {
        Walk { sink, head: Head::default(), charts: 0, releases: 0, ended: None }
    }

    /// Walks over an index whose parser `parse` starts with the walk as its seed.
    pub(super) fn run<E>(
        mut self,
        parse: impl FnOnce(&mut Self) -> Result<(), E>,
        failure: impl FnOnce(E) -> IndexError,
    ) -> Result<Head, IndexError> {
        match (parse(&mut self), self.ended) {
            // The parser only repeats that the sink wanted no more.
            (_, Some(ended)) => ended.map(|()| self.head),
            (result, None) => result.map_err(failure).map(|()| self.head),
        }
    }

    /// Passes on the sink's answer; an error or a stop ends the parser too.
    fn told<T, E: serde::de::Error>(&mut self, result: Result<T, IndexError>) -> Result<T, E> {
        result.map_err(|error| {
            let text = E::custom(&error);
            self.ended = Some(Err(error));
            text
        })
    }

    /// Refuses what has another shape than it should have, as a page of a web server has.
    fn other<T, E: serde::de::Error>(&mut self, found: &'static str, wanted: &'static str) -> Result<T, E> {
        self.told(Err(IndexError::Shape { way: OVER_YAML, found, wanted }))
    }

    fn count<E: serde::de::Error>(
        &mut self,
        count: usize,
        limit: usize,
        what: &'static str,
    ) -> Result<(), E> {
        let result = if count > limit { Err(IndexError::TooMany { what, limit }) } else { Ok(()) };
        self.told(result)
    }
}

/// One JSON index.
pub(super) fn walk_json(reader: impl Read, sink: &mut impl Sink) -> Result<Head, IndexError> {
    let parse = |walk: &mut Walk<'_, _>| {
        let mut deserializer = serde_json::Deserializer::from_reader(BufReader::new(reader));
        Top(walk).deserialize(&mut deserializer)?;
        deserializer.end()
    };
    Walk::new(sink).run(parse, |error| IndexError::Json { problem: error.to_string() })
}

/// The whole index.
pub(super) struct Top<'w, 'a, S>(pub(super) &'w mut Walk<'a, S>);

impl<'de, S: Sink> DeserializeSeed<'de> for Top<'_, '_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: Sink> Visitor<'de> for Top<'_, '_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an index of a chart repository")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        self.0.other("array", INDEX)
    }

    no_scalars!(INDEX);

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_entries = false;
        while let Some(key) = map.next_key::<String>()? {
            let head = &mut self.0.head;
            match key.as_str() {
                "apiVersion" => head.api_version = value(&mut map)?,
                "generated" => head.generated = map.next_value()?,
                "serverInfo" => head.server_info = value(&mut map)?,
                "publicKeys" => head.public_keys = value(&mut map)?,
                "annotations" => head.annotations = value(&mut map)?,
                "entries" if has_entries => return Err(A::Error::duplicate_field("entries")),
                "entries" => {
                    has_entries = true;
                    map.next_value_seed(Entries(&mut *self.0))?;
                }
                _ => {
                    head.unknown.get_or_insert(key);
                    map.next_value::<IgnoredAny>().map(drop)?;
                }
            }
        }
        Ok(())
    }
}

/// The value of a key; null is as good as none.
fn value<'de, T: Deserialize<'de> + Default, A: MapAccess<'de>>(map: &mut A) -> Result<T, A::Error> {
    Ok(map.next_value::<Option<T>>()?.unwrap_or_default())
}

/// The charts, by name.
struct Entries<'w, 'a, S>(&'w mut Walk<'a, S>);

impl<'de, S: Sink> DeserializeSeed<'de> for Entries<'_, '_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: Sink> Visitor<'de> for Entries<'_, '_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("charts by name")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        self.0.other("array", CHARTS)
    }

    no_scalars!(CHARTS);

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            self.0.charts += 1;
            self.0.count(self.0.charts, MAX_CHARTS, "charts")?;
            let wanted = self.0.sink.chart(&name);
            if !self.0.told(wanted)? {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let is_null = map.next_value_seed(Versions(&mut *self.0))?;
            let flow = self.0.sink.chart_end(is_null);
            if self.0.told(flow)? == Flow::Stop {
                self.0.ended = Some(Ok(()));
                return Err(A::Error::custom("found"));
            }
        }
        Ok(())
    }
}

/// The versions of one chart. The value is true when there is no list.
struct Versions<'w, 'a, S>(&'w mut Walk<'a, S>);

impl<'de, S: Sink> DeserializeSeed<'de> for Versions<'_, '_, S> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: Sink> Visitor<'de> for Versions<'_, '_, S> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of chart versions")
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<bool, A::Error> {
        self.0.other("object", VERSIONS)
    }

    no_scalars!(VERSIONS);

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        let mut versions = 0;
        while let Some(release) = list.next_element::<Option<Metadata>>()? {
            versions += 1;
            self.0.releases += 1;
            self.0.count(versions, MAX_VERSIONS, "versions of one chart")?;
            self.0.count(self.0.releases, MAX_RELEASES, "versions")?;
            if let Some(release) = release {
                let result = self.0.sink.release(release);
                self.0.told(result)?;
            }
        }
        Ok(false)
    }
}

/// The releases of one chart in a stored index, the highest version first; none when it has no such chart.
///
/// # Errors
/// When the index is damaged or cannot be read.
pub fn releases(stored: impl Read, chart: &str) -> Result<Option<Vec<Release>>, IndexError> {
    let mut sink = OneChart { chart, is_open: false, found: None };
    walk_json(stored, &mut sink)?;
    Ok(sink.found)
}

struct OneChart<'a> {
    chart: &'a str,
    is_open: bool,
    found: Option<Vec<Release>>,
}

impl Sink for OneChart<'_> {
    fn chart(&mut self, name: &str) -> Result<bool, IndexError> {
        self.is_open = name == self.chart;
        if self.is_open {
            self.found = Some(Vec::new());
        }
        Ok(self.is_open)
    }

    fn release(&mut self, release: Metadata) -> Result<(), IndexError> {
        self.found.get_or_insert_default().push(release.into());
        Ok(())
    }

    fn chart_end(&mut self, _is_null: bool) -> Result<Flow, IndexError> {
        Ok(Flow::Stop)
    }
}
