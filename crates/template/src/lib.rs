//! Commit messages from templates: Go's, as Flux's `spec.git.commit.messageTemplate` has them, and Handlebars.
//!
//! ```text
//! template text -> engine -> Go:         lex -> parse (functions known, variables declared) -> run over structs ─┐
//!                         └> Handlebars: nesting checked -> parse -> run over JSON ─────────────────────────────> message
//! ```
//!
//! The engine of Go templates is Weir's own: the messages need struct values with printed forms, maps with objects as keys and
//! Go's refusals in Go's words, none of which a value model of JSON can give. Invariants: a template can read
//! nothing but its data (no environment, files, network, time or randomness), and changes nothing but dictionaries
//! of its own; source, output, steps and sizes are capped, so that every template ends; maps are walked in sorted
//! order.

mod go;
mod handlebars;
mod limit;
mod message;
mod text;

pub use go::TemplateError;
pub use handlebars::HandlebarsError;
pub use limit::{Elapsed, MAX_OUTPUT, MAX_SOURCE, MAX_STEPS};
pub use message::{DEFAULT_MESSAGE, Engine, Message, MessageData, MessageError, UnknownEngine};
