//! URLs in their parts, as Go's `net/url` divides and joins them.

use std::collections::BTreeMap;

use super::{CallError, Function, dictionary, failed, text};
use crate::go::value::{Map, Value};

pub(super) fn find(name: &str) -> Option<Function> {
    match name {
        "urlParse" => Function::exactly(1, |a| {
            let written = text(a, 0)?;
            match Parts::read(written) {
                Ok(parts) => parts.value(),
                Err(reason) => failed(format!("unable to parse url: {reason}")),
            }
        }),
        "urlJoin" => Function::exactly(1, |a| Ok(Value::text(Parts::of(dictionary(a, 0)?)?.joined()))),
        _ => None,
    }
}

/// The parts of a URL, all but query, opaque part and user without escapes.
#[derive(Debug, Default)]
struct Parts {
    scheme: String,
    opaque: String,
    /// As it is written into a URL.
    user: Option<String>,
    host: String,
    path: String,
    query: String,
    fragment: String,
}

/// Places in a URL; each allows other characters without escapes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    User,
    Host,
    Path,
    Fragment,
}

impl Parts {
    fn read(url: &str) -> Result<Self, String> {
        let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
        let mut parts = Self::before_fragment(rest).map_err(|reason| format!("parse {rest:?}: {reason}"))?;
        parts.fragment =
            unescaped(fragment, Place::Fragment).map_err(|reason| format!("parse {url:?}: {reason}"))?;
        Ok(parts)
    }

    fn before_fragment(rest: &str) -> Result<Self, String> {
        if rest.chars().any(|character| character.is_ascii_control()) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let (scheme, rest) = scheme(rest)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut parts = Self { scheme: scheme.to_lowercase(), query: query.to_owned(), ..Self::default() };
        if !rest.starts_with('/') && !scheme.is_empty() {
            rest.clone_into(&mut parts.opaque);
            return Ok(parts);
        }
        if !rest.starts_with('/') && rest.split('/').next().is_some_and(|first| first.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
        let mut path = rest;
        let has_host = !scheme.is_empty() || !rest.starts_with("///");
        if let Some(rest) = rest.strip_prefix("//").filter(|_| has_host) {
            let (authority, after) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            parts.authority(authority)?;
            path = after;
        }
        parts.path = unescaped(path, Place::Path)?;
        Ok(parts)
    }

    /// Reads `user:password@host:port`.
    fn authority(&mut self, authority: &str) -> Result<(), String> {
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        self.host = self::host(host)?;
        let Some(user) = user else { return Ok(()) };
        if !user
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(character))
        {
            return Err("net/url: invalid userinfo".to_owned());
        }
        let (name, password) =
            user.split_once(':').map_or((user, None), |(name, password)| (name, Some(password)));
        let mut written = escaped(&unescaped(name, Place::User)?, Place::User);
        if let Some(password) = password {
            written.push(':');
            written.push_str(&escaped(&unescaped(password, Place::User)?, Place::User));
        }
        self.user = Some(written);
        Ok(())
    }

    fn value(self) -> Result<Value, CallError> {
        let hostname = hostname(&self.host).to_owned();
        let parts = [
            ("scheme", self.scheme),
            ("host", self.host),
            ("hostname", hostname),
            ("path", self.path),
            ("query", self.query),
            ("opaque", self.opaque),
            ("fragment", self.fragment),
            ("userinfo", self.user.unwrap_or_default()),
        ];
        let entries = parts.into_iter().map(|(name, part)| (name.to_owned(), Value::text(part)));
        Ok(Value::dictionary(entries.collect::<BTreeMap<_, _>>())?)
    }

    fn of(map: &Map) -> Result<Self, CallError> {
        let part = |key: &str| match map.get(key) {
            None => Ok(String::new()),
            Some(Value::Text(text)) => Ok(text.to_string()),
            Some(Value::Nil) => failed("runtime error: invalid memory address or nil pointer dereference"),
            Some(other) => {
                let kind = other.kind_name();
                failed(format!("unable to parse {key} key, must be of type string, but {kind} found"))
            }
        };
        let mut parts = Self {
            scheme: part("scheme")?,
            host: part("host")?,
            path: part("path")?,
            query: part("query")?,
            opaque: part("opaque")?,
            fragment: part("fragment")?,
            user: None,
        };
        let user = part("userinfo")?;
        if !user.is_empty() {
            let url = format!("proto://{user}@host");
            let read =
                Self::read(&url).map_err(|reason| format!("unable to parse userinfo in dict: {reason}"))?;
            parts.user = read.user;
        }
        Ok(parts)
    }

    fn joined(&self) -> String {
        let mut out = if self.scheme.is_empty() { String::new() } else { format!("{}:", self.scheme) };
        if self.opaque.is_empty() {
            let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
            let has_authority = !self.host.is_empty() || !user.is_empty();
            if has_authority || (!self.scheme.is_empty() && !self.path.is_empty()) {
                out.push_str("//");
            }
            out.push_str(&user);
            out.push_str(&escaped(&self.host, Place::Host));
            let path = if self.path == "*" { "*".to_owned() } else { escaped(&self.path, Place::Path) };
            if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
                out.push('/');
            }
            // A colon in a path that comes first would end a scheme.
            if out.is_empty() && path.split('/').next().is_some_and(|first| first.contains(':')) {
                out.push_str("./");
            }
            out.push_str(&path);
        } else {
            out.push_str(&self.opaque);
        }
        for (mark, part) in [('?', self.query.clone()), ('#', escaped(&self.fragment, Place::Fragment))] {
            if !part.is_empty() {
                out.push(mark);
                out.push_str(&part);
            }
        }
        out
    }
}

/// Divides a URL behind its scheme, if it has one.
fn scheme(url: &str) -> Result<(&str, &str), String> {
    let is_scheme = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.chars().all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character))
    };
    match url.split_once(':') {
        Some(("", _)) => Err("missing protocol scheme".to_owned()),
        Some((scheme, rest)) if is_scheme(scheme) => Ok((scheme, rest)),
        _ => Ok(("", url)),
    }
}

fn host(written: &str) -> Result<String, String> {
    if written.find('[').is_some_and(|bracket| bracket > 0) {
        return Err("invalid IP-literal".to_owned());
    }
    let port = match (written.starts_with('['), written.rfind(']')) {
        (true, None) => return Err("missing ']' in host".to_owned()),
        (true, Some(end)) => written.get(end + 1..).unwrap_or_default(),
        (false, _) => written.rfind(':').and_then(|colon| written.get(colon..)).unwrap_or_default(),
    };
    let is_port = |port: &str| {
        port.strip_prefix(':').is_some_and(|digits| digits.chars().all(|digit| digit.is_ascii_digit()))
    };
    if !port.is_empty() && !is_port(port) {
        return Err(format!("invalid port {port:?} after host"));
    }
    unescaped(written, Place::Host)
}

/// The host without port and brackets.
fn hostname(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

fn is_plain(byte: u8, place: Place) -> bool {
    let others: &[u8] = match place {
        Place::User => b"$&+,;=",
        Place::Host => b"!$&'()*+,;=:[]<>\"",
        Place::Path => b"$&+,/:;=@",
        Place::Fragment => b"$&+,/:;=?@!()*",
    };
    byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || others.contains(&byte)
}

fn escaped(text: &str, place: Place) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            _ if is_plain(byte, place) => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn unescaped(text: &str, place: Place) -> Result<String, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            if place == Place::Host && byte.is_ascii() && !is_plain(*byte, place) {
                return Err(format!("invalid character {:?} in host name", char::from(*byte).to_string()));
            }
            out.push(*byte);
            continue;
        }
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        // In a host, only what is no ASCII is escaped, and the sign before the zone of an address.
        let is_allowed = |code: &u8| place != Place::Host || !code.is_ascii() || *code == b'%';
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(is_allowed);
        let Some(code) = code else {
            let shown = String::from_utf8_lossy(after.get(..2).unwrap_or(after)).into_owned();
            return Err(format!("invalid URL escape {:?}", format!("%{shown}")));
        };
        out.push(code);
        rest = after.get(2..).unwrap_or_default();
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}
