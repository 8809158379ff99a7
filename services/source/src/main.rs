//! The source-controller binary.
fn main() -> std::process::ExitCode {
    weir_runtime::service_main(weir_source_controller::program)
}
