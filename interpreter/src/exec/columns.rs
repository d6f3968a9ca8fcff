//! The values and taints of every register and invocation.

use std::cell::Cell;

use crate::code::*;

/// Bytes that a thread keeps for the columns of its next run: to get them from the system anew takes as long as a twentieth of a short run.
const SPARE_MEMORY: usize = 16 << 20;

thread_local! {
    static SPARE: Cell<Option<Columns>> = const { Cell::new(None) };
}

/// So many new cells, in memory that is there.
fn renew<T: Copy + Default>(cells: &mut Vec<Cell<T>>, count: usize) {
    cells.clear();
    cells.resize(count, Cell::default());
}

/// Values of all columns, and their taints.
#[derive(Default)]
pub(crate) struct Columns {
    n: usize,
    bits: Vec<Cell<u64>>,
    taints: Vec<Cell<u32>>,
    /// False if no invocation has a taint in this column.
    pub(super) tainted: Vec<Cell<bool>>,
}

impl Columns {
    /// Those of a run, in the memory of one before. Its workgroups use them one after the other: what one leaves is never read by the next, since a value is
    /// computed before it is used (SPIR-V 1.6 §2.16.1), and what has a value from the beginning gets it anew.
    pub fn take(columns: usize, n: usize) -> Columns {
        let mut taken = SPARE.take().unwrap_or_default();
        taken.n = n;
        renew(&mut taken.bits, columns * n);
        renew(&mut taken.taints, columns * n);
        renew(&mut taken.tainted, columns);
        taken
    }

    /// The run is over.
    pub fn give_back(self) {
        if self.bits.capacity() * (size_of::<u64>() + size_of::<u32>()) <= SPARE_MEMORY {
            SPARE.set(Some(self));
        }
    }

    /// Takes all taints away, for the next workgroup.
    pub(super) fn untaint(&self) {
        for (reg, tainted) in self.tainted.iter().enumerate() {
            if tainted.replace(false) {
                self.taints(reg as Reg).iter().for_each(|cell| cell.set(0));
            }
        }
    }

    #[inline(always)]
    pub fn bits(&self, reg: Reg) -> &[Cell<u64>] {
        let at = reg as usize * self.n;
        &self.bits[at..at + self.n]
    }

    #[inline(always)]
    pub fn taints(&self, reg: Reg) -> &[Cell<u32>] {
        let at = reg as usize * self.n;
        &self.taints[at..at + self.n]
    }

    #[inline(always)]
    pub fn is_tainted(&self, reg: Reg) -> bool {
        self.tainted[reg as usize].get()
    }

    #[inline(always)]
    pub fn taint(&self, reg: Reg, slot: usize) -> u32 {
        self.taints[reg as usize * self.n + slot].get()
    }

    #[inline(always)]
    pub fn get(&self, reg: Reg, slot: usize) -> (u64, u32) {
        let at = reg as usize * self.n + slot;
        (self.bits[at].get(), self.taints[at].get())
    }

    #[inline(always)]
    pub fn set(&self, reg: Reg, slot: usize, bits: u64, taint: u32) {
        let at = reg as usize * self.n + slot;
        self.bits[at].set(bits);
        self.taints[at].set(taint);
        if taint != 0 {
            self.tainted[reg as usize].set(true);
        }
    }

    pub(super) fn fill(&self, reg: Reg, bits: u64, taint: u32) {
        self.bits(reg).iter().for_each(|cell| cell.set(bits));
        self.taints(reg).iter().for_each(|cell| cell.set(taint));
        self.tainted[reg as usize].set(taint != 0);
    }
}
