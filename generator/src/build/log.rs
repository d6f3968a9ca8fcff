//! Observation points: a value is stored in a log, or mixed into one word that `main` stores at its end.
//!
//! A stored word costs some drivers more time than all else in a statement (docs/speed.md), and what a mixed one shows is no less.

use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::MAX_ENTRY_WORDS;
use tangle_program::tree::{Block, Builtin, Expr, SiteId, Stmt, VarId};
use tangle_program::types::{Kind, Scalar, Type};

use super::builder::{Builder, FINAL_STEPS, FINAL_WORDS};
use super::float::hashed;
use super::frame::{Cost, Frame, Role, Var};
use super::term::{bin, cast, uint};
use crate::class::Class;
use crate::config::Density;

/// What an observation point follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Operation,
    Assignment,
    Loop,
    /// The arm of a branch, an iteration, a call.
    Place,
}

impl Density {
    /// How many of 100 such moments are logged.
    pub(crate) fn percent(self, moment: Moment) -> u32 {
        match (self, moment) {
            (Density::Final, _) => 0,
            (Density::Dense, Moment::Loop) => 100,
            (Density::Dense, Moment::Operation) => 92,
            (Density::Dense, Moment::Assignment) => 30,
            (Density::Dense, Moment::Place) => 30,
            (Density::Medium, Moment::Loop) => 60,
            (Density::Medium, Moment::Operation) => 50,
            (Density::Medium, _) => 12,
            (Density::Sparse, Moment::Loop) => 25,
            (Density::Sparse, Moment::Operation) => 15,
            (Density::Sparse, _) => 3,
        }
    }
}

/// Of a hundred moments that are not logged, those that are traced.
const TRACED_MOMENTS: u32 = 60;
/// Of a hundred logs, those that are traced instead if they can be.
const TRACED_LOGS: u32 = 75;
/// Words that are traced at once at most.
const MOST_TRACED: usize = 12;

/// Words that a hash is made of at most.
const MOST_HASHED: usize = 150;
/// Words that are logged of a nested aggregate before the end.
const MOST_OF_NESTED: usize = 8;
/// Words of what may be open that `main` ends with.
const MOST_OPEN: u32 = 10;

impl Builder<'_> {
    /// Perhaps logs or traces variables.
    pub(crate) fn observe(&mut self, moment: Moment, vars: &[VarId], out: &mut Block) {
        let values: Vec<Expr> = vars.iter().map(|&var| Expr::Var(var)).collect();
        if self.draw.percent(self.density.percent(moment)) {
            self.log(values, out);
        } else if let Some((trace, words)) = self.traceable(&values)
            && self.draw.percent(TRACED_MOMENTS)
        {
            self.trace(trace, words, out);
        }
    }

    /// Logs values if the budget allows, or traces them.
    pub(crate) fn log(&mut self, values: Vec<Expr>, out: &mut Block) {
        match self.traceable(&values) {
            Some((trace, words)) if self.draw.percent(TRACED_LOGS) => self.trace(trace, words, out),
            _ => self.write_log(values, out),
        }
    }

    /// The variable that values are traced in, and their words, if they can be traced here: in `main`, and if the specifications allow one value only of
    /// each. No values have no words.
    fn traceable(&self, values: &[Expr]) -> Option<(VarId, Vec<Expr>)> {
        let trace = self.trace.filter(|_| self.frame.level == 0)?;
        let words = |value: &Expr| match value {
            Expr::Var(var) if self.frame.var(*var).class == Class::Clean => Some(self.as_words(*var)),
            _ => None,
        };
        let words: Vec<Expr> = values.iter().map(words).collect::<Option<Vec<_>>>()?.concat();
        let cost = Cost { words: 0, steps: words.len() as u32 + 1 };
        (words.len() <= MOST_TRACED && self.frame.affords(cost)).then_some((trace, words))
    }

    /// `trace = trace * 31u + …;` for each word; a number of its own where there is none, so that it shows who was here, and how often.
    fn trace(&mut self, trace: VarId, mut words: Vec<Expr>, out: &mut Block) {
        if words.is_empty() {
            words.push(uint(self.draw.range(1, 255)));
        }
        words.into_iter().for_each(|word| self.mix(trace, 31, word, out));
    }

    /// `hash = hash * factor + word;`
    pub(crate) fn mix(&mut self, hash: VarId, factor: u32, word: Expr, out: &mut Block) {
        let assign = self.assign(hash, mixed(Expr::Var(hash), factor, word));
        out.push(assign);
    }

    /// Logs values if the budget allows.
    fn write_log(&mut self, values: Vec<Expr>, out: &mut Block) {
        let mut values: Vec<Expr> = values.into_iter().flat_map(|value| self.logged(value)).collect();
        let mut words = 0;
        let fitting = values.iter().take_while(|value| {
            words += self.words(value);
            u64::from(words) <= MAX_ENTRY_WORDS
        });
        let rest = values.split_off(fitting.count());
        if !rest.is_empty() {
            self.write_log(values, out);
            return self.write_log(rest, out);
        }
        let cost = Cost { words: 1 + values.iter().map(|value| self.words(value)).sum::<u32>(), steps: 1 };
        if self.frame.affords(cost) {
            self.frame.charge(cost);
            let site = self.site();
            out.push(Stmt::Log { site, values });
        }
    }

    fn words(&self, value: &Expr) -> u32 {
        match value {
            Expr::Var(var) => words_of(self.frame.var(*var).ty),
            _ => 1,
        }
    }

    fn site(&mut self) -> SiteId {
        self.next_site += 1;
        self.next_site - 1
    }

    /// Logs which lanes are here, or who the lane is.
    pub(crate) fn witness(&mut self, out: &mut Block) {
        if self.draw.percent(30) {
            let values = self.identity();
            return self.log(values, out);
        }
        if !self.has(SubgroupOp::Ballot) {
            return self.log(Vec::new(), out);
        }
        let ballot = Expr::subgroup(SubgroupOp::Ballot, [Expr::Bool(true)]);
        if self.sure_size() <= 32 && self.draw.percent(70) {
            return self.log(vec![Expr::Component(Box::new(ballot), 0)], out);
        }
        let mask = self.result_variable(Type::MASK, self.frame.flow.class());
        let assign = self.assign(mask, ballot);
        out.push(assign);
        self.log(vec![Expr::Var(mask)], out);
    }

    /// Built-in variables: one of the masks, or some numbers.
    fn identity(&mut self) -> Vec<Expr> {
        use Builtin::{
            EqMask, GeMask, GtMask, Lane, LeMask, LocalIndex, LocalX, LocalY, LtMask, NumSubgroups, SubgroupId,
            SubgroupSize,
        };
        if self.has(SubgroupOp::Ballot) && self.draw.percent(70) {
            let mask = self.draw.pick(&[GtMask, GeMask, LtMask, LeMask, EqMask]);
            return (0..4).map(|c| Expr::Component(Box::new(Expr::Builtin(mask)), c)).collect();
        }
        if !self.has_workgroups() {
            return [Lane, SubgroupSize, LocalX, LocalY, LocalIndex].map(Expr::Builtin).into();
        }
        [Lane, SubgroupSize, SubgroupId, NumSubgroups, LocalIndex].map(Expr::Builtin).into()
    }

    /// What `main` ends with: a hash of its variables, and some of those that are open.
    pub(crate) fn final_log(&mut self, out: &mut Block) {
        let Frame { limit, spent, .. } = &mut self.frame;
        limit.words = limit.words.max(spent.words) + FINAL_WORDS;
        limit.steps = limit.steps.max(spent.steps) + FINAL_STEPS;
        let observed = |class: Class| {
            let vars = self.frame.vars.iter().enumerate();
            let is_seen = move |var: &Var| var.class == class && var.written > 0 && var.role != Role::Hidden;
            vars.filter(move |(_, var)| is_seen(var)).map(|(id, _)| id as VarId)
        };
        let clean: Vec<VarId> = observed(Class::Clean).collect();
        let rest: Vec<VarId> = observed(Class::Unpredictable).chain(observed(Class::MaybeUndefined)).collect();
        self.hash_log(&clean, out);
        if self.density == Density::Final {
            return;
        }
        // One of these may be open, and a hash with it.
        let mut words = 0;
        let few = rest.into_iter().take_while(|&var| {
            words += words_of(self.frame.var(var).ty);
            words <= MOST_OPEN
        });
        let few: Vec<VarId> = few.collect();
        for vars in few.chunks(6) {
            self.write_log(vars.iter().map(|&var| Expr::Var(var)).collect(), out);
        }
    }

    /// Logs one word that depends on all of the variables.
    fn hash_log(&mut self, vars: &[VarId], out: &mut Block) {
        let hash = self.frame.local("hash", Type::UINT, Class::Clean, Role::Private);
        let words: Vec<Expr> = vars.iter().flat_map(|&var| self.as_words(var)).take(MOST_HASHED).collect();
        words.into_iter().for_each(|word| self.mix(hash, 31, word, out));
        self.write_log(vec![Expr::Var(hash)], out);
    }

    pub(crate) fn as_words(&self, var: VarId) -> Vec<Expr> {
        let words = |(part, scalar): (Expr, Scalar)| {
            let word = |expr: Expr| if scalar == Scalar::Uint { expr } else { cast(Scalar::Uint, expr) };
            match scalar.words() {
                _ if scalar.is_float() => vec![hashed(part, scalar)],
                1 => vec![word(part)],
                _ => vec![word(part.clone()), word(bin(BinaryOp::Shr, part, uint(32)))],
            }
        };
        scalars(Expr::Var(var), self.frame.var(var).ty).into_iter().flat_map(words).collect()
    }

    /// What is logged of a value: all of it, or the words of a nested aggregate. A float that may be undefined has no words.
    fn logged(&self, value: Expr) -> Vec<Expr> {
        match value {
            Expr::Var(var) if self.frame.var(var).ty.is_nested() => {
                let Var { ty, class, .. } = self.frame.var(var);
                let is_hidden = class == Class::MaybeUndefined && ty.scalars().any(Scalar::is_float);
                let words = if is_hidden { Vec::new() } else { self.as_words(var) };
                words.into_iter().take(MOST_OF_NESTED).collect()
            }
            value => vec![value],
        }
    }
}

/// `hash * factor + word`
pub(crate) fn mixed(hash: Expr, factor: u32, word: Expr) -> Expr {
    bin(BinaryOp::Add, bin(BinaryOp::Mul, hash, uint(factor)), word)
}

/// The scalars of a value of a type.
fn scalars(value: Expr, ty: Type) -> Vec<(Expr, Scalar)> {
    match ty.kind() {
        Kind::Single if ty.is_scalar() => vec![(value, ty.scalar)],
        Kind::Single => (0..ty.width).map(|c| (Expr::Component(Box::new(value.clone()), c), ty.scalar)).collect(),
        Kind::Array | Kind::Matrix | Kind::Struct => {
            let part = |(k, part): (u32, Type)| scalars(Expr::element(value.clone(), uint(k)), part);
            (0..).zip(ty.parts()).flat_map(part).collect()
        }
    }
}

/// Words that a logged variable takes.
fn words_of(ty: Type) -> u32 {
    ty.words() as u32
}
