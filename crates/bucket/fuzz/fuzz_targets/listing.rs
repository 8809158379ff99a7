//! A page of a listing in any language is read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_bucket::Listing;

fuzz_target!(|page: &[u8]| {
    for language in [Listing::S3, Listing::OldS3, Listing::Gcs, Listing::Azure] {
        if let Ok(objects) = language.objects(page) {
            assert!(objects.len() <= page.len(), "a short page stays short");
        }
    }
});
