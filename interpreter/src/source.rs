//! A module as it was read: its instructions in the order of its words, and what its sections and functions are.
//!
//! Operands of all instructions lie in one row: `rspirv` allocates them for each instruction by itself, which takes longer than to decode it.

use std::ops::Range;

use rspirv::dr::Operand;
use rspirv::grammar::Instruction as Class;
use rspirv::grammar::reflect::is_block_terminator;
use rspirv::spirv::Op;

use crate::outcome::Error;

/// An instruction of a module, with its operands, without result type and result id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction<'m> {
    /// What the grammar says of it.
    pub class: &'static Class<'static>,
    pub result_type: Option<u32>,
    pub result_id: Option<u32>,
    pub operands: &'m [Operand],
    /// Its number in the module, from 0, without `OpLine` and `OpNoLine`.
    pub index: u32,
}

/// An instruction whose operands lie in a row of all.
#[derive(Clone, Debug)]
struct Stored {
    class: &'static Class<'static>,
    result_type: Option<u32>,
    result_id: Option<u32>,
    /// Where its operands end; they begin where those of the one before end.
    end: u32,
    index: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The id of its `OpLabel`.
    pub label: u32,
    /// The instructions behind that, the terminator among them.
    pub instructions: Range<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// The number of its `OpFunction` among all instructions.
    pub def: u32,
    /// The numbers of its `OpFunctionParameter`s.
    pub parameters: Vec<u32>,
    pub blocks: Vec<Block>,
}

/// A module. Instructions are named by their number among all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    operands: Vec<Operand>,
    stored: Vec<Stored>,
    /// Those without `OpLine` and `OpNoLine`.
    count: u32,
    /// What the header says.
    pub bound: u32,
    pub imports: Vec<u32>,
    pub memory_model: Option<u32>,
    pub entry_points: Vec<u32>,
    /// `OpExecutionMode`, and then `OpExecutionModeId`.
    pub execution_modes: Vec<u32>,
    modes_by_id: Vec<u32>,
    /// `OpString` and the like.
    pub strings: Vec<u32>,
    pub names: Vec<u32>,
    pub annotations: Vec<u32>,
    /// Types, constants and variables.
    pub globals: Vec<u32>,
    pub functions: Vec<Function>,
    function: Option<Function>,
    block: Option<Block>,
}

impl Source {
    /// Nothing yet, with the capacity for the instructions of a module of so many words, whose ids are below a bound.
    pub fn new(words: usize, bound: u32) -> Source {
        let (operands, stored) = (Vec::with_capacity(words), Vec::with_capacity(words / 3));
        Source { operands, stored, bound, ..Source::default() }
    }

    /// Instructions that were read.
    pub fn len(&self) -> usize {
        self.stored.len()
    }

    pub fn get(&self, number: u32) -> Instruction<'_> {
        let at = number as usize;
        let Stored { class, result_type, result_id, end, index } = self.stored[at];
        let operands = &self.operands[self.first_operand(at)..end as usize];
        Instruction { class, result_type, result_id, operands, index }
    }

    /// Those of a section, or of a block.
    pub fn all(&self, numbers: impl IntoIterator<Item = u32>) -> impl Iterator<Item = Instruction<'_>> {
        numbers.into_iter().map(|number| self.get(number))
    }

    /// Those of a section.
    pub fn section<'m>(&'m self, numbers: &'m [u32]) -> impl Iterator<Item = Instruction<'m>> {
        self.all(numbers.iter().copied())
    }

    /// All instructions of a function's blocks.
    pub fn body<'m>(&'m self, function: &'m Function) -> impl Iterator<Item = Instruction<'m>> {
        function.blocks.iter().flat_map(|block| self.all(block.instructions.clone()))
    }

    /// True if there is an instruction with this opcode.
    pub fn uses(&self, opcode: Op) -> bool {
        self.stored.iter().any(|inst| inst.class.opcode == opcode)
    }

    /// Where the operands of the next instruction go.
    pub fn operands(&mut self) -> &mut Vec<Operand> {
        &mut self.operands
    }

    /// The operands that the last instruction has no part in.
    pub fn next_operands(&self) -> &[Operand] {
        &self.operands[self.first_operand(self.stored.len())..]
    }

    /// Where the operands of an instruction begin: where those of the one before end.
    fn first_operand(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |before| self.stored[before].end as usize)
    }

    /// Forgets the operands that were read for an instruction that is not added yet: it is read in another way.
    pub fn drop_operands(&mut self) {
        self.operands.truncate(self.first_operand(self.stored.len()));
    }

    /// Adds an instruction, whose operands are there already. The order of a module is checked as far as its functions and blocks go (SPIR-V 1.6 §2.4).
    pub fn add(
        &mut self,
        class: &'static Class<'static>,
        result_type: Option<u32>,
        result_id: Option<u32>,
    ) -> Result<(), Error> {
        let wrong = |why: &str| Err(Error::Parse(why.to_owned()));
        let (number, opcode) = (self.stored.len() as u32, class.opcode);
        let is_line = matches!(opcode, Op::Line | Op::NoLine);
        self.stored.push(Stored { class, result_type, result_id, end: self.operands.len() as u32, index: self.count });
        self.count += u32::from(!is_line);
        match opcode {
            Op::Capability | Op::Extension | Op::ModuleProcessed => {}
            Op::ExtInstImport => self.imports.push(number),
            Op::MemoryModel => self.memory_model = Some(number),
            Op::EntryPoint => self.entry_points.push(number),
            Op::ExecutionMode => self.execution_modes.push(number),
            Op::ExecutionModeId => self.modes_by_id.push(number),
            Op::String | Op::SourceExtension | Op::Source | Op::SourceContinued => self.strings.push(number),
            Op::Name | Op::MemberName => self.names.push(number),
            _ if is_line => {}
            _ if opcode.is_annotation() => self.annotations.push(number),
            _ if opcode.is_type() || opcode.is_constant() => self.globals.push(number),
            Op::Variable | Op::Undef if self.function.is_none() => self.globals.push(number),
            // Outside of blocks they are non-semantic.
            Op::ExtInst | Op::ExtInstWithForwardRefsKHR if self.block.is_none() => {}
            Op::Function if self.function.is_some() => return wrong("a function in a function"),
            Op::Function => {
                self.function = Some(Function { def: number, parameters: Vec::new(), blocks: Vec::new() });
            }
            Op::FunctionEnd if self.block.is_some() => return wrong("a function ends in a block"),
            Op::FunctionEnd => match self.function.take() {
                Some(function) => self.functions.push(function),
                None => return wrong("OpFunctionEnd outside a function"),
            },
            Op::FunctionParameter => match &mut self.function {
                Some(function) => function.parameters.push(number),
                None => return wrong("OpFunctionParameter outside a function"),
            },
            Op::Label if self.function.is_none() => return wrong("a block outside a function"),
            Op::Label if self.block.is_some() => return wrong("a block in a block"),
            Op::Label => {
                self.block = Some(Block { label: result_id.unwrap_or(0), instructions: number + 1..number + 1 });
            }
            _ if is_block_terminator(opcode) => match (&mut self.function, self.block.take()) {
                (Some(function), Some(Block { label, instructions })) => {
                    function.blocks.push(Block { label, instructions: instructions.start..number + 1 });
                }
                _ => return wrong("a terminator outside a block"),
            },
            _ if self.block.is_none() => return Err(Error::Parse(format!("Op{opcode:?} outside a block"))),
            _ => {}
        }
        Ok(())
    }

    /// To be called behind the last instruction: no function or block may be open.
    pub fn finish(mut self) -> Result<Source, Error> {
        if self.block.is_some() || self.function.is_some() {
            return Err(Error::Parse("a function without an end".into()));
        }
        self.execution_modes.append(&mut self.modes_by_id);
        Ok(self)
    }
}
