//! Large files read piece by piece (SRC-STO-10): both libraries give an object whole only, so that one of a quarter GiB would
//! take as much memory. Git keeps large files as they are, and not as differences to others; their place in the pack is all
//! that has to be known.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::bufread::ZlibDecoder;
use gix_hash::{Hasher, ObjectId};
use gix_pack::data::entry::Header;

use crate::error::Error;

/// The bytes of a blob, on their way out of a pack. Content with another name than the blob's gives an error in place
/// of its last bytes: a reader that knows the size asks for no more.
pub(crate) struct Stream {
    content: io::Take<ZlibDecoder<BufReader<File>>>,
    /// Gone once all bytes were seen.
    hasher: Option<Hasher>,
    id: ObjectId,
}

impl Stream {
    /// Looks for a blob of `size` bytes in the packs of a directory; nothing when it lies elsewhere, or as a difference.
    pub(crate) fn find(packs: &Path, id: ObjectId, size: u64) -> Result<Option<Self>, Error> {
        let failed = |source| Error::WorkDirectory { source };
        for entry in packs.read_dir().map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_none_or(|end| end != "idx") {
                continue;
            }
            let index = gix_pack::index::File::at(&path, id.kind())?;
            let Some(at) = index.lookup(id) else { continue };
            let pack = path.with_extension("pack");
            let entry = gix_pack::data::File::at(&pack, id.kind())?.entry(index.pack_offset_at_index(at))?;
            if entry.header != Header::Blob || entry.decompressed_size != size {
                return Ok(None);
            }
            let mut file = File::open(&pack).map_err(failed)?;
            file.seek(SeekFrom::Start(entry.data_offset)).map_err(failed)?;
            return Ok(Some(Self::of(file, id, size)));
        }
        Ok(None)
    }

    fn of(file: File, id: ObjectId, size: u64) -> Self {
        let mut hasher = gix_hash::hasher(id.kind());
        hasher.update(format!("blob {size}\0").as_bytes());
        let content = ZlibDecoder::new(BufReader::new(file)).take(size);
        Self { content, hasher: Some(hasher), id }
    }

    fn check(&mut self) -> io::Result<()> {
        let Some(hasher) = self.hasher.take() else { return Ok(()) };
        let damaged = || io::Error::other(Error::Damaged { id: self.id.to_string() });
        let actual = hasher.try_finalize().map_err(|_| damaged())?;
        if actual == self.id { Ok(()) } else { Err(damaged()) }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(buffer);
        let count = read.map_err(|_| io::Error::other(Error::Damaged { id: self.id.to_string() }))?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(buffer.get(..count).unwrap_or_default());
        }
        let is_short = count == 0 && !buffer.is_empty();
        if is_short || self.content.limit() == 0 {
            self.check()?;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use rstest::rstest;

    use super::*;

    fn stream(of: &[u8], lies: &[u8]) -> Stream {
        let mut packed = ZlibEncoder::new(tempfile::tempfile().unwrap(), Compression::fast());
        packed.write_all(lies).unwrap();
        let mut file = packed.finish().unwrap();
        file.rewind().unwrap();
        let id = gix_object::compute_hash(gix_hash::Kind::Sha1, gix_object::Kind::Blob, of).unwrap();
        Stream::of(file, id, of.len() as u64)
    }

    /// Archives read as many bytes as a file has, and not its end.
    #[rstest]
    #[case::whole(b"content", true)]
    #[case::another(b"CONTENT", false)]
    #[case::cut(b"conten", false)]
    fn who_reads_no_further_than_the_size_sees_what_is_wrong(#[case] lies: &[u8], #[case] is_good: bool) {
        let mut bytes = [0; 7];
        assert_eq!(stream(b"content", lies).read_exact(&mut bytes).is_ok(), is_good);
    }
}
