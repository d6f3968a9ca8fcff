//! Why a value is undefined or open, and the places in the module that say so.

use rspirv::spirv;
use rustc_hash::FxHashMap;

use crate::code::*;
use crate::decode::Names;
use crate::outcome::{Location, Reason, Why};

/// Taints with this bit are undefined values; the others are open ones. The greater of two taints is that of what depends on both.
pub(super) const POISON: u32 = 1 << 31;

/// Why a value is not determined, and what is known of it.
#[derive(Clone, Copy, Debug)]
struct Known {
    why: Why,
    place: u32,
    interval: Option<(f64, f64)>,
    /// The value is the bits that stand there, or these bits flipped in it; 0 if nothing is known.
    flip: u64,
}

/// Reasons of taints. The number of one is its index plus 1, with [`POISON`] if it is undefined.
#[derive(Debug)]
pub(crate) struct Reasons {
    list: Vec<Known>,
    /// Reasons from which on intervals are not kept apart.
    most: usize,
    known: FxHashMap<(Why, u32, u64), u32>,
}

/// Place of contents that no instruction made.
pub(super) const NOWHERE: u32 = u32::MAX;

impl Reasons {
    /// Those of a run with this limit of memory, of which an eighth is for them.
    pub fn new(memory: u64) -> Reasons {
        Reasons { list: Vec::new(), most: (memory / 2048) as usize, known: FxHashMap::default() }
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn taint(&mut self, why: Why, place: u32) -> u32 {
        self.flipped(why, place, 0)
    }

    /// The value that stands there, or the same with some bits flipped.
    pub fn flipped(&mut self, why: Why, place: u32, flip: u64) -> u32 {
        if let Some(&taint) = self.known.get(&(why, place, flip)) {
            return taint;
        }
        self.list.push(Known { why, place, interval: None, flip });
        let taint = self.list.len() as u32 | if why.is_undefined() { POISON } else { 0 };
        self.known.insert((why, place, flip), taint);
        taint
    }

    /// A value that is known to lie in an interval.
    pub fn interval(&mut self, place: u32, low: f64, high: f64) -> u32 {
        if self.list.len() >= self.most || !(low.is_finite() && high.is_finite()) {
            return self.taint(Why::Precision, place);
        }
        self.list.push(Known { why: Why::Precision, place, interval: Some((low, high)), flip: 0 });
        self.list.len() as u32
    }

    fn entry(&self, taint: u32) -> Option<&Known> {
        self.list.get((taint & !POISON).wrapping_sub(1) as usize)
    }

    pub fn why(&self, taint: u32) -> Why {
        self.entry(taint).map_or(Why::Undef, |entry| entry.why)
    }

    pub fn interval_of(&self, taint: u32) -> Option<(f64, f64)> {
        self.entry(taint).and_then(|entry| entry.interval)
    }

    /// The bits that may be flipped; `None` if nothing is known of the value.
    pub fn flip_of(&self, taint: u32) -> Option<u64> {
        self.entry(taint).map(|entry| entry.flip).filter(|&flip| flip != 0)
    }

    /// The taint of what is computed from a value with this one: what is known of that is not known of this.
    pub fn derived(&mut self, taint: u32) -> u32 {
        match self.entry(taint) {
            Some(&Known { why, place, interval, flip }) if interval.is_some() || flip != 0 => self.taint(why, place),
            _ => taint,
        }
    }

    /// Some reasons, by index.
    pub fn describe(&self, which: &[usize], code: &Code, names: &Names) -> Vec<Reason> {
        which.iter().filter_map(|&index| self.list.get(index)).map(|known| described(known, code, names)).collect()
    }

    /// What stands behind a taint.
    pub fn reason(&self, taint: u32, code: &Code, names: &Names) -> Option<Reason> {
        self.entry(taint).map(|known| described(known, code, names))
    }
}

fn described(known: &Known, code: &Code, names: &Names) -> Reason {
    Reason {
        why: known.why,
        location: (known.place != NOWHERE).then(|| location(code, names, known.place)),
        interval: known.interval,
    }
}

/// The instruction behind a place.
pub(crate) fn location(code: &Code, names: &Names, place: u32) -> Location {
    let Some(info) = code.places.get(place as usize) else {
        return Location { opcode: spirv::Op::Nop, index: 0, result: None, function: None, source: None };
    };
    let function = names.functions.get(info.function as usize).cloned().flatten();
    let source = info.line.map(|(file, line)| (names.files.get(&file).cloned().unwrap_or_default(), line));
    Location { opcode: info.opcode, index: info.index, result: info.result, function, source }
}
