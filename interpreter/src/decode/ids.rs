//! What is known of ids.

use rustc_hash::FxHashMap;

/// Something for some ids. Compilers number them from 1 on: those below the number of instructions, or not much above, have a place in a row, and only others,
/// of which a module may have any, are looked up.
pub(crate) struct Ids<T> {
    row: Vec<Option<T>>,
    others: FxHashMap<u32, T>,
}

impl<T> Ids<T> {
    /// None, of a module with so many instructions, whose ids are below a bound.
    pub fn new(instructions: usize, bound: usize) -> Ids<T> {
        let mut row = Vec::new();
        row.resize_with(bound.min(instructions + instructions / 2), || None);
        Ids { row, others: FxHashMap::default() }
    }

    #[inline]
    pub fn get(&self, id: u32) -> Option<&T> {
        match self.row.get(id as usize) {
            Some(place) => place.as_ref(),
            None => self.others.get(&id),
        }
    }

    #[inline]
    pub fn insert(&mut self, id: u32, what: T) -> Option<T> {
        match self.row.get_mut(id as usize) {
            Some(place) => place.replace(what),
            None => self.others.insert(id, what),
        }
    }

    pub fn remove(&mut self, id: u32) -> Option<T> {
        match self.row.get_mut(id as usize) {
            Some(place) => place.take(),
            None => self.others.remove(&id),
        }
    }
}
