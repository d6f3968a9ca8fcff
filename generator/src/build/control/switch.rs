//! `switch`, with fallthrough, several labels and `default` anywhere.

use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Arm, Block, Expr, Label, Stmt, ends_in_jump};
use tangle_program::types::Scalar;

use super::super::Builder;
use super::super::estimate::EstimatedMask;
use super::super::frame::{Jump, Kind};
use super::super::log::Moment;
use super::super::term::{bin, cast, uint};
use crate::class::{Decision, Flow};

/// Whether a segment may fall through into the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Falling {
    Allowed,
    Forbidden,
}

impl Builder<'_> {
    pub(crate) fn switch_statement(&mut self, out: &mut Block) {
        let (selector, decision, most) = self.selector();
        let signed = self.draw.percent(30);
        let here = self.frame.estimated;
        let values = self.estimate(|guess| guess.values(&selector)).filter(|values| !values.is_empty());
        let labels = self.labels(most, values.as_deref());
        let before = self.frame.flow;
        self.step();
        self.frame.open(Kind::Switch);
        let mut arms: Vec<Arm> = Vec::with_capacity(labels.len());
        let count = labels.len();
        let mut fallen: Option<(Flow, EstimatedMask)> = None;
        for (k, labels) in labels.into_iter().enumerate() {
            self.frame.flow = segment_flow(before, decision, &labels, fallen.map(|(flow, _)| flow));
            let direct = values.as_ref().map_or(here, |values| who(values, &labels));
            self.frame.estimated = fallen.map_or(direct, |(_, estimated)| direct.or(estimated));
            let falling = if k + 1 == count { Falling::Forbidden } else { Falling::Allowed };
            let body = self.sharing((count - k) as u32, |b| b.knowing([], |b| b.segment(falling)));
            fallen = (!ends_in_jump(&body)).then_some((self.frame.flow, self.frame.estimated));
            arms.push(Arm { labels, body });
        }
        let leaving = self.frame.close();
        self.frame.flow = before.after(leaving);
        self.frame.estimated = here;
        let selector = if signed { cast(Scalar::Int, selector) } else { selector };
        let selector = self.with_expectation(selector, if signed { Scalar::Int } else { Scalar::Uint });
        let control = self.selection_control();
        out.push(Stmt::Switch { selector, arms, control });
    }

    /// A small word, whether lanes agree on it, and the most it can be.
    fn selector(&mut self) -> (Expr, Decision, u32) {
        let mask = self.draw.pick(&[3, 3, 3, 1, 7]);
        if self.draw.percent(15) {
            return (bin(BinaryOp::BitAnd, self.uniform_selector(), uint(mask)), Decision::Uniform, mask);
        }
        let (x, _) = self.source();
        let word = match self.draw.below(5) {
            0 => bin(BinaryOp::Shr, x, uint(1)),
            1 | 2 => match self.counter() {
                Some(counter) => bin(BinaryOp::Add, x, Expr::Var(counter)),
                None => x,
            },
            3 => return (bin(BinaryOp::Mod, x, uint(mask.max(2))), Decision::Divergent, mask.max(2) - 1),
            _ => x,
        };
        (bin(BinaryOp::BitAnd, word, uint(mask)), Decision::Divergent, mask)
    }

    fn uniform_selector(&mut self) -> Expr {
        if self.votes_are_uniform() && self.has(SubgroupOp::BroadcastFirst) && self.draw.percent(50) {
            let (x, _) = self.source();
            return Expr::subgroup(SubgroupOp::BroadcastFirst, [x]);
        }
        let word = self.constant_word();
        match self.uniform_counter() {
            Some(counter) => bin(BinaryOp::Add, word, Expr::Var(counter)),
            None => word,
        }
    }

    /// The labels of each arm, in order: of values up to `most`, those that are believed to occur first.
    fn labels(&mut self, most: u32, values: Option<&[(u32, EstimatedMask)]>) -> Vec<Vec<Label>> {
        let mut cases: Vec<i64> = match values {
            Some(values) => values.iter().map(|&(value, _)| i64::from(value)).collect(),
            None => (0..=i64::from(most)).collect(),
        };
        if self.draw.percent(12) {
            cases.push(i64::from(most) + 1);
        }
        if self.draw.percent(35) {
            let by = self.draw.below(cases.len() as u32) as usize;
            cases.rotate_left(by);
        }
        let arms = 1 + self.draw.range(1, 3) as usize;
        let mut labels: Vec<Vec<Label>> = Vec::new();
        for case in cases {
            match labels.last_mut() {
                Some(arm) if arm.len() < 3 && self.draw.percent(15) => arm.push(Label::Case(case)),
                _ => labels.push(vec![Label::Case(case)]),
            }
        }
        labels.truncate(arms);
        let count = labels.len() as u32;
        match self.draw.below(8) {
            0..=2 => labels.push(vec![Label::Default]),
            3 | 4 => {
                let at = self.draw.below(count) as usize;
                labels.insert(at, vec![Label::Default]);
            }
            5 => {
                let at = self.draw.below(count) as usize;
                labels[at].push(Label::Default);
            }
            _ => {}
        }
        labels
    }

    fn segment(&mut self, falling: Falling) -> Block {
        let mut out = Vec::new();
        self.observe(Moment::Place, &[], &mut out);
        let size = 1 + self.draw.below(2);
        self.extend(size, &mut out);
        if out.is_empty() && self.draw.percent(80) {
            self.assignment(&mut out);
        }
        let falls = self.draw.percent(25) && !out.is_empty();
        if ends_in_jump(&out) || (falls && falling == Falling::Allowed) {
            return out;
        }
        let jump = match self.draw.below(8) {
            6 if self.frame.can_jump(Jump::Continue) => Jump::Continue,
            7 if self.frame.can_jump(Jump::Return) => Jump::Return,
            _ => Jump::Break,
        };
        self.push_jump(jump, &mut out);
        out
    }
}

/// Those whose value has one of the labels.
fn who(values: &[(u32, EstimatedMask)], labels: &[Label]) -> EstimatedMask {
    if labels.contains(&Label::Default) {
        return values.iter().fold(EstimatedMask::NONE, |all, &(_, estimated)| all.or(estimated));
    }
    let named = values.iter().filter(|&&(value, _)| labels.contains(&Label::Case(value.into())));
    named.fold(EstimatedMask::NONE, |all, &(_, estimated)| all.or(estimated))
}

fn segment_flow(before: Flow, decision: Decision, labels: &[Label], fallen: Option<Flow>) -> Flow {
    let direct = before.segment(decision);
    let several = labels.len() > 1 || labels.contains(&Label::Default);
    match (decision, fallen) {
        (Decision::Uniform, Some(end)) => direct.meet(end),
        (Decision::Uniform, None) => direct,
        (Decision::Divergent, None) if !several => direct,
        (Decision::Divergent, _) => direct.ambiguous_segment(),
    }
}
