use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{Contents, Error};

/// Returns the CycloneDX list of what is in a program's image: the crates that `root` is compiled from, and the other files.
///
/// `metadata` is the output of `cargo metadata` for one platform, `lock` the text of `Cargo.lock`.
///
/// # Errors
/// When the metadata does not know `root`.
pub fn bill_of_materials(
    metadata: &Value,
    lock: &str,
    root: &str,
    contents: &Contents,
) -> Result<Value, Error> {
    let packages = by_id(metadata, "/packages")?;
    let checksums = checksums(lock);
    let text = |package: &Value, field: &str| {
        package.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let root_id = packages.iter().find(|(_, package)| text(package, "name") == root).map(|(id, _)| *id);
    let root_id = root_id.ok_or_else(|| Error::Metadata(format!("package {root}")))?;
    let mut components = Vec::new();
    for id in compiled_in(metadata, root_id)? {
        let package = packages.get(id).ok_or_else(|| Error::Metadata(format!("package {id}")))?;
        let (name, version) = (text(package, "name"), text(package, "version"));
        let mut component = json!({
            "type": "library", "name": name, "version": version, "purl": format!("pkg:cargo/{name}@{version}"),
        });
        // Some old crates separate licences by a slash.
        let license = text(package, "license").replace('/', " OR ").replace("  OR  ", " OR ");
        if let (Some(fields), false) = (component.as_object_mut(), license.is_empty()) {
            fields.insert("licenses".into(), json!([{"expression": license}]));
        }
        if let (Some(fields), Some(sum)) = (component.as_object_mut(), checksums.get(&(name, version))) {
            fields.insert("hashes".into(), json!([{"alg": "SHA-256", "content": sum}]));
        }
        components.push(component);
    }
    components.sort_by_key(|it| (text(it, "name"), text(it, "version")));
    components.extend(contents.files().map(|(path, content)| {
        let sum = hex::encode(Sha256::digest(content));
        json!({"type": "file", "name": path, "hashes": [{"alg": "SHA-256", "content": sum}]})
    }));
    let version = packages.get(root_id).map(|package| text(package, "version"));
    Ok(json!({
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": {"type": "application", "name": "weir", "version": version}},
        "components": components,
    }))
}

/// Returns the ids of the packages that are compiled into `root`: its dependencies, theirs and so on, without those that only tests
/// and build scripts need.
fn compiled_in<'a>(metadata: &'a Value, root: &'a str) -> Result<BTreeSet<&'a str>, Error> {
    let nodes = by_id(metadata, "/resolve/nodes")?;
    let (mut found, mut pending) = (BTreeSet::new(), vec![root]);
    while let Some(id) = pending.pop() {
        if !found.insert(id) {
            continue;
        }
        let dependencies = nodes.get(id).and_then(|node| node.get("deps")).and_then(Value::as_array);
        for dependency in dependencies.into_iter().flatten() {
            let kinds = dependency.get("dep_kinds").and_then(Value::as_array);
            // A kind of null is a dependency of the library or program itself.
            let is_normal = kinds.into_iter().flatten().any(|it| it.get("kind").is_none_or(Value::is_null));
            pending.extend(dependency.get("pkg").and_then(Value::as_str).filter(|_| is_normal));
        }
    }
    Ok(found)
}

fn by_id<'a>(metadata: &'a Value, list: &str) -> Result<BTreeMap<&'a str, &'a Value>, Error> {
    let entries = metadata.pointer(list).and_then(Value::as_array);
    let entries = entries.ok_or_else(|| Error::Metadata(list.to_owned()))?;
    Ok(entries.iter().filter_map(|entry| Some((entry.get("id")?.as_str()?, entry))).collect())
}

/// Checksums of `Cargo.lock` by name and version. It is generated and has one `key = "value"` a line.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let packages = lock.split("[[package]]").skip(1);
    let field = |package: &str, name: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    let of =
        |package| Some(((field(package, "name")?, field(package, "version")?), field(package, "checksum")?));
    packages.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compiled_in_is_listed_and_nothing_else() {
        let kind = |kind: Value| json!([{"kind": kind, "target": null}]);
        let metadata = json!({
            "packages": [
                {"id": "root", "name": "root", "version": "1.0.0", "license": "Apache-2.0"},
                {"id": "used", "name": "used", "version": "0.2.0", "license": "MIT/Apache-2.0"},
                {"id": "tested", "name": "tested", "version": "3.0.0", "license": "MIT"},
                {"id": "other", "name": "other", "version": "1.0.0", "license": null},
            ],
            "resolve": {"nodes": [
                {"id": "root", "deps": [
                    {"pkg": "used", "dep_kinds": kind(Value::Null)}, {"pkg": "tested", "dep_kinds": kind(json!("dev"))}]},
                {"id": "used", "deps": []}, {"id": "tested", "deps": []}, {"id": "other", "deps": []},
            ]},
        });
        let lock = "version = 4\n\n[[package]]\nname = \"used\"\nversion = \"0.2.0\"\nchecksum = \"abc\"\n";
        let mut contents = Contents::default();
        contents.text("/etc/group", "");
        let bill = bill_of_materials(&metadata, lock, "root", &contents).unwrap();
        let names: Vec<_> =
            bill["components"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["root", "used", "/etc/group"]);
        assert_eq!(bill["components"][1]["licenses"], json!([{"expression": "MIT OR Apache-2.0"}]));
        assert_eq!(bill["components"][1]["hashes"][0]["content"], "abc");
        assert!(bill_of_materials(&metadata, lock, "absent", &contents).is_err());
    }
}
