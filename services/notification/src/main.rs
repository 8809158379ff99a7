//! The notification-controller binary.

use std::process::ExitCode;

use weir_notification_controller::{args::Args, run};

fn main() -> ExitCode {
    weir_runtime::service_main(|args: &Args| args.runtime.clone(), run)
}
