//! Tests that are left out: one way to say so, and one variable that forbids it.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use crate::Error;

/// Set where everything can be had that tests need, as in CI: a test that cannot have it fails then.
const MUST_NOT_SKIP: &str = "WEIR_TESTS_MUST_NOT_SKIP";
/// Names a file to which a line is added for each test that is left out, for the end of CI.
const SKIPPED: &str = "WEIR_TESTS_SKIPPED";

/// Returns what a test needs; nothing, and a line that says why, when this machine does not have it.
///
/// # Errors
/// [`Error::MustNotSkip`] when the environment says that no test is left out (`WEIR_TESTS_MUST_NOT_SKIP`).
pub fn found_or_skipped<T, E: Display>(what: &str, found: Result<T, E>) -> Result<Option<T>, Error> {
    decide(what, found, std::env::var_os(MUST_NOT_SKIP).is_none())
}

fn decide<T, E: Display>(what: &str, found: Result<T, E>, may_skip: bool) -> Result<Option<T>, Error> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if may_skip => {
            skipped(&format!("{what} is not available: {error}"));
            Ok(None)
        }
        Err(error) => Err(Error::MustNotSkip { what: what.into(), reason: error.to_string() }),
    }
}

/// Returns the full path of a program that somebody built beforehand and a variable of the environment names; without it the test is
/// left out. `what` says which program it is, such as `sops`.
///
/// # Errors
/// When the variable names a file that is not there.
pub fn named_program(variable: &str, what: &str) -> Result<Option<PathBuf>, Error> {
    let Some(path) = std::env::var_os(variable).map(PathBuf::from) else {
        skipped(&format!("{variable} names no {what}"));
        return Ok(None);
    };
    let named = |source| Error::NamesNothing { variable: variable.into(), path: path.clone(), source };
    path.canonicalize().map(Some).map_err(named)
}

/// Says that this test is left out, and why, whatever `WEIR_TESTS_MUST_NOT_SKIP` says. Written past the test harness, which keeps to
/// itself what tests print that pass.
pub fn skipped(why: &str) {
    // Cargo names the package, and the harness names a test's thread after the test.
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let thread = std::thread::current();
    let line = format!("{package} {}: {}\n", thread.name().unwrap_or_default(), why.replace('\n', " "));
    // A closed standard error is not reported.
    let _ = write!(std::io::stderr(), "SKIPPED: {line}");
    if let Some(path) = std::env::var_os(SKIPPED) {
        // In one write, so that lines of several processes do not mix.
        let file = OpenOptions::new().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_skipped_or_an_error() {
        let missing = || Err::<(), _>("not here\nnor there");
        assert!(matches!(decide("a thing", missing(), true), Ok(None)));
        let error = decide("a thing", missing(), false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a thing is not available, and WEIR_TESTS_MUST_NOT_SKIP is set: not here\nnor there"
        );
        assert!(matches!(decide("a thing", Ok::<_, Error>(1), false), Ok(Some(1))));
    }
}
