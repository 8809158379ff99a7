//! Keys of service accounts and GitHub Apps are tenants' bytes: read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use weir_auth::{App, BucketLogin};

const FIELDS: [&str; 8] = [
    "serviceaccount",
    "tenantId",
    "clientId",
    "clientSecret",
    "githubAppID",
    "githubAppPrivateKey",
    "githubAppInstallationOwner",
    "githubAppBaseURL",
];

fuzz_target!(|values: [Option<Vec<u8>>; 8]| {
    let fields = FIELDS.iter().zip(values).filter_map(|(field, value)| Some(((*field).to_owned(), value?)));
    let data: BTreeMap<String, Vec<u8>> = fields.collect();
    let _google = BucketLogin::gcp(&data);
    let _azure = BucketLogin::azure(&data);
    let _app = App::from_secret("default/secret", &data);
});
