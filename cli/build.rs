//! How `weir` is linked: at a fixed address, so that starting it relocates nothing (docs/adr/0005-fixed-address.md), and with
//! what a small build runs lying together (docs/adr/0012-build-order.md).

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build-order.ld");
    let target = |key: &str| var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    if target("OS") != "linux" || target("ENV") != "gnu" {
        return;
    }
    println!("cargo::rustc-link-arg-bin=weir=-no-pie");
    // The profile's `strip` does not reach a package that has an entry of its own in the profile, and symbols are a quarter
    // of the file. `cli/build-order` needs them.
    println!("cargo::rerun-if-env-changed=WEIR_SYMBOLS");
    if var("PROFILE").is_ok_and(|profile| profile == "release") && var("WEIR_SYMBOLS").is_err() {
        println!("cargo::rustc-link-arg-bin=weir=-Wl,--strip-all");
    }
    // A debug build is not measured, and is linked in a tenth of the time without; elsewhere rustc brings no linker along.
    if var("PROFILE").is_ok_and(|profile| profile == "release") && target("ARCH") == "x86_64" {
        let folder = var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bin=weir=-Wl,-T,{folder}/build-order.ld");
    }
}
