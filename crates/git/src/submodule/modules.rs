//! `.gitmodules` in the format of Git's configuration files. Read here, not by the library: its reader follows
//! `include` to files of this machine.

/// Bytes of a `.gitmodules` file.
pub(super) const MAX_BYTES: usize = 1 << 20;

/// A submodule as a commit describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Module {
    /// Its name, by which entries of one submodule belong together.
    pub name: String,
    /// Its path in the tree.
    pub path: String,
    /// URL of its repository; may be relative.
    pub url: String,
}

/// Errors in reading a `.gitmodules` file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModulesError {
    /// A line that is none of a configuration file.
    #[error(".gitmodules: bad config line {line}")]
    Line {
        /// Number of the line.
        line: usize,
    },
    /// More text than anyone needs.
    #[error(".gitmodules: more than {limit} bytes")]
    TooLarge {
        /// The cap.
        limit: usize,
    },
}

/// The submodules of a `.gitmodules` text that have a path and a URL, in the order of their names' first lines.
///
/// # Errors
/// When a line is malformed: half a file is not silently used.
pub fn parse_modules(text: &str) -> Result<Vec<Module>, ModulesError> {
    if text.len() > MAX_BYTES {
        return Err(ModulesError::TooLarge { limit: MAX_BYTES });
    }
    let mut modules: Vec<Module> = Vec::new();
    let mut current: Option<usize> = None;
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let bad = || ModulesError::Line { line: index + 1 };
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            current = section(header).ok_or_else(bad)?.map(|name| position(&mut modules, &name));
            continue;
        }
        let Some((key, first)) = line.split_once('=') else { continue };
        let mut raw = first.to_owned();
        while raw.ends_with('\\') && !raw.ends_with("\\\\") {
            raw.pop();
            raw.push_str(lines.next().map_or("", |(_, next)| next));
        }
        let value = value(&raw).ok_or_else(bad)?;
        let Some(module) = current.and_then(|at| modules.get_mut(at)) else { continue };
        match key.trim().to_ascii_lowercase().as_str() {
            "path" => module.path = value,
            "url" => module.url = value,
            _ => {}
        }
    }
    modules.retain(|module| !module.path.is_empty() && !module.url.is_empty());
    Ok(modules)
}

fn position(modules: &mut Vec<Module>, name: &str) -> usize {
    if let Some(at) = modules.iter().position(|module| module.name == name) {
        return at;
    }
    modules.push(Module { name: name.to_owned(), ..Module::default() });
    modules.len() - 1
}

/// The name in `submodule "name"]`; nothing for another section, no section at all when it is malformed.
fn section(header: &str) -> Option<Option<String>> {
    let Some((kind, rest)) = header.split_once('"') else {
        return header.contains(']').then_some(None);
    };
    let (mut name, mut rest) = (String::new(), rest.chars());
    loop {
        match rest.next()? {
            '\\' => name.push(rest.next()?),
            '"' => break,
            character => name.push(character),
        }
    }
    if !rest.as_str().trim_start().starts_with(']') {
        return None;
    }
    Some(kind.trim().eq_ignore_ascii_case("submodule").then_some(name))
}

/// A value without its quotes, escapes and comment.
fn value(raw: &str) -> Option<String> {
    let (mut value, mut kept, mut is_quoted) = (String::new(), 0, false);
    let mut characters = raw.trim_start().chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                is_quoted = !is_quoted;
                kept = value.len();
                continue;
            }
            '\\' => value.push(match characters.next()? {
                'n' => '\n',
                't' => '\t',
                'b' => '\u{8}',
                other @ ('\\' | '"') => other,
                _ => return None,
            }),
            '#' | ';' if !is_quoted => break,
            other => {
                value.push(other);
                if other.is_whitespace() && !is_quoted {
                    continue;
                }
            }
        }
        kept = value.len();
    }
    value.truncate(kept);
    (!is_quoted).then_some(value)
}

#[cfg(test)]
mod tests;
