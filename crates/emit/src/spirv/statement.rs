//! Functions, statements and control flow.

use rspirv::dr::{self, Instruction, Operand};
use rspirv::spirv::{FunctionControl, LoopControl, MemorySemantics, Op, Scope, SelectionControl, StorageClass};
use tangle_analysis::cost::{log_capacity, log_stride};
use tangle_analysis::undefined::MayBeUndefined;
use tangle_features::Feature;
use tangle_program::case::{Tier, interface};
use tangle_program::control;
use tangle_program::memory::{AtomicOp, Sync};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{
    Arg, Arm, Atomic, Block, Builtin, Direction, Expr, Function, FunctionId, Label, Loop, LoopKind, SiteId, Stmt,
    VarId, walk_block,
};
use tangle_program::types::{Scalar, Shape, Type};
use tangle_program::variant::Freedom;

use super::Id;
use super::blocks::{BlockId, Blocks, Role};
use super::module::{Global, Module};

/// How often statements are put into a construct of their own: once in so many times.
const WRAPPED_ONCE_IN: u64 = 6;

/// All kinds of memory that shaders here have.
const ALL_MEMORY: MemorySemantics =
    MemorySemantics::UNIFORM_MEMORY.union(MemorySemantics::WORKGROUP_MEMORY).union(MemorySemantics::IMAGE_MEMORY);

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VarStorage {
    /// In values ([`Blocks`]).
    Value,
    /// In a variable of the storage class Function.
    Memory(Id),
}

/// Where jumps of a loop or switch go.
#[derive(Clone, Copy)]
struct Target {
    on_break: BlockId,
    /// Of a loop.
    on_continue: Option<BlockId>,
}

/// A function that is being printed.
pub(super) struct Body<'m, 'a> {
    pub module: &'m mut Module<'a>,
    pub function: &'a Function,
    /// Its number in the program.
    pub number: usize,
    pub blocks: Blocks,
    pub undefined: &'m MayBeUndefined<'a>,
    /// For each variable.
    pub places: Vec<VarStorage>,
    /// True while what is computed leads to a variable that is precise.
    pub precise: bool,
    /// True while nothing may branch.
    pub straight: bool,
    /// True in a continue construct, which has no loops and switches of its own.
    in_continue: bool,
    /// Loops and switches around, inside out from the end.
    targets: Vec<Target>,
    /// The block with the one return of the function.
    shared_return: Option<BlockId>,
    /// The out and inout parameters that live in values: variable, pointer.
    copied_out: Vec<(VarId, Id)>,
}

/// Prints a function and adds it to the module.
pub(super) fn function<'a>(
    module: &mut Module<'a>,
    function: &'a Function,
    number: usize,
    undefined: &MayBeUndefined<'a>,
) {
    let is_main = number + 1 == module.case.program.functions.len();
    let result = match function.result {
        Some(ty) => module.ty(ty),
        None => module.void(),
    };
    let types: Vec<Id> = function
        .params
        .iter()
        .map(|param| match param.direction {
            Direction::In => module.ty(param.ty),
            Direction::Out | Direction::Inout => module.pointer(StorageClass::Function, param.ty),
        })
        .collect();
    let ty = module.function_type(result, types.clone());
    let id = module.id();
    module.name(id, &function.name);
    let control = match (is_main, module.draws.takes(Freedom::FunctionControl)) {
        (false, true) if module.draws.takes(Freedom::FunctionControl) => FunctionControl::INLINE,
        (false, true) => FunctionControl::DONT_INLINE,
        _ => FunctionControl::NONE,
    };
    let operands = vec![Operand::FunctionControl(control), Operand::IdRef(ty)];
    let mut made = dr::Function::new();
    made.def = Some(Instruction::new(Op::Function, Some(result), Some(id), operands));
    let params: Vec<Id> = types.iter().map(|_| module.id()).collect();
    let parameter = |(&ty, &id): (&Id, &Id)| Instruction::new(Op::FunctionParameter, Some(ty), Some(id), Vec::new());
    made.parameters = types.iter().zip(&params).map(parameter).collect();
    module.functions.push(id);
    let blocks = Blocks::new(module);
    let mut body = Body {
        module,
        function,
        number,
        blocks,
        undefined,
        places: Vec::new(),
        precise: false,
        straight: false,
        in_continue: false,
        targets: Vec::new(),
        shared_return: None,
        copied_out: Vec::new(),
    };
    body.variables(&params);
    if is_main {
        body.prologue();
    }
    body.whole();
    let Body { module, blocks, .. } = body;
    made.blocks = blocks.finish(module);
    made.end = Some(Instruction::new(Op::FunctionEnd, None, None, Vec::new()));
    module.add_function(made);
}

impl<'a> Body<'_, 'a> {
    fn takes(&mut self, freedom: Freedom) -> bool {
        self.module.draws.takes(freedom)
    }

    fn new_block(&mut self, role: Role) -> BlockId {
        self.blocks.new_block(self.module, role)
    }

    /// Begins a block all of whose predecessors are known.
    pub fn enter(&mut self, block: BlockId) {
        self.blocks.seal(self.module, block);
        self.blocks.begin(block);
    }

    /// The same for a merge block, which may have none.
    fn enter_merge(&mut self, block: BlockId) {
        self.enter(block);
        if !self.blocks.has_predecessors(block) {
            self.end(Op::Unreachable, Vec::new(), []);
        }
    }

    fn end<const N: usize>(&mut self, op: Op, operands: Vec<Operand>, successors: [BlockId; N]) {
        self.blocks.end(Instruction::new(op, None, None, operands), successors);
    }

    /// The same, maybe with an empty block between, if the current block can be reached.
    fn branch(&mut self, to: BlockId) {
        if self.blocks.current.is_none() {
            return;
        }
        if self.takes(Freedom::EmptyBlocks) && self.module.draws.takes_once_in(4, Freedom::EmptyBlocks) {
            let between = self.new_block(Role::Other);
            self.jump(between);
            self.enter(between);
        }
        self.jump(to);
    }

    /// OpBranch.
    pub fn jump(&mut self, to: BlockId) {
        let label = self.blocks.label(to);
        self.end(Op::Branch, vec![Operand::IdRef(label)], [to]);
    }

    pub fn branch_conditional(&mut self, cond: Id, on_true: BlockId, on_false: BlockId) {
        let labels = [self.blocks.label(on_true), self.blocks.label(on_false)];
        let operands = [cond].into_iter().chain(labels).map(Operand::IdRef).collect();
        self.end(Op::BranchConditional, operands, [on_true, on_false]);
    }

    /// The same, or with the negated condition: true if so. `merge` is the merge instruction that stands before the branch, if any.
    pub fn part(&mut self, merge: Option<Instruction>, cond: Id, on_true: BlockId, on_false: BlockId) -> bool {
        let swapped = self.takes(Freedom::SwappedArms);
        let cond = if swapped { self.not(cond) } else { cond };
        if let Some(merge) = merge {
            self.blocks.push(merge);
        }
        let (on_true, on_false) = if swapped { (on_false, on_true) } else { (on_true, on_false) };
        self.branch_conditional(cond, on_true, on_false);
        swapped
    }

    pub fn selection_merge(&mut self, merge: BlockId, control: control::SelectionControl) -> Instruction {
        let control = match control {
            control::SelectionControl::Unspecified => SelectionControl::NONE,
            control::SelectionControl::Flatten => SelectionControl::FLATTEN,
            control::SelectionControl::DontFlatten => SelectionControl::DONT_FLATTEN,
        };
        let operands = vec![Operand::IdRef(self.blocks.label(merge)), Operand::SelectionControl(control)];
        Instruction::new(Op::SelectionMerge, None, None, operands)
    }

    fn loop_merge(&mut self, merge: BlockId, on_continue: BlockId, control: control::LoopControl) -> Instruction {
        let control = match control {
            control::LoopControl::Unspecified => LoopControl::NONE,
            control::LoopControl::Unroll => LoopControl::UNROLL,
            control::LoopControl::DontUnroll => LoopControl::DONT_UNROLL,
        };
        let labels = [merge, on_continue].map(|block| Operand::IdRef(self.blocks.label(block)));
        let operands = labels.into_iter().chain([Operand::LoopControl(control)]).collect();
        Instruction::new(Op::LoopMerge, None, None, operands)
    }

    fn is_maximal(&self) -> bool {
        self.module.case.tier == Tier::Maximal
    }

    /// Decides where each variable lives, and gives it its first value.
    fn variables(&mut self, params: &[Id]) {
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

    /// Records the lane map while the lanes of a subgroup still execute everything together (docs/rules.md, section M).
    fn prologue(&mut self) {
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
        let mut record: Vec<Id> = [Builtin::Lane, Builtin::SubgroupSize, Builtin::SubgroupId, Builtin::NumSubgroups]
            .map(|builtin| self.builtin(builtin))
            .into();
        record.push(token);
        record.extend((0..4).map(|word| self.extract(mask, Type::UINT, &[word])));
        record.push(self.uint(interface::MAP_WRITTEN));
        let words = self.uint(interface::MAP_WORDS as u32);
        let base = self.ids(Op::IMul, Type::UINT, [invocation, words]);
        let map = self.module.global(Global::Map);
        for (number, word) in (0..).zip(record) {
            self.store_word(map, base, number, word);
        }
        self.arrays_begin();
    }

    /// `buffer[base + number] = word`
    fn store_word(&mut self, buffer: Id, base: Id, number: u32, word: Id) {
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
    fn whole(&mut self) {
        let function = self.function;
        let body = &function.body;
        // A branch to the merge block of a switch leaves no loop and no other switch.
        let can_share = self.is_maximal() && !body.is_empty() && returns_outside_loops_and_switches(body);
        if !can_share || !self.takes(Freedom::SharedReturn) {
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
    fn result_variable(&self) -> VarId {
        self.function.var_count() as VarId
    }

    /// `switch (0) { default: …`, up to its first block.
    fn one_case(&mut self, merge: BlockId) {
        let selector = self.uint(0);
        let first = self.new_block(Role::Other);
        self.end_with_switch(merge, control::SelectionControl::Unspecified, (selector, Scalar::Uint), &[], first);
        self.enter(first);
    }

    /// OpReturn or OpReturnValue.
    fn leave(&mut self, value: Option<Id>) {
        for (var, pointer) in self.copied_out.clone() {
            let ty = self.function.var_type(var).unwrap_or(Type::UINT);
            let value = self.blocks.read(self.module, var, ty);
            self.store(pointer, value);
        }
        match value {
            None => self.end(Op::Return, Vec::new(), []),
            Some(value) => self.end(Op::ReturnValue, vec![Operand::IdRef(value)], []),
        }
    }

    fn block(&mut self, block: &'a [Stmt]) {
        let mut rest = block;
        while let [first, others @ ..] = rest {
            if self.blocks.current.is_none() {
                return;
            }
            let count = self.wrapped(rest);
            if count == 0 {
                self.stmt(first);
                rest = others;
            } else {
                rest = &rest[count..];
            }
        }
    }

    /// Puts statements at the beginning of the list into a construct of their own: says how many, maybe none.
    fn wrapped(&mut self, stmts: &'a [Stmt]) -> usize {
        if self.in_continue || self.straight {
            return 0;
        }
        let in_switch = self.module.draws.takes_once_in(WRAPPED_ONCE_IN, Freedom::OneCaseSwitch);
        let in_loop = !in_switch && self.module.draws.takes_once_in(WRAPPED_ONCE_IN, Freedom::OneTripLoop);
        if !in_switch && !in_loop {
            return 0;
        }
        let most = 1 + (self.module.draws.next() % 3) as usize;
        let maximal = self.is_maximal();
        let count = stmts.iter().take(most).take_while(|stmt| is_closed(stmt, maximal, false, false)).count();
        if count == 0 {
            return 0;
        }
        let merge = self.new_block(Role::Merge);
        if in_switch {
            self.one_case(merge);
            stmts[..count].iter().for_each(|stmt| self.stmt(stmt));
            self.branch(merge);
        } else {
            let (header, first, next) =
                (self.new_block(Role::Other), self.new_block(Role::Other), self.new_block(Role::Other));
            self.jump(header);
            self.blocks.begin(header);
            let merges = self.loop_merge(merge, next, control::LoopControl::Unspecified);
            self.blocks.push(merges);
            self.jump(first);
            self.enter(first);
            stmts[..count].iter().for_each(|stmt| self.stmt(stmt));
            self.branch(merge);
            // Nobody goes on, but there has to be a back edge.
            self.enter(next);
            self.jump(header);
            self.blocks.seal(self.module, header);
        }
        self.enter_merge(merge);
        count
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign { var, value } => self.assign(*var, value),
            Stmt::Log { site, values } => self.log(*site, values),
            Stmt::If { cond, then, otherwise, control } => self.selection(cond, then, otherwise, *control),
            Stmt::Switch { selector, arms, control } => self.switch(selector, arms, *control),
            Stmt::Loop(l) => self.repeated(l),
            Stmt::Break => {
                if let Some(&Target { on_break, .. }) = self.targets.last() {
                    self.branch(on_break);
                }
            }
            Stmt::Continue => {
                if let Some(target) = self.continue_target() {
                    self.branch(target);
                }
            }
            Stmt::Return(value) => self.return_from(value.as_ref()),
            Stmt::Call { function, args, dest } => self.call(*function, args, *dest),
            Stmt::Barrier(op) => self.subgroup_barrier(*op),
            Stmt::Sync(sync) => self.sync(*sync),
            Stmt::SetElement { var, index, value } => self.set_element(*var, index, value),
            Stmt::Store { array, value } => {
                let (value, _) = self.eval(value);
                let index = self.builtin(Builtin::LocalIndex);
                let pointer = self.array_element(*array, index);
                self.store(pointer, value);
            }
            Stmt::Atomic(atomic) => self.atomic(atomic),
            // Printed modules are compute shaders.
            Stmt::Discard(_) => {}
            Stmt::Assume(cond) => {
                let (cond, _) = self.eval(cond);
                self.effect(Op::AssumeTrueKHR, &[cond]);
            }
        }
    }

    fn continue_target(&self) -> Option<BlockId> {
        self.targets.iter().rev().find_map(|target| target.on_continue)
    }

    fn assign(&mut self, var: VarId, value: &Expr) {
        let local = (var as usize).checked_sub(self.function.params.len());
        self.precise = local.and_then(|local| self.function.locals.get(local)).is_some_and(|local| local.precise);
        let (value, _) = self.eval(value);
        self.precise = false;
        self.write(var, value);
    }

    fn return_from(&mut self, value: Option<&Expr>) {
        let value = value.map(|value| self.eval(value).0);
        match self.shared_return {
            None => self.leave(value),
            Some(merge) => {
                if let Some(value) = value {
                    self.blocks.write(self.result_variable(), value);
                }
                self.branch(merge);
            }
        }
    }

    fn log(&mut self, site: SiteId, values: &[Expr]) {
        let mut words = vec![self.uint(site)];
        for value in values {
            let (id, ty) = self.eval(value);
            for scalar in self.scalars(id, ty) {
                words.extend(self.words(scalar, ty.scalar));
            }
        }
        let [base, cursor, log] =
            [Global::LogBase, Global::Cursor, Global::Log].map(|global| self.module.global(global));
        let base = self.load(base, Type::UINT);
        let at = self.load(cursor, Type::UINT);
        let last = self.uint(log_capacity(self.module.case) - 1);
        let within = self.ids(Op::BitwiseAnd, Type::UINT, [at, last]);
        let entry = self.ids(Op::IAdd, Type::UINT, [base, within]);
        let count = self.uint(words.len() as u32);
        let after = self.ids(Op::IAdd, Type::UINT, [at, count]);
        self.store(cursor, after);
        for (number, word) in (0..).zip(words) {
            self.store_word(log, entry, number, word);
        }
    }

    fn set_element(&mut self, var: VarId, index: &Expr, value: &Expr) {
        let ty = self.function.var_type(var).unwrap_or(Type::UINT);
        let Some((element, _)) = ty.indexed() else { return };
        let pointer = match self.places.get(var as usize) {
            Some(&VarStorage::Memory(pointer)) => {
                let pointer = self.element_pointer(pointer, element, index);
                let (value, _) = self.eval(value);
                return self.store(pointer, value);
            }
            _ => self.blocks.read(self.module, var, ty),
        };
        let changed = match index {
            Expr::Uint(k) => {
                let (value, _) = self.eval(value);
                let operands = vec![Operand::IdRef(value), Operand::IdRef(pointer), Operand::LiteralBit32(*k)];
                self.op(Op::CompositeInsert, ty, operands)
            }
            _ => {
                let (index, _) = self.eval(index);
                let (value, _) = self.eval(value);
                self.ids(Op::VectorInsertDynamic, ty, [pointer, value, index])
            }
        };
        self.blocks.write(var, changed);
    }

    fn call(&mut self, callee: FunctionId, args: &'a [Arg], dest: Option<VarId>) {
        let case = self.module.case;
        let (Some(function), Some(&id)) =
            (case.program.functions.get(callee as usize), self.module.functions.get(callee as usize))
        else {
            return;
        };
        let mut operands = vec![id];
        let mut back = Vec::new();
        for (arg, param) in args.iter().zip(&function.params) {
            match *arg {
                Arg::In(ref value) => operands.push(self.eval(value).0),
                Arg::Out(var) => match self.places.get(var as usize).copied() {
                    // A parameter of this function cannot be passed on everywhere; a variable of its own can.
                    Some(VarStorage::Memory(variable))
                        if var as usize >= self.function.params.len() && self.takes(Freedom::Forms) =>
                    {
                        operands.push(variable);
                    }
                    _ => {
                        let variable = self.variable(param.ty, None);
                        if param.direction == Direction::Inout {
                            let value = self.read(var, param.ty);
                            self.store(variable, value);
                        }
                        operands.push(variable);
                        back.push((var, variable, param.ty));
                    }
                },
            }
        }
        let ty = match function.result {
            Some(ty) => self.module.ty(ty),
            None => self.module.void(),
        };
        let result = self.op_of(Op::FunctionCall, ty, operands.into_iter().map(Operand::IdRef).collect());
        for (var, variable, ty) in back {
            let value = self.load(variable, ty);
            self.write(var, value);
        }
        if let Some(dest) = dest {
            self.write(dest, result);
        }
    }

    /// OpControlBarrier or OpMemoryBarrier.
    fn barrier_of(&mut self, execution: Option<Scope>, memory: Scope, of: MemorySemantics) {
        let execution = execution.map(|scope| self.uint(scope as u32));
        let semantics = self.uint((MemorySemantics::ACQUIRE_RELEASE | of).bits());
        let memory = self.uint(memory as u32);
        let ids: Vec<Id> = execution.into_iter().chain([memory, semantics]).collect();
        self.effect(if execution.is_some() { Op::ControlBarrier } else { Op::MemoryBarrier }, &ids);
    }

    fn subgroup_barrier(&mut self, op: SubgroupOp) {
        let (execution, of) = match op {
            SubgroupOp::MemoryBarrier => (None, ALL_MEMORY),
            SubgroupOp::MemoryBarrierBuffer => (None, MemorySemantics::UNIFORM_MEMORY),
            SubgroupOp::MemoryBarrierShared => (None, MemorySemantics::WORKGROUP_MEMORY),
            SubgroupOp::MemoryBarrierImage => (None, MemorySemantics::IMAGE_MEMORY),
            _ => (Some(Scope::Subgroup), ALL_MEMORY),
        };
        self.barrier_of(execution, Scope::Subgroup, of);
    }

    /// `barrier();`, and what it needs to order buffers, too.
    fn barrier(&mut self) {
        let in_buffer = self.module.case.program.shared.iter().any(|array| !array.storage.is_workgroup());
        if in_buffer {
            self.barrier_of(None, Scope::Device, MemorySemantics::UNIFORM_MEMORY);
        }
        self.barrier_of(Some(Scope::Workgroup), Scope::Workgroup, MemorySemantics::WORKGROUP_MEMORY);
        if in_buffer {
            self.barrier_of(None, Scope::Device, MemorySemantics::UNIFORM_MEMORY);
        }
    }

    fn sync(&mut self, sync: Sync) {
        match sync {
            Sync::Barrier => self.barrier(),
            Sync::Memory => self.barrier_of(None, Scope::Device, ALL_MEMORY),
            Sync::MemoryShared => self.barrier_of(None, Scope::Device, MemorySemantics::WORKGROUP_MEMORY),
            Sync::MemoryBuffer => self.barrier_of(None, Scope::Device, MemorySemantics::UNIFORM_MEMORY),
            Sync::GroupMemory => self.barrier_of(None, Scope::Workgroup, ALL_MEMORY),
        }
    }

    fn atomic(&mut self, atomic: &Atomic) {
        let case = self.module.case;
        let Some(array) = case.program.shared.get(atomic.array as usize) else { return };
        let signed = array.scalar.is_signed();
        let (index, _) = self.eval(&atomic.index);
        let compare = atomic.compare.as_ref().map(|compare| self.eval(compare).0);
        let (value, _) = self.eval(&atomic.value);
        let pointer = self.array_element(atomic.array, index);
        let (scope, relaxed) = (self.uint(Scope::Device as u32), self.uint(0));
        let op = match atomic.op {
            AtomicOp::Add => Op::AtomicIAdd,
            AtomicOp::Min if signed => Op::AtomicSMin,
            AtomicOp::Min => Op::AtomicUMin,
            AtomicOp::Max if signed => Op::AtomicSMax,
            AtomicOp::Max => Op::AtomicUMax,
            AtomicOp::And => Op::AtomicAnd,
            AtomicOp::Or => Op::AtomicOr,
            AtomicOp::Xor => Op::AtomicXor,
            AtomicOp::Exchange => Op::AtomicExchange,
            AtomicOp::CompSwap => Op::AtomicCompareExchange,
        };
        let old = match compare {
            Some(compare) => self.ids(op, array.ty(), [pointer, scope, relaxed, relaxed, value, compare]),
            None => self.ids(op, array.ty(), [pointer, scope, relaxed, value]),
        };
        if let Some(dest) = atomic.dest {
            self.write(dest, old);
        }
    }

    /// The block that a list of statements does nothing but jump to.
    fn exit_of(&self, block: &Block) -> Option<BlockId> {
        match block.as_slice() {
            [Stmt::Break] => self.targets.last().map(|target| target.on_break),
            [Stmt::Continue] => self.continue_target(),
            [Stmt::Return(None)] => self.shared_return,
            _ => None,
        }
    }

    fn selection(&mut self, cond: &Expr, then: &'a Block, otherwise: &'a Block, control: control::SelectionControl) {
        let may_change = control.is_unspecified();
        let exits = (self.exit_of(then), self.exit_of(otherwise));
        if may_change && exits.0 != exits.1 && self.takes(Freedom::BareExits) {
            return self.bare_exit(cond, then, otherwise, exits);
        }
        let assignments = |body: &Self, block: &Block| {
            block.iter().all(|stmt| matches!(stmt, Stmt::Assign { value, .. } if body.is_eager(value)))
        };
        if may_change
            && self.is_maximal()
            && assignments(self, then)
            && assignments(self, otherwise)
            && self.takes(Freedom::Select)
        {
            return self.selected(cond, then, otherwise);
        }
        let (cond, _) = self.eval(cond);
        let merge = self.new_block(Role::Merge);
        if may_change && self.can_be_switch(then, otherwise) && self.module.draws.takes_once_in(3, Freedom::IfAsSwitch)
        {
            self.as_switch(cond, then, otherwise, merge);
            return self.enter_merge(merge);
        }
        let arm = |body: &mut Self, block: &Block, needed: bool| {
            let is_merge = !needed && block.is_empty() && !body.takes(Freedom::EmptyBlocks);
            if is_merge { merge } else { body.new_block(Role::Arm) }
        };
        // The two labels must differ.
        let on_true = arm(self, then, otherwise.is_empty());
        let on_false = arm(self, otherwise, false);
        let mut arms = [(on_true, then), (on_false, otherwise)];
        let merges = self.selection_merge(merge, control);
        if self.part(Some(merges), cond, on_true, on_false) {
            arms.reverse();
        }
        for (block, stmts) in arms {
            if block != merge {
                self.enter(block);
                self.block(stmts);
                self.branch(merge);
            }
        }
        self.enter_merge(merge);
    }

    /// `if (cond) break;` without OpSelectionMerge: what follows is in the other target.
    fn bare_exit(
        &mut self,
        cond: &Expr,
        then: &'a Block,
        otherwise: &'a Block,
        exits: (Option<BlockId>, Option<BlockId>),
    ) {
        let (cond, _) = self.eval(cond);
        let (on_true, on_false, rest) = match exits {
            (Some(on_true), Some(on_false)) => {
                self.part(None, cond, on_true, on_false);
                return;
            }
            (Some(on_true), None) => (on_true, self.new_block(Role::Other), otherwise),
            (None, on_false) => {
                let on_true = self.new_block(Role::Other);
                (on_true, on_false.unwrap_or(on_true), then)
            }
        };
        self.part(None, cond, on_true, on_false);
        let next = if exits.0.is_some() { on_false } else { on_true };
        self.enter(next);
        self.block(rest);
    }

    /// OpSelect for each variable that an arm assigns.
    fn selected(&mut self, cond: &Expr, then: &'a Block, otherwise: &'a Block) {
        let (cond, _) = self.eval(cond);
        for (block, holds) in [(then, true), (otherwise, false)] {
            for stmt in block {
                let Stmt::Assign { var, value } = stmt else { continue };
                let (value, ty) = self.eval(value);
                let before = self.read(*var, ty);
                let (x, y) = if holds { (value, before) } else { (before, value) };
                let value =
                    if ty.is_single() { self.select(cond, ty, x, y) } else { self.select_parts(cond, ty, x, y) };
                self.write(*var, value);
            }
        }
    }

    /// Before SPIR-V 1.4 OpSelect does not take aggregates.
    fn select_parts(&mut self, cond: Id, ty: Type, x: Id, y: Id) -> Id {
        let element = Type { shape: Shape::Single, ..ty };
        let parts = (0..u32::from(ty.elements())).map(|k| {
            let (x, y) = (self.extract(x, element, &[k]), self.extract(y, element, &[k]));
            Operand::IdRef(self.select(cond, element, x, y))
        });
        let parts = parts.collect();
        self.op(Op::CompositeConstruct, ty, parts)
    }

    /// True if nothing in the arms jumps to the merge block of a switch around: it could not get there out of another switch.
    fn can_be_switch(&self, then: &Block, otherwise: &Block) -> bool {
        let in_loop = self.targets.last().is_some_and(|target| target.on_continue.is_some());
        let leaves = |block: &Block| {
            !in_loop && has_break(block)
                || self.shared_return.is_some() && has_stmt(block, |s| matches!(s, Stmt::Return(_)))
        };
        !self.in_continue && !leaves(then) && !leaves(otherwise)
    }

    /// OpSwitch on 1 or 0, with the labels 1 and default, 0 and default, or both and a default that nobody reaches.
    fn as_switch(&mut self, cond: Id, then: &'a Block, otherwise: &'a Block, merge: BlockId) {
        let scalar = self.selector_scalar(Scalar::Uint);
        let (one, zero) = (self.module.bits(scalar, 1), self.module.bits(scalar, 0));
        let selector = self.ids(Op::Select, Type::scalar(scalar), [cond, one, zero]);
        let arm = |body: &mut Self, block: &Block| if block.is_empty() { merge } else { body.new_block(Role::Other) };
        let (on_true, on_false) = (arm(self, then), arm(self, otherwise));
        let nobody = self.takes(Freedom::UnreachableDefault).then(|| self.new_block(Role::Other));
        let (labels, default) = match nobody {
            Some(nobody) => (vec![(0, on_false), (1, on_true)], nobody),
            None if self.takes(Freedom::SwappedArms) => (vec![(0, on_false)], on_true),
            None => (vec![(1, on_true)], on_false),
        };
        self.end_with_switch(merge, control::SelectionControl::Unspecified, (selector, scalar), &labels, default);
        for (block, stmts) in [(on_true, then), (on_false, otherwise)] {
            if block != merge {
                self.enter(block);
                self.block(stmts);
                self.branch(merge);
            }
        }
        if let Some(nobody) = nobody {
            self.enter(nobody);
            self.end(Op::Unreachable, Vec::new(), []);
        }
    }

    /// The type of a selector: its own, or 64 bits wide.
    fn selector_scalar(&mut self, scalar: Scalar) -> Scalar {
        let wide = self.module.features.contains(Feature::ShaderInt64) && self.takes(Freedom::WideSelectors);
        match (wide, scalar.is_signed()) {
            (false, _) => scalar,
            (true, true) => Scalar::Int64,
            (true, false) => Scalar::Uint64,
        }
    }

    fn end_with_switch(
        &mut self,
        merge: BlockId,
        control: control::SelectionControl,
        (selector, scalar): (Id, Scalar),
        labels: &[(i64, BlockId)],
        default: BlockId,
    ) {
        let merges = self.selection_merge(merge, control);
        self.blocks.push(merges);
        let mut operands = vec![Operand::IdRef(selector), Operand::IdRef(self.blocks.label(default))];
        for &(value, block) in labels {
            operands.push(match scalar.size() {
                64 => Operand::LiteralBit64(value as u64),
                _ => Operand::LiteralBit32(value as u32),
            });
            operands.push(Operand::IdRef(self.blocks.label(block)));
        }
        let successors: Vec<BlockId> = labels.iter().map(|&(_, block)| block).chain([default]).collect();
        self.blocks.end(Instruction::new(Op::Switch, None, None, operands), successors);
    }

    fn switch(&mut self, selector: &Expr, arms: &'a [Arm], control: control::SelectionControl) {
        let has_every_value = has_every_value(selector, arms);
        let (id, ty) = self.eval(selector);
        let scalar = self.selector_scalar(ty.scalar);
        let selector = self.cast(id, ty, Type::scalar(scalar));
        let merge = self.new_block(Role::Merge);
        let mut nobody = None;
        let mut default = merge;
        let mut labels = Vec::new();
        let mut blocks = Vec::new();
        for arm in arms {
            let is_exit = arm.body == [Stmt::Break] && self.takes(Freedom::BareExits);
            let block = if is_exit { merge } else { self.new_block(Role::Other) };
            blocks.push(block);
            for label in &arm.labels {
                match label {
                    Label::Default => default = block,
                    Label::Case(value) => labels.push((*value, block)),
                }
            }
        }
        if default == merge && has_every_value && self.takes(Freedom::UnreachableDefault) {
            default = self.new_block(Role::Other);
            nobody = Some(default);
        }
        self.end_with_switch(merge, control, (selector, scalar), &labels, default);
        self.targets.push(Target { on_break: merge, on_continue: None });
        for (number, arm) in arms.iter().enumerate() {
            if blocks[number] == merge {
                continue;
            }
            self.enter(blocks[number]);
            self.block(&arm.body);
            // Nothing but the branch: what falls through comes straight from the segment.
            if self.blocks.current.is_some() {
                self.jump(blocks.get(number + 1).copied().unwrap_or(merge));
            }
        }
        self.targets.pop();
        if let Some(nobody) = nobody {
            self.enter(nobody);
            self.end(Op::Unreachable, Vec::new(), []);
        }
        self.enter_merge(merge);
    }

    /// Ends the current block at the header of a loop, and begins the header.
    fn begin_header(&mut self) -> BlockId {
        // MR relates a merge block to the last OpSelectionMerge at every execution; an arm is in no such relation.
        let roles: &[Role] = if self.is_maximal() { &[Role::Arm] } else { &[Role::Arm, Role::Merge] };
        if self.takes(Freedom::MergeAsHeader) {
            let (function, result) = (self.function, self.function.result);
            let ty = |var: VarId| if var as usize == function.var_count() { result } else { function.var_type(var) };
            if let Some(current) = self.blocks.current.filter(|_| self.blocks.reopen(self.module, roles, ty)) {
                return current;
            }
        }
        let header = self.new_block(Role::Other);
        self.branch(header);
        self.blocks.begin(header);
        header
    }

    fn repeated(&mut self, l: &'a Loop) {
        let first = match &l.kind {
            LoopKind::For { init, .. } => self.eval(init).0,
            LoopKind::While | LoopKind::DoWhile | LoopKind::Forever | LoopKind::Endless => self.uint(0),
        };
        if l.kind != LoopKind::Endless {
            self.write(l.counter, first);
        }
        let header = self.begin_header();
        let merge = self.new_block(Role::Merge);
        let test = l.test.as_ref();
        let test_is_straight = self.is_eager(&l.bound)
            && test.is_none_or(|test| self.is_straight(&test.cond) && self.all_straight(&test.before));
        let is_do_while = l.kind == LoopKind::DoWhile;
        if is_do_while && test_is_straight && self.all_straight(&l.body) && self.takes(Freedom::SingleBlock) {
            self.targets.push(Target { on_break: merge, on_continue: Some(header) });
            self.straight = true;
            self.count(l);
            self.block(&l.body);
            let goes_on = self.test(l);
            self.straight = false;
            let merges = self.loop_merge(merge, header, l.control);
            self.part(Some(merges), goes_on, header, merge);
            self.targets.pop();
        } else {
            let next = self.new_block(Role::Other);
            self.targets.push(Target { on_break: merge, on_continue: Some(next) });
            let in_continue = !self.in_continue && can_be_continue(&l.body) && self.takes(Freedom::BodyAsContinue);
            match l.kind {
                LoopKind::Endless => self.untested(l, header, merge, next),
                LoopKind::DoWhile => self.test_behind(l, header, merge, next, in_continue),
                LoopKind::For { .. } | LoopKind::While | LoopKind::Forever => {
                    self.test_before(l, header, merge, next, in_continue, test_is_straight);
                }
            }
            self.targets.pop();
        }
        self.blocks.seal(self.module, header);
        self.enter_merge(merge);
    }

    /// A loop that is left by its body alone.
    fn untested(&mut self, l: &'a Loop, header: BlockId, merge: BlockId, next: BlockId) {
        let merges = self.loop_merge(merge, next, l.control);
        self.blocks.push(merges);
        let body = self.new_block(Role::Arm);
        self.jump(body);
        self.enter(body);
        self.block(&l.body);
        self.branch(next);
        self.enter(next);
        self.jump(header);
    }

    /// `for` and `while` loops, and those that test their bound alone.
    fn test_before(
        &mut self,
        l: &'a Loop,
        header: BlockId,
        merge: BlockId,
        next: BlockId,
        in_continue: bool,
        is_straight: bool,
    ) {
        let in_header = is_straight && self.takes(Freedom::HeaderTest);
        let merges = self.loop_merge(merge, next, l.control);
        let mut merges = Some(merges);
        if !in_header {
            merges.take().into_iter().for_each(|merges| self.blocks.push(merges));
            let test = self.new_block(Role::Other);
            self.jump(test);
            self.enter(test);
        }
        self.straight = in_header;
        let body = if in_continue { next } else { self.new_block(Role::Arm) };
        let goes_on = match &l.test {
            // Two exits in place of one condition.
            Some(test) if !in_header && self.takes(Freedom::BareExits) => {
                test.before.iter().for_each(|stmt| self.stmt(stmt));
                let (holds, _) = self.eval(&test.cond);
                let rest = self.new_block(Role::Other);
                self.part(None, holds, rest, merge);
                self.enter(rest);
                self.below_bound(l)
            }
            _ => self.test(l),
        };
        self.straight = false;
        self.part(merges, goes_on, body, merge);
        self.enter(body);
        self.in_continue |= in_continue;
        if !matches!(l.kind, LoopKind::For { .. }) {
            self.count(l);
        }
        self.block(&l.body);
        if !in_continue {
            self.branch(next);
            self.enter(next);
        }
        let reached = self.blocks.has_predecessors(next);
        if let (LoopKind::For { step, update, .. }, true) = (&l.kind, reached) {
            self.add_to_counter(l, *step);
            update.iter().for_each(|stmt| self.stmt(stmt));
        }
        self.in_continue &= !in_continue;
        self.jump(header);
    }

    /// `do … while`
    fn test_behind(&mut self, l: &'a Loop, header: BlockId, merge: BlockId, next: BlockId, in_continue: bool) {
        let mut body = l.body.as_slice();
        let first = if in_continue { next } else { self.new_block(Role::Arm) };
        let in_header = !in_continue && self.takes(Freedom::HeaderTest);
        if in_header {
            // The header begins with the body, up to where it may branch.
            self.count(l);
            self.straight = true;
            let straight = body.iter().take_while(|stmt| self.stmt_is_straight(stmt)).count();
            let (before, behind) = body.split_at(straight);
            before.iter().for_each(|stmt| self.stmt(stmt));
            self.straight = false;
            body = behind;
        }
        let merges = self.loop_merge(merge, next, l.control);
        self.blocks.push(merges);
        self.jump(first);
        self.enter(first);
        self.in_continue |= in_continue;
        if !in_header {
            self.count(l);
        }
        self.block(body);
        if !in_continue {
            self.branch(next);
            self.enter(next);
        }
        if self.blocks.has_predecessors(next) {
            let goes_on = self.test(l);
            self.part(None, goes_on, header, merge);
        } else {
            self.jump(header);
        }
        self.in_continue &= !in_continue;
    }

    /// `counter++`
    fn count(&mut self, l: &Loop) {
        self.add_to_counter(l, 1);
    }

    fn add_to_counter(&mut self, l: &Loop, step: u32) {
        let counter = self.read(l.counter, Type::UINT);
        let step = self.uint(step);
        let counter = self.ids(Op::IAdd, Type::UINT, [counter, step]);
        self.write(l.counter, counter);
    }

    /// `counter < bound`
    fn below_bound(&mut self, l: &Loop) -> Id {
        let counter = self.read(l.counter, Type::UINT);
        let (bound, _) = self.eval(&l.bound);
        self.binary(BinaryOp::Lt, Type::UINT, counter, bound).0
    }

    /// `test && counter < bound`
    fn test(&mut self, l: &'a Loop) -> Id {
        let Some(test) = &l.test else { return self.below_bound(l) };
        test.before.iter().for_each(|stmt| self.stmt(stmt));
        let (holds, _) = self.eval(&test.cond);
        let eager = self.is_eager(&l.bound) && (self.straight || self.takes(Freedom::Select));
        self.short_circuit_with(BinaryOp::And, holds, eager, |body| body.below_bound(l))
    }

    fn all_straight(&self, block: &[Stmt]) -> bool {
        block.iter().all(|stmt| self.stmt_is_straight(stmt))
    }

    /// True if a statement needs no branch, and lanes that begin it together end it together: a call may part them, except at tier maximal. In the
    /// header of a loop that would leave open whether control flow is uniform "upon entry into a structured loop" (R6).
    fn stmt_is_straight(&self, stmt: &Stmt) -> bool {
        let is_simple = matches!(
            stmt,
            Stmt::Assign { .. }
                | Stmt::Log { .. }
                | Stmt::Barrier(_)
                | Stmt::SetElement { .. }
                | Stmt::Store { .. }
                | Stmt::Atomic(_)
                | Stmt::Assume(_)
        );
        (is_simple || self.is_maximal() && matches!(stmt, Stmt::Call { .. }))
            && stmt.direct_exprs().all(|expr| self.is_straight(expr))
    }
}

/// True for the variables of which an element is picked by an index that is no literal, if they are no vectors.
fn dynamically_indexed(function: &Function) -> Vec<bool> {
    let mut found = vec![false; function.var_count()];
    let mut mark = |var: VarId, index: &Expr| {
        if let (Some(found), false) = (found.get_mut(var as usize), matches!(index, Expr::Uint(_))) {
            *found = true;
        }
    };
    walk_block(&function.body, &mut |stmt| {
        if let Stmt::SetElement { var, index, .. } = stmt {
            mark(*var, index);
        }
        for expr in stmt.direct_exprs() {
            expr.walk(&mut |expr| {
                if let Expr::Element(x, index) = expr {
                    if let Expr::Var(var) = **x {
                        mark(var, index);
                    }
                }
            });
        }
    });
    found
}

fn has_stmt(block: &Block, holds: impl Fn(&Stmt) -> bool) -> bool {
    let mut found = false;
    walk_block(block, &mut |stmt| found |= holds(stmt));
    found
}

/// True if a break in the statements goes to a construct around them.
fn has_break(block: &Block) -> bool {
    block.iter().any(|stmt| match stmt {
        Stmt::Break => true,
        Stmt::If { then, otherwise, .. } => has_break(then) || has_break(otherwise),
        _ => false,
    })
}

/// True if there is a return before the end, and none of them in a loop or switch.
fn returns_outside_loops_and_switches(body: &Block) -> bool {
    let is_return = |stmt: &Stmt| matches!(stmt, Stmt::Return(_));
    let mut inside = false;
    walk_block(body, &mut |stmt| {
        if matches!(stmt, Stmt::Loop(_) | Stmt::Switch { .. }) {
            inside |= stmt.nested_blocks().any(|block| has_stmt(block, is_return));
        }
    });
    has_stmt(body, is_return) && !inside
}

/// True if all who begin a statement come to its end, with no jump out of it. At the weaker tiers calls may part lanes.
fn is_closed(stmt: &Stmt, is_maximal: bool, in_breakable: bool, in_loop: bool) -> bool {
    let (breakable, looped) = match stmt {
        Stmt::Return(_) | Stmt::Sync(_) | Stmt::Discard(_) => return false,
        Stmt::Call { .. } => return is_maximal,
        Stmt::Break => return in_breakable,
        Stmt::Continue => return in_loop,
        Stmt::Loop(_) => (true, true),
        Stmt::Switch { .. } => (true, in_loop),
        Stmt::Assign { .. }
        | Stmt::Log { .. }
        | Stmt::If { .. }
        | Stmt::Barrier(_)
        | Stmt::SetElement { .. }
        | Stmt::Store { .. }
        | Stmt::Atomic(_)
        | Stmt::Assume(_) => (in_breakable, in_loop),
    };
    stmt.nested_blocks().all(|block| block.iter().all(|stmt| is_closed(stmt, is_maximal, breakable, looped)))
}

/// True if statements can be a continue construct: nothing in them jumps, and they have no loops and switches of their own.
fn can_be_continue(block: &Block) -> bool {
    !has_stmt(block, |stmt| stmt.is_jump() || matches!(stmt, Stmt::Loop(_) | Stmt::Switch { .. } | Stmt::Sync(_)))
}

/// True if the labels have every value of the selector, by the form of the expression alone: other data of the program go through the
/// same module.
fn has_every_value(selector: &Expr, arms: &[Arm]) -> bool {
    let most = match selector {
        Expr::Binary(BinaryOp::BitAnd, _, y) => match **y {
            Expr::Uint(k) => k,
            _ => return false,
        },
        Expr::Binary(BinaryOp::Mod, _, y) => match **y {
            Expr::Uint(k @ 1..) => k - 1,
            _ => return false,
        },
        _ => return false,
    };
    let has = |value: i64| arms.iter().any(|arm| arm.labels.contains(&Label::Case(value)));
    most < 64 && (0..=i64::from(most)).all(has)
}
