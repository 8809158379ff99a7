//! Values files, merged in the place of a chart's own values (SRC-CHT-15).

use bytes::Bytes;
use weir_artifact::archive::find;
use weir_artifact::{RelPath, Tree, TreeKind};
use weir_helm::Chart;
use weir_helm::chart::{self, VALUES_FILE};
use weir_helm::values::{self, Values, ValuesError};

use super::build::Step;
use super::decide::{Order, is_default, leads_out};
use crate::source::Failure;

/// The files among which values files are looked for.
pub(super) enum Files<'a> {
    /// Those of the chart itself.
    Chart(&'a Chart),
    /// Those of the source that the chart is in, of at most so many bytes each.
    Source(&'a dyn Tree, u64),
}

/// Merges the values files of an order; returns those that were found, too.
pub(super) fn merged(order: &Order, files: &Files<'_>) -> Result<(Values, Vec<String>), Failure> {
    let (mut all, mut used) = (Values::default(), Vec::new());
    for file in &order.values_files {
        let path = files.path(file);
        match files.read(file, path.as_ref())? {
            Some(content) => all.merge(files.parse(file, &content).map_err(|error| files.failed(error))?),
            None if order.ignores_missing && !files.is_directory(path.as_ref())? => continue,
            None => return Err(files.failed(files.missing(file, path))),
        }
        used.push(file.clone());
    }
    Ok((all, used))
}

/// Puts merged values in the place of the chart's own. Returns false when they are the same.
pub(super) fn replace(chart: &mut Chart, merged: &Values) -> Result<bool, Failure> {
    let text = merged.to_yaml().map_err(|error| Step::Values.failed(error))?;
    let own = file_at(VALUES_FILE).and_then(|path| chart.file(&path));
    if !text.is_empty() && own.is_some_and(|own| *own == text) {
        return Ok(false);
    }
    if chart.replace_values(text) {
        return Ok(true);
    }
    Err(Step::Values.failed(format!("failed to locate values file: {VALUES_FILE}")))
}

/// A path below a chart or source; `None` when it is the root or no path.
pub(super) fn file_at(path: &str) -> Option<RelPath> {
    RelPath::confined(path).ok().flatten()
}

impl Files<'_> {
    /// Path of a values file. A chart has no files outside of it; in a source, a path that leads out is taken for one inside.
    fn path(&self, file: &str) -> Option<RelPath> {
        match self {
            Self::Chart(_) if leads_out(file) => None,
            Self::Chart(_) | Self::Source(..) => file_at(file),
        }
    }

    fn read(&self, file: &str, path: Option<&RelPath>) -> Result<Option<Bytes>, Failure> {
        match (self, path) {
            // A chart without values has none to merge. A chart without a values file is refused later, by `replace`.
            (Self::Chart(chart), Some(path)) if is_default(file) => {
                Ok(Some(chart.file(path).cloned().unwrap_or_default()))
            }
            (Self::Chart(chart), Some(path)) => Ok(chart.plain_file(path).cloned()),
            (Self::Source(files, limit), Some(path)) => {
                chart::read(*files, path, *limit).map_err(|error| Step::Values.failed(error))
            }
            (Self::Chart(_) | Self::Source(..), None) => Ok(None),
        }
    }

    /// Returns true for a directory. It can be no values file, and counts as an error and not as missing. A chart has files alone.
    fn is_directory(&self, path: Option<&RelPath>) -> Result<bool, Failure> {
        let Self::Source(files, _) = self else { return Ok(false) };
        let found = find(*files, path).map_err(|error| Step::Values.failed(error))?;
        Ok(found == Some(TreeKind::Directory))
    }

    /// Helm has merged the documents of a chart's own values; of any other file the first one counts.
    fn parse(&self, file: &str, content: &[u8]) -> Result<Values, ValuesError> {
        match self {
            Self::Chart(_) if is_default(file) => values::parse_all(file, content),
            Self::Chart(_) | Self::Source(..) => values::parse(file, content),
        }
    }

    fn missing(&self, file: &str, path: Option<RelPath>) -> ValuesError {
        match self {
            Self::Chart(_) => ValuesError::Missing { path: file.to_owned() },
            Self::Source(..) => {
                let path = path.map(|path| path.to_string()).unwrap_or_default();
                ValuesError::MissingInSource { path, reference: file.to_owned() }
            }
        }
    }

    fn failed(&self, error: ValuesError) -> Failure {
        match self {
            Self::Chart(_) => Step::Values.failed(format!("failed to merge chart values: {error}")),
            Self::Source(..) => Step::Values.failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use weir_artifact::DirectoryTree;
    use weir_helm::Limits;

    use super::*;

    #[test]
    fn all_documents_of_the_own_values_of_a_chart_count() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n");
        write("values.yaml", "image: {tag: a, name: app}\n---\nimage: {tag: b}\n");
        write("more.yaml", "first: true\n---\nsecond: true\n");
        let tree = DirectoryTree::open_path(folder.path()).unwrap();
        let chart = Chart::from_tree(&tree, None, &Limits::default()).unwrap();
        let values_files = vec!["./values.yaml".to_owned(), "more.yaml".to_owned()];
        let order = Order { values_files: values_files.clone(), ..Order::default() };
        let (merged, used) = merged(&order, &Files::Chart(&chart)).unwrap();
        assert_eq!(merged.to_yaml().unwrap(), "first: true\nimage:\n  name: app\n  tag: b\n");
        assert_eq!(used, values_files);
    }

    /// SRC-CHT-15: a directory is not missing.
    #[rstest]
    #[case("nope.yaml", "")]
    #[case("sub/nope.yaml", "")]
    #[case("sub", "no values file found at path '/sub' (reference 'sub')")]
    #[case("sub/..", "no values file found at path '/' (reference 'sub/..')")]
    fn directories_named_as_values_files_of_a_source(#[case] file: &str, #[case] fault: &str) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        let tree = DirectoryTree::open_path(folder.path()).unwrap();
        let values_files = vec![file.to_owned()];
        let order = Order { values_files, ignores_missing: true, ..Order::default() };
        let merged = merged(&order, &Files::Source(&tree, 1000));
        let message = merged.map_or_else(|failure| failure.cause.message, |_| String::new());
        assert!(message.ends_with(fault) && message.is_empty() == fault.is_empty(), "{message}");
    }

    /// SRC-CHT-15: the files of a chart are found by their paths in it, and by no other.
    #[rstest]
    #[case("more.yaml", true)]
    #[case("./sub/../more.yaml", true)]
    #[case("/more.yaml", false)]
    #[case("../more.yaml", false)]
    #[case("sub/../../more.yaml", false)]
    #[case("/values.yaml", false)]
    #[case::template("templates/more.yaml", false)]
    #[case::schema("values.schema.json", false)]
    #[case::lock("Chart.lock", false)]
    fn paths_of_values_files_of_a_chart(#[case] file: &str, #[case] is_found: bool) {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n");
        write("values.yaml", "a: 1\n");
        write("more.yaml", "a: 2\n");
        std::fs::create_dir(folder.path().join("templates")).unwrap();
        write("templates/more.yaml", "a: 3\n");
        write("values.schema.json", "{}");
        write("Chart.lock", "dependencies: []\n");
        let tree = DirectoryTree::open_path(folder.path()).unwrap();
        let chart = Chart::from_tree(&tree, None, &Limits::default()).unwrap();
        let order = Order { values_files: vec![file.to_owned()], ..Order::default() };
        let merged = merged(&order, &Files::Chart(&chart));
        assert_eq!(merged.is_ok(), is_found);
        let expected = format!(
            "values files merge error: failed to merge chart values: no values file found at path '{file}'"
        );
        assert!(is_found || merged.unwrap_err().cause.message == expected);
    }
}
