//! What may flow where: the one place that knows which results the oracle can predict.
//!
//! # Values
//!
//! Every variable has one [`Class`] for its whole life, and an assignment never lowers the class of what is assigned:
//!
//! ```text
//!   Clean          ⊂  Unpredictable     ⊂  MaybeUndefined
//!   one legal         defined, but the     may be the result of an operation
//!   value             specs allow several  that the specs leave undefined
//! ```
//!
//! | use | needs |
//! |---|---|
//! | condition, selector, loop bound, left operand of `&&`, `\|\|` and `?:` | `Clean` |
//! | divisor, shift amount, offset, shuffle index | `Unpredictable` or below |
//! | plain operand, log, argument | any class, and the result has it |
//!
//! So control flow is the same in every execution the specs allow (rules D1 and D2; docs/rules.md, section O), and nothing undefined but
//! a value is ever reached.
//!
//! # Points
//!
//! The class of a *new* result depends on where it is computed. An operation that depends on its tangle gives `Clean` at an
//! *exact* point, else `Unpredictable` ([`Flow::class`]).
//!
//! - `maximal`: every point is exact except in *ambiguous* segments of a switch: those that more than one selector value may
//!   reach, and those into which another segment may fall (docs/rules.md, section X).
//! - `plain`, `subgroup_uniform`: a point is exact if control flow there is *uniform* (the flag u of docs/rules.md, section E), or if
//!   it is *path-class exact*: executed at most once by a lane, by lanes that all took the same path since the last
//!   uniform point.
//!
//! [`Flow`] carries that knowledge along while statements are generated. It is conservative: where it says "exact" the point is
//! exact in every execution; the oracle may find more points exact than it promises.

use tangle_program::case::Tier;

/// How much is known about a value; see the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// The specifications allow one value only.
    Clean,
    /// Defined, but it depends on a tangle that the specifications leave open.
    Unpredictable,
    /// Undefined in some lane, possibly.
    MaybeUndefined,
}

/// Whether a branch can part the lanes of the tier's group (the workgroup in `plain`, else the subgroup).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// All lanes of the group that are together decide alike.
    Uniform,
    /// Lanes of the group may decide differently, and part.
    Divergent,
}

impl Decision {
    pub(crate) fn and(self, other: Decision) -> Decision {
        if self == Decision::Uniform { other } else { Decision::Divergent }
    }
}

/// How lanes leave a construct or a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// All by its merge, or by its one return.
    Together,
    /// Perhaps some by a jump to somewhere else, or by different returns.
    Apart,
}

impl Leaving {
    pub(crate) fn and(self, other: Leaving) -> Leaving {
        if self == Leaving::Together { other } else { Leaving::Apart }
    }
}

/// What is known about the lanes at a point of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    tier: Tier,
    /// Control flow is uniform here.
    uniform: bool,
    /// All lanes that come here took the same path since control flow was last uniform.
    single_path: bool,
    /// A lane comes here at most once.
    once: bool,
    /// Inside an ambiguous switch segment.
    ambiguous: bool,
    /// Inside a segment of a switch.
    in_switch: bool,
}

impl Flow {
    /// The start of `main`.
    pub(crate) fn entry(tier: Tier) -> Flow {
        Flow { tier, uniform: true, single_path: true, once: true, ambiguous: false, in_switch: false }
    }

    /// True if the oracle knows the tangle of an operation here.
    pub(crate) fn is_exact(self) -> bool {
        match self.tier {
            Tier::Maximal => !self.ambiguous,
            Tier::Plain | Tier::SubgroupUniform => self.uniform || (self.single_path && self.once),
        }
    }

    /// The class of a tangle-dependent result computed here.
    pub(crate) fn class(self) -> Class {
        if self.is_exact() { Class::Clean } else { Class::Unpredictable }
    }

    /// True if all lanes of the group are here together. In `maximal` nothing depends on it.
    pub(crate) fn is_uniform(self) -> bool {
        self.uniform
    }

    /// True if operands that must be uniform may themselves be results of subgroup operations of the same expression. In the
    /// weaker tiers a tangle may grow between two operations (rules P6 and R8; [`tangle_analysis::uniform`]).
    pub(crate) fn tangle_is_stable(self) -> bool {
        self.tier == Tier::Maximal && !self.in_switch
    }

    /// True if `&&`, `||` and `?:` may be evaluated here. Each is a branch: where only the common path keeps lanes together, it would part
    /// them for everything that follows.
    pub(crate) fn tolerates_choices(self) -> bool {
        self.tier == Tier::Maximal || self.uniform || !self.is_exact()
    }

    /// Inside an arm of a branch.
    pub(crate) fn arm(self, decision: Decision) -> Flow {
        Flow { uniform: self.uniform && decision == Decision::Uniform, ..self }
    }

    /// Inside a segment of a switch.
    pub(crate) fn segment(self, decision: Decision) -> Flow {
        Flow { in_switch: true, ..self.arm(decision) }
    }

    /// Inside a segment of a switch that several selector values may reach, or into which another one may fall.
    pub(crate) fn ambiguous_segment(self) -> Flow {
        Flow { uniform: false, single_path: false, ambiguous: true, in_switch: true, ..self }
    }

    /// Inside a loop; `decision` covers its test and every exit.
    pub(crate) fn iteration(self, decision: Decision) -> Flow {
        let uniform = self.uniform && decision == Decision::Uniform;
        Flow { uniform, single_path: uniform, once: false, ..self }
    }

    /// After a construct entered here.
    pub(crate) fn after(self, leaving: Leaving) -> Flow {
        let uniform = self.uniform && leaving == Leaving::Together;
        Flow { uniform, single_path: uniform, ..self }
    }

    /// After a branch entered here; `ends` are the ends of the arms that lanes fall out of.
    pub(crate) fn after_branch(self, decision: Decision, leaving: Leaving, ends: &[Flow]) -> Flow {
        let after = self.after(leaving);
        let one_path = ends.len() == 1 || decision == Decision::Uniform;
        Flow { single_path: after.uniform || (one_path && ends.iter().all(|end| end.single_path)), ..after }
    }

    /// Where lanes of both may be.
    pub(crate) fn meet(self, other: Flow) -> Flow {
        Flow {
            tier: self.tier,
            uniform: self.uniform && other.uniform,
            single_path: self.single_path && other.single_path,
            once: self.once && other.once,
            ambiguous: self.ambiguous || other.ambiguous,
            in_switch: self.in_switch || other.in_switch,
        }
    }

    /// A start from which a body can be called anywhere.
    pub(crate) fn anywhere(self) -> Flow {
        Flow { tier: self.tier, uniform: false, single_path: false, once: false, ambiguous: true, in_switch: true }
    }

    /// Where a function's body starts that is called here.
    pub(crate) fn callee(self, sites: Sites) -> Flow {
        Flow { once: self.once && sites == Sites::One, ..self }
    }

    /// True if a body generated for `entry` keeps its promises when called here.
    pub(crate) fn admits(self, entry: Flow) -> bool {
        (self.uniform || !entry.uniform)
            && (self.single_path || !entry.single_path)
            && (!self.ambiguous || entry.ambiguous)
            && (!self.in_switch || entry.in_switch)
            && !entry.once
    }

    /// After a call here of a body that was generated from `entry` to `end`. What left by different returns nothing but `maximal`
    /// brings together again (rule X6).
    pub(crate) fn after_call(self, entry: Flow, end: Flow, leaving: Leaving) -> Flow {
        let together = leaving == Leaving::Together;
        let uniform = self.uniform && together;
        let one_path = self.single_path && entry.single_path && end.single_path && together;
        Flow { uniform, single_path: uniform || one_path, ..self }
    }

    /// Nothing known of who is here.
    pub(crate) fn scattered(self) -> Flow {
        Flow { uniform: false, single_path: false, ..self }
    }
}

/// How many places may call a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sites {
    /// The one it was made for.
    One,
    /// Any number of them.
    Many,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Flow {
        Flow::entry(Tier::SubgroupUniform)
    }

    #[test]
    fn nested_ifs_are_exact_until_they_merge() {
        let inner = entry().arm(Decision::Divergent).arm(Decision::Divergent);
        assert!(inner.is_exact());
        let merged =
            entry().arm(Decision::Divergent).after_branch(Decision::Divergent, Leaving::Together, &[inner, inner]);
        assert!(!merged.is_exact());
        assert!(entry().after_branch(Decision::Divergent, Leaving::Together, &[merged, merged]).is_exact());
    }

    #[test]
    fn lanes_that_stay_after_a_return_share_a_path() {
        let inner = entry().arm(Decision::Divergent);
        let rest = entry().after_branch(Decision::Divergent, Leaving::Apart, &[inner]);
        assert!(rest.is_exact() && !rest.is_uniform());
    }

    #[test]
    fn divergent_loops_are_not_exact_inside_and_exact_after() {
        assert!(!entry().iteration(Decision::Divergent).is_exact());
        assert!(entry().iteration(Decision::Uniform).is_exact());
        assert!(!entry().iteration(Decision::Uniform).arm(Decision::Divergent).is_exact());
        assert!(entry().after(Leaving::Together).is_exact());
        assert!(!entry().after(Leaving::Apart).is_exact());
    }

    #[test]
    fn only_ambiguous_segments_are_inexact_in_maximal() {
        let entry = Flow::entry(Tier::Maximal);
        assert!(entry.iteration(Decision::Divergent).after(Leaving::Apart).is_exact());
        assert!(!entry.ambiguous_segment().iteration(Decision::Uniform).is_exact());
    }
}
