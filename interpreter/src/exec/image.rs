//! Images: where a texel is, and how many there are.

use super::Machine;
use super::reasons::POISON;
use crate::alu;
use crate::code::*;
use crate::outcome::Why;

impl Machine<'_> {
    /// The address of the image that a lane uses, its taint, and its extent.
    fn image_of(&self, inst: &Inst, base: Base, slot: usize) -> (u64, u32, [u32; 3]) {
        let (pointer, taint) = match base {
            Base::Bytes { object, offset } => ((u64::from(object) + 1) << OFFSET_BITS | offset, 0),
            _ => self.columns.get(inst.a, slot),
        };
        let found = if taint == 0 { self.memory.resolve(Space::Bytes, pointer) } else { None };
        let extent = found.map_or([0; 3], |(object, _)| self.memory.objects[object as usize].extent);
        (pointer, taint, extent)
    }

    pub(super) fn texel(&mut self, inst: &Inst, texel: u32) {
        let Texel { base, size, width, signed, has_level } = self.code.texels[texel as usize];
        let code = self.code;
        let ins = &code.pool[inst.ins.range()];
        let (coordinates, level) = ins.split_at(ins.len() - usize::from(has_level));
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (pointer, mut taint, extent) = self.image_of(inst, base, slot);
            let mut place = [0; 3];
            let mut inside = true;
            for ((to, &reg), &limit) in place.iter_mut().zip(coordinates).zip(&extent) {
                let (bits, t) = self.columns.get(reg, slot);
                if t != 0 {
                    // Undefined coordinates are those of some texel.
                    let why = if t & POISON != 0 { Why::Path } else { self.reasons.why(t) };
                    taint = taint.max(self.reasons.taint(why, inst.place));
                }
                inside &= (!signed || alu::signed(bits, width) >= 0) && bits < u64::from(limit);
                *to = bits;
            }
            for &reg in level {
                let (bits, t) = self.columns.get(reg, slot);
                if t != 0 {
                    let why = if t & POISON != 0 { Why::Path } else { self.reasons.why(t) };
                    taint = taint.max(self.reasons.taint(why, inst.place));
                }
                inside &= bits == 0;
            }
            let [x, y, z] = place;
            let number = (z * u64::from(extent[1]) + y) * u64::from(extent[0]) + x;
            let address = if inside || taint != 0 { pointer } else { NO_TEXEL };
            let offset = if inside && taint == 0 { number * size } else { 0 };
            self.columns.set(inst.d, slot, address.wrapping_add(offset), taint);
        }
        self.note_taints(inst.d);
    }

    pub(super) fn image_size(&mut self, inst: &Inst, texel: u32) {
        let base = self.code.texels[texel as usize].base;
        let code = self.code;
        let outs = &code.pool[inst.outs.range()];
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (_, taint, extent) = self.image_of(inst, base, slot);
            for (&out, size) in outs.iter().zip(extent) {
                self.columns.set(out, slot, u64::from(size), taint);
            }
        }
        outs.iter().for_each(|&out| self.note_taints(out));
    }

    /// Whether a column that all lanes have written has a taint.
    fn note_taints(&self, reg: Reg) {
        if self.full {
            let any = self.columns.taints(reg).iter().any(|taint| taint.get() != 0);
            self.columns.tainted[reg as usize].set(any);
        }
    }
}
