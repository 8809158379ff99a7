//! Links `weir` at a fixed address, so that starting it relocates nothing (docs/adr/0005-fixed-address.md).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |key: &str| std::env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bin=weir=-no-pie");
    }
}
