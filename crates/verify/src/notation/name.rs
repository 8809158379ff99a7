//! Distinguished names of certificates and policies, written and read as Notation does it (RFC 2253 and 4514).

use std::collections::BTreeMap;

use der::Encode;
use der::asn1::{PrintableStringRef, Utf8StringRef};
use x509_parser::x509::X509Name;

/// Parts of a name by their keys.
pub(super) type Parts = BTreeMap<String, String>;

/// Parts that a name must have at least.
const MANDATORY: [&str; 3] = ["C", "ST", "O"];
/// Attributes by their object identifiers, in the order in which they are written.
const ATTRIBUTES: [(&str, &str); 9] = [
    ("2.5.4.5", "SERIALNUMBER"),
    ("2.5.4.3", "CN"),
    ("2.5.4.17", "POSTALCODE"),
    ("2.5.4.9", "STREET"),
    ("2.5.4.8", "ST"),
    ("2.5.4.7", "L"),
    ("2.5.4.11", "OU"),
    ("2.5.4.10", "O"),
    ("2.5.4.6", "C"),
];
/// Attributes of which a subject may have several, the last counts.
const LAST_COUNTS: [&str; 2] = ["CN", "SERIALNUMBER"];

/// Writes the name of a certificate: `CN=signer,ST=WA,O=acme,C=US`. Attributes that no policy can name are at the end,
/// as numbers. A value that is no text counts as empty.
pub(super) fn written(name: &X509Name<'_>) -> String {
    let attributes = name.iter_attributes();
    let found = attributes.map(|one| (one.attr_type().to_id_string(), one.as_str().unwrap_or_default()));
    let found: Vec<_> = found.collect();
    let known = ATTRIBUTES.iter().filter_map(|(id, key)| {
        let values = found.iter().filter(|(found, _)| found == id);
        let mut values: Vec<_> = values.map(|(_, value)| format!("{key}={}", escaped(value))).collect();
        if LAST_COUNTS.contains(key) {
            values = values.pop().into_iter().collect();
        }
        (!values.is_empty()).then(|| values.join("+"))
    });
    let is_known = |id: &str| ATTRIBUTES.iter().any(|(known, _)| *known == id);
    let others = found.iter().rev().filter(|(id, _)| !is_known(id));
    let others = others.map(|(id, value)| format!("{id}=#{}", encoded(value)));
    known.chain(others).collect::<Vec<_>>().join(",")
}

fn escaped(value: &str) -> String {
    let mut written = String::new();
    for (at, character) in value.char_indices() {
        let is_special = match character {
            ',' | '+' | '"' | '\\' | '<' | '>' | ';' => true,
            ' ' => at == 0 || at + 1 == value.len(),
            '#' => at == 0,
            _ => false,
        };
        if is_special {
            written.push('\\');
        }
        written.push(character);
    }
    written
}

/// The bytes of a text with its kind, in hexadecimal digits.
fn encoded(value: &str) -> String {
    let printable = PrintableStringRef::new(value).and_then(|value| value.to_der());
    let bytes = printable.or_else(|_| Utf8StringRef::new(value).and_then(|value| value.to_der()));
    bytes.unwrap_or_default().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a name such as `C=US, ST=WA, O=acme`, in which each key stands once.
///
/// # Errors
/// When it is malformed, could be read in two ways, or lacks a part that it must have.
pub(super) fn parse(name: &str) -> Result<Parts, String> {
    if name.contains("=#") {
        return Err(format!(
            "unsupported distinguished name (DN) {name:?}: notation does not support x509.subject identities containing \"=#\""
        ));
    }
    let invalid = |fault: String| format!("distinguished name (DN) {name:?} has {fault}");
    let attributes = attributes(name).map_err(|fault| {
        format!(
            "parsing distinguished name (DN) {name:?} failed with err: {fault}. A valid DN must contain 'C', 'ST' or 'S', \
             and 'O' RDN attributes at a minimum, and follow RFC 4514 standard"
        )
    })?;
    let mut parts = Parts::new();
    for Attribute { key, value, is_joined } in attributes {
        if is_joined {
            let fault =
                "multi-valued RDN attributes, remove multi-valued RDN attributes as they are not supported";
            return Err(invalid(fault.to_owned()));
        }
        let key = if key == "S" { "ST".to_owned() } else { key };
        if parts.get(&key).is_some_and(|value| !value.is_empty()) {
            return Err(invalid(format!(
                "duplicate RDN attribute for {key:?}, DN can only have unique RDN attributes"
            )));
        }
        parts.insert(key, value);
    }
    match MANDATORY.iter().find(|wanted| parts.get(**wanted).is_none_or(String::is_empty)) {
        Some(missing) => Err(invalid(format!(
            "no mandatory RDN attribute for {missing:?}, it must contain 'C', 'ST' or 'S', and 'O' RDN attributes at a minimum"
        ))),
        None => Ok(parts),
    }
}

struct Attribute {
    key: String,
    value: String,
    /// True when a plus sign joins it to another one.
    is_joined: bool,
}

/// The attributes of a name, between commas, semicolons or plus signs. A backslash takes its meaning from the
/// character behind it.
fn attributes(name: &str) -> Result<Vec<Attribute>, String> {
    let mut attributes = Vec::new();
    if name.trim().is_empty() {
        return Ok(attributes);
    }
    let between = |start: usize, end: usize| decoded(name.get(start..end).unwrap_or_default());
    let (mut key, mut start, mut is_escaped, mut is_joined) = (String::new(), 0, false, false);
    for (at, character) in name.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '=' if key.is_empty() => (key, start) = (between(start, at)?, at + 1),
            ',' | ';' | '+' if key.is_empty() => return Err("incomplete type, value pair".to_owned()),
            ',' | ';' | '+' => {
                let (value, joins) = (between(start, at)?, character == '+');
                attributes.push(Attribute { key, value, is_joined: is_joined || joins });
                (key, start, is_joined) = (String::new(), at + 1, joins);
            }
            _ => {}
        }
    }
    if key.is_empty() {
        return Err("DN ended with incomplete type, value pair".to_owned());
    }
    let value = between(start, name.len())?;
    attributes.push(Attribute { key, value, is_joined });
    Ok(attributes)
}

/// A key or a value without the blanks around it and without escapes.
fn decoded(written: &str) -> Result<String, String> {
    let mut kept = written.trim_matches(' ').to_owned();
    if kept.ends_with('\\') && written.ends_with(' ') {
        kept.push(' ');
    }
    let failed = |fault| format!("failed to decode escaped character: encoding/hex: invalid byte: {fault}");
    let mut bytes = Vec::new();
    let mut characters = kept.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            bytes.extend(character.encode_utf8(&mut [0; 4]).bytes());
            continue;
        }
        let Some(first) = characters.next() else {
            return Err(format!("got corrupted escaped character: '{kept}'"));
        };
        if " \"#+,;<=>\\".contains(first) {
            bytes.extend(first.encode_utf8(&mut [0; 4]).bytes());
            continue;
        }
        let digits: String = std::iter::once(first).chain(characters.next()).collect();
        let is_byte = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let byte = is_byte.then(|| u8::from_str_radix(&digits, 16).ok()).flatten();
        bytes.push(byte.ok_or_else(|| failed(digits))?);
    }
    String::from_utf8(bytes).map_err(|error| error.to_string())
}
