//! The words for a damaged archive: those that Flux's users know.

use std::fmt;
use std::io;

const CUT: &str = "unexpected EOF";
const BAD_HEADER: &str = "archive/tar: invalid tar header";
const BAD_CHECKSUM: &str = "gzip: invalid checksum";
/// Beginnings of our libraries' messages that have counterparts. The rest of a message may repeat parts of the archive.
const WORDS: [(&str, &str); 7] = [
    ("failed to read entire block", CUT),
    ("unexpected EOF during skip", CUT),
    ("incomplete deflate stream", CUT),
    ("unexpected end of file", CUT),
    ("numeric field", BAD_HEADER),
    ("archive header checksum mismatch", BAD_HEADER),
    ("corrupt gzip stream does not have a matching checksum", BAD_CHECKSUM),
];

/// Shows the error of a reader in the words that are known.
pub(super) struct Words<'a>(pub(super) &'a io::Error);

impl fmt::Display for Words<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.0.to_string();
        match WORDS.iter().find(|(ours, _)| own.starts_with(ours)) {
            Some((_, known)) => out.write_str(known),
            None => out.write_str(&own),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use crate::{Limits, Untar};

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// A file of random-looking bytes, so that packing keeps its length.
    fn tarball() -> Vec<u8> {
        let content: Vec<u8> = (0..4000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, "a.yaml", content.as_slice()).unwrap();
        tar.into_inner().unwrap()
    }

    fn changed(mut bytes: Vec<u8>, from_the_end: usize) -> Vec<u8> {
        let at = bytes.len() - from_the_end;
        bytes[at] ^= 0xff;
        bytes
    }

    /// In Flux's words; its controllers do not read as far as the checksum.
    #[rstest::rstest]
    #[case::no_archive(gzip(&b"no archive".repeat(100)), "archive/tar: invalid tar header")]
    #[case::header(gzip(&changed(tarball(), tarball().len() - 3)), "archive/tar: invalid tar header")]
    #[case::less_than_a_header(gzip(b"1.0.0"), "unexpected EOF")]
    #[case::tar_cut_in_a_file(gzip(&tarball()[..1000]), "unexpected EOF")]
    #[case::gzip_cut_in_a_file(gzip(&tarball())[..2000].to_vec(), "unexpected EOF")]
    #[case::checksum(changed(gzip(&tarball()), 6), "gzip: invalid checksum")]
    fn damage(#[case] archive: Vec<u8>, #[case] words: &str) {
        let error = Untar::new(Limits::default()).to_map(archive.as_slice()).unwrap_err();
        assert_eq!(error.to_string(), format!("tar error: {words}"));
    }
}
