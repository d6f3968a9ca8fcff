//! Elements of arrays, matrices and structs, and components of vectors, by an index that every lane has for itself.
//!
//! The columns of an aggregate are those of its first element, then those of the second, and so on. Taint is kept for the whole of it: a
//! lane that stored something unknown anywhere, or anything at an unknown place, knows nothing of it until all of it is assigned.

use std::rc::Rc;

use smallvec::SmallVec;
use tangle_program::types::Shape;

use super::{Frame, Machine};
use crate::mask::Mask;
use crate::rules::{Access, Rules};
use crate::value::Value;

impl<R: Rules> Machine<'_, R> {
    /// `of[index]`, an element of so many components.
    pub(super) fn element(&mut self, of: &Value, shape: Shape, index: &Value, width: usize, a: &Mask) -> Value {
        let places = self.places(Access::Read, of, shape, index, width, a);
        let column = |c: usize| {
            let mut column = vec![0; self.layout.slots];
            places.iter().for_each(|&(slot, first)| column[slot] = of.columns[first + c][slot]);
            Rc::new(column)
        };
        let columns: SmallVec<[_; 1]> = (0..width).map(column).collect();
        let taint = Value::join(of.taint.clone(), &index.taint);
        Value { columns, taint, from: of.from.clone().or(&index.from), names: None }
    }

    /// `var[index] = value`
    pub(super) fn set_element(
        &mut self,
        frame: &mut Frame,
        var: usize,
        shape: Shape,
        index: &Value,
        value: &Value,
        a: &Mask,
    ) {
        let stored = self.rules.stored(&self.scopes, a.minus(&self.lost));
        let places = self.places(Access::Write, &frame.vars[var], shape, index, value.columns.len(), &stored);
        let old = &mut frame.vars[var];
        for (c, new) in value.columns.iter().enumerate() {
            for &(slot, first) in &places {
                Rc::make_mut(&mut old.columns[first + c])[slot] = new[slot];
            }
        }
        let new = Value::join(value.taint.clone(), &index.taint);
        let new = new.map(|mut taint| {
            taint.lanes = taint.lanes.and(&stored);
            taint
        });
        old.taint = Value::join(old.taint.take(), &new.filter(|taint| !taint.lanes.is_empty()));
        old.from = std::mem::take(&mut old.from).or(&value.from).or(&index.from);
        // What stands there is no longer one result.
        old.names = None;
    }

    /// For each of the lanes: the first column of the element that it accesses. An index that is out of range is unknown, or that of a
    /// device with a fault.
    fn places(
        &mut self,
        access: Access,
        of: &Value,
        shape: Shape,
        index: &Value,
        width: usize,
        lanes: &Mask,
    ) -> Vec<(usize, usize)> {
        let count = of.columns.len() / width.max(1);
        let mut places: Vec<(usize, usize)> =
            lanes.slots().map(|slot| (slot, index.columns[0][slot] as usize % count.max(1))).collect();
        self.rules.elements(access, shape, count, &mut places);
        places.iter_mut().for_each(|(_, place)| *place *= width);
        places
    }
}
