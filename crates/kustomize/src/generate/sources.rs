//! The places from which generators take keys and values (§9.1).

use std::collections::HashSet;

use crate::Error;
use crate::build::Build;
use crate::error::Context;
use crate::generate::error::GenerateError;
use crate::kustomization::ConfigMapArgs;
use crate::loader::Loader;
use crate::quote;

/// Longest line of an env file. The reference stops reading there without a word (QK-08).
const MAX_ENV_LINE_BYTES: usize = 64 << 10;

/// A key and the bytes of its value.
pub(super) type Pair = (String, Vec<u8>);

/// All pairs of a generator of objects of a kind: env files, literals, files.
///
/// # Errors
/// A source cannot be read or parsed, or a key stands twice.
pub(super) fn pairs(
    build: &Build<'_>,
    loader: &Loader,
    args: &ConfigMapArgs,
    kind: &str,
) -> Result<Vec<Pair>, Error> {
    let list = |sources: &[String]| format!("[{}]", sources.join(" "));
    let mut pairs = Vec::new();
    let envs: Vec<String> =
        args.envs.iter().cloned().chain((!args.env.is_empty()).then(|| args.env.clone())).collect();
    for path in &envs {
        pairs.extend(
            env_file(build, loader, path, kind)
                .context(|| format!("loading KV pairs: env source files: {}", list(&envs)))?,
        );
    }
    for literal in &args.literals {
        pairs.push(parse_literal(literal, kind).context(|| {
            let shown = args.literals.iter().map(|literal| quote::literal(literal, kind).to_owned());
            format!("loading KV pairs: literal sources {}", list(&shown.collect::<Vec<_>>()))
        })?);
    }
    for source in &args.files {
        pairs.push(
            file(build, loader, source)
                .context(|| format!("loading KV pairs: file sources: {}", list(&args.files)))?,
        );
    }
    let mut known = HashSet::new();
    match pairs.iter().find(|(key, _)| !known.insert(key.as_str())) {
        Some((key, _)) => {
            Err(GenerateError::RepeatedKey { name: args.name.clone(), key: key.clone() }.into())
        }
        None => Ok(pairs),
    }
}

fn parse_literal(literal: &str, kind: &str) -> Result<Pair, GenerateError> {
    match literal.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), unquoted(value).into())),
        _ => Err(GenerateError::Literal(quote::literal(literal, kind).to_owned())),
    }
}

/// Drops one pair of equal quotes around a value.
fn unquoted(value: &str) -> &str {
    let inner = |quote| value.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

fn file(build: &Build<'_>, loader: &Loader, source: &str) -> Result<Pair, Error> {
    let (key, path) = parse_file_source(source)?;
    let content = loader.read(build, path)?;
    Ok((key.to_owned(), content))
}

fn parse_file_source(source: &str) -> Result<(&str, &str), GenerateError> {
    let source_text = || source.to_owned();
    match source.split_once('=') {
        None => Ok((source.rsplit('/').next().unwrap_or(source), source)),
        Some((_, rest)) if rest.contains('=') => Err(GenerateError::SeveralEquals(source_text())),
        Some(("", path)) => Err(GenerateError::NoKey { path: path.to_owned(), source_text: source_text() }),
        Some((key, "")) => Err(GenerateError::NoPath { key: key.to_owned(), source_text: source_text() }),
        Some(pair) => Ok(pair),
    }
}

fn env_file(build: &Build<'_>, loader: &Loader, path: &str, kind: &str) -> Result<Vec<Pair>, Error> {
    let content = loader.read(build, path)?;
    Ok(parse_env(&content, kind)?)
}

fn parse_env(content: &[u8], kind: &str) -> Result<Vec<Pair>, GenerateError> {
    let mut pairs = Vec::new();
    for (index, line) in content.split(|byte| *byte == b'\n').enumerate() {
        let number = index + 1;
        if line.len() > MAX_ENV_LINE_BYTES {
            return Err(GenerateError::EnvLine { line: number, limit: MAX_ENV_LINE_BYTES });
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = std::str::from_utf8(line).map_err(|_| GenerateError::EnvEncoding {
            line: number,
            text: quote::literal(&String::from_utf8_lossy(line), kind).to_owned(),
        })?;
        let text = if index == 0 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        let text = text.trim_start();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        if !key.is_empty() {
            pairs.push((key.to_owned(), value.into()));
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{parse_env, parse_file_source, parse_literal};

    fn text(pairs: Vec<super::Pair>) -> Vec<(String, String)> {
        pairs.into_iter().map(|(key, value)| (key, String::from_utf8(value).unwrap())).collect()
    }

    #[test]
    fn env_files_take_lines_as_they_are() {
        let content = b"\xef\xbb\xbfA=1\n#c\n  B = 2 \nC\r\nD=\"q\"\nE=a=b\n=x\nexport F=1\n";
        let wanted = [("A", "1"), ("B ", " 2 "), ("C", ""), ("D", "\"q\""), ("E", "a=b"), ("export F", "1")];
        let wanted: Vec<(String, String)> =
            wanted.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        assert_eq!(text(parse_env(content, "ConfigMap").unwrap()), wanted);
    }

    #[test]
    fn env_files_that_cannot_be_read_say_which_line() {
        assert_eq!(
            parse_env(b"A=1\nB=\xff", "ConfigMap").unwrap_err().to_string(),
            "line 2 has invalid utf8 bytes : B=\u{fffd}"
        );
        assert!(parse_env(&vec![b'x'; 70_000], "ConfigMap").unwrap_err().to_string().contains("longer than"));
    }

    #[rstest]
    #[case("a=b", "b")]
    #[case("a=b=c", "b=c")]
    #[case("a='b'", "b")]
    #[case("a=\"b'", "\"b'")]
    #[case("a='", "'")]
    #[case("a=", "")]
    fn literals_lose_one_pair_of_quotes(#[case] literal: &str, #[case] value: &str) {
        assert_eq!(
            text(vec![parse_literal(literal, "ConfigMap").unwrap()]),
            [("a".to_owned(), value.to_owned())]
        );
    }

    #[rstest]
    #[case("dir/app.conf", Some(("app.conf", "dir/app.conf")))]
    #[case("key=dir/app.conf", Some(("key", "dir/app.conf")))]
    #[case("=path", None)]
    #[case("key=", None)]
    #[case("a=b=c", None)]
    fn file_sources_name_key_and_path(#[case] source: &str, #[case] wanted: Option<(&str, &str)>) {
        assert_eq!(parse_file_source(source).ok(), wanted);
    }
}
