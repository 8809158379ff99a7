//! Writes the CustomResourceDefinitions into `deploy/kustomize/crds` (DEP-CRD-7), or with `--json-schemas FOLDER` the JSON schemas of
//! their versions into a folder (MAN-05).

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let written = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => definitions(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kustomize/crds")),
        ["--json-schemas", folder] => json_schemas(Path::new(folder)),
        _ => Err("usage: weir-crds [--json-schemas FOLDER]".into()),
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn definitions(folder: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let mut kustomization =
        String::from("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n");
    for definition in weir_api::crd::all()? {
        std::fs::write(folder.join(&definition.file), definition.to_yaml()?)?;
        kustomization.push_str(&format!("  - {}\n", definition.file));
    }
    std::fs::write(folder.join("kustomization.yaml"), kustomization)?;
    Ok(())
}

fn json_schemas(folder: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    for weir_api::crd::JsonSchema { file, schema } in weir_api::crd::json_schemas()? {
        std::fs::write(folder.join(file), serde_json::to_vec_pretty(&schema)?)?;
    }
    Ok(())
}
