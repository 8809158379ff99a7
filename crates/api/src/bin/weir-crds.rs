//! Writes the CustomResourceDefinitions into `deploy/kustomize/crds` (DEP-CRD-7).

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match write(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kustomize/crds")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
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
