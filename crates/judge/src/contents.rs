//! What a buffer holds at first, as the command line says it: `zeros:N`, `ramp:N`, `random:SEED:N`, or a file.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// More than any test needs, and little enough not to be missed.
pub const MAX_BYTES: u64 = 256 << 20;

/// Contents of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// So many bytes, all 0.
    Zeros(u64),
    /// So many 32-bit words: 0, 1, 2, …
    Ramp(u64),
    /// So many bytes of a generator with this seed.
    Random(u64, u64),
    /// The bytes of a file.
    File(PathBuf),
}

/// Why there are no contents.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    /// The text is not of this form.
    #[error("'{0}' is no contents of a buffer: FILE, zeros:BYTES, ramp:WORDS or random:SEED:BYTES")]
    Form(String),
    /// A buffer of so many bytes, more than [`MAX_BYTES`].
    #[error("a buffer of {0} bytes is larger than {MAX_BYTES}")]
    Size(u64),
    /// The file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    File {
        /// The file that was named.
        path: PathBuf,
        /// Why the system does not give it.
        error: std::io::Error,
    },
}

impl FromStr for Contents {
    type Err = ContentsError;

    fn from_str(text: &str) -> Result<Contents, ContentsError> {
        let bad = || ContentsError::Form(text.to_owned());
        let number = |text: &str| text.parse::<u64>().map_err(|_| bad());
        match text.split_once(':') {
            Some(("zeros", size)) => Ok(Contents::Zeros(number(size)?)),
            Some(("ramp", size)) => Ok(Contents::Ramp(number(size)?)),
            Some(("random", rest)) => {
                let (seed, size) = rest.split_once(':').ok_or_else(bad)?;
                Ok(Contents::Random(number(seed)?, number(size)?))
            }
            _ if text.is_empty() => Err(bad()),
            _ => Ok(Contents::File(PathBuf::from(text))),
        }
    }
}

impl Contents {
    /// The bytes.
    ///
    /// # Errors
    /// If there are too many, or the file cannot be read.
    pub fn bytes(&self) -> Result<Vec<u8>, ContentsError> {
        match self {
            Contents::Zeros(size) => Ok(vec![0; within(*size)?]),
            Contents::Ramp(words) => {
                let words = within(words.saturating_mul(4))? as u32 / 4;
                Ok((0..words).flat_map(u32::to_le_bytes).collect())
            }
            Contents::Random(seed, size) => {
                let mut bytes = vec![0; within(*size)?];
                ChaCha8Rng::seed_from_u64(*seed).fill_bytes(&mut bytes);
                Ok(bytes)
            }
            Contents::File(path) => read_bounded(path, MAX_BYTES),
        }
    }
}

fn within(size: u64) -> Result<usize, ContentsError> {
    if size > MAX_BYTES { Err(ContentsError::Size(size)) } else { Ok(size as usize) }
}

/// Reads a regular file, or a pipe up to a limit.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, ContentsError> {
    use std::io::Read as _;
    let failed = |error| ContentsError::File { path: path.to_owned(), error };
    let mut bytes = Vec::new();
    std::fs::File::open(path).map_err(failed)?.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit { Err(ContentsError::Size(bytes.len() as u64)) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_command_line_says() {
        let bytes = |text: &str| text.parse::<Contents>().and_then(|contents| contents.bytes());
        assert_eq!(bytes("zeros:3").unwrap(), [0, 0, 0]);
        assert_eq!(bytes("ramp:2").unwrap(), [0, 0, 0, 0, 1, 0, 0, 0]);
        let random = bytes("random:7:32").unwrap();
        assert_eq!((random.len(), &random), (32, &bytes("random:7:32").unwrap()));
        assert_ne!(random, bytes("random:8:32").unwrap());
        for (text, says) in [
            ("", "is no contents"),
            ("zeros:x", "is no contents"),
            ("random:1", "is no contents"),
            ("zeros:999999999999", "is larger than"),
            ("ramp:18446744073709551615", "is larger than"),
            ("/there/is/none", "cannot read /there/is/none"),
            ("/dev/zero", "is larger than"),
        ] {
            let error = bytes(text).expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
