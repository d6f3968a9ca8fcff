//! What is known of ids.

use rustc_hash::FxHashMap;

/// Something for some ids. Compilers number them from 1 on: those below the number of instructions, or not much above, have a place in a row, and only others,
/// of which a module may have any, are looked up.
pub(crate) struct Ids<T> {
    /// By id: the number of what is known of it, from 1 on, or 0.
    row: Vec<u32>,
    others: FxHashMap<u32, u32>,
    /// In the order in which it was inserted.
    known: Vec<T>,
}

impl<T> Ids<T> {
    /// None, of a module with so many instructions, whose ids are below a bound.
    pub fn new(instructions: usize, bound: usize) -> Ids<T> {
        let row = vec![0; bound.min(instructions + instructions / 2)];
        Ids { row, others: FxHashMap::default(), known: Vec::new() }
    }

    /// With the capacity for so many.
    pub fn with_capacity(self, count: usize) -> Ids<T> {
        Ids { known: Vec::with_capacity(count), ..self }
    }

    #[inline]
    fn number(&self, id: u32) -> usize {
        match self.row.get(id as usize) {
            Some(&number) => number as usize,
            None => self.others.get(&id).map_or(0, |&number| number as usize),
        }
    }

    #[inline]
    pub fn get(&self, id: u32) -> Option<&T> {
        self.known.get(self.number(id).wrapping_sub(1))
    }

    /// What is known of an id; something new if nothing is.
    pub fn get_or_default(&mut self, id: u32) -> &mut T
    where
        T: Default,
    {
        let mut number = self.number(id);
        if number == 0 {
            self.insert(id, T::default());
            number = self.known.len();
        }
        &mut self.known[number - 1]
    }

    #[inline]
    pub fn insert(&mut self, id: u32, what: T) {
        let number = self.number(id);
        if let Some(known) = self.known.get_mut(number.wrapping_sub(1)) {
            *known = what;
            return;
        }
        self.known.push(what);
        let number = self.known.len() as u32;
        match self.row.get_mut(id as usize) {
            Some(place) => *place = number,
            None => {
                self.others.insert(id, number);
            }
        }
    }

    /// Forgets what is known of an id.
    pub fn remove(&mut self, id: u32) {
        match self.row.get_mut(id as usize) {
            Some(place) => *place = 0,
            None => {
                self.others.remove(&id);
            }
        }
    }
}
