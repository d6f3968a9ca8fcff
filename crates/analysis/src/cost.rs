//! How much a program can do and log at most.

use crate::bounds::{MAX_LOOP_ITERATIONS, Scope};
use crate::idiom::only_sums;
use tangle_program::case::Case;
use tangle_program::tree::{Block, Expr, Function, Loop, LoopKind, MAX_ENTRY_WORDS, Stmt};

/// The most words that an invocation may log.
pub const MAX_LOG_WORDS: u64 = 4096;
/// The fewest words of a log slice.
const MIN_LOG_CAPACITY: u64 = 16;
/// The most statements that an invocation may execute.
pub const MAX_STEPS: u64 = 20_000;

/// The most iterations, in all, of loops that run more often than [`MAX_LOOP_ITERATIONS`] and only sum something up ([`only_sums`]).
pub const MAX_LONG_ITERATIONS: u64 = 70_000;

/// What running something can cost one invocation, at most: a word of the log for each entry and for each word of its values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Words logged, those that name the site included.
    pub log_words: u64,
    /// Statements executed; a test of a loop counts as one.
    pub steps: u64,
    /// Iterations of loops that only sum something up and run more often than others may. None of their statements are counted.
    pub long_iterations: u64,
}

impl Cost {
    const STEP: Cost = Cost { log_words: 0, steps: 1, long_iterations: 0 };

    fn then(self, other: Cost) -> Cost {
        Cost {
            log_words: self.log_words.saturating_add(other.log_words),
            steps: self.steps.saturating_add(other.steps),
            long_iterations: self.long_iterations.saturating_add(other.long_iterations),
        }
    }

    fn or(self, other: Cost) -> Cost {
        Cost {
            log_words: self.log_words.max(other.log_words),
            steps: self.steps.max(other.steps),
            long_iterations: self.long_iterations.max(other.long_iterations),
        }
    }

    fn times(self, n: u64) -> Cost {
        Cost {
            log_words: self.log_words.saturating_mul(n),
            steps: self.steps.saturating_mul(n),
            long_iterations: self.long_iterations.saturating_mul(n),
        }
    }
}

/// The cost of running the program once.
pub fn cost(case: &Case) -> Cost {
    let mut functions = Vec::with_capacity(case.program.functions.len());
    for function in &case.program.functions {
        let scope = Scope::new(case, function);
        functions.push(Costs { scope: &scope, callees: &functions }.block(&function.body));
    }
    functions.pop().unwrap_or_default()
}

/// Words of the log that an invocation may fill: a power of two, enough for every valid case.
pub fn log_capacity(case: &Case) -> u32 {
    cost(case).log_words.clamp(MIN_LOG_CAPACITY, MAX_LOG_WORDS).next_power_of_two() as u32
}

/// Words from one invocation's slice of the log to the next. A device that logs more than it should begins entries anew at the
/// start of the slice; the last one before that still fits.
pub fn log_stride(case: &Case) -> u32 {
    log_capacity(case) + MAX_ENTRY_WORDS as u32
}

/// The costs of the statements of one function, whose callees' costs are known.
struct Costs<'a> {
    scope: &'a Scope<'a>,
    callees: &'a [Cost],
}

impl Costs<'_> {
    fn block(&self, block: &Block) -> Cost {
        block.iter().fold(Cost::default(), |cost, stmt| cost.then(self.stmt(stmt)))
    }

    fn stmt(&self, stmt: &Stmt) -> Cost {
        let nested = match stmt {
            Stmt::Log { values, .. } => {
                let words = values.iter().map(|value| value_words(value, self.scope.function())).sum();
                Cost { log_words: 1u64.saturating_add(words), ..Cost::default() }
            }
            Stmt::If { then, otherwise, .. } => self.block(then).or(self.block(otherwise)),
            Stmt::Switch { arms, .. } => {
                let mut most = Cost::default();
                let mut from_here = Cost::default();
                for arm in arms.iter().rev() {
                    let falls_through = !arm.body.last().is_some_and(Stmt::is_jump);
                    let after = if falls_through { from_here } else { Cost::default() };
                    from_here = self.block(&arm.body).then(after);
                    most = most.or(from_here);
                }
                most
            }
            Stmt::Loop(l) => self.repeated(l),
            Stmt::Call { function, .. } => self.callees.get(*function as usize).copied().unwrap_or_default(),
            // What is nested in any other runs once at most.
            _ => stmt.nested_blocks().fold(Cost::default(), |cost, block| cost.then(self.block(block))),
        };
        Cost::STEP.then(nested)
    }

    fn repeated(&self, l: &Loop) -> Cost {
        let iterations = self.scope.iterations(l);
        if iterations > MAX_LOOP_ITERATIONS && only_sums(l, self.scope.function()) {
            return Cost { long_iterations: iterations, ..Cost::STEP };
        }
        let test = Cost::STEP.then(l.test.as_ref().map_or(Cost::default(), |test| self.block(&test.before)));
        let tests = match l.kind {
            LoopKind::DoWhile => iterations,
            LoopKind::For { .. } | LoopKind::While | LoopKind::Forever | LoopKind::Endless => {
                iterations.saturating_add(1)
            }
        };
        let update = match &l.kind {
            LoopKind::For { update, .. } => self.block(update),
            LoopKind::While | LoopKind::DoWhile | LoopKind::Forever | LoopKind::Endless => Cost::default(),
        };
        test.times(tests).then(self.block(&l.body).then(update).times(iterations))
    }
}

/// Words that a logged value takes: one or two for each component.
pub fn value_words(value: &Expr, function: &Function) -> u64 {
    match value {
        Expr::Var(var) => function.var_type(*var).map_or(1, |ty| ty.words()),
        // Only variables may take more.
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_program::case::{Data, EntryPoint, SpirvVersion};
    use tangle_program::tree::{Arm, Local, Test};
    use tangle_program::types::Type;

    const U: Expr = Expr::Var(0);
    const V: Expr = Expr::Var(1);

    #[test]
    fn cost_of_statements() {
        let entry = |words: usize| Stmt::Log { site: 1, values: vec![U; words] };
        let arm = |body| Arm { labels: vec![], body };
        let repeat = |kind, test| Loop {
            kind,
            counter: 2,
            bound: Expr::Uint(4),
            test,
            body: vec![entry(1)],
            control: Default::default(),
        };
        let before = || Some(Test { before: vec![entry(0)], cond: Expr::Bool(true) });
        let (entry_point, data) = (EntryPoint::compute([8, 4, 1], [3, 2, 1], SpirvVersion::V1_3), Data::default());
        let locals = [("u", Type::UINT), ("v", Type::MASK), ("i", Type::UINT)].map(|(name, ty)| Local::new(name, ty));
        let function = Function { name: "f".into(), params: vec![], result: None, locals: locals.into(), body: vec![] };
        let scope = Scope::unfinished(&function, &entry_point, &data);
        let costs = Costs { scope: &scope, callees: &[Cost { log_words: 7, steps: 70, long_iterations: 0 }] };
        for (stmt, log_words, steps) in [
            (entry(3), 4, 1),
            (Stmt::Log { site: 1, values: vec![V] }, 5, 1),
            (
                Stmt::If {
                    cond: Expr::Bool(true),
                    then: vec![entry(3)],
                    otherwise: vec![entry(0), entry(0)],
                    control: Default::default(),
                },
                4,
                3,
            ),
            // The first arm falls through into the second, which breaks.
            (
                Stmt::Switch {
                    selector: U,
                    arms: vec![arm(vec![entry(0)]), arm(vec![entry(1), Stmt::Break]), arm(vec![entry(1)])],
                    control: Default::default(),
                },
                3,
                4,
            ),
            (Stmt::Call { function: 0, args: vec![], dest: None }, 7, 71),
            // A call to what is not before: nothing is known, and nothing must recurse.
            (Stmt::Call { function: 1, args: vec![], dest: None }, 0, 1),
            (Stmt::Loop(Box::new(repeat(LoopKind::While, None))), 8, 1 + 4 + 5),
            (Stmt::Loop(Box::new(repeat(LoopKind::While, before()))), 8 + 5, 1 + 4 + 2 * 5),
            (Stmt::Loop(Box::new(repeat(LoopKind::DoWhile, before()))), 8 + 4, 1 + 4 + 2 * 4),
            (
                Stmt::Loop(Box::new(repeat(
                    LoopKind::For { init: Expr::Uint(2), step: 1, update: vec![entry(0)] },
                    None,
                ))),
                2 * 3,
                1 + 2 * 2 + 3,
            ),
        ] {
            assert_eq!(costs.stmt(&stmt), Cost { log_words, steps, long_iterations: 0 }, "{stmt:?}");
        }
    }
}
