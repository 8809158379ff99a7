//! Unpacking of any bytes: it ends in an error or within the limits.
#![no_main]

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;
use weir_artifact::{Limits, Symlinks, Untar};

const UNPACKED: u64 = 1 << 20;
const ENTRIES: usize = 64;
const DEPTH: usize = 8;

fn unpack(archive: &[u8]) {
    let limits = Limits {
        unpacked: UNPACKED,
        file: UNPACKED / 2,
        entries: ENTRIES,
        depth: DEPTH,
        ..Limits::default()
    };
    for symlinks in [Symlinks::Skip, Symlinks::Reject] {
        let Ok(files) = Untar::new(limits).symlinks(symlinks).to_map(archive) else { continue };
        assert!(files.len() <= ENTRIES);
        assert!(files.values().map(|file| file.bytes.len() as u64).sum::<u64>() <= UNPACKED);
        assert!(files.keys().all(|path| path.depth() <= DEPTH));
    }
}

fuzz_target!(|data: &[u8]| {
    unpack(data);
    // Few inputs are gzip; all of them can be what a gzip stream holds.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    if gzip.write_all(data).is_ok()
        && let Ok(archive) = gzip.finish()
    {
        unpack(&archive);
    }
});
