//! Words to instructions.
//!
//! `rspirv` searches its table for every opcode, makes a vector for every operand, and keeps the type of every id. Here the instructions that modules
//! are full of are read with a table by opcode; what is not among these, and what is wrong, is left to `rspirv` (SPIR-V 1.6 §2.3, §3).

use std::sync::LazyLock;

use rspirv::binary::{self, Consumer, ParseAction};
use rspirv::dr::{self, Operand};
use rspirv::grammar::reflect::is_block_terminator;
use rspirv::grammar::{INSTRUCTION_TABLE, Instruction as Class, OperandKind, OperandQuantifier};
use rspirv::spirv::{BuiltIn, Decoration, FunctionControl, GroupOperation, Op, SelectionControl, StorageClass};
use rustc_hash::FxHashMap;

use crate::outcome::Error;

/// Words before the first instruction (SPIR-V 1.6 §2.3).
const HEADER: usize = 5;

/// What the grammar says of each opcode.
static CLASSES: LazyLock<Vec<Option<&'static Class<'static>>>> = LazyLock::new(|| {
    let last = INSTRUCTION_TABLE.iter().map(|class| class.opcode as usize).max().unwrap_or(0);
    let mut classes = vec![None; last + 1];
    for class in INSTRUCTION_TABLE.iter() {
        classes[class.opcode as usize].get_or_insert(class);
    }
    classes
});

fn class_of(opcode: u32) -> Option<&'static Class<'static>> {
    CLASSES.get(opcode as usize).copied().flatten()
}

/// Reads a module. The second result is the number of its instructions.
pub(crate) fn read(words: &[u32]) -> Result<(dr::Module, usize), Error> {
    let mut reader = Reader::default();
    let header = &words[..words.len().min(HEADER)];
    binary::parse_words(header, &mut reader.loader).map_err(|error| Error::Parse(error.to_string()))?;
    let mut at = HEADER;
    let mut count = 0;
    while at < words.len() {
        let length = (words[at] >> 16) as usize;
        let inst = words.get(at..at + length.max(1)).ok_or_else(|| {
            Error::Parse(format!("the instruction at word {at} ends past the module: it has {length} words"))
        })?;
        let inst = match reader.plain(inst) {
            Some(inst) => inst,
            None => reader.other(header, inst, at)?,
        };
        reader.note_width(&inst);
        reader.take(inst)?;
        at += length.max(1);
        count += 1;
    }
    accepted(reader.loader.finalize())?;
    let mut module = reader.loader.module();
    module.execution_modes.extend(reader.execution_modes);
    Ok((module, count))
}

/// `rspirv`'s loader knows no instructions outside of blocks but those of SPIR-V 1.0: here come `OpExecutionModeId` and the non-semantic `OpExtInst`.
#[derive(Default)]
struct Reader {
    loader: dr::Loader,
    execution_modes: Vec<dr::Instruction>,
    in_block: bool,
    /// Widths of number types that are no word, and of what has such a type. Literals of other types are one word.
    widths: FxHashMap<u32, u32>,
}

impl Reader {
    /// An instruction whose operands are of the usual kinds, if it fits its grammar.
    fn plain(&self, words: &[u32]) -> Option<dr::Instruction> {
        let class = class_of(words[0] & 0xFFFF)?;
        let mut rest = &words[1..];
        let (mut result_type, mut result_id) = (None, None);
        let mut operands = Vec::with_capacity(rest.len());
        let mut logical = class.operands.iter();
        let mut repeated = None;
        while let Some(operand) = repeated.or_else(|| logical.next()) {
            let Some((&word, after)) = rest.split_first() else {
                match operand.quantifier {
                    OperandQuantifier::One => return None,
                    OperandQuantifier::ZeroOrOne | OperandQuantifier::ZeroOrMore => break,
                }
            };
            rest = after;
            match operand.kind {
                OperandKind::IdResultType => result_type = Some(word),
                OperandKind::IdResult => result_id = Some(word),
                OperandKind::IdRef => operands.push(Operand::IdRef(word)),
                OperandKind::IdScope => operands.push(Operand::IdScope(word)),
                OperandKind::IdMemorySemantics => operands.push(Operand::IdMemorySemantics(word)),
                OperandKind::LiteralInteger => operands.push(Operand::LiteralBit32(word)),
                OperandKind::LiteralExtInstInteger => operands.push(Operand::LiteralExtInstInteger(word)),
                OperandKind::LiteralString => {
                    let (text, length) = string(&words[words.len() - rest.len() - 1..])?;
                    operands.push(Operand::LiteralString(text));
                    rest = rest.get(length - 1..)?;
                }
                OperandKind::LiteralContextDependentNumber => {
                    operands.push(self.literal(result_type?, word, &mut rest)?);
                }
                OperandKind::PairLiteralIntegerIdRef => {
                    let Some(&Operand::IdRef(selector)) = operands.first() else { return None };
                    operands.push(self.literal(selector, word, &mut rest)?);
                    operands.push(Operand::IdRef(next(&mut rest)?));
                }
                OperandKind::PairIdRefIdRef => {
                    operands.push(Operand::IdRef(word));
                    operands.push(Operand::IdRef(next(&mut rest)?));
                }
                OperandKind::StorageClass => operands.push(Operand::StorageClass(StorageClass::from_u32(word)?)),
                OperandKind::GroupOperation => operands.push(Operand::GroupOperation(GroupOperation::from_u32(word)?)),
                OperandKind::SelectionControl => {
                    operands.push(Operand::SelectionControl(SelectionControl::from_bits(word)?));
                }
                OperandKind::FunctionControl => {
                    operands.push(Operand::FunctionControl(FunctionControl::from_bits(word)?));
                }
                OperandKind::Decoration => {
                    let decoration = Decoration::from_u32(word)?;
                    operands.push(Operand::Decoration(decoration));
                    match decoration {
                        Decoration::RelaxedPrecision
                        | Decoration::NoContraction
                        | Decoration::Block
                        | Decoration::NonWritable
                        | Decoration::ColMajor
                        | Decoration::RowMajor => {}
                        Decoration::DescriptorSet
                        | Decoration::Binding
                        | Decoration::SpecId
                        | Decoration::ArrayStride
                        | Decoration::MatrixStride
                        | Decoration::Offset => operands.push(Operand::LiteralBit32(next(&mut rest)?)),
                        Decoration::BuiltIn => operands.push(Operand::BuiltIn(BuiltIn::from_u32(next(&mut rest)?)?)),
                        _ => return None,
                    }
                }
                _ => return None,
            }
            repeated = (operand.quantifier == OperandQuantifier::ZeroOrMore).then_some(operand);
        }
        rest.is_empty().then_some(dr::Instruction { class, result_type, result_id, operands })
    }

    /// A literal whose width is that of the type `ty`, or of the value `ty` (SPIR-V 1.6 §2.2.1).
    fn literal(&self, ty: u32, low: u32, rest: &mut &[u32]) -> Option<Operand> {
        match self.widths.get(&ty) {
            None => Some(Operand::LiteralBit32(low)),
            Some(64) => Some(Operand::LiteralBit64(u64::from(next(rest)?) << 32 | u64::from(low))),
            Some(_) => None,
        }
    }

    fn note_width(&mut self, inst: &dr::Instruction) {
        let Some(id) = inst.result_id else { return };
        let width = match (inst.class.opcode, inst.operands.first()) {
            (Op::TypeInt | Op::TypeFloat, Some(&Operand::LiteralBit32(width))) => {
                (![8, 16, 32].contains(&width)).then_some(width)
            }
            _ if self.widths.is_empty() => return,
            _ => inst.result_type.and_then(|ty| self.widths.get(&ty).copied()),
        };
        match width {
            Some(width) => self.widths.insert(id, width),
            None => self.widths.remove(&id),
        };
    }

    /// An instruction as `rspirv` reads it: one with rare operands, or a wrong one.
    fn other(&self, header: &[u32], words: &[u32], at: usize) -> Result<dr::Instruction, Error> {
        let wrong = |why: &dyn std::fmt::Display| Error::Parse(format!("the instruction at word {at}: {why}"));
        let opcode = words[0] & 0xFFFF;
        // What `rspirv` cannot know of a single instruction, and what it takes for granted, and panics without.
        let kinds = |opcode| class_of(opcode).map(|class| class.operands).unwrap_or_default();
        let of_definitions = |opcode| {
            kinds(opcode).iter().any(|operand| {
                matches!(
                    operand.kind,
                    OperandKind::LiteralContextDependentNumber
                        | OperandKind::LiteralSpecConstantOpInteger
                        | OperandKind::PairLiteralIntegerIdRef
                )
            })
        };
        match (opcode == Op::SpecConstantOp as u32, words.get(3)) {
            (true, Some(&inner)) if of_definitions(inner) => {
                return Err(wrong(&format_args!("OpSpecConstantOp with opcode {inner}")));
            }
            (true, _) => {}
            (false, _) if of_definitions(opcode) => return Err(wrong(&"operands that do not fit")),
            (false, _) => {}
        }
        let mut one = One(None);
        binary::parse_words([header, words].concat(), &mut one).map_err(|error| wrong(&error))?;
        one.0.ok_or_else(|| wrong(&"nothing"))
    }

    fn take(&mut self, inst: dr::Instruction) -> Result<(), Error> {
        match inst.class.opcode {
            Op::ExecutionModeId => {
                self.execution_modes.push(inst);
                return Ok(());
            }
            Op::ExtInst | Op::ExtInstWithForwardRefsKHR if !self.in_block => return Ok(()),
            Op::Label => self.in_block = true,
            opcode if is_block_terminator(opcode) => self.in_block = false,
            _ => {}
        }
        accepted(self.loader.consume_instruction(inst))
    }
}

/// A string and the words that it takes, with the zero at its end.
fn string(words: &[u32]) -> Option<(String, usize)> {
    let mut bytes = Vec::with_capacity(words.len() * 4);
    for (at, word) in words.iter().enumerate() {
        let word = word.to_le_bytes();
        match word.iter().position(|&byte| byte == 0) {
            Some(end) => {
                bytes.extend_from_slice(&word[..end]);
                return Some((String::from_utf8(bytes).ok()?, at + 1));
            }
            None => bytes.extend_from_slice(&word),
        }
    }
    None
}

fn next(rest: &mut &[u32]) -> Option<u32> {
    let (&word, after) = rest.split_first()?;
    *rest = after;
    Some(word)
}

fn accepted(action: ParseAction) -> Result<(), Error> {
    match action {
        ParseAction::Continue => Ok(()),
        ParseAction::Stop => Err(Error::Parse("reading stopped".into())),
        ParseAction::Error(error) => Err(Error::Parse(error.to_string())),
    }
}

/// Keeps a single instruction.
struct One(Option<dr::Instruction>);

impl Consumer for One {
    fn initialize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn finalize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_header(&mut self, _: dr::ModuleHeader) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_instruction(&mut self, inst: dr::Instruction) -> ParseAction {
        self.0 = Some(inst);
        ParseAction::Continue
    }
}
