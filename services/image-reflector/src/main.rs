//! The image-reflector-controller binary.

use std::process::ExitCode;

use weir_image_reflector_controller::args::Args;

fn main() -> ExitCode {
    weir_runtime::service_main::<Args, _>(|args| args.runtime.clone(), weir_image_reflector_controller::run)
}
