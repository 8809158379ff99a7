//! `make images`: one image a service and one of them all, all of one layer with the release's program, each as an OCI layout, and a list of what is
//! in them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde_json::Value;
use weir_image::{Contents, Image, ImageSettings, Layer, bill_of_materials};

/// The program itself, for `weir run`, and the services, by the names under which it runs each alone.
const IMAGES: [&str; 6] = [
    "weir",
    "source-controller",
    "kustomize-controller",
    "image-reflector-controller",
    "image-automation-controller",
    "notification-controller",
];

/// Writes one OCI layout for each image, from the program `weir`.
#[derive(Debug, Parser)]
struct Arguments {
    /// The program `weir`, which runs each service under that service's name.
    #[arg(long, default_value = "target/release/weir")]
    program: PathBuf,
    /// Folder for the layouts, one subfolder for each image.
    #[arg(long, default_value = "target/images")]
    output: PathBuf,
    /// Tag of the images.
    #[arg(long, default_value = concat!("v", env!("CARGO_PKG_VERSION")))]
    tag: String,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut contents = Contents::of_program("weir", &arguments.program)?;
    for service in IMAGES.into_iter().filter(|name| *name != "weir") {
        contents.link(&format!("/usr/local/bin/{service}"), "weir");
    }
    let layer = Arc::new(Layer::pack(&contents)?);
    let bill = serde_json::to_string_pretty(&bill(&contents)?)?;
    let mut earlier: Option<PathBuf> = None;
    for name in IMAGES {
        let settings = ImageSettings {
            name: name.into(),
            tag: arguments.tag.clone(),
            entrypoint: format!("/usr/local/bin/{name}"),
        };
        let image = Image::new(settings, layer.clone());
        let folder = arguments.output.join(name);
        image.write_layout(&folder, earlier.as_deref())?;
        std::fs::write(arguments.output.join(format!("{name}.cdx.json")), &bill)?;
        println!("{name}:{}@{}", arguments.tag, image.digest());
        earlier = Some(folder);
    }
    let size = layer.size() as f64 / f64::from(1024 * 1024);
    println!(
        "{size:.1} MiB in one layer that all images share; layouts and SBOMs in {}",
        arguments.output.display()
    );
    Ok(())
}

/// The list of what is in the images, of the crates that cargo resolves for this machine.
fn bill(contents: &Contents) -> Result<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--locked", "--format-version=1", "--filter-platform", host]).current_dir(&root);
    let metadata = serde_json::from_str(&output(&mut cargo)?)?;
    let lock = std::fs::read_to_string(root.join("Cargo.lock"))?;
    Ok(bill_of_materials(&metadata, &lock, "weir-cli", contents)?)
}

fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| name.clone())?;
    ensure!(output.status.success(), "{name} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}
