//! A worker by itself: for drivers of another architecture, and for this crate's tests.

fn main() -> std::process::ExitCode {
    tangle_runner::worker::worker_main()
}
