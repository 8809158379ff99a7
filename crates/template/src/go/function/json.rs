//! JSON as Go writes it: keys of maps sorted, fields of structs in their order.

use super::{CallError, Function, at, failed, text};
use crate::go::{print, value::Value};
use crate::limit::{MAX_OUTPUT, MAX_VALUE_DEPTH};

pub(super) fn find(name: &str) -> Option<Function> {
    match name {
        "toJson" => Function::exactly(1, |a| or_nothing(written(at(a, 0), true, false))),
        "mustToJson" => Function::exactly(1, |a| written(at(a, 0), true, false)),
        "toPrettyJson" => Function::exactly(1, |a| or_nothing(written(at(a, 0), true, true))),
        "mustToPrettyJson" => Function::exactly(1, |a| written(at(a, 0), true, true)),
        "toRawJson" | "mustToRawJson" => Function::exactly(1, |a| written(at(a, 0), false, false)),
        "fromJson" => Function::exactly(1, |a| {
            let parsed = serde_json::from_str(text(a, 0)?).unwrap_or(serde_json::Value::Null);
            Ok(value(&parsed)?)
        }),
        "mustFromJson" => Function::exactly(1, |a| match serde_json::from_str(text(a, 0)?) {
            Ok(parsed) => Ok(value(&parsed)?),
            Err(error) if error.is_eof() => failed("unexpected end of JSON input"),
            Err(error) => failed(format!("invalid JSON: {error}")),
        }),
        _ => None,
    }
}

/// A value that JSON does not have.
const UNSUPPORTED: &str = "json: unsupported ";

/// Functions without `must` yield an empty text for what JSON does not have.
fn or_nothing(written: Result<Value, CallError>) -> Result<Value, CallError> {
    match written {
        Err(CallError::Failed(message)) if message.starts_with(UNSUPPORTED) => Ok(Value::text("")),
        other => other,
    }
}

fn written(value: &Value, escapes_html: bool, is_pretty: bool) -> Result<Value, CallError> {
    let mut writer = Writer { out: String::new(), escapes_html, is_pretty, depth: 0 };
    writer.value(value)?;
    Ok(Value::text(writer.out))
}

struct Writer {
    out: String,
    escapes_html: bool,
    is_pretty: bool,
    depth: usize,
}

impl Writer {
    fn value(&mut self, value: &Value) -> Result<(), String> {
        if self.depth > MAX_VALUE_DEPTH {
            return Err("values nest too deeply".to_owned());
        }
        if self.out.len() > MAX_OUTPUT {
            return Err(format!("string is longer than {MAX_OUTPUT} bytes"));
        }
        match value {
            Value::Nil => self.out.push_str("null"),
            Value::Bool(value) => self.out.push_str(&value.to_string()),
            Value::Int(value) => self.out.push_str(&value.to_string()),
            Value::Float(value) => self.float(*value)?,
            Value::Text(text) => self.text(text),
            Value::List(list) => {
                let items = list.items.iter().map(|item| (None, item));
                self.enclosed('[', items, ']')?;
            }
            Value::Map(map) => {
                let entries = map.entries();
                if entries.iter().any(|(key, _)| !matches!(key, Value::Text(_))) {
                    return Err(format!("{UNSUPPORTED}type: {}", map.go_type));
                }
                let key = |key: &Value| if let Value::Text(key) = key { Some(key.to_string()) } else { None };
                self.enclosed('{', entries.iter().map(|(name, item)| (key(name), item)), '}')?;
            }
            Value::Struct(value) => {
                let fields = value.fields.iter().map(|(name, item)| (Some((*name).to_owned()), item));
                self.enclosed('{', fields, '}')?;
            }
        }
        Ok(())
    }

    fn enclosed<'v>(
        &mut self,
        open: char,
        items: impl ExactSizeIterator<Item = (Option<String>, &'v Value)>,
        close: char,
    ) -> Result<(), String> {
        let is_empty = items.len() == 0;
        self.out.push(open);
        self.depth += 1;
        for (index, (name, item)) in items.enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.line();
            if let Some(name) = name {
                self.text(&name);
                self.out.push_str(if self.is_pretty { ": " } else { ":" });
            }
            self.value(item)?;
        }
        self.depth -= 1;
        if !is_empty {
            self.line();
        }
        self.out.push(close);
        Ok(())
    }

    /// Begins a line of the pretty form.
    fn line(&mut self) {
        if self.is_pretty {
            self.out.push('\n');
            self.out.push_str(&"  ".repeat(self.depth));
        }
    }

    /// Exponents only below 1e-6 and from 1e21 on.
    fn float(&mut self, value: f64) -> Result<(), String> {
        if !value.is_finite() {
            return Err(format!("{UNSUPPORTED}value: {}", print::float(value)));
        }
        let size = value.abs();
        let text = match size == 0.0 || (1e-6..1e21).contains(&size) {
            true => value.to_string(),
            false => print::float(value).replace("e-0", "e-"),
        };
        self.out.push_str(&text);
        Ok(())
    }

    fn text(&mut self, text: &str) {
        self.out.push('"');
        for character in text.chars() {
            match character {
                '"' | '\\' => self.out.extend(['\\', character]),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                '\0'..=' ' if character != ' ' => self.escape(character),
                '\u{2028}' | '\u{2029}' => self.escape(character),
                '<' | '>' | '&' if self.escapes_html => self.escape(character),
                other => self.out.push(other),
            }
        }
        self.out.push('"');
    }

    fn escape(&mut self, character: char) {
        self.out.push_str(&format!("\\u{:04x}", u32::from(character)));
    }
}

fn value(source: &serde_json::Value) -> Result<Value, String> {
    Ok(match source {
        serde_json::Value::Null => Value::Nil,
        serde_json::Value::Bool(value) => Value::Bool(*value),
        serde_json::Value::Number(number) => Value::Float(number.as_f64().unwrap_or_default()),
        serde_json::Value::String(text) => Value::text(text),
        serde_json::Value::Array(items) => Value::list(items.iter().map(value).collect::<Result<_, _>>()?)?,
        serde_json::Value::Object(entries) => {
            let entries = entries.iter().map(|(key, item)| Ok((key.clone(), value(item)?)));
            Value::dictionary(entries.collect::<Result<_, String>>()?)?
        }
    })
}
