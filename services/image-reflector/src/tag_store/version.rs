//! The format of the store: what another format left is wiped, so that a crash in the middle is made good (IR-30).

use std::io;

use cap_std::fs::Dir;

/// File that names the format.
const MARKER: &str = ".storage-version";
/// File that marks a wipe that has begun.
const WIPING: &str = ".storage-wipe-in-progress";
/// The format of this program.
const FORMAT: &str = "2";

/// Makes the folder one of our format.
pub(super) fn settle(root: &Dir) -> io::Result<()> {
    let is_ours = match root.read(MARKER) {
        Ok(format) => format.trim_ascii() == FORMAT.as_bytes(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        // The disk may be at fault, and not the format.
        Err(error) => return Err(error),
    };
    if is_ours && !root.exists(WIPING) {
        return Ok(());
    }
    if root.entries()?.next().is_some() {
        wipe(root)?;
    }
    put(root, MARKER, FORMAT)?;
    super::gone(root.remove_file(WIPING))
}

/// Removes everything but the note that this is going on, which goes last.
fn wipe(root: &Dir) -> io::Result<()> {
    put(root, WIPING, "")?;
    for entry in root.entries()? {
        let entry = entry?;
        let name = entry.file_name();
        if name == WIPING {
            continue;
        }
        if entry.file_type()?.is_dir() { root.remove_dir_all(name)? } else { root.remove_file(name)? }
    }
    Ok(())
}

fn put(root: &Dir, name: &str, content: &str) -> io::Result<()> {
    root.write(name, content)?;
    root.open(name)?.sync_all()
}
