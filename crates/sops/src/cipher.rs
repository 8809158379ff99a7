//! Values: AES-256-GCM, with the path of the value as additional data (KS-SOPS-1, DEP-SOPS-1).

use aes_gcm::aead::consts::{U12, U16, U32};
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::aes::Aes256;
use aes_gcm::{AesGcm, Nonce, Tag};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::data_key::DataKey;
use crate::error::CipherError;
use crate::tree::Value;

const PREFIX: &str = "ENC[AES256_GCM,data:";

/// Bytes of the nonces that are made here, as SOPS makes them.
const NONCE: usize = 32;
/// Bytes of a tag.
const TAG: usize = 16;

/// A decrypted leaf: a value or a comment.
#[derive(Clone, PartialEq)]
pub(crate) enum Leaf {
    Value(Value),
    Comment(Zeroizing<String>),
}

/// The parts of an encrypted value.
struct Sealed<'t> {
    data: Vec<u8>,
    iv: Vec<u8>,
    tag: Vec<u8>,
    datatype: &'t str,
}

/// Decrypts `text`; the empty text is its own plaintext.
pub(crate) fn decrypt(text: &str, key: &DataKey, additional: &str) -> Result<Leaf, CipherError> {
    if text.is_empty() {
        return Ok(Leaf::Value(Value::text("")));
    }
    let sealed = parse(text)?;
    let plaintext = open(&sealed, key, additional.as_bytes())?;
    typed(plaintext, sealed.datatype)
}

fn parse(text: &str) -> Result<Sealed<'_>, CipherError> {
    // SOPS ignores what stands behind the last bracket of the line.
    let line = text.split_once('\n').map_or(text, |(line, _)| line);
    let inner = line.strip_prefix(PREFIX).and_then(|rest| rest.rsplit_once(']')).ok_or(CipherError::Form)?.0;
    let (data, rest) = inner.split_once(",iv:").ok_or(CipherError::Form)?;
    let (iv, rest) = rest.split_once(",tag:").ok_or(CipherError::Form)?;
    let (tag, datatype) = rest.split_once(",type:").ok_or(CipherError::Form)?;
    let decoded = |text: &str, part| STANDARD.decode(text).map_err(|_| CipherError::Base64(part));
    Ok(Sealed { data: decoded(data, "data")?, iv: decoded(iv, "iv")?, tag: decoded(tag, "tag")?, datatype })
}

fn open(sealed: &Sealed<'_>, key: &DataKey, additional: &[u8]) -> Result<Zeroizing<Vec<u8>>, CipherError> {
    let mut buffer = Zeroizing::new(sealed.data.clone());
    let tag: &Tag = sealed.tag.as_slice().try_into().map_err(|_| CipherError::Tag(sealed.tag.len()))?;
    // The length is part of the type; SOPS makes 32 bytes, and its first versions in Python made 32 too.
    macro_rules! open {
        ($length:ty) => {{
            let nonce: &Nonce<$length> =
                sealed.iv.as_slice().try_into().map_err(|_| CipherError::Nonce(sealed.iv.len()))?;
            let cipher = AesGcm::<Aes256, $length>::new(key.bytes().into());
            cipher.decrypt_inout_detached(nonce, additional, buffer.as_mut_slice().into(), tag)
        }};
    }
    let opened = match sealed.iv.len() {
        12 => open!(U12),
        16 => open!(U16),
        NONCE => open!(U32),
        other => return Err(CipherError::Nonce(other)),
    };
    opened.map_err(|_| CipherError::Authentication)?;
    Ok(buffer)
}

fn typed(plaintext: Zeroizing<Vec<u8>>, datatype: &str) -> Result<Leaf, CipherError> {
    let text = |what| {
        let text = std::str::from_utf8(&plaintext).map_err(|_| CipherError::Plaintext(what))?;
        Ok::<_, CipherError>(Zeroizing::new(text.to_owned()))
    };
    let value = match datatype {
        // A binary document is one text of any bytes.
        "str" => match std::str::from_utf8(&plaintext) {
            Ok(text) => Value::text(text),
            Err(_) => Value::Bytes(plaintext),
        },
        "bytes" => Value::Bytes(plaintext),
        "int" => Value::Int(text("integer")?.parse().map_err(|_| CipherError::Plaintext("integer"))?),
        "float" => Value::Float(text("number")?.parse().map_err(|_| CipherError::Plaintext("number"))?),
        "bool" => match text("boolean")?.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Value::Bool(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Value::Bool(false),
            _ => return Err(CipherError::Plaintext("boolean")),
        },
        "time" => Value::Time(text("timestamp")?),
        "comment" => return Ok(Leaf::Comment(text("comment")?)),
        _ => return Err(CipherError::Datatype),
    };
    Ok(Leaf::Value(value))
}

/// Encrypts a leaf; empty text and `null` stay as they are.
pub(crate) fn encrypt(leaf: &Leaf, key: &DataKey, additional: &str) -> Result<Option<String>, CipherError> {
    let (plaintext, datatype) = match leaf {
        Leaf::Comment(text) => (Zeroizing::new(text.as_bytes().to_vec()), "comment"),
        Leaf::Value(value) => {
            let Some(bytes) = value.bytes() else { return Ok(None) };
            (bytes, datatype_of(value))
        }
    };
    if plaintext.is_empty() {
        return Ok(None);
    }
    let iv: [u8; NONCE] = rand::random();
    let nonce: &Nonce<U32> = (&iv).into();
    let mut buffer = plaintext;
    let cipher = AesGcm::<Aes256, U32>::new(key.bytes().into());
    let tag = cipher.encrypt_inout_detached(nonce, additional.as_bytes(), buffer.as_mut_slice().into());
    let tag: [u8; TAG] = tag.map_err(|_| CipherError::Encrypt)?.into();
    let [data, iv, tag] = [buffer.as_slice(), &iv, &tag].map(|part| STANDARD.encode(part));
    Ok(Some(format!("{PREFIX}{data},iv:{iv},tag:{tag},type:{datatype}]")))
}

fn datatype_of(value: &Value) -> &'static str {
    match value {
        Value::Null | Value::Text(_) => "str",
        Value::Bytes(_) => "bytes",
        Value::Int(_) => "int",
        Value::Float(_) => "float",
        Value::Bool(_) => "bool",
        Value::Time(_) => "time",
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// SOPS looks for the last bracket of the first line.
    #[rstest]
    #[case("", true)]
    #[case(" # by hand", true)]
    #[case("\nnext]", true)]
    #[case("]", false)]
    fn values_may_have_something_behind_them(#[case] behind: &str, #[case] is_read: bool) {
        let key = DataKey::generate();
        let leaf = Leaf::Value(Value::text("hunter2"));
        let sealed = encrypt(&leaf, &key, "a:").unwrap().unwrap();
        let read = decrypt(&format!("{sealed}{behind}"), &key, "a:");
        assert_eq!(read.is_ok_and(|read| read == leaf), is_read);
        assert!(decrypt(sealed.trim_end_matches(']'), &key, "a:").is_err());
    }
}
