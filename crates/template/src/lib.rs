//! Commit messages from Go templates, as Flux's `spec.git.commit.messageTemplate` has them.
//!
//! ```text
//! template text -> lex -> parse (functions known, variables declared) -> run over MessageData -> message
//! ```
//!
//! The engine is Weir's own: the messages need struct values with printed forms, maps with objects as keys and
//! Go's refusals in Go's words, none of which a value model of JSON can give. Invariants: a template can read
//! nothing but its data (no environment, files, network, time or randomness), and changes nothing but dictionaries
//! of its own; source, output, steps and sizes are capped, so that every template ends; maps are walked in sorted
//! order.
//!
//! It does not do Handlebars messages (TP-2): see `docs/gaps.md`.

mod go;
mod message;

pub use go::limit::{MAX_OUTPUT, MAX_SOURCE, MAX_STEPS};
pub use message::{DEFAULT_MESSAGE, Message, MessageData, MessageError};
