//! The limits of a template (TP-5).

use std::time::Duration;

/// Longest template text, in bytes; a commit message template is a few lines.
pub const MAX_SOURCE: usize = 64 * 1024;

/// Longest output, and longest string any function may make, in bytes; Git hosts refuse larger messages.
pub const MAX_OUTPUT: usize = 256 * 1024;

/// Most nodes executed in one run; ten thousand changes with a line of text each need about half of it.
pub const MAX_STEPS: usize = 500_000;

/// Most bytes of values made in one run, those dropped meanwhile included: half of the memory that Flux's manifests give the
/// controller.
pub(crate) const MAX_MADE: usize = 512 << 20;

/// Returns the time since a run began, by the caller's clock.
pub type Elapsed<'a> = dyn Fn() -> Duration + Send + Sync + 'a;

/// Longest run; ten thousand changes take about a second.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(60);

/// Most items of a list that a function makes.
pub(crate) const MAX_ITEMS: usize = 100_000;

/// Deepest nesting of actions and parentheses, and of named templates that call each other; bounds the stack.
pub(crate) const MAX_DEPTH: usize = 100;

/// Deepest nesting of values that functions make; bounds printing and dropping.
pub(crate) const MAX_VALUE_DEPTH: usize = 64;

/// Largest width or precision of a `printf` verb.
pub(crate) const MAX_WIDTH: usize = 10_000;
