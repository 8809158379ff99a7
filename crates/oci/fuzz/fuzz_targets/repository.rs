//! Names of repositories are tenants' text; what is accepted must name the same repository when it is read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_oci::Repository;

fuzz_target!(|text: &str| {
    if let Ok(repository) = Repository::from_url(text) {
        let again = Repository::from_url(&format!("oci://{repository}"));
        assert_eq!(again.as_ref(), Ok(&repository));
    }
});
