//! Content digests as they stand in `status.artifact.digest`: `<algorithm>:<hex>`.

use std::fmt;
use std::str::FromStr;

use sha2::Digest as _;

/// Hash algorithms that `--artifact-digest-algo` takes (SRC-STO-7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Algorithm {
    /// Accepted for old artifacts only.
    Sha1,
    /// The default.
    #[default]
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
    /// BLAKE3 with 32 bytes of output.
    Blake3,
}

impl Algorithm {
    /// The name in front of the colon.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
            Self::Blake3 => "blake3",
        }
    }

    fn hex_length(self) -> usize {
        match self {
            Self::Sha1 => 40,
            Self::Sha256 | Self::Blake3 => 64,
            Self::Sha384 => 96,
            Self::Sha512 => 128,
        }
    }
}

impl FromStr for Algorithm {
    type Err = DigestError;

    fn from_str(name: &str) -> Result<Self, DigestError> {
        [Self::Sha1, Self::Sha256, Self::Sha384, Self::Sha512, Self::Blake3]
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or_else(|| DigestError::Algorithm { name: name.to_owned() })
    }
}

/// Errors in a text that is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// No colon.
    #[error("digest '{text}' has no algorithm")]
    NoAlgorithm {
        /// The text.
        text: String,
    },
    /// An algorithm that is not known.
    #[error("unsupported digest algorithm '{name}'")]
    Algorithm {
        /// The name in front of the colon.
        name: String,
    },
    /// Not lower-case hex of the algorithm's length.
    #[error("invalid {algorithm} digest '{hex}'")]
    Hex {
        /// The algorithm's name.
        algorithm: &'static str,
        /// Text behind the colon.
        hex: String,
    },
}

/// A content digest.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest {
    algorithm: Algorithm,
    hex: String,
}

impl Digest {
    /// Parses `<algorithm>:<lower-case hex>`.
    ///
    /// # Errors
    /// When the algorithm is unknown or the hex is not of its length.
    pub fn parse(text: &str) -> Result<Self, DigestError> {
        let (name, hex) =
            text.split_once(':').ok_or_else(|| DigestError::NoAlgorithm { text: text.to_owned() })?;
        let algorithm: Algorithm = name.parse()?;
        let is_hex = hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if hex.len() != algorithm.hex_length() || !is_hex {
            return Err(DigestError::Hex { algorithm: algorithm.name(), hex: hex.to_owned() });
        }
        Ok(Self { algorithm, hex: hex.to_owned() })
    }

    /// The digest of `bytes`.
    #[must_use]
    pub fn of(algorithm: Algorithm, bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new(algorithm);
        hasher.update(bytes);
        hasher.finish()
    }

    /// The algorithm.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The hex part.
    #[must_use]
    pub fn hex(&self) -> &str {
        &self.hex
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm.name(), self.hex)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        Self::parse(text)
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// Computes a digest piece by piece; also a [`std::io::Write`] sink.
#[derive(Clone)]
pub struct Hasher {
    state: State,
}

#[derive(Clone)]
enum State {
    Sha1(sha1::Sha1),
    Sha256(sha2::Sha256),
    Sha384(sha2::Sha384),
    Sha512(sha2::Sha512),
    Blake3(Box<blake3::Hasher>),
}

impl Hasher {
    /// A hasher that has seen nothing.
    #[must_use]
    pub fn new(algorithm: Algorithm) -> Self {
        let state = match algorithm {
            Algorithm::Sha1 => State::Sha1(sha1::Sha1::new()),
            Algorithm::Sha256 => State::Sha256(sha2::Sha256::new()),
            Algorithm::Sha384 => State::Sha384(sha2::Sha384::new()),
            Algorithm::Sha512 => State::Sha512(sha2::Sha512::new()),
            Algorithm::Blake3 => State::Blake3(Box::new(blake3::Hasher::new())),
        };
        Self { state }
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::Sha1(hasher) => hasher.update(bytes),
            State::Sha256(hasher) => hasher.update(bytes),
            State::Sha384(hasher) => hasher.update(bytes),
            State::Sha512(hasher) => hasher.update(bytes),
            State::Blake3(hasher) => {
                hasher.update(bytes);
            }
        }
    }

    /// The digest of all bytes seen.
    #[must_use]
    pub fn finish(self) -> Digest {
        let (algorithm, hex) = match self.state {
            State::Sha1(hasher) => (Algorithm::Sha1, hex::encode(hasher.finalize())),
            State::Sha256(hasher) => (Algorithm::Sha256, hex::encode(hasher.finalize())),
            State::Sha384(hasher) => (Algorithm::Sha384, hex::encode(hasher.finalize())),
            State::Sha512(hasher) => (Algorithm::Sha512, hex::encode(hasher.finalize())),
            State::Blake3(hasher) => (Algorithm::Blake3, hex::encode(hasher.finalize().as_bytes())),
        };
        Digest { algorithm, hex }
    }
}

impl std::io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("sha1", "a9993e364706816aba3e25717850c26c9cd0d89d")]
    #[case("sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")]
    #[case("blake3", "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85")]
    fn known_digests_of_abc(#[case] algorithm: &str, #[case] hex: &str) {
        let digest = Digest::of(algorithm.parse().unwrap(), b"abc");
        assert_eq!(digest.to_string(), format!("{algorithm}:{hex}"));
        assert_eq!(Digest::parse(&digest.to_string()).unwrap(), digest);
    }

    #[rstest]
    #[case("abc")]
    #[case("md5:900150983cd24fb0d6963f7d28e17f72")]
    #[case("sha256:short")]
    #[case("sha256:BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD")]
    fn refused(#[case] text: &str) {
        assert!(Digest::parse(text).is_err());
    }
}
