use kube::core::{ObjectList, WatchEvent};
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::ownership::Managers;

/// As servers write it: `<` may stand for itself, or escaped.
const DEPLOYMENT: &str = r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"apps","uid":"u","resourceVersion":"7",
    "generation":2,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"g.io/name":"app"},"annotations":{"g.io/a\u003cb":"x"},
    "managedFields":[{"manager":"me","operation":"Apply","apiVersion":"apps/v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1",
    "fieldsV1":{"f:metadata":{"f:annotations":{"f:g.io/a\u003cb":{}}},"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{}, "f:image":{}}}}}}}},
    {"manager":"kubectl-edit","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}},
    {"manager":"controller","operation":"Update","subresource":"status","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{}}}]},
    "spec":{"replicas":2,"progressDeadlineSeconds":60,"template":{"spec":{"containers":[{"name":"c","image":"x"}]}}},
    "status":{"observedGeneration":2,"replicas":2,"updatedReplicas":2,"availableReplicas":1}}"#;

const DEFINITION: &str = r#"{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"gears.example.com","uid":"u",
    "resourceVersion":"7","managedFields":[{"manager":"me","operation":"Apply","apiVersion":"apiextensions.k8s.io/v1",
    "fieldsV1":{"f:spec":{"f:versions":{"k:{\"name\":\"v1\"}":{"f:schema":{"f:openAPIV3Schema":{"f:description":{},"v:\"é\"":{}}}}}}}}]},
    "spec":{"group":"example.com","versions":[{"name":"v1"}]},
    "status":{"conditions":[{"type":"NamesAccepted","status":"False","reason":"Taken","message":"taken"}]}}"#;

fn fingerprint(object: &LiveObject) -> u64 {
    let managers = Managers { own: "me".to_owned(), overridden: Vec::new() };
    managers.fingerprint("g.io", object)
}

/// A run reads an object as a whole, and the watch as it comes: a difference between them would be drift for ever.
#[rstest]
#[case::deployment(DEPLOYMENT, "apps_web_apps_Deployment")]
#[case::definition(DEFINITION, "_gears.example.com_apiextensions.k8s.io_CustomResourceDefinition")]
fn an_object_is_the_same_however_it_was_read(#[case] text: &str, #[case] id: ObjectId) {
    let whole: DynamicObject = serde_json::from_str(text).unwrap();
    let mut of_whole = LiveObject::from(&whole);
    let list = format!(r#"{{"apiVersion":"v1","kind":"List","metadata":{{}},"items":[{text}]}}"#);
    let list: ObjectList<LiveObject> = serde_json::from_str(&list).unwrap();
    let event = format!(r#"{{"type":"MODIFIED","object":{text}}}"#);
    let WatchEvent::Modified(seen) = serde_json::from_str::<WatchEvent<LiveObject>>(&event).unwrap() else {
        panic!("{event}")
    };
    let rewritten: LiveObject = serde_json::from_str(&serde_json::to_string(&whole).unwrap()).unwrap();
    let health = weir_kstatus::assess(&serde_json::from_str(text).unwrap(), Timestamp::now());
    assert_eq!(of_whole.assess(&id), health);
    for mut read in [seen, list.items[0].clone(), rewritten] {
        assert_eq!(fingerprint(&read), fingerprint(&of_whole));
        assert_eq!(read.assess(&id), health);
        assert_eq!(read.meta, of_whole.meta);
    }
    let event = event.replace("f:image", "f:args").replace("f:description", "f:type");
    let WatchEvent::Modified(other) = serde_json::from_str::<WatchEvent<LiveObject>>(&event).unwrap() else {
        panic!("{event}")
    };
    assert_ne!(fingerprint(&other), fingerprint(&of_whole));
}

#[rstest]
#[case(r#"{"a":{"b":{}}}"#, r#"{ "a" : {"\u0062":{}} }"#, true)]
#[case(r#"{"a":{"b":{}}}"#, r#"{"a":{},"b":{}}"#, false)]
#[case(r#"{"a":{},"b":{}}"#, r#"{"b":{},"a":{}}"#, false)]
#[case("[[1],2]", "[[1,2]]", false)]
#[case(r#"["ab"]"#, r#"["a","b"]"#, false)]
#[case("[null]", "[]", false)]
#[case("[1]", "[true]", false)]
#[case("[-1]", "[1]", false)]
fn hashes_are_those_of_values(#[case] one: &str, #[case] other: &str, #[case] is_same: bool) {
    let hash = |text: &str| serde_json::from_str::<FieldsHash>(text).unwrap();
    assert_eq!(hash(one) == hash(other), is_same);
    assert_eq!(hash(one), FieldsHash::of(&serde_json::from_str(one).unwrap()));
}

/// The health of an object whose spec or status has an odd shape is what it is for the whole object.
#[rstest]
#[case(json!({"spec": "text", "status": {}}))]
#[case(json!({"spec": null, "status": null}))]
#[case(json!({"spec": [{"a": 1}, 2], "status": "text"}))]
#[case(json!({"spec": 1.5, "status": [1]}))]
#[case(json!({"spec": {"replicas": "two", "updateStrategy": 3}, "status": {"observedGeneration": "x"}}))]
#[case(json!({}))]
fn odd_objects_keep_their_health(#[case] fields: Value) {
    for (api_version, kind) in [("apps/v1", "StatefulSet"), ("batch/v1", "Job"), ("example.com/v1", "Gear")] {
        let mut object = fields.clone();
        object["apiVersion"] = api_version.into();
        object["kind"] = kind.into();
        object["metadata"] = json!({"name": "a", "generation": 1});
        let (group, _) = api_version.split_once('/').unwrap();
        let id = format!("n_a_{group}_{kind}").parse().unwrap();
        let mut live: LiveObject = serde_json::from_str(&object.to_string()).unwrap();
        assert_eq!(live.assess(&id), weir_kstatus::assess(&object, Timestamp::now()), "{object}");
    }
}

/// A field that health begins to read has to be kept.
#[test]
fn all_fields_of_a_spec_that_health_reads_are_kept() {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/../kstatus/src");
    let mut folders = vec![std::path::PathBuf::from(sources)];
    let mut read = std::collections::BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(path).unwrap();
            let fields = text.split(r#""spec", ""#).skip(1).filter_map(|rest| rest.split('"').next());
            read.extend(fields.map(str::to_owned));
        }
    }
    assert!(read.len() > 5, "{read:?}");
    read.retain(|field| !spec::FIELDS.contains(&field.as_str()));
    assert!(read.is_empty(), "{read:?}");
}
