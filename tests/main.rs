//! The tests of the command and of the whole, as one program: linked once, and its threads never wait for the next program.

mod bugs;
mod campaign;
mod cli;
mod common;
mod compilers;
mod coverage_of_cases;
mod crates;
mod exports;
mod farm;
mod format_1;
mod judge_devices;
mod minimize;
mod module_circles;
mod replay;
mod rule_book;
mod source_faults;
mod stages_on_drivers;
mod torture;
mod vectors_on_drivers;
