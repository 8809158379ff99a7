//! The walk over a pattern, outside of classes.

use std::collections::HashMap;

use super::{Fault, GoRegexError, MAX_REPEAT, class, escape, expand::rust_name};

/// The last piece, which decides if a repetition may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Start of the pattern, of a group or of an alternative.
    Nothing,
    /// Something that can be repeated.
    Atom,
    /// A repetition that began at this byte of the pattern.
    Repetition(usize),
}

pub(super) struct Scanner<'p> {
    pattern: &'p str,
    rest: &'p str,
    out: String,
    depth: u32,
    last: Last,
    /// Number of groups that have had each name so far.
    names: HashMap<&'p str, usize>,
}

impl<'p> Scanner<'p> {
    pub(super) fn new(pattern: &'p str) -> Self {
        Self {
            pattern,
            rest: pattern,
            out: String::with_capacity(pattern.len()),
            depth: 0,
            last: Last::Nothing,
            names: HashMap::new(),
        }
    }

    pub(super) fn run(mut self) -> Result<String, GoRegexError> {
        while let Some(first) = self.rest.chars().next() {
            match first {
                '(' => self.group()?,
                ')' => self.close()?,
                '|' => self.emit_raw(1, Last::Nothing),
                '[' => {
                    self.rest = class::translate(self.rest, &mut self.out)?;
                    self.last = Last::Atom;
                }
                '*' | '+' | '?' => self.repetition(1)?,
                '{' => match counted(self.rest)? {
                    Some(len) => self.repetition(len)?,
                    None => self.literal(first),
                },
                '\\' => {
                    self.rest = escape::translate(self.rest, &mut self.out)?;
                    self.last = Last::Atom;
                }
                '.' | '^' | '$' => self.emit_raw(1, Last::Atom),
                _ => self.literal(first),
            }
        }
        if self.depth > 0 {
            return Err(GoRegexError::syntax(Fault::MissingParen, self.pattern));
        }
        Ok(self.out)
    }

    fn emit_raw(&mut self, len: usize, last: Last) {
        let (piece, rest) = self.rest.split_at_checked(len).unwrap_or((self.rest, ""));
        self.out.push_str(piece);
        self.rest = rest;
        self.last = last;
    }

    fn literal(&mut self, character: char) {
        escape::push_literal(&mut self.out, character);
        self.rest = self.rest.get(character.len_utf8()..).unwrap_or_default();
        self.last = Last::Atom;
    }

    fn close(&mut self) -> Result<(), GoRegexError> {
        self.depth = self
            .depth
            .checked_sub(1)
            .ok_or_else(|| GoRegexError::syntax(Fault::UnexpectedParen, self.pattern))?;
        self.emit_raw(1, Last::Atom);
        Ok(())
    }

    /// Reads `(`, `(?P<name>`, `(?<name>`, `(?flags:` or `(?flags)`.
    fn group(&mut self) -> Result<(), GoRegexError> {
        let Some(after) = self.rest.strip_prefix("(?") else {
            self.emit_raw(1, Last::Nothing);
            self.depth += 1;
            return Ok(());
        };
        if let Some(name) = after.strip_prefix("P<").or_else(|| after.strip_prefix('<')) {
            return self.named_group(name);
        }
        let end = end_of_flags(after).map_err(|read| {
            GoRegexError::syntax(Fault::PerlOperator, self.fragment(self.rest, "(?".len() + read))
        })?;
        let (flags, terminator) = after.split_at_checked(end).unwrap_or((after, ""));
        self.rest = terminator.get(1..).unwrap_or_default();
        let flags = each_once(flags);
        // Go lets a repetition behind bare flags repeat the piece before them; nobody means that, and it is refused here.
        self.last = Last::Nothing;
        if terminator.starts_with(':') {
            self.depth += 1;
            self.out.push_str(&format!("(?{flags}:"));
        } else if flags.is_empty() {
            // `(?)` sets nothing; Rust wants a group for it.
            self.out.push_str("(?:)");
        } else {
            self.out.push_str(&format!("(?{flags})"));
        }
        Ok(())
    }

    fn named_group(&mut self, name: &'p str) -> Result<(), GoRegexError> {
        let fault = |fragment: &str| GoRegexError::syntax(Fault::NamedCapture, fragment);
        let (name, rest) = name.split_once('>').ok_or_else(|| fault(self.rest))?;
        if name.is_empty() || !name.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'_') {
            let len = self.rest.len() - rest.len();
            return Err(fault(self.fragment(self.rest, len)));
        }
        let nth = self.names.entry(name).or_default();
        self.out.push_str(&format!("(?P<{}>", rust_name(name, *nth)));
        *nth += 1;
        self.depth += 1;
        self.rest = rest;
        self.last = Last::Nothing;
        Ok(())
    }

    /// Emits a repetition operator of `len` bytes and the `?` that makes it lazy.
    fn repetition(&mut self, len: usize) -> Result<(), GoRegexError> {
        let start = self.pattern.len() - self.rest.len();
        let is_lazy = self.rest.get(len..).is_some_and(|after| after.starts_with('?'));
        let total = len + usize::from(is_lazy);
        match self.last {
            Last::Nothing => {
                Err(GoRegexError::syntax(Fault::MissingRepeatArgument, self.fragment(self.rest, total)))
            }
            Last::Repetition(first) => {
                let both = self.pattern.get(first..start + total).unwrap_or_default();
                Err(GoRegexError::syntax(Fault::RepeatOperator, both))
            }
            Last::Atom => {
                self.emit_raw(total, Last::Repetition(start));
                Ok(())
            }
        }
    }

    fn fragment(&self, text: &'p str, len: usize) -> &'p str {
        text.get(..len).unwrap_or(text)
    }
}

/// Returns where Go's flags end: letters, then at most one `-` with at least one letter after it. The error is how much
/// of the text Go has read when it gives up.
fn end_of_flags(text: &str) -> Result<usize, usize> {
    let (mut is_off, mut has_letters) = (false, false);
    for (at, character) in text.char_indices() {
        match character {
            'i' | 'm' | 's' | 'U' => has_letters = true,
            '-' if !is_off => (is_off, has_letters) = (true, false),
            ':' | ')' if !is_off || has_letters => return Ok(at),
            _ => return Err(at + character.len_utf8()),
        }
    }
    Err(text.len())
}

/// Returns flags with the same meaning of which each is there once, as Rust wants it: what is switched off stays off.
fn each_once(flags: &str) -> String {
    let (on, off) = flags.split_once('-').unwrap_or((flags, ""));
    let on: String =
        ['i', 'm', 's', 'U'].into_iter().filter(|flag| on.contains(*flag) && !off.contains(*flag)).collect();
    let off: String = ['i', 'm', 's', 'U'].into_iter().filter(|flag| off.contains(*flag)).collect();
    if off.is_empty() { on } else { format!("{on}-{off}") }
}

/// Returns the length of `{n}`, `{n,}` or `{n,m}` at the start of the text; anything else is a literal brace.
fn counted(text: &str) -> Result<Option<usize>, GoRegexError> {
    let Some(end) = text.find('}') else { return Ok(None) };
    let body = text.get(1..end).unwrap_or_default();
    let (low, high) = body.split_once(',').map_or((body, None), |(low, high)| (low, Some(high)));
    let is_number = |digits: &str| {
        !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit())
            && (digits == "0" || !digits.starts_with('0'))
    };
    if !is_number(low) || !high.is_none_or(|high| high.is_empty() || is_number(high)) {
        return Ok(None);
    }
    let count = |digits: &str| digits.parse::<u32>().unwrap_or(u32::MAX);
    let low = count(low);
    let high = high.filter(|high| !high.is_empty()).map_or(low, count);
    if low > MAX_REPEAT || high > MAX_REPEAT || high < low {
        return Err(GoRegexError::syntax(Fault::RepeatSize, text.get(..=end).unwrap_or_default()));
    }
    Ok(Some(end + 1))
}
