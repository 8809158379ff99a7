//! Whole builds over small trees: the input is cut into a kustomization, resources and a patch.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_kustomize::{Error, FsPath, MemoryFs, Options, build};

fuzz_target!(|bytes: &[u8]| {
    let names = ["kustomization.yaml", "resources.yaml", "patch.yaml", "base/kustomization.yaml"];
    let mut fs = MemoryFs::new();
    for (name, content) in names.iter().zip(bytes.split(|byte| *byte == 0xff)) {
        fs.insert(name, content).expect("the names are below the root");
    }
    match build(&fs, &FsPath::root(), &Options::gitops()) {
        Ok(output) => {
            let _text = output.to_yaml();
        }
        Err(Error::Panic(text)) => panic!("{text}"),
        Err(_) => {}
    }
});
