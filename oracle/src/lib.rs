//! oracle
pub mod coverage;
pub mod faults;
pub mod judge;
mod lower;
mod machine;
pub mod map;
pub mod mask;
pub mod observed;
pub mod predict;
pub mod reference;
pub mod rules;
mod value;
