//! Keys of the environment, where the program sops looks for them too (KS-DEC-14).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_sops::Keyring;
use zeroize::Zeroizing;

use crate::error::EnvironmentError;

/// Bytes of a file with keys or a certificate.
const MAX_FILE: u64 = 1 << 20;
/// Files of a folder with certificates; a bundle of the whole public web has 150.
const MAX_FILES: usize = 1_000;
const KEY: &str = "SOPS_AGE_KEY";
const KEY_FILES: [&str; 2] = ["SOPS_AGE_KEY_FILE", "SOPS_AGE_SSH_PRIVATE_KEY_FILE"];
/// Path below the person's directory for settings.
const CONFIG_FILE: &str = "sops/age/keys.txt";
/// Paths below the home directory.
const HOME_FILES: [&str; 2] = [".ssh/id_ed25519", ".ssh/id_rsa"];

/// Adds age identities and SSH keys that the environment holds or names. Reads files.
///
/// # Errors
/// A variable holds or names something else.
pub fn add_age_keys(ring: &mut Keyring) -> Result<(), EnvironmentError> {
    if let Ok(key) = std::env::var(KEY).map(Zeroizing::new) {
        ring.identities.add(&one_a_line(&key)).map_err(|error| EnvironmentError::keys(KEY, &error))?;
    }
    for variable in KEY_FILES {
        let Some(path) = std::env::var_os(variable).map(PathBuf::from) else { continue };
        let text = file(variable, &path)?;
        ring.identities.add(&text).map_err(|error| EnvironmentError::keys(variable, &error))?;
    }
    // Keys of the home directory are there for other purposes, too; those of no use here are passed over.
    for path in config(CONFIG_FILE).into_iter().chain(HOME_FILES.into_iter().filter_map(home)) {
        if let Ok(text) = file("HOME", &path) {
            let _added = ring.identities.add(&text);
        }
    }
    Ok(())
}

/// Returns the keys of a variable, in which several may stand in one line, with a line for each. They are never written anywhere else:
/// the text has room for all of them from the start.
fn one_a_line(keys: &str) -> Zeroizing<String> {
    let mut lines = Zeroizing::new(String::with_capacity(keys.len() + "\n".len()));
    for line in keys.lines() {
        let has_keys = line.trim_start().starts_with("AGE-");
        let parts = line.split(|found: char| has_keys && found.is_whitespace());
        for part in parts.filter(|part| !has_keys || !part.is_empty()) {
            lines.push_str(part);
            lines.push('\n');
        }
    }
    lines
}

/// A path below the person's directory for settings, if there is one.
fn config(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    folder.or_else(|| home(".config")).map(|folder| folder.join(name))
}

/// A path below the home directory, if there is one.
pub(crate) fn home(name: &str) -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(|home| Path::new(&home).join(name))
}

/// The text of a file that a variable names.
pub(crate) fn file(variable: &'static str, path: &Path) -> Result<String, EnvironmentError> {
    let failed = |source: std::io::Error| EnvironmentError::File {
        variable,
        path: path.to_owned(),
        source: Arc::new(source),
    };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(MAX_FILE).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

/// Returns the texts of all files of a folder that a variable names, in the order of their names. Links are followed; folders and hidden
/// files are passed over, such as the `..data` of a mounted ConfigMap.
pub(crate) fn files(variable: &'static str, folder: &Path) -> Result<String, EnvironmentError> {
    let failed = |source: std::io::Error| EnvironmentError::File {
        variable,
        path: folder.to_owned(),
        source: Arc::new(source),
    };
    let entries = std::fs::read_dir(folder).map_err(failed)?.take(MAX_FILES + 1);
    let mut paths = entries.map(|entry| Ok(entry.map_err(failed)?.path())).collect::<Result<Vec<_>, _>>()?;
    if paths.len() > MAX_FILES {
        return Err(failed(std::io::Error::other(format!("more than {MAX_FILES} files"))));
    }
    paths.retain(|path| path.is_file() && !is_hidden(path));
    paths.sort();
    let texts = paths.iter().map(|path| file(variable, path)).collect::<Result<Vec<_>, _>>()?;
    Ok(texts.join("\n"))
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// KS-DEC-13: a ConfigMap that is mounted has links, and hidden folders behind them.
    #[test]
    fn the_files_of_a_folder_are_read_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("..data")).unwrap();
        for (name, text) in [("..data/b.pem", "b"), ("a.pem", "a"), (".hidden", "x")] {
            std::fs::write(at(name), text).unwrap();
        }
        std::os::unix::fs::symlink("..data/b.pem", at("b.pem")).unwrap();
        assert_eq!(files("VAULT_CAPATH", folder.path()).unwrap(), "a\nb");
        let missing = files("VAULT_CAPATH", &at("none")).unwrap_err().to_string();
        assert!(missing.contains("VAULT_CAPATH"), "{missing}");
    }

    #[rstest::rstest]
    #[case("", "")]
    #[case("AGE-SECRET-KEY-1A", "AGE-SECRET-KEY-1A\n")]
    #[case(
        " AGE-SECRET-KEY-1A \tAGE-SECRET-KEY-1B\r\n# a comment\n",
        "AGE-SECRET-KEY-1A\nAGE-SECRET-KEY-1B\n# a comment\n"
    )]
    fn keys_have_lines_of_their_own(#[case] keys: &str, #[case] expected: &str) {
        let lines = one_a_line(keys);
        assert_eq!(lines.as_str(), expected);
        assert!(lines.capacity() <= keys.len() + 1, "the text was moved, and left a copy behind");
    }
}
