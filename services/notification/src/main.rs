//! The notification-controller binary.
fn main() -> std::process::ExitCode {
    weir_runtime::service_main(weir_notification_controller::program)
}
