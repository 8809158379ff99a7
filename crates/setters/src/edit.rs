//! Replaces the values of marked scalars.

mod splice;

use crate::{
    Change, ObjectId, Setters, marker,
    scan::{self, Shape, Target},
};

/// Errors for which a file is left as it is. None of these stops a run: such a file is skipped and named (ST-4).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetterError {
    /// The file is larger than [`crate::MAX_FILE_SIZE`].
    #[error("file of {size} bytes is larger than {} bytes", crate::MAX_FILE_SIZE)]
    TooLarge {
        /// Bytes of the file.
        size: usize,
    },
    /// The file has more than [`crate::MAX_DOCUMENTS`] documents.
    #[error("file has more than {} documents", crate::MAX_DOCUMENTS)]
    TooManyDocuments,
    /// The file has more than [`crate::MAX_NODES`] values and comments.
    #[error("file has more than {} values and comments", crate::MAX_NODES)]
    TooManyNodes,
    /// The file is no valid YAML, a Helm template for instance.
    #[error("{message}")]
    Yaml {
        /// The parser's message, with line and column.
        message: String,
    },
    /// The edited text would differ in more than the marked values.
    #[error("value of marker {setter:?} cannot be written without other changes")]
    NotOnlyTheValue {
        /// The setter of the first changed scalar.
        setter: String,
    },
}

/// A file with changed values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The whole new text.
    pub text: String,
    /// Changes made, in the order of position.
    pub changes: Vec<(ObjectId, Change)>,
}

/// Writes the setters' values into the marked scalars of a file; `None` means that nothing changes.
///
/// # Errors
/// [`SetterError`]; the file is to be left as it is.
pub fn edit(text: &str, setters: &Setters) -> Result<Option<Edited>, SetterError> {
    if setters.is_empty() || !text.contains(marker::SCREEN) {
        return Ok(None);
    }
    let before = scan::scan(text)?;
    let writes: Vec<(&Target, &str)> = before
        .targets
        .iter()
        .filter_map(|target| setters.value(&target.setter).map(|value| (target, value)))
        .filter(|(target, value)| target.value != *value)
        .collect();
    let Some((first, _)) = writes.first() else { return Ok(None) };
    let edited = splice::splice(text, &writes);
    let mut expected = before.shapes;
    for (target, value) in &writes {
        if let Some(shape) = expected.get_mut(target.event) {
            *shape = Shape::scalar(value, target.anchor);
        }
    }
    if scan::scan(&edited).map(|after| after.shapes) != Ok(expected) {
        return Err(SetterError::NotOnlyTheValue { setter: first.setter.clone() });
    }
    let change = |(target, value): &(&Target, &str)| {
        let change =
            Change { old: target.value.clone(), new: (*value).to_owned(), setter: target.setter.clone() };
        (target.object.clone(), change)
    };
    Ok(Some(Edited { text: edited, changes: writes.iter().map(change).collect() }))
}

/// Returns the setters of the markers that have no value (ST-8): their policy has chosen no image, or was not selected itself, or the image
/// lacks the part that they name. A file that cannot be read has none.
pub fn idle(text: &str, setters: &Setters) -> Vec<String> {
    if !text.contains(marker::SCREEN) {
        return Vec::new();
    }
    let targets = scan::scan(text).map(|scan| scan.targets).unwrap_or_default();
    targets.into_iter().map(|target| target.setter).filter(|setter| setters.value(setter).is_none()).collect()
}

#[cfg(test)]
mod tests;
