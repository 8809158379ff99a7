use std::collections::BTreeMap;
use std::io::Cursor;

use rstest::rstest;
use weir_artifact::archive::walk;

use super::*;

/// Files by path.
struct Files(BTreeMap<String, String>);

fn files(list: &[(&str, &str)]) -> Box<dyn Tree + Send> {
    Box::new(Files(list.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()))
}

impl Tree for Files {
    fn list(&self, directory: Option<&RelPath>) -> io::Result<Vec<TreeEntry>> {
        let prefix = directory.map_or(String::new(), |directory| format!("{directory}/"));
        let mut entries = BTreeMap::new();
        for rest in self.0.keys().filter_map(|path| path.strip_prefix(&prefix)) {
            let (name, kind) = match rest.split_once('/') {
                Some((name, _)) => (name, TreeKind::Directory),
                None => (rest, TreeKind::File { executable: false }),
            };
            entries.insert(name.to_owned(), kind);
        }
        if entries.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(entries.into_iter().map(|(name, kind)| TreeEntry { name, kind }).collect())
    }

    fn open(&self, path: &RelPath) -> io::Result<OpenFile<'_>> {
        let text = self.0.get(path.as_str()).ok_or(io::ErrorKind::NotFound)?;
        Ok(OpenFile { size: text.len() as u64, reader: Box::new(Cursor::new(text.as_bytes())) })
    }
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn shown(tree: &dyn Tree) -> Vec<String> {
    let mut shown = Vec::new();
    walk(tree, |path, kind| {
        let mut line = path.to_string();
        if matches!(kind, TreeKind::File { .. }) {
            let mut text = String::new();
            tree.open(path)?.reader.read_to_string(&mut text)?;
            line = format!("{line}={text}");
        }
        shown.push(line);
        Ok(())
    })
    .unwrap();
    shown
}

#[test]
fn grafts_at_new_places_inside_others_and_parts_of_trees() {
    let mut whole = WholeTree::new(files(&[("a", "1"), ("d/b", "2")]));
    whole.graft(path("vendor/lib"), files(&[("x", "3"), ("s/y", "4")]), None).unwrap();
    whole.graft(path("vendor/lib/s/deep"), files(&[("p/q/z", "5")]), Some(path("p/q"))).unwrap();
    whole.graft(path("d/file"), files(&[("p/one", "6")]), Some(path("p/one"))).unwrap();
    let expected = [
        "a=1",
        "d",
        "d/b=2",
        "d/file=6",
        "vendor",
        "vendor/lib",
        "vendor/lib/s",
        "vendor/lib/s/deep",
        "vendor/lib/s/deep/z=5",
        "vendor/lib/s/y=4",
        "vendor/lib/x=3",
    ];
    assert_eq!(shown(&whole), expected);
}

#[rstest]
#[case::no_such_part("new", Some("nope"), "cannot stat nope: no such file or directory")]
#[case::over_a_directory("d", None, "cannot rename . to d: file exists")]
#[case::over_a_file("a", None, "cannot rename . to a: not a directory")]
#[case::below_a_file("a/b/c", None, "cannot rename . to a/b/c: not a directory")]
fn refused(#[case] at: &str, #[case] from: Option<&str>, #[case] expected: &str) {
    let mut whole = WholeTree::new(files(&[("a", "1"), ("d/b", "2")]));
    let error = whole.graft(path(at), files(&[("x", "3")]), from.map(path)).unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert_eq!(shown(&whole), ["a=1", "d", "d/b=2"]);
}
