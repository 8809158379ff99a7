//! Any package is refused or is a chart, and its package is the same chart.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_helm::{Chart, Limits};

fuzz_target!(|archive: &[u8]| {
    let limits = Limits { unpacked: 1 << 20, files: 100, ..Limits::default() };
    let Ok(chart) = Chart::from_archive(archive, &limits) else { return };
    let mut package = Vec::new();
    chart.package(&mut package).unwrap();
    let again = Chart::from_archive(&package, &Limits::default()).unwrap();
    let mut second = Vec::new();
    again.package(&mut second).unwrap();
    assert_eq!(package, second);
});
