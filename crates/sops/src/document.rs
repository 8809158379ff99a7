//! An encrypted document, and a decrypted one.

use std::fmt;

use zeroize::Zeroizing;

use crate::cipher::{self, Leaf};
use crate::data_key::{self, DataKey, KeyService};
use crate::error::{Error, FormatError, KeyError};
use crate::format::{self, Format};
use crate::mac::Mac;
use crate::metadata::Metadata;
use crate::tree::{Node, Value};
use crate::walk;

/// A document as it lies in a file: keys in the clear, values encrypted.
#[derive(Debug, Clone)]
pub struct Document {
    /// The documents of the file, without the metadata. Only YAML has several.
    pub trees: Vec<Node>,
    /// The metadata.
    pub metadata: Metadata,
}

/// A decrypted document.
#[derive(Clone)]
pub struct Plain {
    /// The documents of the file.
    pub trees: Vec<Node>,
    /// The MAC of the values.
    pub mac: Mac,
    /// The plaintext of each value that was encrypted, for those who hide it from messages.
    pub revealed: Vec<Zeroizing<String>>,
}

impl Document {
    /// Reads an encrypted file.
    ///
    /// # Errors
    /// The bytes are not of the format, or not encrypted.
    pub fn read(bytes: &[u8], format: Format) -> Result<Self, Error> {
        let mut trees = format::read(bytes, format)?;
        let metadata = format::take_metadata(&mut trees, format)?;
        Ok(Self { trees, metadata })
    }

    /// Gets the data key from the first key of each group that `service` can use.
    ///
    /// # Errors
    /// There are too few.
    pub fn data_key(&self, service: &dyn KeyService) -> Result<DataKey, KeyError> {
        data_key::recover(&self.metadata, service)
    }

    /// Decrypts all values. The MAC is not checked: see [`Plain::verify`] (KS-DEC-30).
    ///
    /// # Errors
    /// A value that somebody has changed or moved, or another data key.
    pub fn decrypt(mut self, key: &DataKey) -> Result<Plain, Error> {
        let (mac, revealed) = walk::decrypt(&mut self.trees, &self.metadata, key)?;
        Ok(Plain { trees: self.trees, mac, revealed })
    }

    /// Encrypts a document; the groups of `metadata` hold `key` already. Its MAC is made.
    ///
    /// # Errors
    /// A rule that is no expression.
    pub fn encrypt(mut trees: Vec<Node>, mut metadata: Metadata, key: &DataKey) -> Result<Self, Error> {
        let mac = walk::encrypt(&mut trees, &metadata, key)?;
        let leaf = Leaf::Value(Value::text(mac.as_str()));
        let sealed = cipher::encrypt(&leaf, key, &metadata.last_modified);
        let sealed = sealed.map_err(|source| Error::Value { path: "sops.mac".to_owned(), source })?;
        metadata.mac = sealed.unwrap_or_default();
        Ok(Self { trees, metadata })
    }

    /// Writes the encrypted file.
    ///
    /// # Errors
    /// Values that the format has no place for.
    pub fn write(&self, format: Format) -> Result<Vec<u8>, FormatError> {
        let trees = format::with_metadata(&self.trees, &self.metadata, format);
        // Encrypted binary data is a JSON document.
        let format = if format == Format::Binary { Format::Json } else { format };
        Ok(format::write(&trees, format)?.to_vec())
    }
}

/// Shows no value.
impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Plain")
    }
}

impl Plain {
    /// Compares the MAC of the values with that of the metadata (KS-SOPS-7).
    ///
    /// # Errors
    /// They differ, or there is none.
    pub fn verify(&self, metadata: &Metadata, key: &DataKey) -> Result<(), Error> {
        let expected = match cipher::decrypt(&metadata.mac, key, &metadata.last_modified) {
            Ok(Leaf::Value(Value::Text(mac))) => mac,
            Ok(_) => Zeroizing::new(String::new()),
            Err(source) => return Err(Error::Value { path: "sops.mac".to_owned(), source }),
        };
        if *expected == self.mac.0 {
            return Ok(());
        }
        let expected = if expected.is_empty() { "no MAC".to_owned() } else { expected.to_string() };
        Err(Error::Mac { expected, got: self.mac.0.clone() })
    }

    /// Writes the plaintext.
    ///
    /// # Errors
    /// Values that the format has no place for.
    pub fn write(&self, format: Format) -> Result<Zeroizing<Vec<u8>>, FormatError> {
        format::write(&self.trees, format)
    }
}
