//! Programs of the catalogue in the folder of plugins, each with a record of where it comes from.

use std::fmt::Display;
use std::fs::{File, Permissions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use jiff::Timestamp;
use serde_json::{Value, json};
use tar::Archive;
use tempfile::NamedTempFile;
use weir_yaml::{Limits, Source, parse_first_document};
use zip::ZipReadOptions;
use zip::read::Config;
use zip::unstable::read::ZipIterable;

use super::catalog::{Catalog, Manifest, Platform};
use crate::error::Error;
use crate::input;
use crate::output::manifest;

/// Bytes of a program.
const MAX_PROGRAM: u64 = 1 << 30;
/// Files of an archive that are looked at.
const MAX_ENTRIES: usize = 10_000;
/// Mode of programs.
const MODE: u32 = 0o755;
/// Mode of records.
const RECORD_MODE: u32 = 0o644;
/// Beginnings of archives.
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZIP: &[u8] = b"PK";
/// Place and text that a tar archive has.
const TAR: (usize, &[u8]) = (257, b"ustar");
/// Error of an archive in which the program is not found.
const WITHOUT_PROGRAM: &str = "the archive of the plugin does not hold its program";
/// Bytes that tell an archive from a program.
const HEAD: u64 = 262;

/// Downloads a version of a plugin, checks it, and puts it into the folder. A program that is there is replaced at once, or not at all.
pub(super) async fn install(
    catalog: &Catalog,
    folder: &Path,
    manifest: &Manifest,
    (version, platform): (&str, &Platform),
) -> Result<(), Error> {
    let mut download = NamedTempFile::new_in(folder)?;
    catalog.download(platform, &mut download).await?;
    let mut program = NamedTempFile::new_in(folder)?;
    extract(download.as_file_mut(), &mut program, platform, &manifest.bin)?;
    persist(program, &folder.join(&manifest.bin), MODE)?;
    let record = json!({
        "name": manifest.name, "version": version, "installedAt": Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        "platform": serde_json::to_value(platform).map_err(std::io::Error::from)?,
    });
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(manifest::yaml(&record)?.as_bytes())?;
    persist(file, &record_path(folder, &manifest.name), RECORD_MODE)
}

fn persist(file: NamedTempFile, path: &Path, mode: u32) -> Result<(), Error> {
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.persist(path)
        .map_err(|error| Error::File { path: path.display().to_string(), cause: error.error })?;
    Ok(())
}

/// Copies the program out of what was downloaded.
fn extract(
    download: &mut File,
    program: &mut impl Write,
    platform: &Platform,
    bin: &str,
) -> Result<(), Error> {
    download.rewind()?;
    let mut head = Vec::new();
    download.take(HEAD).read_to_end(&mut head)?;
    download.rewind()?;
    let (place, magic) = TAR;
    let wanted = |path: &Path| match platform.extract_path.as_str() {
        "" => path.file_name().is_some_and(|name| name == bin),
        exact => path == Path::new(exact),
    };
    if head.starts_with(GZIP) {
        return unpack(GzDecoder::new(download), program, wanted);
    }
    if head.get(place..).is_some_and(|rest| rest.starts_with(magic)) {
        return unpack(download, program, wanted);
    }
    if head.starts_with(ZIP) {
        return unzip(download, program, wanted);
    }
    copy(download, program)
}

fn unpack(archive: impl Read, program: &mut impl Write, wanted: impl Fn(&Path) -> bool) -> Result<(), Error> {
    let mut archive = Archive::new(archive.take(MAX_PROGRAM));
    for entry in archive.entries().map_err(unread)?.take(MAX_ENTRIES) {
        let entry = entry.map_err(unread)?;
        let is_wanted = entry.path().is_ok_and(|path| wanted(&path));
        if entry.header().entry_type().is_file() && is_wanted {
            return copy(entry, program);
        }
    }
    Err(Error::Plugin(WITHOUT_PROGRAM.to_owned()))
}

/// As [`unpack`], of a zip archive, whose list of files is read one by one.
fn unzip(
    archive: impl Read + Seek,
    program: &mut impl Write,
    wanted: impl Fn(&Path) -> bool,
) -> Result<(), Error> {
    let mut archive = ZipIterable::try_new(archive, Config::default()).map_err(unread)?;
    let files = archive.files().map_err(unread)?;
    for _ in 0..MAX_ENTRIES {
        let Some(entry) = files.next() else { break };
        let entry = entry.map_err(unread)?;
        // Names that lead out of the archive are nobody's.
        if entry.is_file() && entry.enclosed_name().is_some_and(|path| wanted(&path)) {
            let file = entry.with_reader(files.reader_mut(), ZipReadOptions::default()).map_err(unread)?;
            return copy(file, program);
        }
    }
    Err(Error::Plugin(WITHOUT_PROGRAM.to_owned()))
}

fn unread(cause: impl Display) -> Error {
    Error::Plugin(format!("failed to read the archive of the plugin: {cause}"))
}

fn copy(from: impl Read, program: &mut impl Write) -> Result<(), Error> {
    match std::io::copy(&mut from.take(MAX_PROGRAM + 1), program)? {
        length if length > MAX_PROGRAM => {
            Err(Error::Plugin(format!("program larger than {MAX_PROGRAM} bytes")))
        }
        _ => Ok(()),
    }
}

/// Removes a plugin and its record.
pub(super) fn uninstall(folder: &Path, name: &str) -> Result<(), Error> {
    let missing = || Error::Plugin(format!("plugin \"{name}\" is not installed"));
    let program = format!("flux-{name}");
    let is_plain = Path::new(&program).file_name().is_some_and(|file| file.to_str() == Some(&program));
    let path = folder.join(&program);
    if !is_plain || path.symlink_metadata().is_err() {
        return Err(missing());
    }
    let failed = |path: &Path, cause| Error::File { path: path.display().to_string(), cause };
    std::fs::remove_file(&path).map_err(|cause| failed(&path, cause))?;
    let record = record_path(folder, name);
    match std::fs::remove_file(&record) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => Err(failed(&record, cause)),
        _ => Ok(()),
    }
}

/// Returns the version that the record of an installation names; none for a plugin that was put there by hand.
pub(super) fn version(folder: &Path, name: &str) -> Option<String> {
    let path = record_path(folder, name);
    let text = path.is_file().then(|| input::text(&path).ok()).flatten()?;
    let document = parse_first_document(&Source::file(name, text), &Limits::default()).ok().flatten()?;
    document.to_json_of_yaml11().ok()?.get("version").and_then(Value::as_str).map(str::to_owned)
}

fn record_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("flux-{name}.yaml"))
}
