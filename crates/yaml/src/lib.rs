//! YAML as kustomize sees it: nodes that remember where they were read, Go's rules for what a scalar means, and
//! a writer whose output is byte for byte the reference's.
//!
//! Reading: [`Source::read`] checks the bytes, [`parse_documents`] gives one [`Node`] per document with aliases
//! and merge keys resolved, within [`Limits`]. A scalar keeps its text, style and tag; its type is decided when it
//! is rendered ([`Scalar::value`]), because transformers may change the text in between.
//!
//! Writing: [`emit`] for YAML, [`Node::to_json`] for typed JSON, [`Node::write_go_json`] for hashes.

pub mod commented;
mod documents;
mod emit;
mod error;
mod json;
mod limits;
mod natural;
mod node;
mod parse;
mod printable;
mod read;
mod reprint;
mod resolve;
mod text;
mod value;
mod yaml11;

pub use emit::{emit, write_unfolded};
pub use error::YamlError;
pub use json::{write_go_string, write_json_pretty};
pub use limits::Limits;
pub use natural::sort_keys;
pub use node::{Entry, Map, MapIndex, Node, Scalar, Style, Tag};
pub use parse::{
    parse_documents, parse_every_document, parse_first_document, read_documents, read_first_document,
};
pub use reprint::reprint;
pub use resolve::{Schema, resolve, yaml11_value};
pub use text::{Position, Source, Text};
pub use value::{Value, format_float, format_float64, format_json_float};
pub use yaml11::json_key;
