//! Points where a test may kill the process, to show that a restart loses nothing. Compiled to nothing in release builds.

/// Aborts the process when `WEIR_KILL_POINT` names this point and the file `WEIR_KILL_FILE` does not exist yet (it is
/// created first, so that the process started again lives on).
#[cfg(debug_assertions)]
pub fn hit(point: &str) {
    if std::env::var("WEIR_KILL_POINT").is_ok_and(|wanted| wanted == point) {
        if let Ok(marker) = std::env::var("WEIR_KILL_FILE") {
            match std::fs::File::create_new(&marker) {
                Ok(_) => {}
                Err(_) => return,
            }
        }
        std::process::abort();
    }
}

/// Does nothing in release builds.
#[cfg(not(debug_assertions))]
pub fn hit(_point: &str) {}
