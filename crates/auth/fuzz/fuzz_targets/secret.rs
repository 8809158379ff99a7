//! Keys of service accounts and GitHub Apps, and entries of decryption Secrets, are tenants' bytes: read or refused.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use weir_auth::{App, BucketLogin, Credentials, KeyLogin};

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

fuzz_target!(|input: &[u8]| {
    // A part that begins with `=` is the field's value; the field of any other part is absent.
    let values = input.split(|byte| *byte == 0x1f).map(|part| part.strip_prefix(b"="));
    let fields =
        FIELDS.iter().zip(values).filter_map(|(field, value)| Some(((*field).to_owned(), value?.to_vec())));
    let data: BTreeMap<String, Vec<u8>> = fields.collect();
    let _google = BucketLogin::gcp(&data);
    let _azure = BucketLogin::azure(&data);
    let _app = App::from_secret("default/secret", &data);
    // Of a decryption Secret each entry is one text.
    let _google = KeyLogin::gcp(input);
    let _azure = KeyLogin::azure(input);
    let _aws = Credentials::aws(input);
});
