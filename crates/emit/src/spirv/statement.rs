//! Functions, and statements that are no control flow of their own.
//!
//! ```text
//!   entry.rs      how a function begins and ends
//!   selection.rs  branches and switches
//!   repeat.rs     loops
//!   shape.rs      which forms of control flow a statement can have
//! ```

mod entry;
mod repeat;
mod selection;
mod shape;

use rspirv::dr::{self, Instruction, Operand};
use rspirv::spirv::{FunctionControl, LoopControl, MemorySemantics, Op, Scope, SelectionControl, StorageClass};
use tangle_analysis::cost::log_capacity;
use tangle_analysis::undefined::MayBeUndefined;
use tangle_program::case::{Stage, Tier};
use tangle_program::control;
use tangle_program::memory::{AtomicOp, Sync};
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Arg, Atomic, Builtin, Direction, Expr, Function, FunctionId, SiteId, Stmt, VarId};
use tangle_program::types::Type;
use tangle_program::variant::Freedom;

use super::blocks::{BlockId, Blocks, Role};
use super::body::{Body, Target, VarStorage};
use super::module::{Global, Id, Module};
use crate::spirv::expression::part_at;
use shape::is_closed;

/// How often statements are put into a construct of their own: once in so many times.
const WRAPPED_ONCE_IN: u64 = 6;

/// All kinds of memory that shaders here have.
const ALL_MEMORY: MemorySemantics =
    MemorySemantics::UNIFORM_MEMORY.union(MemorySemantics::WORKGROUP_MEMORY).union(MemorySemantics::IMAGE_MEMORY);

/// Prints a function and adds it to the module.
pub(super) fn function<'a>(
    module: &mut Module<'a>,
    function: &'a Function,
    number: usize,
    undefined: &MayBeUndefined<'a>,
) {
    let is_main = number + 1 == module.case.program.functions.len();
    let stage = module.case.entry_point.stage;
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
        emits: is_main && stage == Stage::Task,
    };
    if is_main && stage == Stage::Mesh {
        body.set_outputs();
    }
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

    /// Ends the block with an OpBranch.
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
            Stmt::SubgroupBarrier(op) => self.subgroup_barrier(*op),
            Stmt::ControlBarrier(sync) => self.sync(*sync),
            Stmt::SetElement { var, index, inner, value } => {
                let indices: Vec<&Expr> = std::iter::once(index).chain(inner).collect();
                self.set_element(*var, &indices, value);
            }
            Stmt::Store { array, element, value } => {
                let element = element.as_ref().map(|element| self.eval(element).0);
                let (value, _) = self.eval(value);
                let mut index = self.builtin(Builtin::LocalIndex);
                if let Some(element) = element {
                    let parts = self.module.case.program.shared.get(*array as usize).map_or(1, |array| array.parts);
                    let parts = self.uint(parts);
                    let first = self.ids(Op::IMul, Type::UINT, [index, parts]);
                    index = self.ids(Op::IAdd, Type::UINT, [first, element]);
                }
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

    fn set_element(&mut self, var: VarId, indices: &[&Expr], value: &Expr) {
        let ty = self.function.var_type(var).unwrap_or(Type::UINT);
        let Some(element) = part_at(ty, indices) else { return };
        let pointer = match self.places.get(var as usize) {
            Some(&VarStorage::Memory(pointer)) => {
                let pointer = self.element_pointer(pointer, element, indices);
                let (value, _) = self.eval(value);
                return self.store(pointer, value);
            }
            _ => self.blocks.read(self.module, var, ty),
        };
        let literals: Option<Vec<u32>> = indices.iter().map(|index| index.literal()).collect();
        let changed = match (literals, indices) {
            (Some(literals), _) => {
                let (value, _) = self.eval(value);
                let places = literals.into_iter().map(Operand::LiteralBit32);
                let operands = [value, pointer].map(Operand::IdRef).into_iter().chain(places).collect();
                self.op(Op::CompositeInsert, ty, operands)
            }
            (None, indices) => {
                // Of a vector: other variables with such an index are in memory.
                let Some(index) = indices.first() else { return };
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

    /// OpControlBarrier, or OpMemoryBarrier where no execution scope is given.
    fn barrier_of(&mut self, execution: Option<Scope>, memory: Scope, of: MemorySemantics) {
        let execution = execution.map(|scope| self.uint(scope as u32));
        let semantics = self.uint((MemorySemantics::ACQUIRE_RELEASE | of).bits());
        let memory = self.uint(memory as u32);
        let ids: Vec<Id> = execution.into_iter().chain([memory, semantics]).collect();
        self.effect(if execution.is_some() { Op::ControlBarrier } else { Op::MemoryBarrier }, &ids);
    }

    fn subgroup_barrier(&mut self, op: SubgroupOp) {
        // The row says the instruction, its scope and, if that is not all, the memory.
        let mut words = op.info().spirv.split(' ');
        let execution = (words.next() == Some("ControlBarrier")).then_some(Scope::Subgroup);
        let of = match words.nth(1) {
            None => ALL_MEMORY,
            Some("UniformMemory") => MemorySemantics::UNIFORM_MEMORY,
            Some("WorkgroupMemory") => MemorySemantics::WORKGROUP_MEMORY,
            Some("ImageMemory") => MemorySemantics::IMAGE_MEMORY,
            Some(other) => unreachable!("no row of a barrier names {other}"),
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
}
