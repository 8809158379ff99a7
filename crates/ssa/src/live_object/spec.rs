//! The fields of a spec that say something about health.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Fields that `weir_kstatus` and [`ends_by_itself`](crate::ends_by_itself) read, of all kinds.
pub(super) const FIELDS: [&str; 9] = [
    "clusterIP",
    "completions",
    "parallelism",
    "progressDeadlineSeconds",
    "replicas",
    "suspend",
    "ttlSecondsAfterFinished",
    "type",
    "updateStrategy",
];

/// These fields of a spec; nothing of one that is no map.
#[derive(Debug, Default)]
pub(super) struct Spec(pub(super) Value);

impl Spec {
    /// Returns these fields of a whole spec.
    pub(super) fn of(spec: Option<&Value>) -> Self {
        spec.and_then(|spec| Self::deserialize(spec).ok()).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Spec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Pick)
    }
}

struct Pick;

impl<'de> Visitor<'de> for Pick {
    type Value = Spec;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a spec")
    }

    fn visit_unit<E>(self) -> Result<Spec, E> {
        Ok(Spec::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Spec, E> {
        Ok(Spec::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Spec, E> {
        Ok(Spec::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Spec, E> {
        Ok(Spec::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Spec, E> {
        Ok(Spec::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Spec, E> {
        Ok(Spec::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Spec, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Spec::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Spec, A::Error> {
        let mut fields = Map::new();
        while let Some(field) = entries.next_key::<String>()? {
            if FIELDS.contains(&field.as_str()) {
                fields.insert(field, entries.next_value()?);
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Spec(Value::Object(fields)))
    }
}
