//! Values of all lanes of a workgroup at once.

use std::rc::Rc;

use smallvec::{SmallVec, smallvec};

use crate::mask::Mask;

/// The bits of one component in every slot.
pub(crate) type Column = Rc<Vec<u64>>;

/// Lanes whose value cannot be compared, and why.
#[derive(Clone, Debug)]
pub(crate) struct Taint {
    pub lanes: Mask,
    /// True if some lane's value is *undefined* (semantics.md §0.3). Otherwise the values are defined, but depend on a tangle that
    /// the tier leaves open. Undefined values must not reach control flow; unknown ones may.
    pub undefined: bool,
}

/// Operations whose results went into a value: bit `i` is row `i` of the table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Provenance {
    /// Executed by all lanes of a subgroup.
    pub full: u128,
    /// Executed by some lanes only.
    pub partial: u128,
}

impl Provenance {
    pub fn or(self, other: Provenance) -> Provenance {
        Provenance { full: self.full | other.full, partial: self.partial | other.partial }
    }
}

/// A value of any type in every slot. Slots that were not active hold anything.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub columns: SmallVec<[Column; 1]>,
    pub taint: Option<Box<Taint>>,
    pub from: Provenance,
}

impl Value {
    pub fn scalar(column: Vec<u64>) -> Value {
        Value::shared(Rc::new(column))
    }

    pub fn shared(column: Column) -> Value {
        Value { columns: smallvec![column], taint: None, from: Provenance::default() }
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

    /// Replaces the value in the given slots.
    pub fn set(&mut self, value: &Value, slots: &Mask) {
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
                let mut undefined = false;
                let mut lanes = Mask::default();
                if let Some(old) = old {
                    undefined |= old.undefined;
                    lanes = old.lanes.minus(slots);
                }
                if let Some(new) = new {
                    undefined |= new.undefined;
                    let new = new.lanes.and(slots);
                    lanes = if lanes == Mask::default() { new } else { lanes.or(&new) };
                }
                (!lanes.is_empty()).then(|| Box::new(Taint { lanes, undefined }))
            }
        };
        self.from = self.from.or(value.from);
    }
}
