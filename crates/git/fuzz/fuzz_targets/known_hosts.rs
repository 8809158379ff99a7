//! The parser of `known_hosts` must take anything without a panic, and ask for keys of what it took.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_git::KnownHosts;

fuzz_target!(|text: &str| {
    if let Ok(hosts) = KnownHosts::parse(text) {
        let _plain = hosts.algorithms("github.com", 22);
        let _other = hosts.algorithms("[::1]", 2222);
        let _authority = hosts.has_authority("github.com", 22);
    }
});
