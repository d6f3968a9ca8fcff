//! The tests of the interpreter, as one program: linked once, and its threads never wait for the next program.

mod common;
mod faults_of_the_tree;
mod fragment;
mod generated;
mod hostile;
mod known;
mod mesh_stages;
mod printed;
mod semantics;
mod sharing;
mod tree;
mod vectors;
