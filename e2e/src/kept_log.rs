//! Logs of services that are kept to be read after a failure.

use std::path::Path;

/// Keeps a log in the folder that `WEIR_E2E_LOGS` names, under the name of the test and of the service.
pub(crate) fn keep_log(log: &Path, service: &str) {
    let Some(folder) = std::env::var_os("WEIR_E2E_LOGS") else { return };
    let test = std::thread::current().name().unwrap_or("test").replace("::", "-");
    // A log that cannot be kept fails no test.
    let _ = std::fs::create_dir_all(&folder);
    let _ = std::fs::copy(log, Path::new(&folder).join(format!("{test}.{service}.log")));
}
