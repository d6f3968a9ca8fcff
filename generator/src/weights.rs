//! The weights behind every choice, and the swarm: how one case gets its own.
//!
//! A profile gives the base weights. Each case then switches off a random part of the constructs and operations and boosts a few
//! others ("swarm testing"): a program made of five things reaches combinations that a program made of sixty never does.

use tangle_program::subgroup::{Category, TABLE};
use tangle_program::types::Scalar;

use crate::draw::Draw;
use crate::profile::Profile;

/// How often a row of a table is chosen, before the swarm: a base, and so many percent of it in some profiles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weight {
    base: u32,
    profiles: &'static [(Profile, u32)],
}

impl Weight {
    /// The same in every profile.
    pub(crate) const fn of(base: u32) -> Weight {
        Weight { base, profiles: &[] }
    }

    /// Another percentage of the base in some profiles.
    pub(crate) const fn with(base: u32, profiles: &'static [(Profile, u32)]) -> Weight {
        Weight { base, profiles }
    }

    /// The weight in a profile.
    pub(crate) fn in_profile(self, profile: Profile) -> u32 {
        let percent = self.profiles.iter().find(|(other, _)| *other == profile).map_or(100, |(_, percent)| *percent);
        self.base * percent / 100
    }
}

/// The loop forms that are chosen from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopForm {
    For,
    While,
    DoWhile,
    Forever,
    /// Without a counter: only templates know that all lanes leave.
    Endless,
}

impl LoopForm {
    /// Every form with its weight.
    pub(crate) const ALL: [(LoopForm, u32); 5] = [
        (LoopForm::For, 10),
        (LoopForm::While, 7),
        (LoopForm::DoWhile, 7),
        (LoopForm::Forever, 7),
        (LoopForm::Endless, 0),
    ];
}

/// The weights of the rows of each table.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) statements: Vec<u32>,
    pub(crate) templates: Vec<u32>,
    pub(crate) arithmetic: Vec<u32>,
    pub(crate) conditions: Vec<u32>,
}

/// A percentage of vectors that a profile means.
const MANY_VECTORS: u32 = 20;

/// The weights of one case.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    pub(crate) rows: Rows,
    /// By form of [`LoopForm::ALL`].
    pub(crate) loops: [u32; LoopForm::ALL.len()],
    /// By row of [`TABLE`].
    pub(crate) ops: [u32; TABLE.len()],
    /// By [`Scalar`], as the type of new variables and operands. Bool, int and uint come first.
    pub(crate) scalars: [u32; Scalar::ALL.len()],
    /// Percentage of `main`'s statements that exchange values through shared memory.
    pub(crate) shared: u32,
    /// Percentage of operations and variables of vector type.
    pub(crate) vectors: u32,
    /// Percentage of branches, switches and loops with an attribute.
    pub(crate) attributes: u32,
    /// Percentage of parameters, results and components that are aggregates or elements of one.
    pub(crate) aggregates: u32,
    /// Percentage of conditions and numbers for which the compiler gets an expected value; without it nothing is assumed, either.
    pub(crate) hints: u32,
    /// Percentage of numbers that are words of resources.
    pub(crate) resources: u32,
    /// Every so many-th local of a floating-point type is `precise`; 0: none.
    pub(crate) precise: usize,
}

impl Weights {
    /// Those of a profile.
    pub(crate) fn new(profile: Profile, rows: Rows) -> Weights {
        let mut weights = Weights {
            rows,
            loops: LoopForm::ALL.map(|(_, weight)| weight),
            ops: op_weights(),
            scalars: Scalar::ALL.map(|scalar| match scalar {
                Scalar::Bool => 3,
                Scalar::Int => 5,
                Scalar::Uint => 9,
                // If the case has such types at all ([`Weights::extend`]).
                _ => 0,
            }),
            shared: 12,
            vectors: 4,
            attributes: 10,
            aggregates: 10,
            hints: 6,
            resources: 4,
            precise: 0,
        };
        match profile {
            Profile::Loops => weights.loops = weights.loops.map(|weight| if weight > 0 { 10 } else { 0 }),
            Profile::Ops => weights.vectors *= 2,
            Profile::Idioms => weights.shared = 24,
            Profile::Vectors => weights.vectors = 25,
            Profile::Default | Profile::Small | Profile::Large | Profile::Switch | Profile::Calls | Profile::Shapes => {
            }
        }
        weights
    }

    /// Switches some choices off and boosts others.
    pub(crate) fn swarm(&mut self, draw: &mut Draw<'_>) {
        // What tables begin with is the fallback and stays.
        perturb(draw, &mut self.rows.statements[2..], 12);
        perturb(draw, &mut self.loops, 25);
        perturb(draw, &mut self.rows.templates, 30);
        perturb(draw, &mut self.rows.arithmetic[1..], 20);
        perturb(draw, &mut self.rows.conditions[1..], 20);
        self.perturb_operations(draw);
        perturb(draw, &mut self.scalars[..2], 15);
        self.extend(draw);
        self.shared = match draw.below(10) {
            0..=5 => 0,
            6..=8 => self.shared * 2,
            _ => self.shared * 4,
        };
        self.vectors = match draw.below(8) {
            0..=3 if self.vectors < MANY_VECTORS => 0,
            7 => (self.vectors * 5).min(60),
            _ => (self.vectors * 2).min(40),
        };
        self.attributes *= draw.pick(&[0, 0, 2, 5]);
        self.aggregates *= draw.pick(&[0, 0, 2, 4]);
        self.hints *= draw.pick(&[0, 0, 0, 3]);
        self.precise = draw.pick(&[0, 0, 1, 2]);
        self.resources *= draw.pick(&[0, 0, 1, 3]);
    }
}

impl Weights {
    /// The swarm of the operations that may stand anywhere.
    fn perturb_operations(&mut self, draw: &mut Draw<'_>) {
        let rows = || (0..TABLE.len()).filter(|&row| TABLE[row].category != Category::Derivative);
        let mut chosen: Vec<u32> = rows().map(|row| self.ops[row]).collect();
        perturb(draw, &mut chosen, 30);
        rows().zip(chosen).for_each(|(row, weight)| self.ops[row] = weight);
    }

    /// More than half of the cases use more types: integers of all other sizes or of one, floats of all sizes or of 32 bits, or everything.
    fn extend(&mut self, draw: &mut Draw<'_>) {
        let kind = draw.below(16);
        let size = draw.pick(&[8, 16, 64]);
        for scalar in &Scalar::ALL[3..] {
            self.scalars[*scalar as usize] = match (kind, scalar.is_float()) {
                (8 | 9, false) => 3,
                (6 | 7 | 14 | 15, _) => 4,
                (10 | 11, false) if scalar.size() == size => 8,
                (12, true) => 7,
                (13, true) if *scalar == Scalar::Float => 14,
                _ => 0,
            };
        }
    }
}

/// Most operations are folds; the others together get somewhat more.
const fn op_weights() -> [u32; TABLE.len()] {
    let mut weights = [6; TABLE.len()];
    let mut row = 0;
    while row < weights.len() {
        // Those on partitions need one, and not every place has it.
        if TABLE[row].op.fold().is_some() && !matches!(TABLE[row].category, Category::Partitioned) {
            weights[row] = 4;
        }
        row += 1;
    }
    weights
}

/// Zeroes about `off` percent of the weights and quadruples about an eighth; keeps some if nothing would be left.
fn perturb(draw: &mut Draw<'_>, weights: &mut [u32], off: u32) {
    const BOOSTED: u32 = 32;
    let kept = 256 - off * 256 / 100;
    let old: Vec<u32> = weights.to_vec();
    for weight in weights.iter_mut() {
        let fate = u32::from(draw.byte());
        *weight *= match fate {
            _ if fate >= kept => 0,
            _ if fate >= kept - BOOSTED => 4,
            _ => 1,
        };
    }
    if weights.iter().all(|&weight| weight == 0) {
        weights.iter_mut().zip(old).for_each(|(weight, old)| *weight = if old > 0 { 4 } else { 0 });
    }
}
