/// The names that variables may have, as Flux prints it (KS-SUB-5).
pub const VARIABLE_NAME: &str = "^[_[:alpha:]][_[:alpha:][:digit:]]*$";

/// Returns true when a variable may have this name: ASCII letters, digits and `_`, no digit first (KS-SUB-5).
pub fn is_variable_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
        && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}
