//! Variant: less done to the module on its way to the driver.

use tangle_program::case::Case;
use tangle_program::variant::{Printing, Variant};

use super::candidates::{Candidates, chunks, each};

/// What every case is without a choice, the front end's module as it is; then `-O` and `-Os` as a list of passes; then fewer passes of the optimiser, or fewer freedoms of the printer.
pub fn candidates(case: &Case) -> Candidates<'_> {
    let mut variants = vec![Variant::Unoptimised, Variant::Module];
    variants.extend(case.variant.listed());
    if let Variant::Passes(passes) = &case.variant {
        for (start, length) in chunks(passes.len()) {
            let mut fewer = passes.clone();
            fewer.drain(start..start + length);
            let is_empty = fewer.is_empty();
            let fewer = Variant::Passes(fewer);
            // A list without passes still takes the module apart and puts it together.
            if !is_empty && fewer.unpromised().is_none() {
                variants.push(fewer);
            }
        }
    }
    if let Variant::Printed(Printing { seed, freedoms }) = &case.variant {
        for (start, length) in chunks(freedoms.len()) {
            let mut fewer = freedoms.clone();
            fewer.drain(start..start + length);
            variants.push(Variant::Printed(Printing::new(*seed, fewer)));
        }
    }
    each(case, variants, |case, variant| case.variant = variant)
}
