use std::fmt::Write as _;

use super::*;

/// Calls `visit` with every schema of a definition and its place.
fn walk(schema: &Value, place: &str, visit: &mut impl FnMut(&str, &Map<String, Value>)) {
    let Some(fields) = schema.as_object() else { panic!("{place} is no schema: {schema}") };
    visit(place, fields);
    if let Some(all) = fields.get("properties").and_then(Value::as_object) {
        for (name, field) in all {
            walk(field, &format!("{place}.{name}"), visit);
        }
    }
    for (keyword, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(field) = fields.get(keyword) {
            walk(field, &format!("{place}{mark}"), visit);
        }
    }
}

fn each_version(mut visit: impl FnMut(&str, &Value)) {
    for definition in all().unwrap() {
        for version in definition.object["spec"]["versions"].as_array().unwrap() {
            let name = format!("{} {}", definition.object["spec"]["names"]["kind"], version["name"])
                .replace('"', "");
            visit(&name, version);
        }
    }
}

#[test]
fn schemas_are_structural() {
    each_version(|name, version| {
        walk(&version["schema"]["openAPIV3Schema"], name, &mut |place, fields| {
            for keyword in ["$ref", "oneOf", "anyOf", "allOf", "not", "nullable", "title", "definitions"] {
                assert!(!fields.contains_key(keyword), "{place} has {keyword}");
            }
            let free = fields.contains_key("x-kubernetes-preserve-unknown-fields");
            let kind = fields.get("type").and_then(Value::as_str);
            assert!(kind.is_some() || free, "{place} has no type");
            assert_eq!(fields.contains_key("items"), kind == Some("array"), "{place}: items without array");
            if fields.contains_key("properties") || fields.contains_key("additionalProperties") {
                assert_eq!(kind, Some("object"), "{place}: fields of no object");
            }
            for required in fields.get("required").and_then(Value::as_array).into_iter().flatten() {
                let known = fields["properties"].get(required.as_str().unwrap());
                assert!(known.is_some(), "{place} requires unknown {required}");
            }
            if let Some(members) = fields.get("enum").and_then(Value::as_array) {
                assert!(members.iter().all(Value::is_string), "{place}: enum of something else than strings");
            }
        });
    });
}

#[test]
fn exactly_the_newest_version_is_stored() {
    each_version(|name, version| {
        assert_eq!(version["served"], true, "{name}");
        let newest = ["v1", "v1beta3"].contains(&version["name"].as_str().unwrap())
            || name == "ArtifactGenerator v1beta1";
        assert_eq!(version["storage"], newest, "{name}");
        assert_eq!(version.get("deprecationWarning").is_some(), !newest, "{name}");
    });
}

/// The required fields of every object of every version, so that none becomes required by accident (DEP-CRD-3).
#[test]
fn required_fields() {
    let mut text = String::new();
    each_version(|name, version| {
        walk(&version["schema"]["openAPIV3Schema"], name, &mut |place, fields| {
            // The schema of conditions is the same everywhere.
            let Some(required) = fields.get("required").filter(|_| !place.contains(".conditions[]")) else {
                return;
            };
            let mut names: Vec<_> =
                required.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
            names.sort_unstable();
            writeln!(text, "{place}: {}", names.join(", ")).unwrap();
        });
    });
    insta::assert_snapshot!(text);
}

/// Returns all constraints of a version on values: defaults, patterns, enumerations, limits, rules.
#[test]
fn constraints() {
    let mut text = String::new();
    each_version(|name, version| {
        walk(&version["schema"]["openAPIV3Schema"], name, &mut |place, fields| {
            if place.contains(".conditions[]") {
                return;
            }
            for (keyword, value) in fields {
                if !["type", "properties", "items", "required", "description", "additionalProperties"]
                    .contains(&keyword.as_str())
                {
                    writeln!(text, "{place} {keyword}={value}").unwrap();
                }
            }
        });
    });
    insta::assert_snapshot!(text);
}

#[test]
fn names_and_columns() {
    let mut text = String::new();
    for definition in all().unwrap() {
        let spec = &definition.object["spec"];
        writeln!(text, "{} {}", definition.file, spec["names"]).unwrap();
        for version in spec["versions"].as_array().unwrap() {
            writeln!(
                text,
                "  {} status={} {}",
                version["name"],
                version["subresources"].is_object(),
                version["deprecationWarning"]
            )
            .unwrap();
            for column in version["additionalPrinterColumns"].as_array().unwrap() {
                writeln!(text, "    {column}").unwrap();
            }
        }
    }
    insta::assert_snapshot!(text);
}

/// The committed files are what the types say; `cargo run -p weir-api --bin weir-crds` writes them (DEP-CRD-7).
#[test]
fn committed_definitions_are_current() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kustomize/crds");
    let mut expected: Vec<_> =
        all().unwrap().into_iter().map(|crd| (crd.file.clone(), crd.to_yaml().unwrap())).collect();
    expected.sort();
    let mut committed: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "kustomization.yaml")
        .map(|name| (name.clone(), std::fs::read_to_string(folder.join(&name)).unwrap()))
        .collect();
    committed.sort();
    let stale: Vec<_> =
        expected.iter().filter(|file| !committed.contains(file)).map(|(name, _)| name).collect();
    assert!(stale.is_empty() && committed.len() == expected.len(), "run weir-crds; stale: {stale:?}");
}
