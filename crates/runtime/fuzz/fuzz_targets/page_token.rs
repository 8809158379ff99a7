//! Page tokens of lists are texts of clients: refused, or a place that is written and read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_runtime::grpc::PageToken;

fuzz_target!(|text: &str| {
    if let Ok(token) = text.parse::<PageToken>() {
        assert_eq!(token.to_string().parse(), Ok(token));
    }
});
