//! A module as it was read: its instructions in the order of its words, and what its sections and functions are.
//!
//! Operands of all instructions lie in one row, and so do their strings: `rspirv` allocates them for each instruction by itself, which takes longer than to
//! decode it.

use std::ops::Range;

use rspirv::dr;
use rspirv::grammar::Instruction as Class;
use rspirv::grammar::reflect::is_block_terminator;
use rspirv::spirv::Op;

use crate::operand::{Number, Operand};
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

/// Strings, one behind the other.
#[derive(Clone, Debug, Default)]
struct Texts {
    all: String,
    /// Where each ends.
    ends: Vec<u32>,
}

impl Texts {
    fn begin(&self, number: usize) -> usize {
        number.checked_sub(1).map_or(0, |before| self.ends[before] as usize)
    }

    fn get(&self, number: Number) -> &str {
        &self.all[self.begin(number as usize)..self.ends[number as usize] as usize]
    }

    fn add(&mut self, text: &str) -> Number {
        self.all.push_str(text);
        self.ends.push(self.all.len() as u32);
        self.ends.len() as u32 - 1
    }
}

/// What an instruction is for the order of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing asks for it.
    Ignored,
    Import,
    MemoryModel,
    EntryPoint,
    ExecutionMode,
    ExecutionModeId,
    String,
    Name,
    Line,
    Annotation,
    /// A type or a constant.
    Global,
    /// Global outside of functions.
    Variable,
    /// Non-semantic outside of blocks.
    Extended,
    Function,
    FunctionEnd,
    FunctionParameter,
    Label,
    Terminator,
    /// It can be in blocks only.
    Inside,
}

impl Role {
    pub fn of(opcode: Op) -> Role {
        match opcode {
            Op::Capability | Op::Extension | Op::ModuleProcessed => Role::Ignored,
            Op::ExtInstImport => Role::Import,
            Op::MemoryModel => Role::MemoryModel,
            Op::EntryPoint => Role::EntryPoint,
            Op::ExecutionMode => Role::ExecutionMode,
            Op::ExecutionModeId => Role::ExecutionModeId,
            Op::String | Op::SourceExtension | Op::Source | Op::SourceContinued => Role::String,
            Op::Name | Op::MemberName => Role::Name,
            Op::Line | Op::NoLine => Role::Line,
            _ if opcode.is_annotation() => Role::Annotation,
            _ if opcode.is_type() || opcode.is_constant() => Role::Global,
            Op::Variable | Op::Undef => Role::Variable,
            Op::ExtInst | Op::ExtInstWithForwardRefsKHR => Role::Extended,
            Op::Function => Role::Function,
            Op::FunctionEnd => Role::FunctionEnd,
            Op::FunctionParameter => Role::FunctionParameter,
            Op::Label => Role::Label,
            _ if is_block_terminator(opcode) => Role::Terminator,
            _ => Role::Inside,
        }
    }
}

/// A module. Instructions are named by their number among all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    operands: Vec<Operand>,
    texts: Texts,
    wide: Vec<u64>,
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

    /// A string that an operand names.
    pub fn text(&self, number: Number) -> &str {
        self.texts.get(number)
    }

    /// A literal of 64 bits that an operand names.
    pub fn wide(&self, number: Number) -> u64 {
        self.wide[number as usize]
    }

    /// Adds an operand of the next instruction.
    #[inline]
    pub fn operand(&mut self, operand: Operand) {
        self.operands.push(operand);
    }

    /// Adds ids as operands of the next instruction.
    #[inline]
    pub fn ids(&mut self, ids: &[u32]) {
        self.operands.extend(ids.iter().copied().map(Operand::IdRef));
    }

    /// The same for a string.
    pub fn string(&mut self, text: &str) {
        let number = self.texts.add(text);
        self.operands.push(Operand::LiteralString(number));
    }

    /// The same for a literal of 64 bits.
    pub fn wide_literal(&mut self, literal: u64) {
        self.wide.push(literal);
        self.operands.push(Operand::LiteralBit64(self.wide.len() as u32 - 1));
    }

    /// The same for one that `rspirv` read.
    pub fn read_operand(&mut self, operand: &dr::Operand) {
        match operand {
            dr::Operand::LiteralString(text) => self.string(text),
            dr::Operand::LiteralBit64(literal) => self.wide_literal(*literal),
            other => self.operands.push(Operand::of(other)),
        }
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
        role: Role,
        result_type: Option<u32>,
        result_id: Option<u32>,
    ) -> Result<(), Error> {
        let wrong = |why: &str| Err(Error::Parse(why.to_owned()));
        let number = self.stored.len() as u32;
        self.stored.push(Stored { class, result_type, result_id, end: self.operands.len() as u32, index: self.count });
        self.count += u32::from(role != Role::Line);
        match role {
            Role::Import => self.imports.push(number),
            Role::MemoryModel => self.memory_model = Some(number),
            Role::EntryPoint => self.entry_points.push(number),
            Role::ExecutionMode => self.execution_modes.push(number),
            Role::ExecutionModeId => self.modes_by_id.push(number),
            Role::String => self.strings.push(number),
            Role::Name => self.names.push(number),
            Role::Annotation => self.annotations.push(number),
            Role::Global => self.globals.push(number),
            Role::Variable if self.function.is_none() => self.globals.push(number),
            Role::Inside | Role::Variable if self.block.is_none() => {
                return Err(Error::Parse(format!("Op{:?} outside a block", class.opcode)));
            }
            Role::Inside | Role::Variable | Role::Extended | Role::Ignored | Role::Line => {}
            Role::Function if self.function.is_some() => return wrong("a function in a function"),
            Role::Function => {
                self.function = Some(Function { def: number, parameters: Vec::new(), blocks: Vec::new() });
            }
            Role::FunctionEnd if self.block.is_some() => return wrong("a function ends in a block"),
            Role::FunctionEnd => match self.function.take() {
                Some(function) => self.functions.push(function),
                None => return wrong("OpFunctionEnd outside a function"),
            },
            Role::FunctionParameter => match &mut self.function {
                Some(function) => function.parameters.push(number),
                None => return wrong("OpFunctionParameter outside a function"),
            },
            Role::Label if self.function.is_none() => return wrong("a block outside a function"),
            Role::Label if self.block.is_some() => return wrong("a block in a block"),
            Role::Label => {
                self.block = Some(Block { label: result_id.unwrap_or(0), instructions: number + 1..number + 1 });
            }
            Role::Terminator => match (&mut self.function, self.block.take()) {
                (Some(function), Some(Block { label, instructions })) => {
                    function.blocks.push(Block { label, instructions: instructions.start..number + 1 });
                }
                _ => return wrong("a terminator outside a block"),
            },
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
