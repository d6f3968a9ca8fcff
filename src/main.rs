//! The `tangle` command.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Vulkan workers are this program, started again.
    tangle_runner::worker::run_if_requested();
    cli::main()
}
