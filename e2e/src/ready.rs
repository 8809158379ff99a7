//! Processes of services: waiting until one is ready, and keeping its log.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use weir_testkit::{Process, eventually};

/// Time that a service has from its start until it is ready; the machine may be busy with others.
const DEADLINE: Duration = Duration::from_secs(90);

/// Waits until the probe of a process says that it is ready.
///
/// # Errors
/// When the process ends, or is not ready in time.
pub(crate) async fn wait_until_ready(process: &mut Process, health_port: u16, name: &str) -> Result<()> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let url = format!("http://127.0.0.1:{health_port}/readyz");
    eventually(&format!("{name} to be ready"), DEADLINE, || {
        let running = process.check_running();
        let request = client.get(&url).send();
        async {
            if let Err(error) = running {
                return Some(Err(error));
            }
            let is_ready = request.await.is_ok_and(|answer| answer.status().is_success());
            is_ready.then_some(Ok(()))
        }
    })
    .await??;
    Ok(())
}

/// Keeps a log in the folder that `WEIR_E2E_LOGS` names, to be read after a failure, under the name of the test and of the service.
pub(crate) fn keep_log(log: &Path, service: &str) {
    let Some(folder) = std::env::var_os("WEIR_E2E_LOGS") else { return };
    let test = std::thread::current().name().unwrap_or("test").replace("::", "-");
    // A log that cannot be kept fails no test.
    let _ = std::fs::create_dir_all(&folder);
    let _ = std::fs::copy(log, Path::new(&folder).join(format!("{test}.{service}.log")));
}
