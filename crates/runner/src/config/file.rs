//! Files that other people write, read with a bound.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Reads a text file of at most so many bytes. A device, a pipe or a folder in its place is an error, and neither waited for nor read.
///
/// # Errors
///
/// That of the system, or that it is no regular file, longer, or no UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    // Without the flag, opening a pipe that nobody writes to would wait for ever.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is no text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_short_text_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("short"), "tängle").unwrap();
        std::fs::write(path("long"), "x".repeat(101)).unwrap();
        std::fs::write(path("binary"), [0xff]).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .unwrap();
        assert_eq!(read_text(&path("short"), 100).unwrap(), "tängle");
        for (path, expected) in [
            (path("long"), "it has more than 100 bytes"),
            (path("binary"), "it is no text in UTF-8"),
            (path("pipe"), "it is no regular file"),
            ("/dev/zero".into(), "it is no regular file"),
            (folder.path().into(), "it is no regular file"),
            (path("none"), "No such file or directory (os error 2)"),
        ] {
            assert_eq!(read_text(&path, 100).unwrap_err().to_string(), expected, "{}", path.display());
        }
    }
}
