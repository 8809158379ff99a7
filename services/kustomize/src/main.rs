//! The kustomize-controller binary.

use std::process::ExitCode;

use weir_kustomize_controller::args::Args;

fn main() -> ExitCode {
    weir_runtime::service_main::<Args, _>(|args| args.runtime.clone(), weir_kustomize_controller::run)
}
