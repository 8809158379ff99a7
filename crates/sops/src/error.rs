//! Errors of reading and decrypting documents. No text of a document is part of them, but its keys.

use crate::report;

/// Errors of a document as a whole.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are not of their format.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The metadata cannot be used.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// No key gives the data key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A value cannot be decrypted.
    #[error("could not decrypt value at '{path}': {source}")]
    Value {
        /// Keys from the root of the document to the value, joined with dots.
        path: String,
        /// Cause.
        source: CipherError,
    },
    /// The MAC is not that of the values (KS-SOPS-7).
    #[error("failed to verify sops data integrity: expected mac '{expected}', got '{got}'")]
    Mac {
        /// The MAC of the metadata, or `no MAC`.
        expected: String,
        /// The MAC of the values.
        got: String,
    },
}

/// Errors of one value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CipherError {
    /// The value should be encrypted and is not.
    #[error("Input string <redacted> does not match sops' data format")]
    Form,
    /// The value should be encrypted text and is something else.
    #[error("expected encrypted value as string, but got {0}")]
    Type(&'static str),
    /// One of the parts is no base64.
    #[error("the {0} of the value is no base64")]
    Base64(&'static str),
    /// The nonce is empty, or longer than any that is in use.
    #[error("the iv of the value has {0} bytes")]
    Nonce(usize),
    /// The tag is not 16 bytes long.
    #[error("the tag of the value has {0} bytes instead of 16")]
    Tag(usize),
    /// The key is not the one that the value was encrypted with, or somebody has changed the value.
    #[error("Could not decrypt with AES_GCM: cipher: message authentication failed")]
    Authentication,
    /// The type is unknown.
    #[error("unknown datatype")]
    Datatype,
    /// The plaintext is not of the type that it claims to have.
    #[error("the decrypted value is no {0}")]
    Plaintext(&'static str),
    /// The cipher takes no key or text of this length.
    #[error("the value cannot be encrypted")]
    Encrypt,
}

/// Errors of a format.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// More bytes than are read.
    #[error("{size} bytes are more than the limit of {limit}")]
    TooLarge {
        /// Bytes of the file.
        size: usize,
        /// Limit in bytes.
        limit: usize,
    },
    /// The bytes are no text.
    #[error("the file is no UTF-8 text")]
    Utf8,
    /// No YAML.
    #[error("Error unmarshaling input YAML: {0}")]
    Yaml(weir_yaml::YamlError),
    /// No JSON.
    #[error("Could not unmarshal input data: line {line}: {problem}")]
    Json {
        /// Line of the file, counted from 1.
        line: usize,
        /// Fault in it, without the text.
        problem: &'static str,
    },
    /// A line of a dotenv file that assigns nothing. It may be plaintext and is not shown.
    #[error("invalid dotenv input line {line}")]
    Dotenv {
        /// Line of the file, counted from 1.
        line: usize,
    },
    /// A line of an INI file that is neither a section nor a key.
    #[error("invalid ini input line {line}")]
    Ini {
        /// Line of the file, counted from 1.
        line: usize,
    },
    /// A key of a map that is no text; SOPS encrypts none.
    #[error("Tree contains a non-string key (type {kind}): {key}. Only string keys are supported")]
    Key {
        /// Type of the key, as Go calls it.
        kind: &'static str,
        /// The key.
        key: String,
    },
    /// The root of a document is no map.
    #[error("{0} documents that are not maps are not supported")]
    Root(&'static str),
    /// More levels than are read.
    #[error("more than {limit} levels")]
    TooDeep {
        /// Limit.
        limit: usize,
    },
    /// The format has no place for a value of this kind.
    #[error("cannot use complex value in {format} file; offending key {key}")]
    Complex {
        /// The format.
        format: &'static str,
        /// The key.
        key: String,
    },
    /// A binary document without data.
    #[error("error emitting binary store: no binary data found in tree")]
    NoData,
    /// A value that the format cannot write.
    #[error("a number that is not finite cannot be written as {0}")]
    Number(&'static str),
}

/// Errors of the metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// There is none: the file is not encrypted.
    #[error("sops metadata not found")]
    NotFound,
    /// A field is missing or of another type.
    #[error("sops metadata: {field} is missing or of a wrong type")]
    Field {
        /// The field.
        field: String,
    },
    /// A document has the metadata twice.
    #[error("Found duplicate sops entry")]
    Repeated,
    /// Flattened keys contradict each other, or name parts of a list that is not whole.
    #[error("sops metadata: the keys below '{key}' contradict each other")]
    Flattened {
        /// The key.
        key: String,
    },
    /// Two rules about which values are encrypted.
    #[error(
        "Cannot use more than one of encrypted_suffix, unencrypted_suffix, encrypted_regex, unencrypted_regex, encrypted_comment_regex, or unencrypted_comment_regex in the same file"
    )]
    Rules,
    /// An expression that is none.
    #[error("sops metadata: {field} is no regular expression: {reason}")]
    Regex {
        /// The field.
        field: &'static str,
        /// Cause.
        reason: String,
    },
    /// There is no key.
    #[error("No keys found in file")]
    NoKeys,
    /// More than are tried.
    #[error("sops metadata: more than {limit} keys")]
    TooManyKeys {
        /// Limit.
        limit: usize,
    },
}

/// Errors of getting the data key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Too few groups could be decrypted. Holds the reason of each key that was tried.
    #[error(
        "cannot get sops data key: Failed to get the data key required to decrypt the SOPS file.\n\n{groups}\n\n{}",
        report::conclusion(*needed, *found)
    )]
    NotEnough {
        /// Groups that are needed; 0 when the document has one group.
        needed: usize,
        /// Groups that were decrypted.
        found: usize,
        /// A paragraph for each group.
        groups: String,
    },
    /// The shares of the groups do not fit together.
    #[error("cannot get sops data key: {0}")]
    Shares(&'static str),
    /// The data key has another length than the cipher's.
    #[error("cannot get sops data key: the data key has {0} bytes instead of 32")]
    Length(usize),
}
