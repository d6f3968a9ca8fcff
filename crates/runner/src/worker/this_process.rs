//! The process of a worker: its pipes, and how it ends.

use std::fs::File;
use std::io;

/// Size asked for the pipes to and from the parent, bytes: a job or a result then seldom waits for the other side.
const PIPE_BYTES: usize = 1 << 20;

/// Exit codes of a worker that leaves by itself.
#[derive(Clone, Copy)]
pub(super) enum ExitStatus {
    /// The parent closed the input.
    Closed = 0,
    /// Something is wrong with the pipes or the protocol.
    Failed = 70,
    /// The GPU was reset since the device was opened.
    Outdated = 78,
    /// There is no memory.
    OutOfMemory = 79,
}

/// Exit code of a worker whose GPU was reset.
pub(crate) const OUTDATED: i32 = ExitStatus::Outdated as i32;

/// Exit code of a worker without memory.
pub(crate) const OUT_OF_MEMORY: i32 = ExitStatus::OutOfMemory as i32;

/// Ends the process without running the driver's exit handlers: a crash in them would be noise.
pub(super) fn leave(status: ExitStatus) -> ! {
    // SAFETY: _exit takes any number, and ends the process without touching memory of ours.
    unsafe { libc::_exit(status as i32) }
}

/// Moves the protocol off file descriptor 1 and gives that one to standard error.
pub(crate) fn take_stdout() -> io::Result<File> {
    let protocol = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    // Not every system allows a pipe this large, and a smaller one only costs time.
    let _ = rustix::pipe::fcntl_setpipe_size(&protocol, PIPE_BYTES);
    let _ = rustix::pipe::fcntl_setpipe_size(io::stdin(), PIPE_BYTES);
    Ok(File::from(protocol))
}
