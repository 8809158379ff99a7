//! The kustomize-controller binary.
fn main() -> std::process::ExitCode {
    weir_runtime::service_main(weir_kustomize_controller::program)
}
