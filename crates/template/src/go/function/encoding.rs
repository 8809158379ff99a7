//! Base64, base32 and checksums.

use base64::{
    Engine, alphabet,
    engine::{GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use sha1::{Digest, Sha1};
use sha2::{Sha256, Sha512};

use super::{Function, base32, text};
use crate::go::value::Value;

pub(super) fn find(name: &str) -> Option<Function> {
    match name {
        "b64enc" => Function::exactly(1, |a| Ok(Value::text(STANDARD.encode(text(a, 0)?)))),
        "b64dec" => Function::exactly(1, |a| {
            let written = text(a, 0)?.replace(['\r', '\n'], "");
            match BASE64.decode(&written) {
                Ok(bytes) => Ok(Value::text(String::from_utf8_lossy(&bytes))),
                Err(_) => Ok(Value::text(format!("illegal base64 data at input byte {}", fault(&written)))),
            }
        }),
        "b32enc" => Function::exactly(1, |a| Ok(Value::text(base32::encode(text(a, 0)?.as_bytes())))),
        "b32dec" => Function::exactly(1, |a| match base32::decode(text(a, 0)?) {
            Ok(bytes) => Ok(Value::text(String::from_utf8_lossy(&bytes))),
            Err(at) => Ok(Value::text(format!("illegal base32 data at input byte {at}"))),
        }),
        "sha1sum" => Function::exactly(1, |a| Ok(Value::text(hex::encode(Sha1::digest(text(a, 0)?))))),
        "sha256sum" => Function::exactly(1, |a| Ok(Value::text(hex::encode(Sha256::digest(text(a, 0)?))))),
        "sha512sum" => Function::exactly(1, |a| Ok(Value::text(hex::encode(Sha512::digest(text(a, 0)?))))),
        "adler32sum" => {
            Function::exactly(1, |a| Ok(Value::text(adler32(text(a, 0)?.as_bytes()).to_string())))
        }
        _ => None,
    }
}

/// Decodes as Go does, whatever the bits that make no whole byte.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// The byte that Go complains of in a text that is no base64.
fn fault(text: &str) -> usize {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let length = text.len();
    let is_padding = |at: usize| text.as_bytes().get(at) == Some(&b'=');
    match text.bytes().position(|byte| !is_digit(byte)) {
        None => length / 4 * 4,
        Some(at) if at % 4 < 2 || !is_padding(at) => at,
        Some(at) if at % 4 == 2 && at + 1 < length && !is_padding(at + 1) => at,
        Some(at) if length > at / 4 * 4 + 4 => at / 4 * 4 + 4,
        Some(at) if length < at / 4 * 4 + 4 => length,
        Some(at) => at,
    }
}

fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let sum = |(a, b): (u32, u32), byte: &u8| {
        let a = (a + u32::from(*byte)) % MODULUS;
        (a, (b + a) % MODULUS)
    };
    let (a, b) = bytes.iter().fold((1, 0), sum);
    b << 16 | a
}
