//! Values of all lanes of a workgroup at once.

use std::rc::Rc;

use smallvec::{SmallVec, smallvec};
use tangle_program::subgroup::{Severity, lanes};

use crate::mask::Mask;

/// The bits of one component in every slot.
pub(crate) type Column = Rc<Vec<u64>>;

/// Lanes whose value cannot be compared, and why.
#[derive(Clone, Debug)]
pub(crate) struct Taint {
    pub lanes: Mask,
    /// True if some lane's value is *undefined* (rules D1 and D2). Otherwise the values are defined, but depend on a tangle that
    /// the tier leaves open. Undefined values must not reach control flow; unknown ones may.
    pub undefined: bool,
}

/// What a value comes from: the operations whose results went into it, by [`crate::lower::OpNode::id`], and the weakest rule that it
/// rests on in any lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provenance {
    /// For each 128 operations: bit `i` of the first for those executed by all lanes of a subgroup, of the second for those executed by
    /// some lanes only.
    operations: SmallVec<[[u128; 2]; 1]>,
    pub severity: Severity,
}

impl Provenance {
    pub fn or(mut self, other: &Provenance) -> Provenance {
        let most = self.operations.len().max(other.operations.len());
        self.operations.resize(most, [0; 2]);
        for ([full, partial], [other_full, other_partial]) in self.operations.iter_mut().zip(&other.operations) {
            *full |= other_full;
            *partial |= other_partial;
        }
        self.resting_on(other.severity)
    }

    /// The same, resting on a rule besides.
    pub fn resting_on(self, severity: Severity) -> Provenance {
        Provenance { severity: self.severity.max(severity), ..self }
    }

    /// Adds an operation that all lanes of a subgroup executed, or some of them.
    pub fn insert(&mut self, operation: usize, whole: bool) {
        let (at, bit) = (operation / 128, operation % 128);
        self.operations.resize(self.operations.len().max(at + 1), [0; 2]);
        self.operations[at][usize::from(!whole)] |= 1 << bit;
    }

    /// The operations; with each, 0 if all lanes of a subgroup executed it, and 1 if some lanes did.
    pub fn operations(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let by_way =
            self.operations.iter().enumerate().flat_map(|(at, ways)| (0..).zip(ways).map(move |way| (at, way)));
        by_way.flat_map(|(at, (way, &bits))| lanes(bits).map(move |bit| (at * 128 + bit, way)))
    }
}

/// For each column, in every slot, the name of the result that stands there unchanged; 0 for none ([`crate::observed`], and with
/// [`IN_MEMORY`] what is found in memory).
#[derive(Clone, Debug)]
pub(crate) struct Names(pub SmallVec<[Rc<Vec<u32>>; 1]>);

/// Set in the names of what is found in memory.
pub(crate) const IN_MEMORY: u32 = 1 << 31;

impl Names {
    fn none(columns: &[Column]) -> Names {
        Names(columns.iter().map(|column| Rc::new(vec![0; column.len()])).collect())
    }
}

/// A value of any type in every slot. Slots that were not active hold anything.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub columns: SmallVec<[Column; 1]>,
    pub taint: Option<Box<Taint>>,
    pub from: Provenance,
    /// Of what memory holds, and while an observation is followed.
    pub names: Option<Box<Names>>,
}

impl Value {
    /// A known value of these columns.
    pub fn of(columns: SmallVec<[Column; 1]>) -> Value {
        Value { columns, taint: None, from: Provenance::default(), names: None }
    }

    pub fn scalar(column: Vec<u64>) -> Value {
        Value::shared(Rc::new(column))
    }

    pub fn shared(column: Column) -> Value {
        Value::of(smallvec![column])
    }

    /// The taint of a result that depends on this value and another one, lane by lane.
    pub fn join(taint: Option<Box<Taint>>, other: &Option<Box<Taint>>) -> Option<Box<Taint>> {
        match (taint, other) {
            (Some(x), Some(y)) => {
                Some(Box::new(Taint { lanes: x.lanes.or(&y.lanes), undefined: x.undefined || y.undefined }))
            }
            (Some(x), None) => Some(x),
            (None, y) => y.clone(),
        }
    }

    /// The name of the operation's result that stands in a slot unchanged.
    pub fn result_name(&self, column: usize, slot: usize) -> Option<u32> {
        self.name(column, slot).filter(|name| name & IN_MEMORY == 0)
    }

    /// The number of the name of what was found in memory that stands in a slot unchanged.
    pub fn memory_name(&self, column: usize, slot: usize) -> Option<usize> {
        self.name(column, slot).filter(|name| name & IN_MEMORY != 0).map(|name| (name & !IN_MEMORY) as usize)
    }

    fn name(&self, column: usize, slot: usize) -> Option<u32> {
        let names = self.names.as_ref()?;
        Some(names.0[column][slot]).filter(|&name| name != 0)
    }

    /// Replaces the value in the given slots.
    pub fn set(&mut self, value: &Value, slots: &Mask) {
        self.set_names(value, slots);
        for (old, new) in self.columns.iter_mut().zip(&value.columns) {
            if Rc::ptr_eq(old, new) {
                continue;
            }
            let old = Rc::make_mut(old);
            slots.slots().for_each(|slot| old[slot] = new[slot]);
        }
        self.taint = match (self.taint.take(), &value.taint) {
            (None, None) => None,
            (old, new) => {
                let undefined = old.iter().chain(new).any(|taint| taint.undefined);
                let mut lanes = slots.minus(slots);
                old.iter().for_each(|old| lanes.add(&old.lanes.minus(slots)));
                new.iter().for_each(|new| lanes.add(&new.lanes.and(slots)));
                (!lanes.is_empty()).then(|| Box::new(Taint { lanes, undefined }))
            }
        };
        self.from = std::mem::take(&mut self.from).or(&value.from);
    }

    fn set_names(&mut self, value: &Value, slots: &Mask) {
        if self.names.is_none() && value.names.is_none() {
            return;
        }
        let names = self.names.get_or_insert_with(|| Box::new(Names::none(&self.columns)));
        for (c, old) in names.0.iter_mut().enumerate() {
            let new = value.names.as_ref().and_then(|names| names.0.get(c));
            let old = Rc::make_mut(old);
            slots.slots().for_each(|slot| old[slot] = new.map_or(0, |new| new[slot]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provenance_has_no_limit() {
        let mut first = Provenance::default();
        first.insert(3, true);
        let mut second = Provenance::default().resting_on(Severity::Strong);
        second.insert(3, false);
        second.insert(128, true);
        second.insert(700, false);
        for both in [first.clone().or(&second), second.or(&first)] {
            assert_eq!(both.operations().collect::<Vec<_>>(), [(3, 0), (3, 1), (128, 0), (700, 1)]);
            assert_eq!(both.severity, Severity::Strong);
        }
    }

    /// What is computed from two values that come from one operation comes from it.
    #[test]
    fn provenance_of_both_operands_is_not_lost() {
        let mut value = Provenance::default();
        for _ in 0..2 {
            value.insert(3, true);
            value.insert(3, false);
        }
        assert_eq!(value.clone().or(&value).operations().collect::<Vec<_>>(), [(3, 0), (3, 1)]);
    }
}
