//! The `tangle` command.

mod cli;

// Predicting allocates many short-lived columns of lane values.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Vulkan workers are this program, started again.
    tangle_runner::worker::run_if_requested();
    cli::main()
}
