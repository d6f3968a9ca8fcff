//! The weights behind every choice, and the swarm: how one case gets its own.
//!
//! A profile gives the base weights. Each case then switches off a random part of the constructs and operations and boosts a few
//! others ("swarm testing"): a program made of five things reaches combinations that a program made of sixty never does.

use tangle_program::subgroup::TABLE;
use tangle_program::types::Scalar;

use crate::draw::Draw;

/// Declares a fieldless enum with its list of variants, so that weights can be arrays indexed by it.
macro_rules! choices {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $weight:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            pub(crate) const ALL: &'static [$name] = &[$($name::$variant,)*];
            pub(crate) const COUNT: usize = $name::ALL.len();
            pub(crate) const BASE: [u32; $name::COUNT] = [$($weight,)*];
        }
    };
}

choices! {
    /// Kinds of statements. The first is what an exhausted source gives.
    Statement {
        /// An assignment of a lane's own data.
        Assign = 12,
        /// A subgroup operation, its result kept and perhaps logged.
        Operation = 24,
        If = 15,
        Switch = 6,
        Loop = 11,
        Call = 7,
        /// One of the [`Template`]s.
        Template = 20,
        /// A subgroup barrier.
        Barrier = 2,
        /// A log of the tangle itself.
        Witness = 4,
        /// A break, continue or return in one of its shapes.
        Exit = 8,
        /// A write and a read of elements of an array, matrix, struct or vector.
        Element = 7,
        /// Something that the compiler may assume.
        Assume = 3,
        /// Numbers or operations of several types in a row.
        Series = 4,
        /// In a loop, variables that exchange what they hold.
        Rotation = 9,
        /// A variable for operands that have to be uniform.
        Uniform = 5,
    }
}

choices! {
    /// The loop forms.
    LoopForm {
        For = 10,
        While = 7,
        DoWhile = 7,
        Forever = 7,
        /// Without a counter: only templates know that all lanes leave.
        Endless = 0,
    }
}

choices! {
    /// Shapes that real bugs had in drivers and compilers, each varied in its parts.
    Template {
        /// `for (;;) { first = subgroupBroadcastFirst(key); if (key == first) { …; break; } }`
        Waterfall = 9,
        /// `for (;;) { if (subgroupElect()) { …; break; } … }`
        ElectLoop = 7,
        /// `while (subgroupAny(todo)) { … }`
        WhileAny = 6,
        /// Lanes counted into dense places by a ballot.
        Compaction = 6,
        /// A uniform fast path beside a divergent slow one.
        VoteFastPath = 6,
        /// The same operation in both arms.
        SiblingArms = 8,
        /// The same operation in a loop and after it.
        InAndAfterLoop = 9,
        /// The same operation several times in sequence.
        Repeated = 4,
        /// Operations with lane 0 or the last lane inactive.
        EdgeLanes = 8,
        /// A lane-dependent number of iterations, the value used after the loop.
        CarriedLoop = 10,
        /// An inner loop that makes the outer one stop.
        NestedExit = 7,
        /// A prefix sum of shuffles.
        ShuffleScan = 4,
        /// A reduction of xor shuffles.
        Butterfly = 4,
        /// Values exchanged in quads.
        QuadExchange = 4,
        /// The extreme of each cluster, which its first lane takes.
        MaxPooling = 3,
        /// One lane after another, lowest first.
        LaneByLane = 6,
        /// Ballot, operation, ballot: what the observed-tangle checks want.
        Sandwich = 3,
        /// A value that a loop sets only for the lanes that leave by one of its exits.
        ExitValue = 7,
        /// Short-circuit operators with operations on their right.
        ShortCircuit = 8,
        /// Where a key is known, operations whose operand has to be uniform.
        Keyed = 5,
        /// Values exchanged through memory between lanes that a subgroup barrier orders.
        SubgroupExchange = 5,
        /// A resource chosen by an index that is the same where it is used, and is something else in the other lanes.
        Descriptor = 4,
        /// More live values than registers, through a loop that lanes leave one by one.
        Pressure = 3,
        /// `for (;;)` without a counter, which all lanes leave by what they have of their own.
        Endless = 4,
        /// A loop of one trip in which comparisons choose a vector and an index its elements.
        ChosenIndex = 3,
    }
}

choices! {
    /// Expressions over numbers.
    Arithmetic {
        Leaf = 40,
        Sum = 20,
        Bits = 14,
        Product = 6,
        Shift = 9,
        Quotient = 6,
        Intrinsic = 10,
        /// One of the shapes of [`crate::build::idiom`].
        Idiom = 12,
        /// Of few leaves ([`crate::build::algebra`]).
        Algebra = 9,
        Select = 5,
        Cast = 6,
        /// A component of a vector.
        Component = 3,
        /// A subgroup operation inside the expression.
        Operation = 6,
    }
}

choices! {
    /// Conditions.
    Condition {
        Bits = 26,
        Compare = 14,
        Lane = 10,
        Iteration = 12,
        Variable = 6,
        Uniform = 6,
        Vote = 12,
        Join = 9,
        Not = 3,
    }
}

/// A percentage of vectors that a profile means.
const MANY_VECTORS: u32 = 20;

/// The weights of one case.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    pub(crate) statements: [u32; Statement::COUNT],
    pub(crate) loops: [u32; LoopForm::COUNT],
    pub(crate) templates: [u32; Template::COUNT],
    pub(crate) arithmetic: [u32; Arithmetic::COUNT],
    pub(crate) conditions: [u32; Condition::COUNT],
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
    pub(crate) const BASE: Weights = Weights {
        statements: Statement::BASE,
        loops: LoopForm::BASE,
        templates: Template::BASE,
        arithmetic: Arithmetic::BASE,
        conditions: Condition::BASE,
        ops: op_weights(),
        scalars: [3, 5, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        shared: 12,
        vectors: 4,
        attributes: 10,
        aggregates: 10,
        hints: 6,
        resources: 4,
        precise: 0,
    };

    pub(crate) fn scale(&mut self, statement: Statement, percent: u32) {
        let weight = &mut self.statements[statement as usize];
        *weight = *weight * percent / 100;
    }

    pub(crate) fn scale_template(&mut self, template: Template, percent: u32) {
        let weight = &mut self.templates[template as usize];
        *weight = *weight * percent / 100;
    }

    /// Switches some choices off and boosts others.
    pub(crate) fn swarm(&mut self, draw: &mut Draw<'_>) {
        // The first of each list is the fallback and stays.
        perturb(draw, &mut self.statements[2..], 12);
        perturb(draw, &mut self.loops, 25);
        perturb(draw, &mut self.templates, 30);
        perturb(draw, &mut self.arithmetic[1..], 20);
        perturb(draw, &mut self.conditions[1..], 20);
        perturb(draw, &mut self.ops, 30);
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
    /// Half of the cases use more types: integers of all other sizes or of one, floats of all sizes or of 32 bits, or everything.
    fn extend(&mut self, draw: &mut Draw<'_>) {
        let kind = draw.below(16);
        let size = draw.pick(&[8, 16, 64]);
        for scalar in &Scalar::ALL[3..] {
            self.scalars[*scalar as usize] = match (kind, scalar.is_float()) {
                (8 | 9, false) | (15, _) => 3,
                (10 | 11, false) if scalar.size() == size => 8,
                (12, true) => 7,
                (13 | 14, true) if *scalar == Scalar::Float => 14,
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
        if TABLE[row].op.fold().is_some() {
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
