//! The image-reflector-controller binary.
fn main() -> std::process::ExitCode {
    weir_runtime::service_main(weir_image_reflector_controller::program)
}
