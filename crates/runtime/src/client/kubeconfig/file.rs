//! Kubeconfig files as kubectl reads them (CLI-G02). kube's own reader refuses a whole file for one context without a cluster.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use kube::config::{AuthInfo, Kubeconfig, KubeconfigError};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Error;

/// Variable with the paths of kubeconfig files.
pub const VARIABLE: &str = "KUBECONFIG";

/// Largest kubeconfig, in bytes: a cluster of it takes some KiB.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Reads and merges the files that [`VARIABLE`] names, or else that of the home folder. As with kubectl, files that do not exist are
/// passed over. Returns nothing where there is none.
///
/// # Errors
///
/// When a file is broken, or no one may read it.
pub fn find() -> Result<Option<Kubeconfig>, Error> {
    merged(&files())
}

/// Returns the paths of the files that [`find`] reads, as far as they exist.
#[must_use]
pub fn files() -> Vec<PathBuf> {
    paths(std::env::var_os(VARIABLE).filter(|paths| !paths.is_empty()))
}

fn paths(named: Option<OsString>) -> Vec<PathBuf> {
    let of_home = || std::env::home_dir().map(|home| home.join(".kube/config")).into_iter().collect();
    named.map_or_else(of_home, |paths| std::env::split_paths(&paths).collect())
}

fn merged(paths: &[PathBuf]) -> Result<Option<Kubeconfig>, Error> {
    let mut merged: Option<Kubeconfig> = None;
    for path in paths.iter().filter(|path| !path.as_os_str().is_empty()) {
        let file = match read(path) {
            Err(Error::Unreadable { cause, .. }) if cause.kind() == ErrorKind::NotFound => continue,
            file => file?,
        };
        merged = Some(match merged {
            Some(first) => first.merge(file).map_err(|error| broken(path, error.into()))?,
            None => file,
        });
    }
    Ok(merged)
}

/// Reads a file. Paths in it are relative to its folder.
///
/// # Errors
///
/// When it cannot be read, or is no kubeconfig.
pub fn read(path: &Path) -> Result<Kubeconfig, Error> {
    let mut config = parse(&text(path)?).map_err(|error| broken(path, error))?;
    if let Some(folder) = path.parent() {
        anchor(&mut config, folder);
    }
    Ok(config)
}

/// Returns the text of a file.
///
/// # Errors
///
/// When it cannot be read, is too large, or is no text.
pub fn text(path: &Path) -> Result<String, Error> {
    content(path).map_err(|cause| Error::Unreadable { path: path.to_owned(), cause })
}

fn broken(path: &Path, cause: Error) -> Error {
    Error::Broken { path: path.to_owned(), cause: Box::new(cause) }
}

fn content(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    if File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)? as u64 > MAX_FILE {
        return Err(io::Error::other(format!("larger than {MAX_FILE} bytes")));
    }
    decoded(bytes).ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "it is no text"))
}

/// Returns the text of a file, which may be one of Windows.
fn decoded(bytes: Vec<u8>) -> Option<String> {
    let units = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<_> = bytes.as_chunks().0.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16(&units).ok()
    };
    match bytes.as_slice() {
        [0xFF, 0xFE, rest @ ..] => units(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => units(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        _ => String::from_utf8(bytes).ok(),
    }
}

/// Reads the text of a kubeconfig. Its errors show nothing of the text, which holds credentials.
///
/// # Errors
///
/// When it is no kubeconfig, or has two entries of one name.
pub fn parse(text: &str) -> Result<Kubeconfig, Error> {
    let mut merged = Kubeconfig::default();
    for document in documents(text).or_else(|_| incomplete_documents(text))? {
        refuse_duplicates(&document)?;
        merged = merged.merge(document)?;
    }
    Ok(merged)
}

fn documents<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, Error> {
    let options = serde_saphyr::options! { with_snippet: false };
    let read = serde_saphyr::from_multiple_with_options(text, options);
    read.map_err(|error| KubeconfigError::Parse(Box::new(error)).into())
}

/// Reads documents that lack something.
fn incomplete_documents(text: &str) -> Result<Vec<Kubeconfig>, Error> {
    let found = documents::<Value>(text)?.into_iter().filter(|document| !document.is_null());
    let read = found.map(|mut document| {
        drop_nulls(&mut document);
        complete(&mut document);
        serde_json::from_value(document).map_err(|error| malformed(&error))
    });
    read.collect()
}

/// Takes away what is null, which is as good as not there.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Gives contexts that have no cluster one without a name: only who uses such a context needs to know.
fn complete(document: &mut Value) {
    let contexts = document.get_mut("contexts").and_then(Value::as_array_mut);
    let contexts =
        contexts.into_iter().flatten().filter_map(|named| named.get_mut("context")?.as_object_mut());
    contexts.for_each(|context| {
        context.entry("cluster").or_insert_with(|| "".into());
    });
}

/// Returns the reason for which a document is no kubeconfig, without the value that is wrong: it may be a password.
fn malformed(error: &serde_json::Error) -> Error {
    let text = error.to_string();
    let expected = text.split_once(", expected ").map(|(_, expected)| format!("a value is not {expected}"));
    Error::Malformed(expected.unwrap_or(text))
}

fn refuse_duplicates(config: &Kubeconfig) -> Result<(), Error> {
    fn duplicate<'n>(names: impl Iterator<Item = &'n String>) -> Option<&'n String> {
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        names.windows(2).find_map(|pair| pair.first().filter(|first| pair.last() == Some(first)).copied())
    }
    let duplicates = [
        ("clusters", duplicate(config.clusters.iter().map(|it| &it.name))),
        ("users", duplicate(config.auth_infos.iter().map(|it| &it.name))),
        ("contexts", duplicate(config.contexts.iter().map(|it| &it.name))),
    ];
    let duplicate = duplicates.into_iter().find_map(|(list, name)| Some((list, name?.clone())));
    duplicate.map_or(Ok(()), |(list, name)| Err(Error::Duplicate { list, name }))
}

/// Makes paths absolute that are relative to the folder of their file.
fn anchor(config: &mut Kubeconfig, folder: &Path) {
    let anchor = |path: &mut Option<String>| {
        let relative = path.as_ref().filter(|path| !path.is_empty());
        let anchored = relative.and_then(|path| Some(folder.join(path).to_str()?.to_owned()));
        *path = anchored.or_else(|| path.take());
    };
    for cluster in config.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
        anchor(&mut cluster.certificate_authority);
    }
    for user in config.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut()) {
        let AuthInfo { client_certificate, client_key, token_file, exec, .. } = user;
        [client_certificate, client_key, token_file].into_iter().for_each(anchor);
        // A program without a slash is looked for in PATH.
        let program = exec.as_mut().map(|exec| &mut exec.command);
        program
            .into_iter()
            .filter(|program| program.as_ref().is_some_and(|it| it.contains('/')))
            .for_each(anchor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> String {
        format!("apiVersion: v1\nkind: Config\ncurrent-context: {name}\ncontexts: [{{name: {name}}}]\n")
    }

    #[test]
    fn files_that_do_not_exist_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let read = |names: &[&str]| merged(&names.iter().map(|name| path(name)).collect::<Vec<_>>());
        for name in ["a", "b"] {
            std::fs::write(path(name), file(name)).unwrap();
        }
        std::fs::write(path("broken"), "{").unwrap();
        let both = read(&["missing", "b", "a"]).unwrap().unwrap();
        let names: Vec<_> = both.contexts.iter().map(|context| context.name.as_str()).collect();
        assert_eq!((names, both.current_context.as_deref()), (vec!["b", "a"], Some("b")));
        assert!(read(&["missing", "gone"]).unwrap().is_none());
        let reason = read(&["a", "broken"]).unwrap_err().to_string();
        assert!(reason.contains(&format!("{}: ", path("broken").display())), "{reason}");
    }

    #[test]
    fn the_variable_goes_before_the_home_folder() {
        let named = paths(Some("/a::/b".into()));
        assert_eq!(named, ["/a", "", "/b"].map(PathBuf::from));
        assert_eq!(paths(None), [std::env::home_dir().unwrap().join(".kube/config")]);
    }

    /// Tools and people leave out what nobody uses.
    #[test]
    fn one_context_without_a_cluster_breaks_no_other() {
        let text = "clusters: [{name: c, cluster: {server: 'https://c', extensions: null}}]
users: [{name: u, user: {exec: {command: x, env: null, provideClusterInfo: null}}}]
contexts: [{name: none, context: {user: u}}, {name: 'null', context: {cluster: }}, {name: x, context: {cluster: c}}]
";
        let read = parse(text).unwrap();
        let clusters: Vec<_> = read.contexts.iter().map(|it| &it.context.as_ref().unwrap().cluster).collect();
        assert_eq!(clusters, ["", "", "c"]);
        assert_eq!(parse("").unwrap().contexts.len(), 0);
        assert_eq!(parse("contexts: [{name: y}]").unwrap().contexts[0].name, "y");
        assert_eq!(parse("contexts: [{name: a}]\n---\ncontexts: [{name: b}]").unwrap().contexts.len(), 2);
    }

    #[rstest::rstest]
    #[case("users: [{name: u, user: {password: [hush]}}]", "it is no kubeconfig: a value is not a string")]
    // A number is no text, for kubectl neither.
    #[case(
        "contexts: [{name: x, context: {user: u}}]\nusers: [{name: u, user: {password: 12345}}]",
        "it is no kubeconfig: a value is not a string"
    )]
    #[case("users: [{user: {token: t}}]", "it is no kubeconfig: missing field `name`")]
    #[case("clusters: [{name: c}, {name: d}, {name: c}]", "duplicate name \"c\" in clusters")]
    #[case("users: [{name: u}, {name: u}]", "duplicate name \"u\" in users")]
    #[case("contexts: [{name: x}, {name: x}]", "duplicate name \"x\" in contexts")]
    fn broken_files_are_refused_without_what_is_in_them(#[case] text: &str, #[case] reason: &str) {
        assert_eq!(parse(text).unwrap_err().to_string(), reason);
    }

    #[test]
    fn errors_of_the_parser_show_nothing_of_the_text() {
        let reason = parse("users:\n- name: u\n  user: {token: secret\n").unwrap_err().to_string();
        assert!(reason.contains("line ") && !reason.contains("secret"), "{reason}");
    }

    #[test]
    fn paths_are_relative_to_their_file() {
        let folder = tempfile::tempdir().unwrap();
        let text = "clusters: [{name: c, cluster: {certificate-authority: ca.crt}}]
users: [{name: u, user: {client-certificate: /a.crt, client-key: '', tokenFile: t, exec: {command: login}}},
  {name: v, user: {exec: {command: bin/login}}}]
";
        let path = folder.path().join("config");
        std::fs::write(&path, text).unwrap();
        let read = read(&path).unwrap();
        let of = |name: &str| Some(folder.path().join(name).to_str().unwrap().to_owned());
        assert_eq!(read.clusters[0].cluster.as_ref().unwrap().certificate_authority, of("ca.crt"));
        let [first, second] = [0, 1].map(|user| read.auth_infos[user].auth_info.as_ref().unwrap());
        assert_eq!(first.client_certificate.as_deref(), Some("/a.crt"));
        assert_eq!((first.client_key.as_deref(), &first.token_file), (Some(""), &of("t")));
        assert_eq!(first.exec.as_ref().unwrap().command.as_deref(), Some("login"));
        assert_eq!(second.exec.as_ref().unwrap().command, of("bin/login"));
    }

    #[rstest::rstest]
    #[case(b"a\0\xFF", None)]
    #[case(b"\xEF\xBB\xBFab", Some("ab"))]
    #[case(b"\xFF\xFEa\0b\0", Some("ab"))]
    #[case(b"\xFE\xFF\0a\0b", Some("ab"))]
    #[case(b"ab", Some("ab"))]
    fn files_of_windows_are_read(#[case] bytes: &[u8], #[case] expected: Option<&str>) {
        assert_eq!(decoded(bytes.to_vec()).as_deref(), expected);
    }
}
