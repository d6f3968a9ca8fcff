//! Standard output and error that may be full or closed: an error or nothing, never a panic.

use std::fmt;
use std::io::{self, Write as _};

/// Standard output cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output: {0}")]
pub struct OutputError(io::Error);

impl OutputError {
    /// True if the reader has gone, as `head` does: that is no error.
    pub fn is_closed(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

/// Writes to standard output, and sees to it that it arrives.
pub fn put(text: fmt::Arguments<'_>) -> Result<(), OutputError> {
    let mut stdout = io::stdout();
    stdout.write_fmt(text).and_then(|()| stdout.flush()).map_err(OutputError)
}

/// Writes a line to standard error, for people; where that fails nothing can be done.
pub fn write_stderr(text: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// `println!` with a result.
macro_rules! say {
    ($($arg:tt)*) => { $crate::cli::output::put(format_args!("{}\n", format_args!($($arg)*))) };
}

/// `eprintln!` that never fails.
macro_rules! say_stderr {
    () => { $crate::cli::output::write_stderr(format_args!("")) };
    ($($arg:tt)*) => { $crate::cli::output::write_stderr(format_args!($($arg)*)) };
}

pub(super) use {say, say_stderr};
