use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;

/// Authorities that programs trust, where Debian and most other distributions keep them, and where all libraries look for them: a
/// variable that names the file would keep some from the files that users mount beside it.
pub(crate) const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// User and group that images run as, the same as those of Flux (cli.md 13.2): volumes of either can be used by the other.
pub(crate) const USER: u64 = 65534;

/// Anything that an image has at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    File { content: Vec<u8>, mode: u32 },
    Link { target: String },
    Folder { mode: u32, owner: u64 },
}

/// The files of an image, by their absolute paths.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    pub(crate) entries: BTreeMap<String, Entry>,
}

impl Contents {
    /// Returns the files that a program needs on an empty base: itself as `/usr/local/bin/NAME`, its shared objects, certificates of
    /// authorities, a user, and the two folders that services write to.
    ///
    /// # Errors
    /// When one of the files cannot be read.
    pub fn of_program(name: &str, program: &Path) -> Result<Self, Error> {
        let mut contents = Self::default();
        contents.copy(&format!("/usr/local/bin/{name}"), program)?;
        for object in shared_objects(program)? {
            contents.copy(&object.to_string_lossy(), &object)?;
        }
        contents.copy(CERTIFICATES, Path::new(CERTIFICATES))?;
        contents.text("/etc/passwd", &format!("nonroot:x:{USER}:{USER}:nonroot:/tmp:/sbin/nologin\n"));
        contents.text("/etc/group", &format!("nonroot:x:{USER}:\n"));
        contents.entries.insert("/tmp".into(), Entry::Folder { mode: 0o1777, owner: 0 });
        contents.entries.insert("/data".into(), Entry::Folder { mode: 0o755, owner: USER });
        Ok(contents)
    }

    /// Adds another name of the program, as a link.
    pub fn link(&mut self, path: &str, target: &str) {
        self.entries.insert(path.into(), Entry::Link { target: target.into() });
    }

    /// Adds a file of text.
    pub fn text(&mut self, path: &str, content: &str) {
        self.entries.insert(path.into(), Entry::File { content: content.into(), mode: 0o644 });
    }

    /// The paths and contents of all files.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.entries.iter().filter_map(|(path, entry)| match entry {
            Entry::File { content, .. } => Some((path.as_str(), content.as_slice())),
            Entry::Link { .. } | Entry::Folder { .. } => None,
        })
    }

    /// Adds a file of this machine. Certificates are the only data; everything else is loaded and run.
    fn copy(&mut self, path: &str, from: &Path) -> Result<(), Error> {
        let content = std::fs::read(from).map_err(Error::file(from))?;
        let mode = if path == CERTIFICATES { 0o644 } else { 0o755 };
        self.entries.insert(path.into(), Entry::File { content, mode });
        Ok(())
    }
}

/// Returns the paths of the shared objects that the loader maps for a program, the loader's own among them; none for a static one.
///
/// # Errors
/// When `ldd` is missing, or misses one of the objects.
pub fn shared_objects(program: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |reason: String| Error::SharedObjects { program: program.to_owned(), reason };
    let output = Command::new("ldd").arg(program).output().map_err(|error| failed(error.to_string()))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let is_static = errors.contains("not a dynamic executable");
        return if is_static { Ok(Vec::new()) } else { Err(failed(errors.trim().to_owned())) };
    }
    objects_of(&String::from_utf8_lossy(&output.stdout)).map_err(failed)
}

/// Reads the output of `ldd`: `NAME => PATH (ADDRESS)`, `PATH (ADDRESS)`, or a name alone for what the kernel provides.
fn objects_of(printed: &str) -> Result<Vec<PathBuf>, String> {
    let mut objects = Vec::new();
    for line in printed.lines().map(str::trim) {
        if line.contains("=> not found") {
            return Err(line.to_owned());
        }
        let place = line.split_once("=> ").map_or(line, |(_, place)| place);
        let path = place.split(" (").next().unwrap_or_default();
        if path.starts_with('/') {
            objects.push(path.into());
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_read_from_each_kind_of_line() {
        let printed = "\tlinux-vdso.so.1 (0x00007f53)\n\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x1)\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x2)\n";
        let paths = ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(objects_of(printed), Ok(paths.to_vec()));
        assert_eq!(objects_of("\tstatically linked\n"), Ok(Vec::new()));
        assert_eq!(objects_of("\tlibz.so.1 => not found\n"), Err("libz.so.1 => not found".to_owned()));
    }
}
