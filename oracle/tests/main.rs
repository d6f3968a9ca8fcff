//! The tests of the oracle, as one program: linked once, and its threads never wait for the next program.

mod arb;
mod common;
mod counts;
mod coverage;
mod explorer;
mod faults;
mod fragments;
mod generated;
mod items;
mod lane_map;
mod long_loops;
mod memory;
mod planted;
mod relations;
mod rules;
mod vectors;
mod verdicts;
mod workgroups;
