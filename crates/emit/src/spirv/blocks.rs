//! The basic blocks of a function, and the values of its variables in them.
//!
//! OpPhi instructions are made where a variable is read: Braun et al., "Simple and Efficient Construction of Static Single Assignment
//! Form", 2013, without the removal of those that turn out to be superfluous.

use rspirv::dr::{self, Instruction, Operand};
use rspirv::spirv::Op;
use rustc_hash::FxHashMap;
use tangle_program::tree::VarId;
use tangle_program::types::Type;

use super::module::{Id, Module};

/// The number of a block in its function.
pub(super) type BlockId = usize;

/// What a block is to the constructs around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// An arm of a selection, or the body of a loop.
    Arm,
    /// The merge block of a selection or loop.
    Merge,
    /// Anything else: headers, continue targets, the first block of a function.
    Other,
}

pub(super) struct Block {
    pub label: Id,
    pub role: Role,
    phis: Vec<Phi>,
    code: Vec<Instruction>,
    predecessors: Vec<BlockId>,
    /// True when all predecessors are known.
    sealed: bool,
    /// The values of variables at its end.
    values: FxHashMap<VarId, Id>,
}

struct Phi {
    id: Id,
    var: VarId,
    ty: Type,
    /// Value and parent, for so many of the predecessors.
    incoming: Vec<(Id, Id)>,
}

/// The blocks of a function.
pub(super) struct Blocks {
    all: Vec<Block>,
    /// Those that were begun, in the order of the module.
    order: Vec<BlockId>,
    /// The one that is being written; none where nothing can be reached.
    pub current: Option<BlockId>,
    /// The OpVariable instructions of the function, which stand first in its first block.
    variables: Vec<Instruction>,
}

impl Blocks {
    /// With the first block of the function.
    pub fn new(module: &mut Module<'_>) -> Blocks {
        let mut blocks = Blocks { all: Vec::new(), order: Vec::new(), current: None, variables: Vec::new() };
        let first = blocks.new_block(module, Role::Other);
        blocks.begin(first);
        blocks.seal(module, first);
        blocks
    }

    pub fn new_block(&mut self, module: &mut Module<'_>, role: Role) -> BlockId {
        self.all.push(Block {
            label: module.id(),
            role,
            phis: Vec::new(),
            code: Vec::new(),
            predecessors: Vec::new(),
            sealed: false,
            values: FxHashMap::default(),
        });
        self.all.len() - 1
    }

    pub fn begin(&mut self, block: BlockId) {
        self.order.push(block);
        self.current = Some(block);
    }

    pub fn label(&self, block: BlockId) -> Id {
        self.all[block].label
    }

    pub fn has_predecessors(&self, block: BlockId) -> bool {
        !self.all[block].predecessors.is_empty()
    }

    /// Adds an instruction to the current block.
    pub fn push(&mut self, instruction: Instruction) {
        if let Some(current) = self.current {
            self.all[current].code.push(instruction);
        }
    }

    pub fn declare(&mut self, variable: Instruction) {
        self.variables.push(variable);
    }

    /// Ends the current block with a branch to these blocks.
    pub fn end(&mut self, terminator: Instruction, successors: impl IntoIterator<Item = BlockId>) {
        let Some(current) = self.current.take() else { return };
        self.all[current].code.push(terminator);
        for successor in successors {
            let predecessors = &mut self.all[successor].predecessors;
            if !predecessors.contains(&current) {
                predecessors.push(current);
            }
        }
    }

    /// Notes that all predecessors of a block are known.
    pub fn seal(&mut self, module: &mut Module<'_>, block: BlockId) {
        self.all[block].sealed = true;
        for phi in 0..self.all[block].phis.len() {
            self.fill(module, block, phi);
        }
    }

    /// Gives a phi its values for the predecessors that it lacks.
    fn fill(&mut self, module: &mut Module<'_>, block: BlockId, phi: usize) {
        let Phi { var, ty, ref incoming, .. } = self.all[block].phis[phi];
        for number in incoming.len()..self.all[block].predecessors.len() {
            let parent = self.all[block].predecessors[number];
            let value = self.read_in(module, parent, var, ty);
            let parent = self.all[parent].label;
            self.all[block].phis[phi].incoming.push((value, parent));
        }
    }

    fn new_phi(&mut self, module: &mut Module<'_>, block: BlockId, var: VarId, ty: Type) -> usize {
        let id = module.id();
        let block = &mut self.all[block];
        block.phis.push(Phi { id, var, ty, incoming: Vec::new() });
        block.values.insert(var, id);
        block.phis.len() - 1
    }

    pub fn write(&mut self, var: VarId, value: Id) {
        if let Some(current) = self.current {
            self.all[current].values.insert(var, value);
        }
    }

    pub fn read(&mut self, module: &mut Module<'_>, var: VarId, ty: Type) -> Id {
        match self.current {
            Some(current) => self.read_in(module, current, var, ty),
            None => module.undefined(ty),
        }
    }

    fn read_in(&mut self, module: &mut Module<'_>, block: BlockId, var: VarId, ty: Type) -> Id {
        if let Some(&value) = self.all[block].values.get(&var) {
            return value;
        }
        let is_sealed = self.all[block].sealed;
        let value = match self.all[block].predecessors[..] {
            // Variables are zero where a function begins; what nobody reaches has no values.
            [] if is_sealed && self.order.first() == Some(&block) => module.zero(ty),
            [] if is_sealed => module.undefined(ty),
            [parent] if is_sealed => self.read_in(module, parent, var, ty),
            _ => {
                let phi = self.new_phi(module, block, var, ty);
                if is_sealed {
                    self.fill(module, block, phi);
                }
                return self.all[block].phis[phi].id;
            }
        };
        self.all[block].values.insert(var, value);
        value
    }

    /// Makes the current block the header of a loop, to which a back edge will come, if it may be one: if there is nothing in it. What
    /// variables were set to in it are values of the first iteration only.
    pub fn reopen(&mut self, module: &mut Module<'_>, roles: &[Role], types: impl Fn(VarId) -> Option<Type>) -> bool {
        let Some(current) = self.current else { return false };
        let block = &self.all[current];
        if !roles.contains(&block.role) || !block.code.is_empty() || !block.phis.is_empty() || !block.sealed {
            return false;
        }
        let mut values: Vec<(VarId, Id)> = block.values.iter().map(|(&var, &value)| (var, value)).collect();
        values.sort_unstable();
        let parents: Vec<Id> = block.predecessors.iter().map(|&parent| self.all[parent].label).collect();
        self.all[current].sealed = false;
        for (var, value) in values {
            let Some(ty) = types(var) else { continue };
            let phi = self.new_phi(module, current, var, ty);
            self.all[current].phis[phi].incoming = parents.iter().map(|&parent| (value, parent)).collect();
        }
        true
    }

    /// The blocks in order, with the variables in the first.
    pub fn finish(self, module: &mut Module<'_>) -> Vec<dr::Block> {
        let mut all: Vec<Option<Block>> = self.all.into_iter().map(Some).collect();
        let mut variables = self.variables;
        let mut blocks = Vec::with_capacity(self.order.len());
        for number in self.order {
            let Some(block) = all[number].take() else { continue };
            let mut instructions = Vec::with_capacity(block.phis.len() + block.code.len() + variables.len());
            for phi in block.phis {
                let ty = module.ty(phi.ty);
                let operands = phi.incoming.into_iter().flat_map(|(value, parent)| [value, parent].map(Operand::IdRef));
                instructions.push(Instruction::new(Op::Phi, Some(ty), Some(phi.id), operands.collect()));
            }
            instructions.append(&mut variables);
            instructions.extend(block.code);
            let label = Some(Instruction::new(Op::Label, None, Some(block.label), Vec::new()));
            blocks.push(dr::Block { label, instructions });
        }
        blocks
    }
}
