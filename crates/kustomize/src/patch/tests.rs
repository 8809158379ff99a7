use rstest::rstest;

use super::*;
use crate::files::Files;
use crate::{FsPath, MemoryFs, Options};

const CONFIG_MAP: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}";

/// A stop that is requested while a patch is on its way through the objects.
#[rstest]
#[case(CONFIG_MAP)]
#[case(r#"[{"op": "add", "path": "/data", "value": {}}]"#)]
fn no_further_object_is_patched_after_a_stop(#[case] patch: &str) {
    let options = Options::gitops();
    let files = MemoryFs::from_files([("a.yaml", "")]).unwrap();
    let build = Build::new(Files::new(&files, None), &options, FsPath::root());
    let target = Selector { kind: "ConfigMap".to_owned(), ..Selector::default() };
    let transformer = PatchTransformer {
        content: Content::parse("", patch.as_bytes().to_vec(), "").unwrap(),
        source: String::new(),
        target: Some(CompiledSelector::of_build(&target).unwrap()),
        options: PatchOptions::default(),
    };
    let mut resources = ResMap::default();
    resources.append(Resource::new(input::parse_one(CONFIG_MAP)), build.schema()).unwrap();
    assert!(transformer.apply(&build, &mut resources).is_ok());
    options.stop.request();
    assert!(matches!(transformer.apply(&build, &mut resources), Err(Error::Stopped)));
}
