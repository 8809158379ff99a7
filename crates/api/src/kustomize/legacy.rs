//! The fields that v1beta1 and v1beta2 had beside today's (KS 1.5).

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::spec::Selector;

/// A value of any shape.
pub(super) struct Free;

impl JsonSchema for Free {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Free".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
    }
}

/// JSON6902Patch contains a JSON6902 patch and the target the patch should be applied to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonPatches {
    /// Patch contains the JSON6902 patch document with an array of operation objects.
    pub patch: Vec<JsonPatchOperation>,
    /// Target points to the resources that the patch document should be applied to.
    pub target: Selector,
}

/// JSON6902 is a JSON6902 operation object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonPatchOperation {
    /// Op indicates the operation to perform.
    #[schemars(extend("enum" = ["test", "remove", "add", "replace", "move", "copy"]))]
    pub op: String,
    /// Path contains the JSON-pointer value that references a location within the target document.
    pub path: String,
    /// From contains a JSON-pointer value that references a location within the target document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Value contains a valid JSON structure; its meaning depends on the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Free>")]
    pub value: Option<Value>,
}
