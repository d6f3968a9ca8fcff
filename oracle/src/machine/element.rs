//! Elements of arrays, matrices and structs, and components of vectors, by an index that every lane has for itself.
//!
//! The columns of an aggregate are those of its first element, then those of the second, and so on. Taint is kept for the whole of it: a
//! lane that stored something unknown anywhere, or anything at an unknown place, knows nothing of it until all of it is assigned.

use std::rc::Rc;

use smallvec::SmallVec;

use super::{Frame, Machine};
use crate::mask::Mask;
use crate::rules::{Accessed, Rules};
use crate::value::Value;

impl<R: Rules> Machine<'_, R> {
    /// `of[index]`, an element of so many components.
    pub(super) fn element(&mut self, of: &Value, accessed: Accessed, index: &Value, width: usize, a: &Mask) -> Value {
        let places = self.places(accessed, index, a);
        let column = |c: usize| {
            let mut column = vec![0; self.layout.slots];
            places.iter().for_each(|&(slot, first)| {
                // A choice that no lane is known to make has no value, only a taint.
                column[slot] = of.columns.get(first + c).map_or(0, |part| part[slot]);
            });
            Rc::new(column)
        };
        let columns: SmallVec<[_; 1]> = (0..width).map(column).collect();
        let taint = Value::join(of.taint.clone(), &index.taint);
        Value { columns, taint, from: of.from.clone().or(&index.from), names: None }
    }

    /// `var[index] = value`, or with more indices
    pub(super) fn set_element(
        &mut self,
        frame: &mut Frame,
        var: usize,
        indices: &[(Accessed, Value)],
        value: &Value,
        a: &Mask,
    ) {
        let stored = self.rules.stored(&self.scopes, a.minus(&self.lost));
        let mut places: Vec<(usize, usize)> = stored.slots().map(|slot| (slot, 0)).collect();
        for (accessed, index) in indices {
            let inner = self.places(*accessed, index, &stored);
            places.iter_mut().zip(inner).for_each(|((_, first), (_, further))| *first += further);
        }
        let old = &mut frame.vars[var];
        for (c, new) in value.columns.iter().enumerate() {
            for &(slot, first) in &places {
                Rc::make_mut(&mut old.columns[first + c])[slot] = new[slot];
            }
        }
        let taint = indices.iter().fold(value.taint.clone(), |taint, (_, index)| Value::join(taint, &index.taint));
        let new = taint.map(|mut taint| {
            taint.lanes = taint.lanes.and(&stored);
            taint
        });
        old.taint = Value::join(old.taint.take(), &new.filter(|taint| !taint.lanes.is_empty()));
        let from = std::mem::take(&mut old.from).or(&value.from);
        old.from = indices.iter().fold(from, |from, (_, index)| from.or(&index.from));
        // What stands there is no longer one result.
        old.names = None;
    }

    /// For each of the lanes: the first column of the element that it accesses, from that of the whole. An index that is out of range is
    /// unknown, or that of a device with a fault.
    fn places(&mut self, accessed: Accessed, index: &Value, lanes: &Mask) -> Vec<(usize, usize)> {
        let count = accessed.of.parts().count();
        let mut places: Vec<(usize, usize)> =
            lanes.slots().map(|slot| (slot, index.columns[0][slot] as usize % count.max(1))).collect();
        self.rules.elements(accessed, count, &mut places);
        let first: SmallVec<[usize; 8]> = (0..count).map(|part| accessed.of.components_before(part)).collect();
        places.iter_mut().for_each(|(_, place)| *place = first.get(*place).copied().unwrap_or(0));
        places
    }
}
