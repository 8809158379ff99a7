//! Comparing two archives by what is in them: compressors and writers of headers differ (CLI-ART09).

use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;

use super::meter::{Allowance, Meter};
use super::{BLOCK, MAX_HEADER_BYTES, Untar, UntarError};

/// Bytes that are compared at once.
const BUFFER_BYTES: usize = 64 * 1024;

type Archive<R> = tar::Archive<Meter<MultiGzDecoder<BufReader<R>>>>;

impl Untar {
    /// Returns true when two gzipped tarballs have the same entries in the same order: names, kinds, permission bits and
    /// bytes. Reads as far as they are the same.
    ///
    /// # Errors
    /// When one of them is damaged, or has more entries than allowed.
    pub fn is_same(&self, left: impl Read, right: impl Read) -> Result<bool, UntarError> {
        let ((mut left, of_left), (mut right, of_right)) = (open(left), open(right));
        let corrupt = |source| UntarError::Corrupt { source };
        let (mut lefts, mut rights) = (left.entries().map_err(corrupt)?, right.entries().map_err(corrupt)?);
        for _ in 0..self.limits.entries {
            of_left.set(MAX_HEADER_BYTES);
            of_right.set(MAX_HEADER_BYTES);
            let (mut left, mut right) = match (lefts.next(), rights.next()) {
                (None, None) => return Ok(true),
                (Some(left), Some(right)) => (left.map_err(corrupt)?, right.map_err(corrupt)?),
                _ => return Ok(false),
            };
            if !has_same_header(&left, &right).map_err(corrupt)? {
                return Ok(false);
            }
            of_left.set(left.size().saturating_add(BLOCK));
            of_right.set(right.size().saturating_add(BLOCK));
            if !has_same_bytes(&mut left, &mut right).map_err(corrupt)? {
                return Ok(false);
            }
        }
        Err(UntarError::TooMany { limit: self.limits.entries })
    }
}

fn open<R: Read>(archive: R) -> (Archive<R>, Allowance) {
    let meter = Meter::new(MultiGzDecoder::new(BufReader::new(archive)));
    let allowance = meter.allowance();
    allowance.set(MAX_HEADER_BYTES);
    (tar::Archive::new(meter), allowance)
}

fn has_same_header(left: &tar::Entry<'_, impl Read>, right: &tar::Entry<'_, impl Read>) -> io::Result<bool> {
    let (left_name, right_name) = (left.path_bytes(), right.path_bytes());
    let (left_header, right_header) = (left.header(), right.header());
    Ok(bare(&left_name) == bare(&right_name)
        && left_header.entry_type() == right_header.entry_type()
        && left_header.mode()? == right_header.mode()?
        && left.size() == right.size())
}

/// Returns a name without the slash that some writers put behind directories.
fn bare(name: &[u8]) -> &[u8] {
    name.strip_suffix(b"/").unwrap_or(name)
}

/// Compares two readers that have the same number of bytes.
fn has_same_bytes(left: &mut impl Read, right: &mut impl Read) -> io::Result<bool> {
    let (mut of_left, mut of_right) = (vec![0; BUFFER_BYTES], vec![0; BUFFER_BYTES]);
    loop {
        let count = left.read(&mut of_left)?;
        let (Some(of_left), Some(of_right)) = (of_left.get(..count), of_right.get_mut(..count)) else {
            return Ok(false);
        };
        if count == 0 {
            return Ok(true);
        }
        right.read_exact(of_right)?;
        if of_left != of_right {
            return Ok(false);
        }
    }
}
