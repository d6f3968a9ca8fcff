//! Functions: blocks in the order of control flow, phis as moves on edges, instructions on columns.

use rspirv::spirv::{ExecutionModel, GroupOperation, LoopControl, Op as Opcode, StorageClass};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::{Cells, Decoder, Def, Pointer, TEMP, id_at, invalid, literal_at};
use crate::code::*;
use crate::operand::Operand;
use crate::outcome::{Error, Rule};
use crate::source::{Block as SourceBlock, Function as SourceFunction, Instruction, Source};
use crate::types::{Scalar, Type, TypeId};

/// Loop controls that promise something of what the loop does (SPIR-V 1.6 §3.23), which is not checked here.
const PROMISES: LoopControl = LoopControl::DEPENDENCY_INFINITE
    .union(LoopControl::DEPENDENCY_LENGTH)
    .union(LoopControl::MIN_ITERATIONS)
    .union(LoopControl::MAX_ITERATIONS)
    .union(LoopControl::ITERATION_MULTIPLE);

/// The depth that calls may have.
const MAX_CALL_DEPTH: usize = 256;
const MAX_BLOCKS: usize = 1 << 18;

impl<'a> Decoder<'a> {
    /// Decodes the static call tree of the entry point.
    pub(super) fn functions(&mut self, entry_id: u32) -> Result<(), Error> {
        let module = self.module;
        let with_id = |function: &'a SourceFunction| Some((module.get(function.def).result_id?, function));
        let by_id: FunctionsById<'a> = module.functions.iter().filter_map(with_id).collect();
        let order = call_order(entry_id, module, &by_id)?;
        for (index, id) in order.iter().enumerate() {
            self.function_ids.insert(*id, index as u32);
            self.names.functions.push(self.name(*id).map(str::to_owned));
        }
        for id in &order {
            self.signature(by_id[id])?;
        }
        self.code.entry = self.function_ids.get(&entry_id).copied().unwrap_or(0);
        for (index, id) in order.iter().enumerate() {
            self.function = index as u32;
            self.body(by_id[id])?;
        }
        Ok(())
    }

    /// Columns of parameters and results, which callers need.
    fn signature(&mut self, function: &SourceFunction) -> Result<(), Error> {
        let mut params = Vec::new();
        for param in self.module.section(&function.parameters) {
            let ty = self.type_of(param.result_type.unwrap_or(0))?;
            let id = param.result_id.ok_or_else(|| invalid("a parameter without an id"))?;
            let count = self.checked_cells(ty)?;
            if self.types.is_opaque(ty) {
                self.unsupported("parameters of opaque types");
            }
            let first = self.permanent_columns(count)?;
            let cells: Cells = (first..first + count as u32).collect();
            params.extend_from_slice(&cells);
            self.define(id, ty, cells)?;
        }
        let def = self.module.get(function.def);
        let result = self.type_of(def.result_type.unwrap_or(0))?;
        let count = self.checked_cells(result)?;
        let first = self.permanent_columns(count)?;
        let results = (first..first + count as u32).collect();
        self.code.functions.push(Function { entry: 0, params, results });
        self.code.locals.push(Vec::new());
        self.code.result_types.push(result);
        Ok(())
    }

    fn body(&mut self, function: &'a SourceFunction) -> Result<(), Error> {
        if function.blocks.is_empty() {
            return Err(invalid("a function without a body"));
        }
        let module = self.module;
        let first_block = self.code.blocks.len() as u32;
        if self.code.blocks.len() + function.blocks.len() > MAX_BLOCKS {
            return Err(Error::Memory("too many blocks".into()));
        }
        let mut local = FxHashMap::default();
        for (at, block) in function.blocks.iter().enumerate() {
            local.insert(block.label, at);
            self.labels.insert(block.label, first_block + at as u32);
            self.code.blocks.push(Block {
                first: 0,
                end: 0,
                merge: Merge::None,
                term: Term2::Undefined(Rule::Unreachable),
                place: 0,
            });
        }
        self.code.functions[self.function as usize].entry = first_block;
        let order = reverse_postorder(module, function, &local);
        let mut position = vec![u32::MAX; function.blocks.len()];
        for (at, &block) in order.iter().enumerate() {
            position[block] = at as u32;
        }
        // Results of phis are known to all blocks before any is decoded: back edges use them.
        for &block in &order {
            for inst in phis(module, &function.blocks[block]) {
                let ty = self.type_of(inst.result_type.unwrap_or(0))?;
                let id = inst.result_id.ok_or_else(|| invalid("OpPhi without an id"))?;
                let count = self.checked_cells(ty)?;
                // Written on edges: never a column of one block only.
                let first = self.permanent_columns(count)?;
                self.define(id, ty, (first..first + count as u32).collect())?;
            }
        }
        self.local_variables(function)?;
        for &block in &order {
            let source = &function.blocks[block];
            let first = self.code.insts.len() as u32;
            self.line = None;
            let mut term = None;
            for inst in module.all(source.instructions.clone()) {
                match inst.class.opcode {
                    Opcode::Line => {
                        self.line = Some((id_at(&inst, 0)?, literal_at(&inst, 1)?));
                        continue;
                    }
                    Opcode::NoLine => {
                        self.line = None;
                        continue;
                    }
                    _ => {}
                }
                self.place = self.code.places.len() as u32;
                self.code.places.push(PlaceInfo {
                    opcode: inst.class.opcode,
                    index: inst.index,
                    result: inst.result_id,
                    function: self.function,
                    line: self.line,
                });
                match inst.class.opcode {
                    Opcode::Phi | Opcode::Variable | Opcode::Nop => {}
                    Opcode::SelectionMerge => {
                        self.code.blocks[first_block as usize + block].merge =
                            Merge::Selection(self.label(id_at(&inst, 0)?)?);
                    }
                    Opcode::LoopMerge => {
                        if let Some(Operand::LoopControl(control)) = inst.operands.get(2)
                            && control.intersects(PROMISES)
                        {
                            self.unsupported(format!("loop control {control:?}"));
                        }
                        let merge = Merge::Loop(self.label(id_at(&inst, 0)?)?, self.label(id_at(&inst, 1)?)?);
                        self.code.blocks[first_block as usize + block].merge = merge;
                    }
                    opcode if rspirv::grammar::reflect::is_block_terminator(opcode) => term = Some((inst, self.place)),
                    _ => self.instruction(&inst)?,
                }
            }
            let (term, place) = term.ok_or_else(|| invalid("a block without a terminator"))?;
            self.place = place;
            let term = self.terminator(function, &term, source.label, &local, &position, first_block)?;
            let end = self.code.insts.len() as u32;
            let block = &mut self.code.blocks[first_block as usize + block];
            (block.first, block.end, block.term, block.place) = (first, end, term, place);
        }
        Ok(())
    }

    pub(super) fn label(&self, id: u32) -> Result<u32, Error> {
        self.labels.get(&id).copied().ok_or_else(|| invalid(format!("%{id} is no label")))
    }

    fn local_variables(&mut self, function: &SourceFunction) -> Result<(), Error> {
        let mut locals = Vec::new();
        for inst in self.module.body(function).filter(|inst| inst.class.opcode == Opcode::Variable) {
            let (id, ty, pointee) = self.variable(&inst)?;
            if inst.operands.first() != Some(&Operand::StorageClass(StorageClass::Function)) {
                return Err(invalid("a variable in a function of another storage class"));
            }
            if self.types.is_opaque(pointee) || matches!(self.types.get(pointee), Type::RuntimeArray(..)) {
                self.unsupported("variables of opaque types");
            }
            let count = self.checked_cells(pointee)?;
            let first = self.permanent_columns(count)?;
            let initial = if inst.operands.len() > 1 { Some(self.cells(id_at(&inst, 1)?)?) } else { None };
            for cell in 0..count as u32 {
                let source = initial.as_ref().map(|cells| cells.get(cell as usize).copied().unwrap_or(NONE));
                locals.push((first + cell, source.unwrap_or(NONE)));
            }
            let pointer = Pointer {
                ty,
                pointee,
                space: Space::Cells,
                base: Base::Cells(first),
                offset: 0,
                matrix: None,
                step: None,
                read_only: false,
                coherent: false,
                volatile: false,
                descriptors: None,
                uniform_descriptor: false,
                texel: false,
            };
            self.defs.insert(id, Def::Pointer(Box::new(pointer)));
        }
        self.code.locals[self.function as usize] = locals;
        Ok(())
    }

    // ---- values ----

    /// The columns of a value.
    pub(super) fn cells(&mut self, id: u32) -> Result<Cells, Error> {
        match self.defs.get(id) {
            // A copy of words, which `clone` does not know.
            Some(Def::Value(_, cells)) => return Ok(Cells::from_slice(cells)),
            Some(Def::Pointer(pointer)) => {
                let pointer = pointer.clone();
                return Ok(smallvec![self.materialise(&pointer)]);
            }
            None => {}
        }
        let Some(constant) = self.constants.get(id) else { return Err(invalid(format!("%{id} is no value"))) };
        let ty = constant.ty;
        let starts: SmallVec<[Start; 4]> = SmallVec::from_slice(&constant.cells);
        let cells: Cells = starts.into_iter().map(|start| self.column_of(start)).collect();
        // From now on a value like others.
        self.defs.insert(id, Def::Value(ty, Cells::from_slice(&cells)));
        Ok(cells)
    }

    /// The type of a value.
    pub(super) fn value_type(&self, id: u32) -> Result<TypeId, Error> {
        match self.defs.get(id) {
            Some(Def::Value(ty, _)) => Ok(*ty),
            Some(Def::Pointer(pointer)) => Ok(pointer.ty),
            None => self.constants.get(id).map(|c| c.ty).ok_or_else(|| invalid(format!("%{id} is no value"))),
        }
    }

    /// The columns and the scalar type of a scalar or vector.
    pub(super) fn vector(&mut self, id: u32) -> Result<(Cells, Scalar), Error> {
        let ty = self.value_type(id)?;
        let (scalar, _) = self.types.components(ty).ok_or_else(|| invalid(format!("%{id} is no scalar or vector")))?;
        Ok((self.cells(id)?, scalar))
    }

    /// The same of one component; none if there are several.
    #[inline]
    pub(super) fn single(&mut self, id: u32) -> Result<Option<(Reg, Scalar)>, Error> {
        if let Some(Def::Value(ty, cells)) = self.defs.get(id)
            && let (&[cell], Some(scalar)) = (&cells[..], self.types.scalar(*ty))
        {
            return Ok(Some((cell, scalar)));
        }
        let (cells, scalar) = self.vector(id)?;
        Ok(if let [cell] = cells[..] { Some((cell, scalar)) } else { None })
    }

    /// The column and the scalar type of a scalar.
    pub(super) fn scalar(&mut self, id: u32) -> Result<(Reg, Scalar), Error> {
        self.single(id)?.ok_or_else(|| invalid(format!("%{id} is no scalar")))
    }

    pub(super) fn define(&mut self, id: u32, ty: TypeId, cells: Cells) -> Result<(), Error> {
        if cells.len() as u64 != self.types.cells(ty) {
            return Err(invalid(format!("%{id} does not fit its type")));
        }
        self.count_scalars(cells.len())?;
        let def = match *self.types.get(ty) {
            Type::Pointer(class, pointee) => {
                let space = match StorageClass::from_u32(class) {
                    Some(StorageClass::PhysicalStorageBuffer) => Space::Physical,
                    Some(
                        StorageClass::Function | StorageClass::Private | StorageClass::Input | StorageClass::Output,
                    ) => Space::Cells,
                    _ => Space::Bytes,
                };
                Def::Pointer(Box::new(Pointer {
                    ty,
                    pointee,
                    space,
                    base: Base::Reg(cells[0]),
                    offset: 0,
                    matrix: None,
                    step: None,
                    read_only: false,
                    coherent: false,
                    volatile: false,
                    descriptors: None,
                    uniform_descriptor: false,
                    texel: false,
                }))
            }
            _ => Def::Value(ty, cells),
        };
        self.defs.insert(id, def);
        Ok(())
    }

    /// The result type and id of an instruction.
    pub(super) fn result(&self, inst: &Instruction<'_>) -> Result<(u32, TypeId), Error> {
        let id = inst.result_id.ok_or_else(|| invalid(format!("Op{:?} without a result", inst.class.opcode)))?;
        Ok((id, self.type_of(inst.result_type.unwrap_or(0))?))
    }

    /// Scalar and number of components of a result.
    pub(super) fn result_vector(&self, inst: &Instruction<'_>) -> Result<(u32, TypeId, Scalar, usize), Error> {
        let (id, ty) = self.result(inst)?;
        let (scalar, n) = self
            .types
            .components(ty)
            .ok_or_else(|| invalid(format!("Op{:?} with a result that is no scalar or vector", inst.class.opcode)))?;
        Ok((id, ty, scalar, n as usize))
    }

    // ---- emission ----

    pub(super) fn temp(&mut self) -> Reg {
        self.temps += 1;
        TEMP + self.temps - 1
    }

    pub(super) fn temps(&mut self, count: usize) -> Cells {
        let first = TEMP + self.temps;
        self.temps += count as u32;
        (first..first + count as u32).collect()
    }

    pub(super) fn span(&mut self, regs: &[Reg]) -> Span {
        if regs.is_empty() {
            return Span::default();
        }
        let at = self.code.pool.len() as u32;
        self.code.pool.extend_from_slice(regs);
        Span { at, len: regs.len() as u32 }
    }

    pub(super) fn push(&mut self, op: Op, d: Reg, [a, b, c]: [Reg; 3], outs: &[Reg], ins: &[Reg]) {
        let (outs, ins) = (self.span(outs), self.span(ins));
        self.code.insts.push(Inst { op, d, a, b, c, outs, ins, place: self.place });
    }

    /// One instruction with up to three operands and one result.
    pub(super) fn emit(&mut self, op: Op, operands: [Reg; 3]) -> Reg {
        let d = self.temp();
        let none = Span::default();
        let [a, b, c] = operands;
        self.code.insts.push(Inst { op, d, a, b, c, outs: none, ins: none, place: self.place });
        d
    }

    /// The same with a row of operands.
    pub(super) fn emit_row(&mut self, op: Op, operands: &[Reg]) -> Reg {
        let d = self.temp();
        self.push(op, d, [NONE; 3], &[], operands);
        d
    }

    // ---- terminators ----

    fn edge(
        &mut self,
        function: &SourceFunction,
        from: u32,
        to: u32,
        local: &FxHashMap<u32, usize>,
        first_block: u32,
    ) -> Result<Edge, Error> {
        let &at = local.get(&to).ok_or_else(|| invalid(format!("a branch to %{to}, which is no block")))?;
        let mut moves = Vec::new();
        for phi in phis(self.module, &function.blocks[at]) {
            let id = phi.result_id.unwrap_or(0);
            let value =
                phi_source(&phi, from).ok_or_else(|| invalid(format!("OpPhi %{id} without the parent %{from}")))?;
            let to = self.cells(id)?;
            let source = self.cells(value)?;
            if to.len() != source.len() {
                return Err(invalid(format!("OpPhi %{id} with a value of another type")));
            }
            moves.extend(to.iter().zip(&source).filter(|(d, s)| d != s).map(|(d, s)| (*d, *s)));
        }
        let sources: FxHashSet<Reg> = moves.iter().map(|(_, source)| *source).collect();
        let overlap = moves.iter().any(|(destination, _)| sources.contains(destination));
        let flat: Vec<Reg> = moves.iter().flat_map(|(d, s)| [*d, *s]).collect();
        Ok(Edge { to: first_block + at as u32, moves: self.span(&flat), overlap })
    }

    fn terminator(
        &mut self,
        function: &SourceFunction,
        term: &Instruction<'_>,
        from: u32,
        local: &FxHashMap<u32, usize>,
        position: &[u32],
        first_block: u32,
    ) -> Result<Term2, Error> {
        let edge = |this: &mut Self, to| this.edge(function, from, to, local, first_block);
        Ok(match term.class.opcode {
            Opcode::Branch => Term2::Branch(edge(self, id_at(term, 0)?)?),
            Opcode::BranchConditional => {
                let (cond, scalar) = self.scalar(id_at(term, 0)?)?;
                if scalar != Scalar::Bool {
                    return Err(invalid("a branch on something that is no Boolean"));
                }
                Term2::Cond { cond, yes: edge(self, id_at(term, 1)?)?, no: edge(self, id_at(term, 2)?)? }
            }
            Opcode::Switch => {
                let (selector, scalar) = self.scalar(id_at(term, 0)?)?;
                let Scalar::Int(width, _) = scalar else { return Err(invalid("a switch on no integer")) };
                let default = edge(self, id_at(term, 1)?)?;
                let mut cases = Vec::new();
                let mut at = 2;
                while at < term.operands.len() {
                    let value = match &term.operands[at] {
                        Operand::LiteralBit32(value) => u64::from(*value) & crate::alu::mask(width),
                        Operand::LiteralBit64(number) => self.module.wide(*number),
                        _ => return Err(invalid("a switch without literals")),
                    };
                    cases.push((value, edge(self, id_at(term, at + 1)?)?));
                    at += 2;
                }
                let mut labels: Vec<u32> = cases.iter().map(|(_, edge)| edge.to).chain([default.to]).collect();
                labels.sort_by_key(|label| position[(label - first_block) as usize]);
                labels.dedup();
                Term2::Switch { selector, cases, default, labels }
            }
            Opcode::Return if self.function == self.code.entry && self.stage == ExecutionModel::TaskEXT => {
                Term2::Undefined(Rule::NothingEmitted)
            }
            Opcode::Return => Term2::Return(Span::default()),
            Opcode::ReturnValue => {
                let value = self.cells(id_at(term, 0)?)?;
                let results = self.code.functions[self.function as usize].results.clone();
                if results.len() != value.len() {
                    return Err(invalid("a return value of another type"));
                }
                let flat: Vec<Reg> = results.iter().zip(&value).flat_map(|(d, s)| [*d, *s]).collect();
                Term2::Return(self.span(&flat))
            }
            Opcode::Kill if self.stage == ExecutionModel::Fragment => Term2::Kill,
            Opcode::TerminateInvocation | Opcode::Kill => Term2::Terminate,
            Opcode::EmitMeshTasksEXT => {
                self.together();
                Term2::Terminate
            }
            Opcode::Unreachable => Term2::Undefined(Rule::Unreachable),
            other => {
                self.unsupported(format!("Op{other:?}"));
                Term2::Undefined(Rule::Unreachable)
            }
        })
    }

    pub(super) fn call(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let callee_id = id_at(inst, 0)?;
        let callee =
            *self.function_ids.get(&callee_id).ok_or_else(|| invalid(format!("%{callee_id} is no function")))?;
        let mut arguments = Vec::new();
        for at in 1..inst.operands.len() {
            arguments.extend_from_slice(&self.cells(id_at(inst, at)?)?);
        }
        let Function { params, results, .. } = self.code.functions[callee as usize].clone();
        if params.len() != arguments.len() {
            return Err(invalid(format!("a call of %{callee_id} with other arguments than it has parameters")));
        }
        if results.len() as u64 != self.types.cells(ty) {
            return Err(invalid(format!("a call of %{callee_id} with another result")));
        }
        let outs = self.temps(results.len());
        self.push(Op::Call(callee), NONE, [NONE; 3], &outs, &arguments);
        if !matches!(self.types.get(ty), Type::Void) {
            self.define(id, ty, outs)?;
        }
        Ok(())
    }

    // ---- subgroup operations ----

    pub(super) fn group(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let opcode = inst.class.opcode;
        let (id, ty) = self.result(inst)?;
        let mut at = 0;
        if !is_unscoped(opcode) {
            let scope = self.literal_constant(id_at(inst, 0)?)?;
            if scope != 3 {
                self.unsupported(format!("Op{opcode:?} with scope {scope}"));
            }
            at = 1;
        }
        let operation = match inst.operands.get(at) {
            Some(Operand::GroupOperation(operation)) => {
                at += 1;
                Some(*operation)
            }
            _ => None,
        };
        let mut cluster = 0;
        let group = match group_of(opcode) {
            Some(group) => group,
            None => {
                let scan = match operation {
                    Some(GroupOperation::Reduce) => Scan::Reduce,
                    Some(GroupOperation::InclusiveScan) => Scan::Inclusive,
                    Some(GroupOperation::ExclusiveScan) => Scan::Exclusive,
                    Some(GroupOperation::ClusteredReduce) => Scan::Clustered,
                    Some(GroupOperation::PartitionedReduceEXT) => Scan::PartitionedReduce,
                    Some(GroupOperation::PartitionedInclusiveScanEXT) => Scan::PartitionedInclusive,
                    Some(GroupOperation::PartitionedExclusiveScanEXT) => Scan::PartitionedExclusive,
                    other => {
                        self.unsupported(format!("Op{opcode:?} with {other:?}"));
                        Scan::Reduce
                    }
                };
                if opcode == Opcode::GroupNonUniformBallotBitCount {
                    Group::BallotBitCount(scan)
                } else {
                    let Some(fold) = fold_of(opcode) else {
                        self.unsupported(format!("Op{opcode:?}"));
                        return self.define_undefined(id, ty);
                    };
                    Group::Fold(fold, scan)
                }
            }
        };
        if is_derivative(opcode) && self.stage != ExecutionModel::Fragment {
            self.unsupported(format!("Op{opcode:?} outside of fragment shaders"));
        }
        let mut ins = Vec::new();
        let (mut n, mut scalar) = (0, Scalar::Bool);
        if group != Group::Elect {
            let (cells, found) = self.vector(id_at(inst, at)?)?;
            (n, scalar) = (cells.len(), found);
            ins.extend_from_slice(&cells);
            at += 1;
        }
        let group = match group {
            Group::QuadSwap(_) => Group::QuadSwap(self.literal_constant(id_at(inst, at)?)? as u8),
            other => other,
        };
        let takes_scalar = matches!(
            group,
            Group::Broadcast
                | Group::BallotBitExtract
                | Group::Shuffle
                | Group::ShuffleXor
                | Group::ShuffleUp
                | Group::ShuffleDown
                | Group::Rotate
                | Group::QuadBroadcast
        );
        if takes_scalar {
            let (reg, scalar) = self.scalar(id_at(inst, at)?)?;
            if !matches!(scalar, Scalar::Int(..)) {
                return Err(invalid(format!("Op{opcode:?} with an index that is no integer")));
            }
            ins.push(reg);
            at += 1;
        }
        let clustered = matches!(group, Group::Fold(_, Scan::Clustered)) || group == Group::Rotate;
        if clustered && at < inst.operands.len() {
            cluster = self.literal_constant(id_at(inst, at)?)?;
        }
        let partitioned = matches!(
            group,
            Group::Fold(_, Scan::PartitionedReduce | Scan::PartitionedInclusive | Scan::PartitionedExclusive)
        );
        if partitioned {
            let (cells, _) = self.vector(id_at(inst, at)?)?;
            ins.extend_from_slice(&cells);
            if cells.len() != 4 {
                return Err(invalid("a ballot of other than four words"));
            }
        }
        let words = matches!(
            group,
            Group::InverseBallot
                | Group::BallotBitExtract
                | Group::BallotBitCount(_)
                | Group::BallotFindLsb
                | Group::BallotFindMsb
        );
        if words && n != 4 {
            return Err(invalid("a ballot of other than four words"));
        }
        let expected = match group {
            Group::Ballot | Group::Partition => 4,
            Group::Broadcast
            | Group::BroadcastFirst
            | Group::Shuffle
            | Group::ShuffleXor
            | Group::ShuffleUp
            | Group::ShuffleDown
            | Group::Rotate
            | Group::QuadBroadcast
            | Group::QuadSwap(_)
            | Group::Derivative(..)
            | Group::Fold(..) => n,
            _ => 1,
        };
        if self.types.cells(ty) != expected as u64 {
            return Err(invalid(format!("Op{opcode:?} with a result of another type")));
        }
        let outs = self.temps(expected);
        // Sizes that are no power of two up to 128 are recorded as 0 and 255.
        let cluster = if clustered && at < inst.operands.len() && !(cluster.is_power_of_two() && cluster <= 128) {
            255
        } else {
            cluster as u8
        };
        let op = Op::Group { group, scalar, n: n as u8, cluster };
        let c = self.code.group_count;
        self.code.group_count += 1;
        self.push(op, NONE, [NONE; 3], &outs, &ins);
        if let Some(inst) = self.code.insts.last_mut() {
            // Its number among subgroup instructions.
            inst.d = c | GROUP_TAG;
        }
        self.define(id, ty, outs)
    }

    pub(super) fn define_undefined(&mut self, id: u32, ty: TypeId) -> Result<(), Error> {
        let count = self.checked_cells(ty)?;
        let undef = self.column_of(Start::Undef);
        self.define(id, ty, smallvec![undef; count])
    }
}

/// True for the instructions of SPIR-V 1.6 §3.52.16.
fn is_derivative(opcode: Opcode) -> bool {
    use Opcode as O;
    matches!(
        opcode,
        O::DPdx
            | O::DPdy
            | O::Fwidth
            | O::DPdxFine
            | O::DPdyFine
            | O::FwidthFine
            | O::DPdxCoarse
            | O::DPdyCoarse
            | O::FwidthCoarse
    )
}

/// In the place of the destination of a subgroup instruction stands its number, with this bit.
pub(crate) const GROUP_TAG: u32 = 1 << 31;

fn group_of(opcode: Opcode) -> Option<Group> {
    Some(match opcode {
        Opcode::GroupNonUniformElect => Group::Elect,
        Opcode::GroupNonUniformAll | Opcode::SubgroupAllKHR => Group::All,
        Opcode::GroupNonUniformAny | Opcode::SubgroupAnyKHR => Group::Any,
        Opcode::GroupNonUniformAllEqual | Opcode::SubgroupAllEqualKHR => Group::AllEqual,
        Opcode::GroupNonUniformBroadcast | Opcode::SubgroupReadInvocationKHR => Group::Broadcast,
        Opcode::GroupNonUniformBroadcastFirst | Opcode::SubgroupFirstInvocationKHR => Group::BroadcastFirst,
        Opcode::GroupNonUniformBallot | Opcode::SubgroupBallotKHR => Group::Ballot,
        Opcode::GroupNonUniformInverseBallot => Group::InverseBallot,
        Opcode::GroupNonUniformBallotBitExtract => Group::BallotBitExtract,
        Opcode::GroupNonUniformBallotFindLSB => Group::BallotFindLsb,
        Opcode::GroupNonUniformBallotFindMSB => Group::BallotFindMsb,
        Opcode::GroupNonUniformShuffle => Group::Shuffle,
        Opcode::GroupNonUniformShuffleXor => Group::ShuffleXor,
        Opcode::GroupNonUniformShuffleUp => Group::ShuffleUp,
        Opcode::GroupNonUniformShuffleDown => Group::ShuffleDown,
        Opcode::GroupNonUniformRotateKHR => Group::Rotate,
        Opcode::GroupNonUniformQuadBroadcast => Group::QuadBroadcast,
        Opcode::GroupNonUniformQuadSwap => Group::QuadSwap(0),
        Opcode::GroupNonUniformQuadAllKHR => Group::QuadAll,
        Opcode::GroupNonUniformQuadAnyKHR => Group::QuadAny,
        Opcode::DPdxFine => Group::Derivative(Derivative::X, Of::Own),
        Opcode::DPdyFine => Group::Derivative(Derivative::Y, Of::Own),
        Opcode::FwidthFine => Group::Derivative(Derivative::Width, Of::Own),
        // "The results for OpDPdx and OpDPdy may: be calculated as either fine or coarse derivatives", and coarse ones are of any row or column (Vulkan,
        // Derivative Operations).
        Opcode::DPdx | Opcode::DPdxCoarse => Group::Derivative(Derivative::X, Of::Any),
        Opcode::DPdy | Opcode::DPdyCoarse => Group::Derivative(Derivative::Y, Of::Any),
        Opcode::Fwidth | Opcode::FwidthCoarse => Group::Derivative(Derivative::Width, Of::Any),
        Opcode::GroupNonUniformPartitionEXT => Group::Partition,
        _ => return None,
    })
}

fn fold_of(opcode: Opcode) -> Option<Fold> {
    Some(match opcode {
        Opcode::GroupNonUniformIAdd => Fold::Add,
        Opcode::GroupNonUniformFAdd => Fold::FAdd,
        Opcode::GroupNonUniformIMul => Fold::Mul,
        Opcode::GroupNonUniformFMul => Fold::FMul,
        Opcode::GroupNonUniformSMin => Fold::SMin,
        Opcode::GroupNonUniformUMin => Fold::UMin,
        Opcode::GroupNonUniformFMin => Fold::FMin,
        Opcode::GroupNonUniformSMax => Fold::SMax,
        Opcode::GroupNonUniformUMax => Fold::UMax,
        Opcode::GroupNonUniformFMax => Fold::FMax,
        Opcode::GroupNonUniformBitwiseAnd | Opcode::GroupNonUniformLogicalAnd => Fold::And,
        Opcode::GroupNonUniformBitwiseOr | Opcode::GroupNonUniformLogicalOr => Fold::Or,
        Opcode::GroupNonUniformBitwiseXor | Opcode::GroupNonUniformLogicalXor => Fold::Xor,
        _ => return None,
    })
}

fn phis<'m>(module: &'m Source, block: &SourceBlock) -> impl Iterator<Item = Instruction<'m>> {
    module.all(block.instructions.clone()).filter(|inst| inst.class.opcode == Opcode::Phi)
}

/// The value that a phi takes from a parent.
fn phi_source(phi: &Instruction<'_>, parent: u32) -> Option<u32> {
    phi.operands.chunks_exact(2).find_map(|pair| match pair {
        [Operand::IdRef(value), Operand::IdRef(from)] if *from == parent => Some(*value),
        _ => None,
    })
}

pub(crate) fn successors(term: &Instruction<'_>) -> Vec<u32> {
    let from = match term.class.opcode {
        Opcode::Branch => 0,
        Opcode::BranchConditional | Opcode::Switch => 1,
        _ => return Vec::new(),
    };
    let ids = term.operands[from.min(term.operands.len())..].iter().filter_map(|operand| match operand {
        Operand::IdRef(id) => Some(*id),
        _ => None,
    });
    ids.collect()
}

/// Blocks that control flow reaches, so that a block comes after those that dominate it, and case labels in the order of fallthrough.
fn reverse_postorder(module: &Source, function: &SourceFunction, local: &FxHashMap<u32, usize>) -> Vec<usize> {
    let next = |block: usize| -> Vec<usize> {
        // A block ends with its terminator.
        let term = module.get(function.blocks[block].instructions.end - 1);
        successors(&term).iter().filter_map(|id| local.get(id).copied()).collect()
    };
    let mut seen = vec![false; function.blocks.len()];
    let mut order = Vec::new();
    seen[0] = true;
    let mut stack = vec![(0, next(0), 0)];
    while let Some((block, successors, at)) = stack.last_mut() {
        match successors.get(*at) {
            Some(&to) => {
                *at += 1;
                if !seen[to] {
                    seen[to] = true;
                    stack.push((to, next(to), 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

type FunctionsById<'a> = FxHashMap<u32, &'a SourceFunction>;

/// The functions that an entry point calls, callers first. Recursion is an error (SPIR-V 1.6 §2.16.1).
fn call_order(entry: u32, module: &Source, by_id: &FunctionsById<'_>) -> Result<Vec<u32>, Error> {
    let callees = |id: u32| -> Result<Vec<u32>, Error> {
        let function = by_id.get(&id).ok_or_else(|| invalid(format!("%{id} is no function")))?;
        let calls = module.body(function).filter(|inst| inst.class.opcode == Opcode::FunctionCall);
        calls.map(|inst| id_at(&inst, 0)).collect()
    };
    let mut state: FxHashMap<u32, bool> = FxHashMap::default();
    let mut order = Vec::new();
    state.insert(entry, true);
    let mut stack = vec![(entry, callees(entry)?, 0)];
    while let Some((id, next, at)) = stack.last_mut() {
        match next.get(*at) {
            Some(&to) => {
                *at += 1;
                match state.get(&to) {
                    Some(true) => return Err(invalid(format!("the function %{to} is recursive"))),
                    Some(false) => {}
                    None => {
                        state.insert(to, true);
                        stack.push((to, callees(to)?, 0));
                        if stack.len() > MAX_CALL_DEPTH {
                            return Err(Error::Memory("calls are nested too deeply".into()));
                        }
                    }
                }
            }
            None => {
                state.insert(*id, false);
                order.push(*id);
                stack.pop();
            }
        }
    }
    order.reverse();
    Ok(order)
}

/// True for the subgroup instructions without an operand for their scope.
pub(super) fn is_unscoped(opcode: Opcode) -> bool {
    is_derivative(opcode)
        || matches!(
            opcode,
            Opcode::GroupNonUniformQuadAllKHR
                | Opcode::GroupNonUniformQuadAnyKHR
                | Opcode::GroupNonUniformPartitionEXT
                | Opcode::SubgroupBallotKHR
                | Opcode::SubgroupFirstInvocationKHR
                | Opcode::SubgroupAllKHR
                | Opcode::SubgroupAnyKHR
                | Opcode::SubgroupAllEqualKHR
                | Opcode::SubgroupReadInvocationKHR
        )
}
