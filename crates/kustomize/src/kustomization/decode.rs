//! The fields of the file and of the document that it becomes (KZ-202, KZ-203).

use weir_yaml::{Node, read_first_document};

use super::{
    Decode, Decoder, HelmGlobals, Image, Kustomization, Label, LegacySortOptions, ObjectMeta,
    ObjectReference, Opaque, Patch, PatchOptions, Replica, Selector, SortOptions, Strictness, UnknownFields,
    Var, decode_struct, decoder::DecodeError,
};
use crate::fieldspec::FieldSpec;

/// Reads a struct field by field: `Type as "GoName" { field = "key", … } inline { … }`, where `inline` has the fields that the
/// Go type has from embedded ones.
macro_rules! decodes {
    (
        $type:ident as $go:literal { $($field:ident = $key:literal),* $(,)? }
        $(inline { $($inline:ident = $inline_key:literal),* $(,)? })? $(+ $rest:ident)?
    ) => {
        impl $crate::kustomization::Decode for $type {
            fn go_type() -> String {
                concat!("types.", $go).to_owned()
            }

            fn decode(
                node: &weir_yaml::Node,
                decoder: &mut $crate::kustomization::Decoder,
            ) -> Result<Self, $crate::kustomization::DecodeError> {
                $crate::kustomization::decode_struct($go, node, decoder, |fields, decoder| {
                    Ok(Self {
                        $($field: fields.take($key, decoder)?,)*
                        $($($inline: fields.take_inline($inline_key, decoder)?,)*)?
                        $($rest: Default::default(),)?
                    })
                })
            }
        }
    };
}
pub(crate) use decodes;

decodes!(Kustomization as "Kustomization" {
    metadata = "metadata",
    openapi = "openapi",
    name_prefix = "namePrefix",
    name_suffix = "nameSuffix",
    namespace = "namespace",
    common_labels = "commonLabels",
    labels = "labels",
    common_annotations = "commonAnnotations",
    patches_strategic_merge = "patchesStrategicMerge",
    patches_json6902 = "patchesJson6902",
    patches = "patches",
    images = "images",
    image_tags = "imageTags",
    replacements = "replacements",
    replicas = "replicas",
    vars = "vars",
    sort_options = "sortOptions",
    resources = "resources",
    bases = "bases",
    components = "components",
    crds = "crds",
    config_map_generator = "configMapGenerator",
    secret_generator = "secretGenerator",
    generator_options = "generatorOptions",
    helm_globals = "helmGlobals",
    helm_charts = "helmCharts",
    helm_chart_inflation_generator = "helmChartInflationGenerator",
    configurations = "configurations",
    generators = "generators",
    transformers = "transformers",
    validators = "validators",
    build_metadata = "buildMetadata",
} inline {
    api_version = "apiVersion", kind = "kind",
} + has_empty_collections);

decodes!(ObjectMeta as "ObjectMeta" {
    name = "name", namespace = "namespace", labels = "labels", annotations = "annotations",
});
decodes!(HelmGlobals as "HelmGlobals" { chart_home = "chartHome", config_home = "configHome" });
decodes!(Label as "Label" {
    pairs = "pairs",
    include_selectors = "includeSelectors",
    include_templates = "includeTemplates",
    include_volume_claim_templates = "includeVolumeClaimTemplates",
    fields = "fields",
});
decodes!(Patch as "Patch" { path = "path", patch = "patch", target = "target", options = "options" });
decodes!(Selector as "Selector" {
    label_selector = "labelSelector", annotation_selector = "annotationSelector",
} inline {
    group = "group", version = "version", kind = "kind", name = "name", namespace = "namespace",
});
decodes!(Image as "Image" {
    name = "name", new_name = "newName", tag_suffix = "tagSuffix", new_tag = "newTag", digest = "digest",
});
decodes!(Replica as "Replica" { name = "name", count = "count" });
decodes!(SortOptions as "SortOptions" { order = "order", legacy = "legacySortOptions" });
decodes!(LegacySortOptions as "LegacySortOptions" { order_first = "orderFirst", order_last = "orderLast" });
decodes!(ObjectReference as "Target" {
    api_version = "apiVersion", name = "name", namespace = "namespace",
} inline {
    group = "group", version = "version", kind = "kind",
});
decodes!(FieldSpec as "FieldSpec" { path = "path", create = "create" } inline {
    group = "group", version = "version", kind = "kind",
});
decodes!(FieldSelector as "FieldSelector" { field_path = "fieldPath" });

/// `fieldref` of a var.
#[derive(Default)]
struct FieldSelector {
    field_path: String,
}

impl Decode for Var {
    fn go_type() -> String {
        "types.Var".to_owned()
    }

    fn decode(node: &Node, decoder: &mut Decoder) -> Result<Self, DecodeError> {
        decode_struct("Var", node, decoder, |fields, decoder| {
            let field: FieldSelector = fields.take("fieldref", decoder)?;
            Ok(Self {
                name: fields.take("name", decoder)?,
                object: fields.take("objref", decoder)?,
                field_path: field.field_path,
            })
        })
    }
}

impl Decode for PatchOptions {
    fn go_type() -> String {
        "types.PatchArgs".to_owned()
    }

    fn decode(node: &Node, decoder: &mut Decoder) -> Result<Self, DecodeError> {
        decode_struct("PatchArgs", node, decoder, |fields, decoder| {
            Ok(Self {
                allow_name_change: fields.take("allowNameChange", decoder)?,
                allow_kind_change: fields.take("allowKindChange", decoder)?,
            })
        })
    }
}

impl Default for Opaque {
    fn default() -> Self {
        Self(Node::map())
    }
}

impl Decode for Opaque {
    fn go_type() -> String {
        "types.HelmChart".to_owned()
    }

    fn decode(node: &Node, _: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(Self(node.clone()))
    }
}

impl Kustomization {
    /// Reads the first document of a file. `name` is used in messages.
    pub(crate) fn parse_file(
        name: &str,
        content: Vec<u8>,
        unknown: UnknownFields,
    ) -> Result<Self, crate::Error> {
        let node = read_first_document(name, content).map_err(crate::Error::MalformedKustomization)?;
        let Some(node) = node.filter(|node| !node.is_null()) else { return Ok(Self::default()) };
        let strictness = match unknown {
            UnknownFields::Reject => Strictness::STRICT,
            UnknownFields::Drop => Strictness::LENIENT,
        };
        let mut kustomization: Self = Decoder::document(strictness, &node)
            .map_err(|cause| crate::Error::InvalidKustomization(Box::new(cause)))?;
        kustomization.has_empty_collections =
            node.as_map().is_some_and(|map| map.iter().any(|(_, value)| value.is_empty_collection()));
        Ok(kustomization)
    }
}
