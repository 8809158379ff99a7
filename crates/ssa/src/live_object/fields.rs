//! A number for a set of fields, found while it is read: no tree is made of it.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The hash of JSON, the same for the same values in the same order, whether they come as text or as a tree; 0 for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct FieldsHash(u64);

impl FieldsHash {
    /// Returns the hash of a tree.
    pub(super) fn of(fields: &Value) -> Self {
        // A tree can be read without fail.
        Self::deserialize(fields).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for FieldsHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut hasher = DefaultHasher::new();
        Walk(&mut hasher).deserialize(deserializer)?;
        Ok(Self(hasher.finish()))
    }
}

/// Takes a value, with all that is in it, into a hash.
struct Walk<'h>(&'h mut DefaultHasher);

/// Stands between and around what is hashed, so that no two values give the same bytes.
#[derive(Hash)]
enum Token {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(u64),
    Text,
    List,
    Map,
    End,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Token::Null.hash(self.0);
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        Token::Bool(value).hash(self.0);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        Token::Unsigned(value).hash(self.0);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        Token::Signed(value).hash(self.0);
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        Token::Float(value.to_bits()).hash(self.0);
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        (Token::Text, value).hash(self.0);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        Token::List.hash(self.0);
        while items.next_element_seed(Walk(self.0))?.is_some() {}
        Token::End.hash(self.0);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        Token::Map.hash(self.0);
        while entries.next_key_seed(Walk(self.0))?.is_some() {
            entries.next_value_seed(Walk(self.0))?;
        }
        Token::End.hash(self.0);
        Ok(())
    }
}
