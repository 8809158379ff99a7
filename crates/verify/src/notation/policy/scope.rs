//! Scopes of statements: the repositories that a statement is about. One that is mistyped is refused, since it would
//! leave its repository to the statement for all others.

use std::collections::BTreeSet;

use super::ANY;

/// Checks the scopes of a policy's statements, which come with their names.
///
/// # Errors
/// When a statement has none, one is no repository, or one is there twice.
pub(super) fn check<'a>(statements: impl Iterator<Item = (&'a str, &'a [String])>) -> Result<(), String> {
    let mut known = BTreeSet::new();
    for (name, scopes) in statements {
        if scopes.is_empty() {
            return Err(format!(
                "trust policy statement \"{name}\" has zero registry scopes, it must specify registry scopes with at least \
                 one value"
            ));
        }
        if scopes.len() > 1 && scopes.iter().any(|scope| scope == ANY) {
            return Err(format!(
                "trust policy statement \"{name}\" uses wildcard registry scope '*', a wildcard scope cannot be used in \
                 conjunction with other scope values"
            ));
        }
        for scope in scopes {
            if scope != ANY {
                check_one(scope)?;
            }
            if !known.insert(scope) {
                return Err(format!(
                    "registry scope \"{scope}\" is present in multiple trust policy statements, one registry scope value \
                     can only be associated with one statement"
                ));
            }
        }
    }
    Ok(())
}

/// Checks that a scope is a repository with its host, `host:port/path`.
fn check_one(scope: &str) -> Result<(), String> {
    let is_repository = |(host, path): (&str, &str)| is_host(host) && path.split('/').all(is_part_of_path);
    if scope.split_once('/').is_some_and(is_repository) {
        return Ok(());
    }
    let fault = if scope.contains('*') { "with wild card(s) is not valid" } else { "is not valid" };
    Err(format!(
        "registry scope \"{scope}\" {fault}, make sure it is a fully qualified repository without the scheme, protocol or \
         tag. For example domain.com/my/repository or a local scope like local/myOCILayout"
    ))
}

fn is_host(text: &str) -> bool {
    let (name, port) = text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    let is_port = |port: &str| !port.is_empty() && port.chars().all(|one| one.is_ascii_digit());
    name.split('.').all(is_label) && port.is_none_or(is_port)
}

fn is_label(text: &str) -> bool {
    let is_inner = |one: char| one.is_ascii_alphanumeric() || one == '-';
    !text.is_empty() && text.chars().all(is_inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// Returns true for lowercase letters and digits, with separators between them: a dot, one or two underscores, or any
/// number of dashes.
fn is_part_of_path(text: &str) -> bool {
    let is_letter = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit();
    let is_separator = |gap: &str| matches!(gap, "." | "_" | "__") || gap.chars().all(|one| one == '-');
    text.starts_with(is_letter) && text.ends_with(is_letter) && text.split(is_letter).all(is_separator)
}
