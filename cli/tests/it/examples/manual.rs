//! The man pages, and the examples in them.

use std::collections::BTreeMap;

use crate::weir::Weir;

/// The pages as man reads them, by name, such as `weir-get-all`.
pub(super) async fn pages() -> BTreeMap<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let weir = Weir::default().in_folder(folder.path());
    let written = weir.transcript(&["man --output pages/man1"]).await;
    assert!(written.contains("pages written to pages/man1"), "{written}");
    let entries = std::fs::read_dir(folder.path().join("pages/man1")).unwrap();
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().strip_suffix(".1").unwrap().to_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    entries.map(|entry| read(entry.unwrap().path())).collect()
}

/// Returns the examples of a page, as they are typed into a shell.
pub(super) fn examples(page: &str) -> Vec<String> {
    let Some((_, section)) = page.split_once("\n.SH EXAMPLES\n") else { return Vec::new() };
    let blocks = section.split(".nf\n").skip(1).map(|rest| rest.split("\n.fi").next().unwrap());
    blocks.map(unescaped).collect()
}

fn unescaped(text: &str) -> String {
    [(r"\*(Aq", "'"), (r"\&", ""), (r"\-", "-"), (r"\\", r"\")]
        .iter()
        .fold(text.to_owned(), |text, (escape, char)| text.replace(escape, char))
}
