//! The files of a chart, packaged rightly and with any content: refused, or a chart that is the same when it is read from
//! its own package.
#![no_main]

use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;
use weir_helm::{Chart, Limits};

const NAMES: [&str; 6] = [
    "a/Chart.yaml",
    "a/values.yaml",
    "a/requirements.yaml",
    "a/Chart.lock",
    "a/requirements.lock",
    "a/charts/b/Chart.yaml",
];

fn package(content: &[u8]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::none()));
    for (name, text) in NAMES.iter().zip(content.split(|byte| *byte == 0xff)) {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, text).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

fuzz_target!(|content: &[u8]| {
    let Ok(chart) = Chart::from_archive(&package(content), &Limits::default()) else { return };
    let _missing = weir_helm::dependency::missing(&chart);
    for needed in chart.metadata.dependencies() {
        let _origin = weir_helm::dependency::origin(needed, None);
    }
    let mut first = Vec::new();
    chart.package(&mut first).unwrap();
    let mut second = Vec::new();
    Chart::from_archive(&first, &Limits::default()).unwrap().package(&mut second).unwrap();
    assert_eq!(first, second);
});
