//! Other inputs for the same program: compiling is what costs on most drivers, another dispatch of what is compiled is almost free.
//!
//! What is undefined for some operands, how long loops run and how much is logged may hang on the data of a case, so other data are
//! tried, the boldest first, until the case is valid with them and its shader is still the same, to the letter.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tangle_analysis::validate::validate;
use tangle_emit::glsl::glsl;
use tangle_program::case::Case;

use crate::build::data::{self, Distance};
use crate::draw::Draw;

/// What is tried, in this order. The last cannot change any range of values.
const TRIES: [Distance; 3] = [Distance::Anything, Distance::Range, Distance::Order];

/// Bytes that data are drawn from.
const BYTES: usize = 512;

/// The case with other data of this number: valid, and with the same shader and the same pipeline. `None` if there are none that differ.
pub fn vary(case: &Case, number: u32) -> Option<Case> {
    let shader = glsl(case);
    let mut rng = ChaCha8Rng::seed_from_u64(case.origin.seed.unwrap_or(0) ^ u64::from(number).rotate_left(32));
    TRIES.into_iter().find_map(|farthest| {
        let mut bytes = [0; BYTES];
        rng.fill_bytes(&mut bytes);
        let mut other = case.clone();
        other.data = data::other(&mut Draw::new(&bytes), &case.data, farthest);
        other.origin.data = Some(number);
        other.origin.bytes = None;
        (other.data != case.data && validate(&other).is_ok() && glsl(&other) == shader).then_some(other)
    })
}
