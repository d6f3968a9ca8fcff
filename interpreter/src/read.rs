//! Words to instructions.
//!
//! `rspirv` searches its table for every opcode, makes a vector for every operand, and keeps the type of every id. Here the instructions that modules
//! are full of are read with a table by opcode; what is not among these, and what is wrong, is left to `rspirv` (SPIR-V 1.6 §2.3, §3).

use std::sync::LazyLock;

use rspirv::binary::{self, Consumer, ParseAction};
use rspirv::dr::{self, Operand};
use rspirv::grammar::{INSTRUCTION_TABLE, Instruction as Class, OperandKind, OperandQuantifier};
use rspirv::spirv::{BuiltIn, Decoration, FunctionControl, GroupOperation, Op, SelectionControl, StorageClass};
use rustc_hash::FxHashMap;

use crate::outcome::Error;
use crate::source::Source;

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

/// Reads the words of a module, header included.
pub(crate) fn read(words: &[u32]) -> Result<Source, Error> {
    let header = &words[..words.len().min(HEADER)];
    binary::parse_words(header, &mut Instructions::default()).map_err(|error| Error::Parse(error.to_string()))?;
    let mut source = Source::new(words.len(), words.get(3).copied().unwrap_or(0));
    let mut reader = Reader::default();
    let mut at = HEADER;
    while at < words.len() {
        let length = (words[at] >> 16) as usize;
        let inst = words.get(at..at + length.max(1)).ok_or_else(|| {
            Error::Parse(format!("the instruction at word {at} ends past the module: it has {length} words"))
        })?;
        // `rspirv` says what is wrong with no words.
        let plain = if length > 0 { reader.plain(inst, source.operands()) } else { None };
        let (class, result_type, result_id) = match plain {
            Some(results) => results,
            None => {
                source.drop_operands();
                let inst = reader.other(&words[..HEADER], inst, at)?;
                source.operands().extend(inst.operands);
                (inst.class, inst.result_type, inst.result_id)
            }
        };
        reader.note_literal(class.opcode, result_type, result_id, source.next_operands());
        source.add(class, result_type, result_id)?;
        at += length.max(1);
    }
    source.finish()
}

#[derive(Default)]
struct Reader {
    /// Words of a literal of each number type, and of what has such a type, where that is not one word; none for a width that `rspirv` does not know.
    literals: FxHashMap<u32, Option<usize>>,
}

impl Reader {
    /// An instruction whose operands are of the usual kinds, if it fits its grammar: its class, the type of its result and the result. Its operands go to
    /// the end of a row.
    #[inline]
    fn plain(
        &self,
        words: &[u32],
        row: &mut Vec<Operand>,
    ) -> Option<(&'static Class<'static>, Option<u32>, Option<u32>)> {
        let class = class_of(words[0] & 0xFFFF)?;
        let mut rest = &words[1..];
        let (mut result_type, mut result_id) = (None, None);
        let first = row.len();
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
                OperandKind::IdRef => row.push(Operand::IdRef(word)),
                OperandKind::IdScope => row.push(Operand::IdScope(word)),
                OperandKind::IdMemorySemantics => row.push(Operand::IdMemorySemantics(word)),
                OperandKind::LiteralInteger => row.push(Operand::LiteralBit32(word)),
                OperandKind::LiteralExtInstInteger => row.push(Operand::LiteralExtInstInteger(word)),
                OperandKind::LiteralString => {
                    let (text, length) = string(&words[words.len() - rest.len() - 1..])?;
                    row.push(Operand::LiteralString(text));
                    rest = rest.get(length - 1..)?;
                }
                OperandKind::LiteralContextDependentNumber => {
                    row.push(self.literal(result_type?, word, &mut rest)?);
                }
                OperandKind::PairLiteralIntegerIdRef => {
                    let Some(&Operand::IdRef(selector)) = row.get(first) else { return None };
                    row.push(self.literal(selector, word, &mut rest)?);
                    row.push(Operand::IdRef(next(&mut rest)?));
                }
                OperandKind::PairIdRefIdRef => {
                    row.push(Operand::IdRef(word));
                    row.push(Operand::IdRef(next(&mut rest)?));
                }
                OperandKind::StorageClass => row.push(Operand::StorageClass(StorageClass::from_u32(word)?)),
                OperandKind::GroupOperation => row.push(Operand::GroupOperation(GroupOperation::from_u32(word)?)),
                OperandKind::SelectionControl => {
                    row.push(Operand::SelectionControl(SelectionControl::from_bits(word)?));
                }
                OperandKind::FunctionControl => {
                    row.push(Operand::FunctionControl(FunctionControl::from_bits(word)?));
                }
                OperandKind::Decoration => {
                    let decoration = Decoration::from_u32(word)?;
                    row.push(Operand::Decoration(decoration));
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
                        | Decoration::Offset => row.push(Operand::LiteralBit32(next(&mut rest)?)),
                        Decoration::BuiltIn => row.push(Operand::BuiltIn(BuiltIn::from_u32(next(&mut rest)?)?)),
                        _ => return None,
                    }
                }
                _ => return None,
            }
            repeated = (operand.quantifier == OperandQuantifier::ZeroOrMore).then_some(operand);
        }
        rest.is_empty().then_some((class, result_type, result_id))
    }

    /// A literal of the type `ty`, or of the type of the value `ty` (SPIR-V 1.6 §2.2.1): one word, as in `rspirv`, if that is no number.
    fn literal(&self, ty: u32, low: u32, rest: &mut &[u32]) -> Option<Operand> {
        match self.literals.get(&ty).copied().unwrap_or(Some(1))? {
            1 => Some(Operand::LiteralBit32(low)),
            _ => Some(Operand::LiteralBit64(u64::from(next(rest)?) << 32 | u64::from(low))),
        }
    }

    fn note_literal(&mut self, opcode: Op, result_type: Option<u32>, result: Option<u32>, operands: &[Operand]) {
        let Some(id) = result else { return };
        let literal = match (opcode, operands.first()) {
            (Op::TypeInt, Some(Operand::LiteralBit32(8 | 16 | 32))) => Some(1),
            (Op::TypeFloat, Some(Operand::LiteralBit32(16 | 32))) => Some(1),
            (Op::TypeInt | Op::TypeFloat, Some(Operand::LiteralBit32(64))) => Some(2),
            (Op::TypeInt | Op::TypeFloat, _) => None,
            _ => match result_type.and_then(|ty| self.literals.get(&ty)) {
                Some(&literal) => literal,
                None => return,
            },
        };
        // One word is what an unknown type has, too.
        if literal != Some(1) {
            self.literals.insert(id, literal);
        }
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
        let inner = words.get(3).filter(|_| opcode == Op::SpecConstantOp as u32);
        if let Some(&inner) = inner.filter(|&&inner| of_definitions(inner)) {
            return Err(wrong(&format_args!("OpSpecConstantOp with opcode {inner}")));
        }
        if opcode != Op::SpecConstantOp as u32 && of_definitions(opcode) {
            return Err(wrong(&"operands that do not fit"));
        }
        let mut read = Instructions::default();
        binary::parse_words([header, words].concat(), &mut read).map_err(|error| wrong(&error))?;
        read.0.pop().ok_or_else(|| wrong(&"nothing"))
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

/// Keeps the instructions that `rspirv` reads.
#[derive(Default)]
struct Instructions(Vec<dr::Instruction>);

impl Consumer for Instructions {
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
        self.0.push(inst);
        ParseAction::Continue
    }
}

#[cfg(test)]
mod tests {
    use rspirv::grammar::reflect::is_block_terminator;
    use tangle_runner::toolchain::{self, AssemblyTarget};

    use super::*;
    use crate::source::Instruction;

    /// Instructions of every kind that [`Reader::plain`] reads, and some that it leaves to `rspirv`.
    const ASSEMBLY: &str = r#"
        OpCapability Shader
        OpCapability Int64
        OpCapability GroupNonUniformArithmetic
        OpExtension "SPV_KHR_storage_buffer_storage_class"
        %glsl = OpExtInstImport "GLSL.std.450"
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main "main" %lane
        OpExecutionMode %main LocalSize 8 1 1
        OpName %main "main"
        OpMemberName %block 0 "a name that takes several words"
        OpDecorate %lane BuiltIn SubgroupLocalInvocationId
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %buffer DescriptorSet 0
        OpDecorate %buffer Binding 1
        OpDecorate %spec SpecId 3
        OpDecorate %sum NoContraction
        OpDecorate %main LinkageAttributes "main" Export
        %void = OpTypeVoid
        %bool = OpTypeBool
        %uint = OpTypeInt 32 0
        %long = OpTypeInt 64 1
        %float = OpTypeFloat 32
        %function = OpTypeFunction %void
        %block = OpTypeStruct %uint
        %input = OpTypePointer Input %uint
        %storage = OpTypePointer StorageBuffer %block
        %element = OpTypePointer StorageBuffer %uint
        %zero = OpConstant %uint 0
        %three = OpConstant %uint 3
        %half = OpConstant %float 0.5
        %large = OpConstant %long 0x123456789
        %spec = OpSpecConstant %uint 7
        %twice = OpSpecConstantOp %uint IAdd %spec %spec
        %lane = OpVariable %input Input
        %buffer = OpVariable %storage StorageBuffer
        %main = OpFunction %void None %function
        %entry = OpLabel
        %number = OpLoad %uint %lane
        %sum = OpFAdd %float %half %half
        %root = OpExtInst %float %glsl Sqrt %sum
        %wide = OpSConvert %long %number
        OpSelectionMerge %merge None
        OpSwitch %wide %other 0x100000001 %one -2 %other
        %one = OpLabel
        %added = OpGroupNonUniformIAdd %uint %three InclusiveScan %number
        OpBranch %merge
        %other = OpLabel
        OpBranch %merge
        %merge = OpLabel
        %result = OpPhi %uint %added %one %zero %other
        OpSelectionMerge %end Flatten
        OpSwitch %result %end 1 %store
        %store = OpLabel
        %place = OpAccessChain %element %buffer %zero
        OpStore %place %result Aligned 4
        OpBranch %end
        %end = OpLabel
        OpReturn
        OpFunctionEnd
    "#;

    fn ours(words: &[u32]) -> Result<Vec<dr::Instruction>, String> {
        let source = read(words).map_err(|error| error.to_string())?;
        let copy = |inst: Instruction<'_>| dr::Instruction {
            class: inst.class,
            result_type: inst.result_type,
            result_id: inst.result_id,
            operands: inst.operands.to_vec(),
        };
        Ok(source.all(0..source.len() as u32).map(copy).collect())
    }

    fn of_rspirv(words: &[u32]) -> Result<Vec<dr::Instruction>, String> {
        let mut all = Instructions::default();
        binary::parse_words(words, &mut all).map(|()| all.0).map_err(|error| error.to_string())
    }

    fn module() -> Vec<u32> {
        toolchain::assemble(ASSEMBLY, AssemblyTarget::parse("spv1.3").expect("it has a name"))
            .expect("it is well-formed")
    }

    #[test]
    fn most_instructions_are_read_here() {
        let words = module();
        let all = of_rspirv(&words).expect("rspirv reads it");
        assert_eq!(ours(&words).expect("it is read"), all);
        let mut reader = Reader::default();
        let (mut at, mut plain) = (HEADER, 0);
        for inst in &all {
            let length = (words[at] >> 16) as usize;
            plain += usize::from(reader.plain(&words[at..at + length], &mut Vec::new()).is_some());
            reader.note_literal(inst.class.opcode, inst.result_type, inst.result_id, &inst.operands);
            at += length;
        }
        assert!(10 * plain > 8 * all.len(), "{plain} of {}", all.len());
    }

    /// True for what the loader of `rspirv` does not know outside of blocks.
    fn has_later_ones(read: &[dr::Instruction]) -> bool {
        let mut in_block = false;
        read.iter().any(|inst| {
            in_block = match inst.class.opcode {
                Op::Label => true,
                opcode if is_block_terminator(opcode) => false,
                _ => in_block,
            };
            match inst.class.opcode {
                Op::ExecutionModeId => true,
                Op::ExtInst | Op::ExtInstWithForwardRefsKHR => !in_block,
                _ => false,
            }
        })
    }

    /// With any bit of it flipped, `rspirv` reads the same instructions, or refuses it, too.
    #[test]
    fn flipped_bits_are_read_as_rspirv_reads_them() {
        let words = module();
        let (mut accepted, mut refused) = (0, 0);
        for at in HEADER..words.len() {
            for bit in 0..32 {
                let mut words = words.clone();
                words[at] ^= 1 << bit;
                let place = format!("bit {bit} of word {at}");
                match ours(&words) {
                    Ok(read) => {
                        accepted += 1;
                        assert!(dr::load_words(&words).is_ok() || has_later_ones(&read), "{place}");
                        assert_eq!(Ok(read), of_rspirv(&words), "{place}");
                    }
                    // `rspirv` panics with these.
                    Err(error) if error.contains("ends past the module") => {}
                    Err(error) if error.contains("OpSpecConstantOp with opcode") => {}
                    Err(error) => {
                        refused += 1;
                        // What is in the wrong place is refused by the loader of `rspirv`.
                        assert!(of_rspirv(&words).is_err() || dr::load_words(&words).is_err(), "{place}: {error}");
                    }
                }
            }
        }
        assert!(accepted > 1_000 && refused > 1_000, "{accepted} accepted, {refused} refused");
    }

    #[test]
    fn what_rspirv_refuses_is_refused() {
        const HEADER: [u32; 5] = [0x0723_0203, 0x0001_0300, 0, 8, 0];
        let rows: [(&[u32], &str); 4] = [
            // OpReturn with no words.
            (&[0x0000_00FD], "zero word count"),
            // %1 = OpTypeFloat 8, and %1 = OpTypeInt 24 0, with %2 = OpConstant %1 5.
            (&[0x0003_0016, 1, 8, 0x0004_002B, 1, 2, 5], "do not fit"),
            (&[0x0004_0015, 1, 24, 0, 0x0004_002B, 1, 2, 5], "do not fit"),
            // %1 = OpTypeInt 64 0, with %2 = OpConstant %1 5 of one word.
            (&[0x0004_0015, 1, 64, 0, 0x0004_002B, 1, 2, 5], "do not fit"),
        ];
        for (rest, says) in rows {
            let words = [&HEADER, rest].concat();
            assert!(of_rspirv(&words).is_err(), "{words:x?}");
            let error = ours(&words).expect_err("it is refused");
            assert!(error.contains(says), "{words:x?}: {error}");
        }
    }
}
