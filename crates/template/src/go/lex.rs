//! Tokens of a template: text, and what stands between `{{` and `}}`.

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    End,
    Error,
    Text,
    Open,
    Close,
    Space,
    Pipe,
    LeftParen,
    RightParen,
    Declare,
    Assign,
    /// A printable character without a meaning of its own.
    Character,
    Dot,
    Field,
    Variable,
    Identifier,
    Keyword,
    Bool,
    Nil,
    Number,
    CharacterConstant,
    QuotedText,
    RawText,
}

/// A token with its place.
#[derive(Debug, Clone)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind,
    pub(super) text: std::borrow::Cow<'s, str>,
    /// The byte it begins at.
    pub(super) at: usize,
    /// The line it begins on, from 1.
    pub(super) line: usize,
}

impl Token<'_> {
    /// Returns Go's name for the token in its complaints.
    pub(super) fn describe(&self) -> String {
        match self.kind {
            Kind::End => "EOF".to_owned(),
            Kind::Error => self.text.to_string(),
            Kind::Keyword | Kind::Dot | Kind::Nil => format!("<{}>", self.text),
            _ if self.text.len() > 10 => format!("{:?}...", self.text.chars().take(10).collect::<String>()),
            _ => format!("{:?}", self.text),
        }
    }
}

const KEYWORDS: [&str; 10] =
    ["block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"];

/// White space that trim markers remove.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

pub(super) struct Lexer<'s> {
    source: &'s str,
    at: usize,
    parens: usize,
    is_inside: bool,
    is_over: bool,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Self { source, at: 0, parens: 0, is_inside: false, is_over: false }
    }

    /// Returns the next token; after the end or an error it is the end for ever.
    pub(super) fn next(&mut self) -> Token<'s> {
        if self.is_over {
            return self.token(Kind::End, self.at);
        }
        let token = if self.is_inside { self.inside() } else { self.outside() };
        self.is_over = matches!(token.kind, Kind::End | Kind::Error);
        token
    }

    fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn token(&self, kind: Kind, from: usize) -> Token<'s> {
        let text = self.source.get(from..self.at).unwrap_or_default();
        Token { kind, text: text.into(), at: from, line: self.line_of(from) }
    }

    fn error(&self, from: usize, message: impl Into<String>) -> Token<'s> {
        Token { kind: Kind::Error, text: message.into().into(), at: from, line: self.line_of(self.at) }
    }

    fn line_of(&self, at: usize) -> usize {
        1 + self.source.get(..at).unwrap_or_default().bytes().filter(|byte| *byte == b'\n').count()
    }

    /// Text up to the next action; comments are passed over.
    fn outside(&mut self) -> Token<'s> {
        loop {
            let start = self.at;
            let Some(open) = self.rest().find("{{") else {
                self.at = self.source.len();
                return if start < self.at {
                    self.token(Kind::Text, start)
                } else {
                    self.token(Kind::End, start)
                };
            };
            let after = self.source.get(start + open + 2..).unwrap_or_default();
            let trims = after.starts_with('-') && after.get(1..).is_some_and(|rest| rest.starts_with(BLANKS));
            let text = self.rest().get(..open).unwrap_or_default();
            let text = if trims { text.trim_end_matches(BLANKS) } else { text };
            if !text.is_empty() {
                let token =
                    Token { kind: Kind::Text, text: text.into(), at: start, line: self.line_of(start) };
                self.at = start + open;
                return token;
            }
            self.at = start + open + 2;
            if trims {
                self.at +=
                    1 + after.get(1..).map_or(0, |rest| rest.len() - rest.trim_start_matches(BLANKS).len());
            }
            let comment = self.rest().starts_with("/*") || after.starts_with("/*");
            if !comment {
                self.is_inside = true;
                self.parens = 0;
                return Token {
                    kind: Kind::Open,
                    text: "{{".into(),
                    at: start + open,
                    line: self.line_of(start + open),
                };
            }
            if let Err(message) = self.comment() {
                return self.error(start, message);
            }
        }
    }

    fn comment(&mut self) -> Result<(), &'static str> {
        let end = self.rest().find("*/").ok_or("unclosed comment")?;
        self.at += end + 2;
        if self.rest().starts_with("}}") {
            self.at += 2;
            return Ok(());
        }
        self.trimmed_close().ok_or("comment ends before closing delimiter")
    }

    /// Takes ` -}}` and the white space after it.
    fn trimmed_close(&mut self) -> Option<()> {
        let rest = self.rest();
        let marker = rest.strip_prefix(BLANKS)?.strip_prefix("-}}")?;
        let blanks = marker.len() - marker.trim_start_matches(BLANKS).len();
        self.at += rest.len() - marker.len() + blanks;
        Some(())
    }

    fn inside(&mut self) -> Token<'s> {
        let start = self.at;
        let rest = self.rest();
        if rest.starts_with("}}") || self.trimmed_close().is_some() {
            if self.parens > 0 {
                return self.error(start, "unclosed left paren");
            }
            if self.at == start {
                self.at += 2;
            }
            self.is_inside = false;
            return Token { kind: Kind::Close, text: "}}".into(), at: start, line: self.line_of(start) };
        }
        let Some(first) = rest.chars().next() else { return self.error(start, "unclosed action") };
        if BLANKS.contains(&first) {
            return self.space();
        }
        self.at += first.len_utf8();
        match first {
            ':' if self.rest().starts_with('=') => {
                self.at += 1;
                self.token(Kind::Declare, start)
            }
            ':' => self.error(start, "expected :="),
            '=' => self.token(Kind::Assign, start),
            '|' => self.token(Kind::Pipe, start),
            '"' => self.quoted(start),
            '`' => self.raw(start),
            '\'' => self.character(start),
            '$' => self.word(start, Kind::Variable),
            '.' if !self.rest().starts_with(|next: char| next.is_ascii_digit()) => self.dot(start),
            '+' | '-' | '.' | '0'..='9' => self.number(start),
            '(' => {
                self.parens += 1;
                self.token(Kind::LeftParen, start)
            }
            ')' if self.parens == 0 => self.error(start, "unexpected right paren"),
            ')' => {
                self.parens -= 1;
                self.token(Kind::RightParen, start)
            }
            _ if is_word(first) => self.word(start, Kind::Identifier),
            ' '..='~' => self.token(Kind::Character, start),
            _ => self.error(start, format!("unrecognized character in action: {}", code_point(first))),
        }
    }

    /// Blanks up to the next piece; those in front of ` -}}` belong to the marker.
    fn space(&mut self) -> Token<'s> {
        let start = self.at;
        while let Some(first) = self.rest().chars().next().filter(|first| BLANKS.contains(first)) {
            let is_marker = self.rest().get(1..).is_some_and(|rest| rest.starts_with("-}}"));
            if is_marker && self.at > start {
                break;
            }
            self.at += first.len_utf8();
        }
        self.token(Kind::Space, start)
    }

    fn dot(&mut self, start: usize) -> Token<'s> {
        if self.is_at_terminator() {
            return self.token(Kind::Dot, start);
        }
        self.word(start, Kind::Field)
    }

    fn word(&mut self, start: usize, kind: Kind) -> Token<'s> {
        while let Some(next) = self.rest().chars().next().filter(|next| is_word(*next)) {
            self.at += next.len_utf8();
        }
        if !self.is_at_terminator() {
            let bad = self.rest().chars().next().unwrap_or_default();
            return self.error(start, format!("bad character {}", code_point(bad)));
        }
        let token = self.token(kind, start);
        let kind = match &*token.text {
            text if kind != Kind::Identifier || text.is_empty() => kind,
            "true" | "false" => Kind::Bool,
            "nil" => Kind::Nil,
            text if KEYWORDS.contains(&text) => Kind::Keyword,
            _ => kind,
        };
        Token { kind, ..token }
    }

    fn is_at_terminator(&self) -> bool {
        let rest = self.rest();
        rest.is_empty()
            || rest.starts_with([' ', '\t', '\r', '\n', '.', ',', '|', ':', ')', '('])
            || rest.starts_with("}}")
    }

    fn number(&mut self, start: usize) -> Token<'s> {
        let is_part = |next: char| next.is_ascii_alphanumeric() || matches!(next, '_' | '.');
        while let Some(next) = self.rest().chars().next() {
            let after_exponent = matches!(self.source.as_bytes().get(self.at - 1), Some(b'e' | b'E'));
            let is_exponent_sign = after_exponent && matches!(next, '+' | '-');
            if !is_part(next) && !is_exponent_sign {
                break;
            }
            self.at += next.len_utf8();
        }
        self.token(Kind::Number, start)
    }

    fn quoted(&mut self, start: usize) -> Token<'s> {
        match self.closing('"') {
            true => self.token(Kind::QuotedText, start),
            false => self.error(start, "unterminated quoted string"),
        }
    }

    fn character(&mut self, start: usize) -> Token<'s> {
        match self.closing('\'') {
            true => self.token(Kind::CharacterConstant, start),
            false => self.error(start, "unterminated character constant"),
        }
    }

    /// Takes everything to the quote that closes, which a backslash hides; a line's end is no part of it.
    fn closing(&mut self, quote: char) -> bool {
        let mut is_escaped = false;
        for (index, next) in self.rest().char_indices() {
            match next {
                '\n' => break,
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                _ if next == quote => {
                    self.at += index + 1;
                    return true;
                }
                _ => {}
            }
        }
        false
    }

    fn raw(&mut self, start: usize) -> Token<'s> {
        let Some(end) = self.rest().find('`') else {
            return self.error(start, "unterminated raw quoted string");
        };
        self.at += end + 1;
        self.token(Kind::RawText, start)
    }
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

/// Go's `%#U`.
fn code_point(character: char) -> String {
    format!("U+{:04X} '{character}'", u32::from(character))
}
