//! Output of a server, read as its list and as its answer: reading ends in an error or with no more of a pack than
//! arrived.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_git::{Advertisement, Answer};

fuzz_target!(|data: &[u8]| {
    let _list = Advertisement::read(data);
    for is_cut in [false, true] {
        let mut packed = 0;
        let _answer = Answer::read(data, is_cut, |bytes| {
            packed += bytes.len();
            Ok(())
        });
        assert!(packed <= data.len());
    }
});
