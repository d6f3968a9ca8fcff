//! What a function begins and ends with: its variables, the recording of the lane map in `main`, the zeroes of arrays, the way out.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::Op;
use tangle_analysis::cost::log_stride;
use tangle_program::control;
use tangle_program::map_buffer;
use tangle_program::ops::Intrinsic;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Builtin, Direction, Expr, VarId};
use tangle_program::types::{Scalar, Type};
use tangle_program::variant::Freedom;

use super::shape::{dynamically_indexed, returns_outside_loops_and_switches};
use crate::spirv::blocks::{BlockId, Role};
use crate::spirv::body::{Body, VarStorage};
use crate::spirv::module::{Global, Id};

impl<'a> Body<'_, 'a> {
    /// Decides where each variable lives, and gives it its first value.
    pub(super) fn variables(&mut self, params: &[Id]) {
        let function = self.function;
        let indexed = dynamically_indexed(function);
        let types = function.params.iter().map(|param| param.ty).chain(function.locals.iter().map(|local| local.ty));
        let types: Vec<Type> = types.collect();
        for (number, &ty) in types.iter().enumerate() {
            // Only memory has dynamic indices, except for vectors.
            let is_value = (ty.is_single() || !indexed[number]) && self.module.draws.takes(Freedom::Phis)
                || (ty.is_single() || !indexed[number]) && self.module.draws.takes(Freedom::Phis);
            self.places.push(VarStorage::Value);
            let var = number as VarId;
            let Some(param) = function.params.get(number) else {
                if !is_value {
                    self.zeroed(var, ty);
                }
                continue;
            };
            let pointer = params[number];
            match (param.direction, is_value) {
                (Direction::In, true) => self.blocks.write(var, pointer),
                (Direction::In, false) => {
                    let variable = self.variable(ty, None);
                    self.module.name(variable, &param.name);
                    self.places[number] = VarStorage::Memory(variable);
                    self.store(variable, pointer);
                }
                (Direction::Inout, true) => {
                    let value = self.load(pointer, ty);
                    self.blocks.write(var, value);
                    self.copied_out.push((var, pointer));
                }
                (Direction::Out, true) => self.copied_out.push((var, pointer)),
                (Direction::Inout, false) => self.places[number] = VarStorage::Memory(pointer),
                (Direction::Out, false) => {
                    self.places[number] = VarStorage::Memory(pointer);
                    let zero = self.module.zero(ty);
                    self.store(pointer, zero);
                }
            }
        }
    }

    /// A local in memory.
    fn zeroed(&mut self, var: VarId, ty: Type) {
        let zero = self.module.zero(ty);
        let initialised = self.takes(Freedom::Forms);
        let variable = self.variable(ty, initialised.then_some(zero));
        if !initialised {
            self.store(variable, zero);
        }
        if let Some(name) = self.function.var_name(var) {
            self.module.name(variable, name);
        }
        self.places[var as usize] = VarStorage::Memory(variable);
    }

    /// "Behavior is undefined if any invocation executes this instruction more than once or under non-uniform control flow" (SPV_EXT_mesh_shader).
    pub(super) fn set_outputs(&mut self) {
        let none = self.uint(0);
        let operands = [none; 2].map(Operand::IdRef).into();
        self.blocks.push(Instruction::new(Op::SetMeshOutputsEXT, None, None, operands));
    }

    /// Records the lane map while the lanes of a subgroup still execute everything together (docs/rules.md, section M).
    pub(super) fn prologue(&mut self) {
        let case = self.module.case;
        let index = self.builtin(Builtin::LocalIndex);
        let group = self.builtin(Builtin::WorkgroupIndex);
        let size = self.uint(case.entry_point.group_size());
        let base = self.ids(Op::IMul, Type::UINT, [group, size]);
        let invocation = self.ids(Op::IAdd, Type::UINT, [base, index]);
        let variable = self.module.global(Global::Invocation);
        self.store(variable, invocation);
        if self.module.logs() {
            let stride = self.uint(log_stride(case));
            let first = self.ids(Op::IMul, Type::UINT, [invocation, stride]);
            let (base, cursor) = (self.module.global(Global::LogBase), self.module.global(Global::Cursor));
            self.store(base, first);
            let zero = self.uint(0);
            self.store(cursor, zero);
        }
        let everybody = Expr::subgroup(SubgroupOp::Ballot, [Expr::Bool(true)]);
        let token = Expr::subgroup(SubgroupOp::BroadcastFirst, [Expr::Builtin(Builtin::LocalIndex)]);
        let (mask, _) = self.eval(&everybody);
        let (token, _) = self.eval(&token);
        let lanes = self.in_halves(Builtin::Lane, Builtin::SubgroupSize);
        let subgroups = self.in_halves(Builtin::SubgroupId, Builtin::NumSubgroups);
        let written = self.uint(map_buffer::WRITTEN);
        let token = self.ids(Op::IAdd, Type::UINT, [token, written]);
        let [x, y, z, w] = [0, 1, 2, 3].map(|word| self.extract(mask, Type::UINT, &[word]));
        let upper = [z, w].into_iter().zip(map_buffer::FOLD).fold(y, |sum, (word, factor)| {
            let factor = self.uint(factor);
            let product = self.ids(Op::IMul, Type::UINT, [word, factor]);
            self.ids(Op::IAdd, Type::UINT, [sum, product])
        });
        let record = [lanes, subgroups, token, x, upper];
        let words = self.uint(case.entry_point.packed_map_words() as u32);
        let base = self.ids(Op::IMul, Type::UINT, [invocation, words]);
        let map = self.module.global(Global::Map);
        for (number, word) in (0..).zip(record) {
            self.store_word(map, base, number, word);
        }
        self.arrays_begin();
    }

    /// [`map_buffer::halves`] of two numbers.
    fn in_halves(&mut self, low: Builtin, high: Builtin) -> Id {
        let [low, high] = [low, high].map(|number| {
            let largest = Expr::Uint(map_buffer::LARGEST);
            self.eval(&Expr::Intrinsic(Intrinsic::Min, vec![Expr::Builtin(number), largest])).0
        });
        let bits = self.uint(16);
        let high = self.ids(Op::ShiftLeftLogical, Type::UINT, [high, bits]);
        self.ids(Op::BitwiseOr, Type::UINT, [low, high])
    }

    /// `buffer[base + number] = word`
    pub(super) fn store_word(&mut self, buffer: Id, base: Id, number: u32, word: Id) {
        let number = self.uint(number);
        let index = self.ids(Op::IAdd, Type::UINT, [base, number]);
        let pointer = self.word_of(buffer, index);
        self.store(pointer, word);
    }

    /// Fills the arrays: in shared memory they hold undefined values at first.
    fn arrays_begin(&mut self) {
        let case = self.module.case;
        let invocations = case.entry_point.group_size();
        for (array, shared) in (0..).zip(&case.program.shared) {
            let init = self.module.bits(shared.scalar, shared.init.into());
            let first = self.builtin(Builtin::LocalIndex);
            if shared.len == invocations {
                let pointer = self.array_element(array, first);
                self.store(pointer, init);
                continue;
            }
            // for (slot = LocalInvocationIndex; slot < len; slot += invocations)
            let slot = self.variable(Type::UINT, None);
            self.store(slot, first);
            let header = self.new_block(Role::Other);
            let (body, next, merge) =
                (self.new_block(Role::Other), self.new_block(Role::Other), self.new_block(Role::Other));
            self.jump(header);
            self.blocks.begin(header);
            let at = self.load(slot, Type::UINT);
            let len = self.uint(shared.len);
            let goes_on = self.ids(Op::ULessThan, Type::BOOL, [at, len]);
            let merges = self.loop_merge(merge, next, control::LoopControl::Unspecified);
            self.blocks.push(merges);
            self.branch_conditional(goes_on, body, merge);
            self.enter(body);
            let pointer = self.array_element(array, at);
            self.store(pointer, init);
            self.jump(next);
            self.enter(next);
            let step = self.uint(invocations);
            let after = self.ids(Op::IAdd, Type::UINT, [at, step]);
            self.store(slot, after);
            self.jump(header);
            self.blocks.seal(self.module, header);
            self.enter(merge);
        }
        if !case.program.shared.is_empty() {
            self.barrier();
        }
    }

    /// The body, with or without one return for all.
    pub(super) fn whole(&mut self) {
        let function = self.function;
        let body = &function.body;
        // A branch to the merge block of a switch leaves no loop and no other switch.
        let can_share = self.is_maximal() && !body.is_empty() && returns_outside_loops_and_switches(body);
        if !self.emits && (!can_share || !self.takes(Freedom::SharedReturn)) {
            self.block(body);
            if self.blocks.current.is_some() {
                match function.result {
                    None => self.leave(None),
                    // It does not get here: such a function ends with a return.
                    Some(ty) => {
                        let value = self.module.undefined(ty);
                        self.leave(Some(value));
                    }
                }
            }
            return;
        }
        // What emits workgroups stands behind a selection that all leave by its merge block, where control flow is uniform (rule R6).
        let merge = self.new_block(Role::Merge);
        self.one_case(merge);
        self.shared_return = Some(merge);
        self.block(body);
        self.branch(merge);
        self.shared_return = None;
        self.enter_merge(merge);
        if self.blocks.current.is_some() {
            let value = function.result.map(|ty| self.blocks.read(self.module, self.result_variable(), ty));
            self.leave(value);
        }
    }

    /// The variable behind all others: what the function gives.
    pub(super) fn result_variable(&self) -> VarId {
        self.function.var_count() as VarId
    }

    /// `switch (0) { default: …`, up to its first block.
    pub(super) fn one_case(&mut self, merge: BlockId) {
        let selector = self.uint(0);
        let first = self.new_block(Role::Other);
        self.end_with_switch(merge, control::SelectionControl::Unspecified, (selector, Scalar::Uint), &[], first);
        self.enter(first);
    }

    /// Copies parameters out, and then OpReturn or OpReturnValue.
    pub(super) fn leave(&mut self, value: Option<Id>) {
        for (var, pointer) in self.copied_out.clone() {
            let ty = self.function.var_type(var).unwrap_or(Type::UINT);
            let value = self.blocks.read(self.module, var, ty);
            self.store(pointer, value);
        }
        match value {
            None if self.emits => {
                let none = self.uint(0);
                self.end(Op::EmitMeshTasksEXT, [none; 3].map(Operand::IdRef).into(), []);
            }
            None => self.end(Op::Return, Vec::new(), []),
            Some(value) => self.end(Op::ReturnValue, vec![Operand::IdRef(value)], []),
        }
    }
}
