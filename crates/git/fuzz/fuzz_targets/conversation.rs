//! What a server says, as its list and as its answer: it ends in an error or is read, with no more of a pack than came.
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
