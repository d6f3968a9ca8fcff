//! Optimisations that are off.

use std::fmt;

use tangle_program::variant::{Compiled, PASSES, Variant};

/// An optimisation that can be turned off without a change of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Optimisation {
    /// A pass of `spirv-opt`, of [`PASSES`].
    Pass(&'static str),
    /// All of `spirv-opt`: the front end's module goes to the driver.
    Optimiser,
    /// What `VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT` turns off.
    Driver,
}

impl Optimisation {
    /// Every optimisation, single passes first.
    pub fn all() -> impl Iterator<Item = Optimisation> {
        PASSES.into_iter().map(Optimisation::Pass).chain([Optimisation::Optimiser, Optimisation::Driver])
    }

    /// The variant without it; `None` if it has none.
    pub fn off(self, variant: &Variant) -> Option<Variant> {
        if let Variant::Compiled(Compiled { by, then }) = variant {
            return Some(Variant::Compiled(Compiled { by: by.clone(), then: Box::new(self.off(then)?) }));
        }
        match (self, variant) {
            (Optimisation::Driver, Variant::Unoptimised) => Some(Variant::DriverUnoptimised),
            (Optimisation::Optimiser, variant) if variant.is_optimised() => Some(Variant::Unoptimised),
            (Optimisation::Pass(off), variant) if variant.is_optimised() => {
                let listed = variant.listed().unwrap_or_else(|| variant.clone());
                let Variant::Passes(passes) = &listed else { return None };
                let fewer: Vec<&str> = passes.iter().copied().filter(|pass| *pass != off).collect();
                // A list without passes still takes the module apart and puts it together.
                let less = (!fewer.is_empty()).then(|| Variant::of_passes(fewer))?;
                (less != listed).then_some(less)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Optimisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Optimisation::Pass(pass) => write!(f, "{pass} of spirv-opt"),
            Optimisation::Optimiser => f.write_str("spirv-opt"),
            Optimisation::Driver => f.write_str("optimisation by the driver"),
        }
    }
}
