//! The region that an S3 server names goes into signatures: there is one, which the answer holds, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|answer: &[u8]| {
    if let Ok(region) = weir_bucket::region_of(answer) {
        assert!(!region.is_empty());
        assert!(region.len() <= answer.len().max("eu-west-1".len()));
    }
});
