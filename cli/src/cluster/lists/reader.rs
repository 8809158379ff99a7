//! A list as it comes, object by object.

use std::marker::PhantomData;

use kube::api::ListMeta;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny};
use serde_json::{Deserializer, Error};

/// Bytes that an object may have. The database takes 1.5 MiB unless it is told otherwise.
const MAX_OBJECT_BYTES: usize = 32 << 20;

/// Objects that a list may have, so that one without end is noticed.
const MAX_OBJECTS: usize = 500_000;

/// Reads a list whose bytes come in pieces. Each object is converted as soon as it is complete, so that no list is ever held whole.
pub(super) struct ListReader<T, R, F> {
    make: F,
    made: Vec<R>,
    /// Bytes that have come, the first of which begin something that is not there whole.
    rest: Vec<u8>,
    place: Place,
    metadata: ListMeta,
    objects: PhantomData<fn() -> T>,
}

/// The place in the list: what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The list itself.
    List,
    /// The name of a field, or the end.
    Name,
    /// A colon, then the value of this field.
    Colon(Field),
    Value(Field),
    /// A comma, or the end.
    NextField,
    /// An object, or the end of them.
    Object,
    /// A comma, or the end of the objects.
    NextObject,
    /// Nothing.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Items,
    Metadata,
    Other,
}

impl<T: DeserializeOwned, R, F: Fn(T) -> R> ListReader<T, R, F> {
    /// A reader of which nothing is read yet; what it makes of the objects goes behind what is `made` already.
    pub(super) fn new(made: Vec<R>, make: F) -> Self {
        let (rest, metadata) = (Vec::new(), ListMeta::default());
        Self { make, made, rest, place: Place::List, metadata, objects: PhantomData }
    }

    /// Reads on.
    ///
    /// # Errors
    /// When it is no list in JSON, an object is not of its kind or longer than 32 MiB, or there are more than 500,000.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        let mut read = 0;
        while let Some(length) = self.step(all.get(read..).unwrap_or_default())? {
            read += length;
        }
        all.drain(..read);
        if all.len() > MAX_OBJECT_BYTES {
            return Err(Error::custom("an object of the list is longer than 32 MiB"));
        }
        if self.made.len() > MAX_OBJECTS {
            return Err(Error::custom("the list has more than 500,000 objects"));
        }
        self.rest = all;
        Ok(())
    }

    /// Returns what was made of the objects, and the token of the next page.
    ///
    /// # Errors
    /// When the list has not come to its end.
    pub(super) fn end(self) -> Result<(Vec<R>, Option<String>), Error> {
        match self.place {
            Place::End => Ok((self.made, self.metadata.continue_.filter(|token| !token.is_empty()))),
            _ => Err(Error::custom("the list ends in its middle")),
        }
    }

    /// Reads one thing, and returns its length; nothing when it is not there whole.
    fn step(&mut self, bytes: &[u8]) -> Result<Option<usize>, Error> {
        let blanks = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let bytes = bytes.get(blanks..).unwrap_or_default();
        let Some(first) = bytes.first() else { return Ok(None) };
        let (length, next) = match (self.place, first) {
            (Place::List, b'{') | (Place::NextField, b',') => (1, Place::Name),
            (Place::Name | Place::NextField, b'}') => (1, Place::End),
            (Place::Name, b'"') => {
                let Some((name, length)) = value::<String>(bytes)? else { return Ok(None) };
                (length, Place::Colon(Field::of(&name)))
            }
            (Place::Colon(field), b':') => (1, Place::Value(field)),
            (Place::Value(Field::Items), b'[') | (Place::NextObject, b',') => (1, Place::Object),
            (Place::Object | Place::NextObject, b']') => (1, Place::NextField),
            (Place::Value(Field::Metadata), _) => {
                let Some((metadata, length)) = value(bytes)? else { return Ok(None) };
                self.metadata = metadata;
                (length, Place::NextField)
            }
            (Place::Value(_), _) => {
                let Some((IgnoredAny, length)) = value(bytes)? else { return Ok(None) };
                (length, Place::NextField)
            }
            (Place::Object, _) => {
                let Some((object, length)) = value(bytes)? else { return Ok(None) };
                self.made.push((self.make)(object));
                (length, Place::NextObject)
            }
            _ => return Err(Error::custom("the answer is no list in JSON")),
        };
        self.place = next;
        Ok(Some(blanks + length))
    }
}

impl Field {
    fn of(name: &str) -> Self {
        match name {
            "items" => Self::Items,
            "metadata" => Self::Metadata,
            _ => Self::Other,
        }
    }
}

/// Returns the value that bytes begin with, and its length; nothing when it may go on.
fn value<T: DeserializeOwned>(bytes: &[u8]) -> Result<Option<(T, usize)>, Error> {
    let mut values = Deserializer::from_slice(bytes).into_iter();
    match values.next() {
        // A number at the end of the bytes may have further digits.
        Some(Ok(value)) if values.byte_offset() < bytes.len() => Ok(Some((value, values.byte_offset()))),
        Some(Err(error)) if !error.is_eof() => Err(error),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// Reads a list in pieces of these lengths, over and over.
    fn read(list: &str, pieces: &[usize]) -> Result<(Vec<Value>, Option<String>), Error> {
        let mut reader = ListReader::new(Vec::new(), |object: Value| object);
        let mut rest = list.as_bytes();
        for length in pieces.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, behind) = rest.split_at((*length).min(rest.len()));
            reader.push(piece)?;
            rest = behind;
        }
        reader.end()
    }

    #[rstest::rstest]
    #[case::of_a_custom_resource(json!({ "apiVersion": "v1", "items": [{ "a": [1] }, { "b": "}]," }], "kind": "L", "metadata": { "continue": "next" } }), Some("next"))]
    #[case::of_a_type_of_kubernetes(json!({ "kind": "L", "metadata": { "resourceVersion": "7", "continue": "" }, "items": [{ "a": [1] }, { "b": "}]," }] }), None)]
    #[case::with_fields_to_come(json!({ "new": [12], "items": [{ "a": [1] }, { "b": "}]," }], "n": 12, "o": true }), None)]
    fn the_order_of_fields_does_not_matter(#[case] list: Value, #[case] next: Option<&str>) {
        let objects = vec![json!({ "a": [1] }), json!({ "b": "}]," })];
        for text in [list.to_string(), serde_json::to_string_pretty(&list).unwrap()] {
            for length in 1..text.len() {
                let (read, token) = read(&text, &[length]).unwrap();
                assert_eq!((read, token.as_deref()), (objects.clone(), next), "in pieces of {length}");
            }
        }
    }

    #[rstest::rstest]
    #[case(r#"{"items":[]}"#)]
    #[case(r#"{"items":null,"metadata":{}}"#)]
    #[case("{}\n")]
    fn a_list_may_be_empty(#[case] list: &str) {
        assert_eq!(read(list, &[1]).unwrap(), (Vec::new(), None));
    }

    #[rstest::rstest]
    #[case::no_list("[]", "the answer is no list in JSON")]
    #[case::text("Bad Gateway", "the answer is no list in JSON")]
    #[case::cut_off(r#"{"items":[{"a":1},{"a""#, "the list ends in its middle")]
    #[case::cut_off_behind_the_objects(r#"{"items":[{"a":1}]"#, "the list ends in its middle")]
    #[case::empty("", "the list ends in its middle")]
    #[case::more_than_a_list("{} {}", "the answer is no list in JSON")]
    #[case::no_colon(r#"{"items" [1]}"#, "the answer is no list in JSON")]
    #[case::an_object_that_is_none(r#"{"items":[{"a":}]}"#, "expected value at line 1 column 6")]
    fn other_answers_are_refused(#[case] answer: &str, #[case] says: &str) {
        assert_eq!(read(answer, &[4]).unwrap_err().to_string(), says);
    }

    #[test]
    fn an_object_without_end_is_refused() {
        let mut reader = ListReader::new(Vec::new(), |object: Value| object);
        reader.push(b"{\"items\":[\"").unwrap();
        let error = reader.push(&vec![b'a'; MAX_OBJECT_BYTES]).unwrap_err();
        assert_eq!(error.to_string(), "an object of the list is longer than 32 MiB");
    }

    #[test]
    fn a_list_without_end_is_refused() {
        let mut reader = ListReader::new(Vec::new(), |number: u8| number);
        reader.push(b"{\"items\":[0").unwrap();
        reader.push(",0".repeat(MAX_OBJECTS - 1).as_bytes()).unwrap();
        let error = reader.push(b",0,0").unwrap_err();
        assert_eq!(error.to_string(), "the list has more than 500,000 objects");
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            objects in prop::collection::vec(prop::collection::btree_map("[a-z\"\\\\]{0,3}", "\\PC{0,8}", 0..4), 0..8),
            pieces in prop::collection::vec(1..40usize, 1..8),
        ) {
            let list = json!({ "apiVersion": "v1", "items": objects, "metadata": { "continue": "x" } });
            let (made, next) = read(&list.to_string(), &pieces).unwrap();
            prop_assert_eq!((json!(made), next.as_deref()), (list["items"].clone(), Some("x")));
        }
    }
}
