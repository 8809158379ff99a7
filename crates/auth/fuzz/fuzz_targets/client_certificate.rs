//! Certificates of applications are tenants' bytes: PEM or PKCS#12, opened or refused. The files in `../tests/data` are good
//! seeds; the password is theirs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_auth::ClientCertificate;

fuzz_target!(|file: &[u8]| {
    let _certificate = ClientCertificate::read(file, "hunter2");
});
