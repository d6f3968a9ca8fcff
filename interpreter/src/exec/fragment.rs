//! What only shaders without workgroups have: their built-in variables; of fragment shaders helper invocations, derivatives, inputs of a primitive. See the
//! crate's page, "Fragment shaders" and "Stages before rasterisation".

use rspirv::spirv::BuiltIn;

use super::Machine;
use super::accuracy::Number;
use super::group::{Members, Operation};
use super::reasons::POISON;
use super::stop::Stop;
use crate::code::*;
use crate::dispatch::Tier;
use crate::draw::{Fragment, Primitive};
use crate::faults::Planted;
use crate::outcome::Why;
use crate::types::Scalar;

impl Machine<'_> {
    fn fragment(&self, slot: usize) -> Option<(&Fragment, &Primitive)> {
        let draw = self.draw?;
        let fragment = draw.fragments.get(slot)?;
        Some((fragment, draw.primitives.get(fragment.primitive as usize)?))
    }

    /// The value of a built-in variable of shaders without workgroups at their begin; 0 in others.
    pub(super) fn of_draw(&self, built_in: BuiltIn, component: u32, slot: usize) -> u64 {
        let bits = |numbers: &[f32]| numbers.get(component as usize).map_or(0, |number| number.to_bits().into());
        if let Some(item) = self.draw.and_then(|draw| draw.items.get(slot)) {
            return match built_in {
                BuiltIn::VertexIndex => item.vertex.into(),
                BuiltIn::InstanceIndex => item.instance.into(),
                BuiltIn::InvocationId => item.invocation.into(),
                BuiltIn::PrimitiveId => item.primitive.into(),
                BuiltIn::TessCoord => bits(&item.tess_coord),
                _ => 0,
            };
        }
        let Some((fragment, primitive)) = self.fragment(slot) else { return 0 };
        match built_in {
            BuiltIn::FragCoord => bits(&fragment.coord),
            BuiltIn::HelperInvocation => fragment.helper.into(),
            BuiltIn::SampleId => fragment.sample.into(),
            BuiltIn::Layer => primitive.layer.into(),
            BuiltIn::PrimitiveId => primitive.id.into(),
            _ => 0,
        }
    }

    /// Columns of flat inputs.
    pub(super) fn flat_inputs(&mut self) {
        let code = self.code;
        for input in &code.flat_inputs {
            for slot in 0..self.n {
                let words = self.fragment(slot).and_then(|(_, primitive)| primitive.flat.get(&input.location)).copied();
                for component in 0..input.count {
                    let word = words.and_then(|words| words.get((input.component + component) as usize).copied());
                    self.columns.set(input.first + component, slot, word.unwrap_or(0).into(), 0);
                }
            }
        }
    }

    // ---- helper invocations ----

    /// `OpDemoteToHelperInvocation`.
    pub(super) fn demote(&mut self, inst: &Inst) {
        self.helpers.add(&self.lanes);
        let code = self.code;
        for built_in in code.built_ins.iter().filter(|columns| columns.built_in == BuiltIn::HelperInvocation) {
            // What it is now is asked for by `Volatile` (Vulkan, VUID-HelperInvocation-HelperInvocation-04239 and the text there).
            let taint = if built_in.volatile { 0 } else { self.reasons.taint(Why::Implementation, inst.place) };
            for &slot in &self.active {
                self.columns.set(built_in.first, slot as usize, 1, taint);
            }
        }
    }

    /// `OpIsHelperInvocationEXT`.
    pub(super) fn is_helper(&mut self, inst: &Inst) {
        for &slot in &self.active {
            let slot = slot as usize;
            let begun = self.fragment(slot).is_some_and(|(fragment, _)| fragment.helper);
            let now = if self.is(Planted::DemotedIsNoHelper) { begun } else { self.helpers.contains(slot) };
            self.columns.set(inst.d, slot, now.into(), 0);
        }
    }

    /// "Stores and atomics performed by helper invocations must: not have any effect on memory except for the code:Function, code:Private and code:Output
    /// storage classes" (Vulkan, Helper Invocations).
    pub(super) fn without_helpers(&mut self, access: impl FnOnce(&mut Self) -> Result<(), Stop>) -> Result<(), Stop> {
        if self.helpers.is_empty() || self.helpers.and(&self.lanes).is_empty() || self.is(Planted::HelpersStore) {
            return access(self);
        }
        let all = self.lanes.clone();
        let mut others = all.clone();
        others.remove(&self.helpers);
        let done = match others.is_empty() {
            true => Ok(()),
            false => {
                self.make_active(&others);
                access(self)
            }
        };
        self.make_active(&all);
        done
    }

    /// "The values returned by atomic instructions in helper invocations are undefined" (ibid.).
    pub(super) fn atomics_of_helpers(&mut self, inst: &Inst) {
        if inst.d == NONE || self.helpers.is_empty() {
            return;
        }
        let helpers = self.helpers.and(&self.lanes);
        if helpers.is_empty() {
            return;
        }
        let taint = self.reasons.taint(Why::Helper, inst.place);
        helpers.iter().for_each(|slot| self.columns.set(inst.d, slot, 0, taint));
    }

    /// Of the lanes of a subgroup that execute an operation here, the helpers that may be missing: because their quad may be gone, or because the tier lets
    /// them be inactive.
    ///
    /// A quad is there as long as one of its lanes is no helper. When that lane ends, or is demoted, is ordered with what others execute by nothing but
    /// operations that it takes part in; so a quad is certain to be there only where one of these executes the operation with the helper.
    pub(super) fn may_be_absent(&self, group: Group, subgroup: usize, mask: u128) -> u128 {
        if self.helpers.is_empty() || self.is(Planted::HelpersAlwaysThere) {
            return 0;
        }
        let slots = &self.layout.subgroups[subgroup].slots;
        let lanes = (0..slots.len()).filter(|lane| mask >> lane & 1 == 1);
        let helpers = lanes
            .filter(|&lane| self.helpers.contains(slots[lane] as usize))
            .fold(0u128, |found, lane| found | 1 << lane);
        let may_be_inactive = self.tier != Tier::Maximal && !group.is_of_quad();
        if may_be_inactive && !self.is(Planted::HelpersActiveAtEachTier) {
            return helpers;
        }
        let is_left = |quad: usize| (mask & !helpers) >> (4 * quad) & 0xF == 0;
        (0..slots.len().div_ceil(4))
            .filter(|&quad| is_left(quad))
            .fold(0, |absent, quad| absent | helpers & 0xF << (4 * quad))
    }

    // ---- derivatives ----

    /// Derivatives (Vulkan, Derivative Operations): "DPdx(P~0~) = DPdx(P~1~) = P~1~ - P~0~, DPdx(P~2~) = DPdx(P~3~) = P~3~ - P~2~", "DPdy(P~0~) = DPdy(P~2~) =
    /// P~2~ - P~0~, DPdy(P~1~) = DPdy(P~3~) = P~3~ - P~1~"; a width is the sum of the absolute values. A fragment covers one pixel. All are "Correctly
    /// rounded" (Vulkan, Precision of Core SPIR-V Instructions).
    pub(super) fn derivative(
        &mut self,
        op: &Operation<'_>,
        members: &Members,
        (derivative, of): (Derivative, Of),
        ins: &[Reg],
        outs: &[Reg],
    ) {
        let (Scalar::Float(w), place) = (op.scalar, op.inst.place) else { return };
        let open = self.reasons.taint(Why::Tangle, place);
        let either = self.reasons.taint(Why::Implementation, place);
        for quad in members.chunk_by(|x, y| x.0 / 4 == y.0 / 4) {
            let primitive = self.fragment(quad[0].1 as usize).map_or(0, |(fragment, _)| fragment.primitive);
            let is_uniform = quad.len() == 4
                && (self.quad_derivatives || op.uniform.get(primitive as usize).copied().unwrap_or(false));
            for (&x, &out) in ins[..op.n].iter().zip(outs) {
                if !is_uniform {
                    quad.iter().for_each(|&(_, slot)| self.columns.set(out, slot as usize, 0, open));
                    continue;
                }
                let value: [(u64, u32); 4] = std::array::from_fn(|k| self.columns.get(x, quad[k].1 as usize));
                let mut minus = |high: usize, low: usize| {
                    let (high, low) = if self.is(Planted::DerivativeReversed) { (low, high) } else { (high, low) };
                    self.sum(Float2::Sub, w, value[high], value[low], place)
                };
                let rows = [minus(1, 0), minus(3, 2)];
                let columns = [minus(2, 0), minus(3, 1)];
                let of_lane = |this: &mut Self, row: usize, column: usize| match derivative {
                    Derivative::X => rows[row],
                    Derivative::Y => columns[column],
                    Derivative::Width => {
                        let (x, y) = (this.magnitude(w, rows[row], place), this.magnitude(w, columns[column], place));
                        this.sum(Float2::Add, w, x, y, place)
                    }
                };
                let each: [(u64, u32); 4] = std::array::from_fn(|k| of_lane(self, k >> 1, k & 1));
                let any = self.any_of(w, each, either);
                let others = self.is(Planted::DerivativeOfOtherRow);
                for (k, &(_, slot)) in quad.iter().enumerate() {
                    let (bits, taint) = match of {
                        Of::Any if !self.is(Planted::CoarseIsFine) => any,
                        _ => each[if others { k ^ 3 } else { k }],
                    };
                    self.columns.set(out, slot as usize, bits, taint);
                }
            }
        }
    }

    /// One of these values, of which nobody says which it is: open where they differ, or where they are not known but for being a zero of either sign.
    fn any_of(&self, w: u8, each: [(u64, u32); 4], either: u32) -> (u64, u32) {
        let worst = each.iter().map(|&(_, taint)| taint).max().unwrap_or(0);
        let is_zero = |&(bits, taint): &(u64, u32)| {
            taint & POISON == 0 && matches!(self.number(w, bits, taint), Number::Range(0.0, 0.0))
        };
        match worst {
            0 if each.iter().all(|value| *value == each[0]) => each[0],
            undefined if undefined & POISON != 0 => (0, undefined),
            _ if each.iter().all(is_zero) => (0, worst),
            _ => (each[0].0, either),
        }
    }

    /// A sum or difference of two values.
    fn sum(&mut self, op: Float2, w: u8, x: (u64, u32), y: (u64, u32), place: u32) -> (u64, u32) {
        match x.1.max(y.1) {
            undefined if undefined & POISON != 0 => (0, undefined),
            _ => self.two(op, w, x, y, place),
        }
    }

    fn magnitude(&mut self, w: u8, (bits, taint): (u64, u32), place: u32) -> (u64, u32) {
        if taint & POISON != 0 {
            return (0, taint);
        }
        let answer = self.float1(Float1::Abs, w, self.number(w, bits, taint), bits);
        self.answer(w, answer, place)
    }

    /// For each primitive, whether all of it are together: "in control flow that is uniform within a derivative group", which "is equivalent to the primitive
    /// scope instance" (ibid.).
    pub(super) fn uniform_primitives(&self) -> Vec<bool> {
        let Some(draw) = self.draw else { return Vec::new() };
        let mut classes = vec![None; draw.primitives.len()];
        let mut uniform = vec![true; draw.primitives.len()];
        for (slot, fragment) in draw.fragments.iter().enumerate() {
            let primitive = fragment.primitive as usize;
            let class = self.class_of(slot);
            let first = *classes[primitive].get_or_insert(class);
            uniform[primitive] &= self.lanes.contains(slot) && first == class;
        }
        uniform
    }
}
