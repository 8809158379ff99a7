//! Points where a test may kill the process, to show that a restart loses nothing. Compiled to nothing in release builds.

/// Aborts the process when `WEIR_KILL_POINT` names this point and the file `WEIR_KILL_FILE` does not exist yet (it is
/// created first, so that the process started again lives on). `<point>:3` names the third time that the point
/// is met.
#[cfg(debug_assertions)]
pub fn hit(point: &str) {
    let Ok(wanted) = std::env::var("WEIR_KILL_POINT") else { return };
    let (name, number) = wanted.split_once(':').unwrap_or((&wanted, "1"));
    if name != point || !number.parse().is_ok_and(|number: u32| number == times_met()) {
        return;
    }
    if let Ok(marker) = std::env::var("WEIR_KILL_FILE")
        && std::fs::File::create_new(&marker).is_err()
    {
        return;
    }
    std::process::abort();
}

/// Number of times that the wanted point has been met, this one included.
#[cfg(debug_assertions)]
fn times_met() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static MET: AtomicU32 = AtomicU32::new(0);
    MET.fetch_add(1, Ordering::Relaxed) + 1
}

/// Does nothing in release builds.
#[cfg(not(debug_assertions))]
pub fn hit(_point: &str) {}
