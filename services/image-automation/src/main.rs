//! The image-automation-controller binary.
fn main() -> std::process::ExitCode {
    weir_runtime::service_main(weir_image_automation_controller::program)
}
