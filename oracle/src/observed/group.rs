//! The executions of an operation that may be together, and the classes of lanes that are.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use smallvec::SmallVec;
use tangle_program::case::Tier;
use tangle_program::subgroup::{Severity, lanes};

use super::trace::Step;
use super::{Broken, TangleRule};
use crate::machine::{Evaluated, evaluate};
use crate::mask::Mask;
use crate::value::{Taint, Value};

/// Lanes that are in one instance by the rules.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// Steps, with the lanes that are of this class there.
    pub parts: SmallVec<[(usize, u128); 1]>,
    pub lanes: u128,
    /// Its instance, if it is of several that must be together.
    pub joined: Option<u64>,
}

impl Class {
    pub(super) fn join(&mut self, other: Class) {
        for (step, part) in other.parts {
            match self.parts.iter_mut().find(|(known, _)| *known == step) {
                Some((_, lanes)) => *lanes |= part,
                None => self.parts.push((step, part)),
            }
        }
        self.parts.sort_unstable();
        self.lanes |= other.lanes;
    }
}

/// Which paths make classes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Those since lanes were last seen together.
    Seen,
    /// Those since control flow was last uniform.
    Path,
    /// None: every lane on its own.
    Lane,
}

/// The executions of one operation in one subgroup that may be together.
pub(crate) struct Group<'s, 'a> {
    pub steps: &'s [Step<'a>],
    /// Indices of its steps, in order of execution.
    pub members: Vec<usize>,
    /// The lanes that it is about: those of a quad for quad operations, which nobody else waits for.
    pub within: u128,
    /// What distinguishes groups of one operation, where time does.
    pub time: u32,
    pub tier: Tier,
}

/// The instance that a ballot shows for each lane of each step, if it does.
pub(crate) type Instances = Vec<Vec<Option<u64>>>;

impl<'s, 'a> Group<'s, 'a> {
    /// A number for the instance that the n-th ballot of a mask shows.
    pub fn instance(&self, mask: u128, nth: usize) -> u64 {
        let step = self.step();
        let mut hasher = DefaultHasher::new();
        (step.op.id, step.subgroup, self.time, mask, nth).hash(&mut hasher);
        hasher.finish()
    }

    /// What it rests on that lanes on one path are together.
    pub fn by_path(&self) -> Severity {
        Broken::at(self.tier, TangleRule::PathClass).severity
    }

    /// The weakest rule that the operation and its operands rest on.
    pub(super) fn operands_rest_on(&self) -> Severity {
        let of_step = |&member: &usize| self.steps[member].args.iter().map(|arg| arg.from.severity);
        let Step { op, .. } = self.step();
        self.members.iter().flat_map(of_step).fold(op.severity(), Severity::max)
    }

    pub fn step(&self) -> &'s Step<'a> {
        &self.steps[self.members[0]]
    }

    /// The classes, in order of execution.
    pub fn classes(&self, by: By) -> Vec<Class> {
        let mut classes: Vec<Class> = Vec::new();
        let mut of_key: BTreeMap<u64, usize> = BTreeMap::new();
        for &member in &self.members {
            let step = &self.steps[member];
            for lane in lanes(step.lanes & self.within) {
                let known = match by {
                    By::Seen => of_key.get(&step.before[lane]),
                    By::Path => of_key.get(&step.paths[lane]),
                    By::Lane => None,
                };
                let at = match known {
                    Some(&at) if classes[at].lanes >> lane & 1 == 0 => at,
                    _ => {
                        classes.push(Class { parts: SmallVec::new(), lanes: 0, joined: None });
                        classes.len() - 1
                    }
                };
                match by {
                    By::Seen => drop(of_key.insert(step.before[lane], at)),
                    By::Path => drop(of_key.insert(step.paths[lane], at)),
                    By::Lane => {}
                }
                let class = &mut classes[at];
                class.lanes |= 1 << lane;
                match class.parts.last_mut() {
                    Some((last, mask)) if *last == member => *mask |= 1 << lane,
                    _ => class.parts.push((member, 1 << lane)),
                }
            }
        }
        classes
    }

    /// The operation, executed by the lanes of these classes together. `None` if that would be undefined behaviour.
    pub(super) fn evaluate(&self, block: &[&Class]) -> Option<Evaluated> {
        let step = self.step();
        let size = step.size;
        let tangle = block.iter().fold(0, |mask, class| mask | class.lanes);
        let mut args = SmallVec::<[Value; 2]>::new();
        for (k, arg) in step.args.iter().enumerate() {
            let mut columns: SmallVec<[Vec<u64>; 4]> = arg.columns.iter().map(|_| vec![0; size]).collect();
            let mut tainted = Mask::empty(size);
            let mut undefined = false;
            for &(member, part) in block.iter().flat_map(|class| &class.parts) {
                let Step { first, args, .. } = &self.steps[member];
                for (column, from) in columns.iter_mut().zip(&args[k].columns) {
                    lanes(part).for_each(|lane| column[lane] = from[first + lane]);
                }
                if let Some(taint) = &args[k].taint {
                    tainted.insert_lanes(0, taint.lanes.lanes(*first, size) & part);
                    undefined |= taint.undefined;
                }
            }
            let mut value = Value::of(columns.into_iter().map(std::rc::Rc::new).collect());
            value.taint = (!tainted.is_empty()).then(|| Box::new(Taint { lanes: tainted, undefined }));
            args.push(value);
        }
        evaluate(step.op, &args, size, tangle)
    }

    /// True if an instance of these classes gives every result seen in it.
    pub(super) fn explains(&self, block: &[&Class], found: &Option<Evaluated>) -> bool {
        let Some(found) = found else { return true };
        block.iter().flat_map(|class| &class.parts).all(|&(member, part)| {
            let step = &self.steps[member];
            lanes(part & !found.open()).all(|lane| {
                let column = |c: usize| found.columns[c][lane];
                (0..step.width).all(|c| step.seen_at(c, lane).is_none_or(|seen| seen == column(c)))
            })
        })
    }

    /// The first results seen in a class, and true if all lanes of it agree where they show the same component.
    pub(super) fn shown(&self, class: &Class) -> (SmallVec<[Option<u64>; 4]>, bool) {
        let mut shown: SmallVec<[Option<u64>; 4]> = SmallVec::from_elem(None, self.step().width);
        let mut agree = true;
        for &(member, part) in &class.parts {
            for lane in lanes(part) {
                for (c, shown) in shown.iter_mut().enumerate() {
                    let seen = self.steps[member].seen_at(c, lane);
                    agree &= seen.is_none() || shown.is_none() || seen == *shown;
                    *shown = shown.or(seen);
                }
            }
        }
        (shown, agree)
    }

    pub(super) fn is_seen(&self, class: &Class) -> bool {
        self.shown(class).0.iter().any(Option::is_some)
    }
}

#[cfg(test)]
mod tests {
    use tangle_program::subgroup::{Fold, SubgroupOp};
    use tangle_program::types::Scalar;

    use super::*;
    use crate::lower::OpNode;

    fn sum() -> OpNode {
        let info = SubgroupOp::Reduce(Fold::Add).info();
        OpNode { info, id: 0, scalar: Scalar::Uint, width: 1, cluster: 0, preserved: false, args: Vec::new() }
    }

    fn group<'s, 'a>(steps: &'s [Step<'a>]) -> Group<'s, 'a> {
        Group { steps, members: (0..steps.len()).collect(), within: !0, time: 0, tier: Tier::Plain }
    }

    /// A class has one part of each step, with all lanes of it there.
    #[test]
    fn parts_of_a_class() {
        let op = sum();
        let mut steps = [Step::of_lanes(&op, 0b0111, &[]), Step::of_lanes(&op, 0b1000, &[])];
        steps[0].before[2] = 1;
        let parts = |by: By| -> Vec<Vec<(usize, u128)>> {
            group(&steps).classes(by).into_iter().map(|class| class.parts.into_vec()).collect()
        };
        assert_eq!(parts(By::Seen), [vec![(0, 0b0011), (1, 0b1000)], vec![(0, 0b0100)]]);
        assert_eq!(parts(By::Path), [[(0, 0b0111), (1, 0b1000)]]);
        assert_eq!(parts(By::Lane), [[(0, 0b0001)], [(0, 0b0010)], [(0, 0b0100)], [(1, 0b1000)]]);
    }

    /// What is undefined in one execution or in several is undefined in the instance, and not only unknown.
    #[test]
    fn undefined_operands_of_several_executions() {
        let op = sum();
        for undefined in [[true, false], [false, true], [true, true], [false, false]] {
            let steps: Vec<Step<'_>> = (0..2)
                .map(|nth| {
                    let mut step = Step::of_lanes(&op, 1 << nth, &[]);
                    let mut tainted = Mask::empty(step.size);
                    tainted.insert_lanes(0, step.lanes);
                    let mut operand = Value::scalar(vec![1; step.size]);
                    operand.taint = Some(Box::new(Taint { lanes: tainted, undefined: undefined[nth] }));
                    step.args.push(operand);
                    step
                })
                .collect();
            let group = group(&steps);
            let classes = group.classes(By::Lane);
            let found = group.evaluate(&classes.iter().collect::<Vec<_>>()).expect("it is no undefined behaviour");
            let any = undefined.contains(&true);
            assert_eq!((found.undefined != 0, found.unknown != 0), (any, !any), "{undefined:?}");
        }
    }
}
