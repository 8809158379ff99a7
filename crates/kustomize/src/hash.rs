//! Name suffixes that distinguish generated objects by content (§9.5).

use sha2::{Digest, Sha256};
use weir_yaml::{Map, Node, YamlError};

use crate::Error;
use crate::quote;
use crate::resmap::ResMap;
use crate::resource::Resource;
use crate::schema::Schema;

/// Hex digits of the hash that make the suffix.
const SUFFIX_LENGTH: usize = 10;

/// Appends a suffix to the name of every resource that wants one.
pub(crate) fn add_suffixes(resources: &mut ResMap, schema: &Schema) -> Result<(), Error> {
    for resource in resources.iter_mut().filter(|resource| resource.needs_hash) {
        let suffix = suffix(resource).map_err(|cause| Error::Render {
            id: resource.id().to_string(),
            file: String::new(),
            cause: quote::cause(cause, resource.kind()),
        })?;
        resource.store_previous_id(schema);
        let name = format!("{}-{suffix}", resource.name());
        resource.set_metadata("name", &name);
    }
    Ok(())
}

/// The suffix for the content of a resource. Name, other metadata and `immutable` do not count.
fn suffix(resource: &Resource) -> Result<String, YamlError> {
    let field = |name: &str| resource.node.get(name).cloned().unwrap_or_else(|| Node::string(""));
    let mapping = |name: &str| resource.node.get(name).filter(|node| node.as_map().is_some()).cloned();
    let mut hashed = Map::new();
    match resource.kind() {
        kind @ ("ConfigMap" | "Secret") => {
            hashed.set("kind", Node::string(kind));
            hashed.set("name", Node::string(""));
            hashed.set("data", field("data"));
            let optional = if kind == "Secret" { "stringData" } else { "binaryData" };
            if let Some(node) = mapping(optional) {
                hashed.set(optional, node);
            }
            if kind == "Secret" {
                hashed.set("type", field("type"));
            }
        }
        // The reference hashes its own memory layout here; content is what a name can promise (KZ-944).
        _ => hashed.set("object", resource.node.clone()),
    }
    let mut text = String::new();
    Node::Map(hashed).write_go_json(&mut text)?;
    Ok(encode(&Sha256::digest(text)))
}

/// Hex without digits and letters that can form words or look alike (KZ-943).
fn encode(digest: &[u8]) -> String {
    let hex = digest.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    let safe = |digit: u8| match digit {
        0x0 => 'g',
        0x1 => 'h',
        0x3 => 'k',
        0xa => 'm',
        0xe => 't',
        digit => char::from_digit(u32::from(digit), 16).unwrap_or('x'),
    };
    hex.take(SUFFIX_LENGTH).map(safe).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::suffix;
    use crate::input::parse_one;
    use crate::resource::Resource;

    #[rstest]
    #[case("kind: ConfigMap", "6ct58987ht")]
    #[case("kind: ConfigMap\ndata: {one: ''}", "9g67k2htb6")]
    #[case("kind: ConfigMap\ndata: {one: '', two: 2, three: 3}", "7757f9kkct")]
    #[case("kind: ConfigMap\nbinaryData: {one: ''}", "6mtk2m274t")]
    #[case("kind: ConfigMap\ndata: {one: ''}\nbinaryData: {two: ''}", "698h7c7t9m")]
    #[case("kind: ConfigMap\nmetadata: {name: x}\ndata: {foo: bar}", "798k5k7g9f")]
    #[case("kind: ConfigMap\ndata: {hello: world}", "dc6fm46dhm")]
    #[case("kind: ConfigMap\ndata: {year: '2020', crisis: 'true', fruit: Indian Gooseberry}", "79t79mt227")]
    #[case(
        "kind: ConfigMap\ndata: {year: '2020', month: '12', crisis: 'true', fruit: Indian Gooseberry}",
        "bk46gm59c6"
    )]
    #[case(
        "kind: ConfigMap\ndata: {initial.txt: \"greetings\\neveryone\\n\", final.txt: \"different\\nbehavior\\n\"}",
        "tt4769fb52"
    )]
    #[case("kind: ConfigMap\ndata: {DB_USERNAME: admin, DB_PASSWORD: somepw}", "g5f6t456f5")]
    #[case("kind: ConfigMap\ndata: {TEST: \"'\"}", "m8t7bmb6g2")]
    #[case("kind: ConfigMap\ndata: {TEST: \"this is a 'test'\"}", "k9cc55dfm5")]
    #[case("kind: ConfigMap\ndata: {a: \"<b>&\\u2028x\"}", "9728f47h57")]
    #[case("kind: Secret\ntype: my-type", "5gmgkf8578")]
    #[case("kind: Secret\ntype: my-type\ndata: {one: ''}\nstringData: {two: 2}", "c4h4264gdb")]
    #[case("kind: Secret\ntype: my-type\ndata: {one: ''}", "74bd68bm66")]
    #[case("kind: Secret\ntype: Opaque\ndata: {}", "46f8b28mk5")]
    #[case("kind: Secret\ntype: Opaque\ndata: {DB_USERNAME: YWRtaW4=, DB_PASSWORD: c29tZXB3}", "82c2g5f8f6")]
    fn suffixes_are_those_of_the_reference(#[case] yaml: &str, #[case] wanted: &str) {
        assert_eq!(suffix(&Resource::new(parse_one(yaml))).unwrap(), wanted);
    }
}
