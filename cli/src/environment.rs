//! Variables of the environment. Each that is Flux's has a name of our own too, which wins (CLI-N01).

use std::ffi::OsString;
use std::path::PathBuf;

/// Start of the names of our own.
const OWN: &str = "WEIR_";
/// Start of Flux's names.
const FLUX: &str = "FLUX_";

/// Returns the value of `WEIR_<name>`, or else of `FLUX_<name>`, with the name of the variable that has it. Empty ones do not count.
pub(crate) fn variable(name: &str) -> Option<(String, OsString)> {
    [OWN, FLUX].into_iter().find_map(|prefix| {
        let variable = format!("{prefix}{name}");
        let value = std::env::var_os(&variable).filter(|value| !value.is_empty())?;
        Some((variable, value))
    })
}

/// Returns the name and the text of a variable, as [`variable`]. A value that is no text does not count.
pub(crate) fn text(name: &str) -> Option<(String, String)> {
    let (variable, value) = variable(name)?;
    Some((variable, value.into_string().ok()?))
}

/// Returns the path of `WEIR_<name>`, or else of the variable that Flux calls differently.
pub(crate) fn path(name: &str, flux: &str) -> Option<PathBuf> {
    let value = std::env::var_os(format!("{OWN}{name}")).filter(|value| !value.is_empty());
    value.or_else(|| std::env::var_os(flux).filter(|value| !value.is_empty())).map(PathBuf::from)
}
