//! Random test cases, from seeds and from fuzz bytes.
//!
//! The promise, in the manner of wasm-smith:
//!
//! - **Always valid.** Whatever the bytes, [`tangle_analysis::validate`] accepts the case: it is typed, it ends, it stays within its
//!   log and step budgets, and nothing undefined but a value is ever reached.
//! - **The whole language.** Every statement form, operator and subgroup operation of every type its row allows.
//! - **Deterministic.** The same bytes (or seed) and [`Config`] give the same case.
//! - **Small input changes give small output changes.** Every top-level statement of `main` draws from a window of bytes of its own,
//!   and a byte picks by magnitude.
//! - **Predictable where it counts.** What steers control flow has one legal value in every execution the convergence tier allows,
//!   so that the oracle can check what follows (module `class`).
//!
//! ```text
//!   seed ──ChaCha8──► bytes ──► header window ──► profile weights ─► swarm (weights of this case)
//!                       │                  └────► launch, data
//!                       │
//!                       └─────► one window per top-level statement
//!                                     │
//!                   build::statement ─┴─► control (if, switch, loop, exits)   ◄──► build::expression
//!                                     ├─► template (waterfall, elect loop, …)      build::condition
//!                                     ├─► function (made where it is called)       build::operation
//!                                     └─► log sites                 ▲
//!                                                                   └── class: Flow, Class
//! ```
//!
//! [`vary`] makes other inputs for a program that is there. [`Stats`] counts what cases contain; a [`Combination`] of that is what a campaign can avoid.

pub mod config;
pub mod feature;
mod outline;
pub mod pairs;
pub mod profile;
pub mod stats;
pub mod vary;

mod build;
mod class;
mod draw;
mod size;
mod weights;

use arbitrary::Unstructured;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tangle_program::case::Case;

pub use config::{Config, Density, Size};
pub use feature::{Combination, Contents, Feature};
pub use profile::Profile;
pub use stats::Stats;
pub use vary::vary;

/// Makes a case from fuzz bytes; takes all of them. Never fails: when the bytes run out the case ends.
///
/// The first few hundred bytes decide the weights, the launch and the data; then every statement of `main` has a KiB, of which most
/// leave the greater part unused. A fuzzer should try inputs of some KiB.
pub fn generate(u: &mut Unstructured<'_>, config: &Config) -> arbitrary::Result<Case> {
    let bytes = u.bytes(u.len())?;
    Ok(build::case(bytes, config))
}

/// Makes the case of a seed: [`generate`] on as many pseudo-random bytes as it can use.
pub fn from_seed(seed: u64, config: &Config) -> Case {
    let size = config.size.unwrap_or(config.profile.size());
    let mut bytes = vec![0; build::useful_bytes(&size)];
    ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
    let mut case = build::case(&bytes, config);
    case.origin.seed = Some(seed);
    case
}
