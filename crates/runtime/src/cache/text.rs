use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::api::ApiResource;
use kube::core::DynamicResourceScope;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::value::RawValue;
use weir_api::Condition;

use super::Unreadable;

/// An object as the API server sends it, of which only the name has been read, and the managed fields are left out; of all kinds, so
/// that the watch is compiled once.
///
/// Its kind's type is tried later: one that does not fit does not stop its kind (DEP-K8S-4). The guard of kube would make a tree of each
/// object first, and copy every part of it. The type itself would make a tree of the managed fields, which
/// nobody reads.
#[derive(Clone, Debug)]
pub(crate) struct Text<const IS_METADATA: bool = false> {
    /// Name, namespace, UID and resource version.
    head: ObjectMeta,
    text: Box<str>,
}

impl<const IS_METADATA: bool> Text<IS_METADATA> {
    pub(crate) fn decode<K: DeserializeOwned>(&self) -> Result<K, serde_json::Error> {
        serde_json::from_str(&self.text)
    }

    /// Returns the parts that count of an object whose type does not fit: its name, its version, if and by whose leave it goes,
    /// and its conditions.
    pub(super) fn unreadable(&self, error: &serde_json::Error) -> Unreadable {
        let going = self.decode::<Going>().map(|going| going.metadata).unwrap_or_default();
        let meta = ObjectMeta {
            finalizers: going.finalizers,
            deletion_timestamp: going.deletion_timestamp,
            generation: going.generation,
            ..self.head.clone()
        };
        let conditions = self.decode::<WithStatus>().map(|object| object.status.conditions).ok();
        // The place in the text changes with everything else in it.
        let reason = error.to_string();
        let reason =
            reason.rfind(" at line ").and_then(|end| reason.get(..end)).unwrap_or(&reason).to_owned();
        Unreadable { meta, conditions, reason }
    }

    /// Forgets how it was asked for.
    pub(super) fn erased(self) -> Text<false> {
        Text { head: self.head, text: self.text }
    }
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    metadata: Head<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    #[serde(borrow)]
    managed_fields: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Going {
    metadata: ObjectMeta,
}

#[derive(Deserialize)]
struct WithStatus {
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
}

impl<'de, const IS_METADATA: bool> Deserialize<'de> for Text<IS_METADATA> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        let Named { metadata: Head { name, namespace, uid, resource_version, managed_fields } } =
            serde_json::from_str(text).map_err(D::Error::custom)?;
        let head = ObjectMeta { name, namespace, uid, resource_version, ..ObjectMeta::default() };
        let text = managed_fields.map_or_else(|| text.into(), |fields| without(text, fields.get()));
        Ok(Self { head, text })
    }
}

/// The text of an object with null in the place of a value, which is a part of the same text.
fn without(text: &str, value: &str) -> Box<str> {
    let start = value.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
    match (text.get(..start), text.get(start.wrapping_add(value.len())..)) {
        (Some(before), Some(behind)) => [before, "null", behind].concat().into(),
        _ => text.into(),
    }
}

impl<const IS_METADATA: bool> Resource for Text<IS_METADATA> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(kind: &ApiResource) -> Cow<'_, str> {
        kind.kind.as_str().into()
    }

    fn group(kind: &ApiResource) -> Cow<'_, str> {
        kind.group.as_str().into()
    }

    fn version(kind: &ApiResource) -> Cow<'_, str> {
        kind.version.as_str().into()
    }

    fn plural(kind: &ApiResource) -> Cow<'_, str> {
        kind.plural.as_str().into()
    }

    fn metadata_api() -> bool {
        IS_METADATA
    }

    fn meta(&self) -> &ObjectMeta {
        &self.head
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.head
    }
}

#[cfg(test)]
mod tests {
    use kube::core::{ObjectList, WatchEvent};
    use weir_api::Kustomization;

    use super::*;

    const FITS: &str = r#"{"apiVersion":"kustomize.toolkit.fluxcd.io/v1","kind":"Kustomization","metadata":{"name":"a","namespace":"b","finalizers":["finalizers.fluxcd.io"]},
        "spec":{"interval":"10m","prune":true,"sourceRef":{"kind":"GitRepository","name":"c"}}}"#;

    #[test]
    fn an_object_that_does_not_fit_keeps_its_name_and_its_neighbours() {
        let odd = FITS.replace("10m", "soon").replace(r#""a""#, r#""odd""#);
        let text = format!(r#"{{"apiVersion":"v1","kind":"List","metadata":{{}},"items":[{odd},{FITS}]}}"#);
        let list: ObjectList<Text<false>> = serde_json::from_str(&text).unwrap();
        let [odd_one, fits] = list.items.as_slice() else { panic!("{list:?}") };
        assert_eq!(odd_one.meta().name.as_deref(), Some("odd"));
        let unreadable = odd_one.unreadable(&odd_one.decode::<Kustomization>().unwrap_err());
        assert!(unreadable.reason.contains("soon") && !unreadable.reason.contains("line"), "{unreadable:?}");
        assert_eq!(unreadable.meta.finalizers.unwrap(), ["finalizers.fluxcd.io"]);
        assert_eq!(fits.decode::<Kustomization>().unwrap().metadata.name.as_deref(), Some("a"));
        let event = format!(r#"{{"type":"ADDED","object":{odd}}}"#);
        let WatchEvent::Added(added) = serde_json::from_str::<WatchEvent<Text<true>>>(&event).unwrap() else {
            panic!("{event}")
        };
        assert_eq!(added.erased().meta().namespace.as_deref(), Some("b"));
    }

    /// Conditions that cannot be read cannot be written either without losing some.
    #[rstest::rstest]
    #[case("{}", Some(0))]
    #[case(r#"{"status":{}}"#, Some(0))]
    #[case(r#"{"status":{"conditions":[{"type":"Mine","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}"#, Some(1))]
    #[case(r#"{"status":{"conditions":[{"type":"Mine","lastTransitionTime":"soon"}]}}"#, None)]
    fn conditions_are_read_whole_or_not_at_all(#[case] text: &str, #[case] expected: Option<usize>) {
        let object = Text::<false> { head: ObjectMeta::default(), text: text.into() };
        let unreadable = object.unreadable(&object.decode::<Kustomization>().unwrap_err());
        assert_eq!(unreadable.conditions.map(|conditions| conditions.len()), expected);
    }

    #[test]
    fn managed_fields_are_left_out() {
        let object = |fields: &str| {
            format!(
                r#"{{"spec":{{"a":[{{}}]}},"metadata":{{"uid":"1","managedFields":{fields},"name":"ä"}},"b":[{{}}]}}"#
            )
        };
        for fields in
            ["[{}]", r#"[{"manager":"a","fieldsV1":{"f:spec":{"f:managedFields":{}}}}, {}]"#, "[]", "null"]
        {
            let read: Text = serde_json::from_str(&object(fields)).unwrap();
            assert_eq!((&*read.text, read.meta().name.as_deref()), (object("null").as_str(), Some("ä")));
        }
    }
}
