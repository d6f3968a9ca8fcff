//! Words to instructions.
//!
//! `rspirv` searches its table for every opcode, makes a vector for every operand, and keeps the type of every id. Here the instructions that modules
//! are full of are read with a table by opcode; what is not among these, and what is wrong, is left to `rspirv` (SPIR-V 1.6 §2.3, §3).

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use rspirv::binary::{self, Consumer, ParseAction};
use rspirv::dr;
use rspirv::grammar::{INSTRUCTION_TABLE, Instruction as Class, LogicalOperand, OperandKind, OperandQuantifier};
use rspirv::spirv::{
    BuiltIn, Capability, Decoration, FunctionControl, GroupOperation, LoopControl, Op, SelectionControl, StorageClass,
};

use crate::ids::Ids;
use crate::operand::Operand;
use crate::outcome::Error;
use crate::source::{Role, Source};

/// Words before the first instruction (SPIR-V 1.6 §2.3).
const HEADER: usize = 5;

/// What is known of an opcode.
struct Form {
    /// What the grammar says of it.
    class: &'static Class<'static>,
    role: Role,
    has_type: bool,
    has_result: bool,
    /// How many operands it can have if all of them are ids, without type and result.
    ids: Option<RangeInclusive<usize>>,
}

impl Form {
    fn of(class: &'static Class<'static>) -> Form {
        let has = |kind| class.operands.iter().any(|operand| operand.kind == kind);
        let (has_type, has_result) = (has(OperandKind::IdResultType), has(OperandKind::IdResult));
        let operands = &class.operands[usize::from(has_type) + usize::from(has_result)..];
        Form { class, role: Role::of(class.opcode), has_type, has_result, ids: only_ids(operands) }
    }
}

/// How many operands there can be if all of them are ids.
fn only_ids(operands: &[LogicalOperand]) -> Option<RangeInclusive<usize>> {
    let is_id = |operand: &&LogicalOperand| operand.kind == OperandKind::IdRef;
    let required = operands.iter().take_while(|operand| operand.quantifier == OperandQuantifier::One).count();
    if !operands[..required].iter().all(|operand| is_id(&operand)) {
        return None;
    }
    let most = match operands.get(required).filter(is_id).map(|operand| operand.quantifier) {
        Some(OperandQuantifier::ZeroOrMore) => usize::MAX,
        _ => required,
    };
    Some(required..=most)
}

/// The forms of all opcodes.
static FORMS: LazyLock<Vec<Option<Form>>> = LazyLock::new(|| {
    let last = INSTRUCTION_TABLE.iter().map(|class| class.opcode as usize).max().unwrap_or(0);
    let mut forms: Vec<Option<Form>> = (0..=last).map(|_| None).collect();
    for class in INSTRUCTION_TABLE.iter() {
        forms[class.opcode as usize].get_or_insert_with(|| Form::of(class));
    }
    forms
});

fn form_of(opcode: u32) -> Option<&'static Form> {
    FORMS.get(opcode as usize)?.as_ref()
}

/// The form of an instruction, the type of its result and the result.
type Head = (&'static Form, Option<u32>, Option<u32>);

/// Reads the words of a module, header included.
pub(crate) fn read(words: &[u32]) -> Result<Source, Error> {
    let header = &words[..words.len().min(HEADER)];
    binary::parse_words(header, &mut Instructions::default()).map_err(|error| Error::Parse(error.to_string()))?;
    let bound = words.get(3).copied().unwrap_or(0);
    let mut source = Source::new(words.len(), bound);
    let mut reader = Reader::new(words.len(), bound);
    let mut at = HEADER;
    while at < words.len() {
        let length = (words[at] >> 16) as usize;
        let inst = words.get(at..at + length.max(1)).ok_or_else(|| {
            Error::Parse(format!("the instruction at word {at} ends past the module: it has {length} words"))
        })?;
        // `rspirv` says what is wrong with no words.
        let plain = if length > 0 { reader.plain(inst, &mut source) } else { None };
        let (form, result_type, result_id) = match plain {
            Some(head) => head,
            None => {
                source.drop_operands();
                let (form, inst) = reader.other(&words[..HEADER], inst, at)?;
                inst.operands.iter().for_each(|operand| source.read_operand(operand));
                (form, inst.result_type, inst.result_id)
            }
        };
        reader.note_literal(form.class.opcode, result_type, result_id, source.next_operands());
        source.add(form.class, form.role, result_type, result_id)?;
        at += length.max(1);
    }
    source.finish()
}

/// Words of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Literal {
    One,
    Two,
    /// Of a width that `rspirv` does not know.
    Unknown,
}

struct Reader {
    forms: &'static [Option<Form>],
    /// Literals of each number type, and of what has such a type, where they are not of one word.
    literals: Ids<Literal>,
    /// The bytes of a string that is being read.
    text: Vec<u8>,
}

impl Reader {
    /// Of a module of so many words, whose ids are below a bound.
    fn new(words: usize, bound: u32) -> Reader {
        // Most instructions have three words or more.
        Reader { forms: &FORMS, literals: Ids::new(words / 3, bound as usize), text: Vec::new() }
    }

    /// An instruction whose operands are of the usual kinds, if it fits its grammar. Its operands become those of the next instruction of the module.
    #[inline]
    fn plain(&mut self, words: &[u32], source: &mut Source) -> Option<Head> {
        let form = self.forms.get((words[0] & 0xFFFF) as usize)?.as_ref()?;
        let mut rest = &words[1..];
        let result_type = if form.has_type { Some(next(&mut rest)?) } else { None };
        let result_id = if form.has_result { Some(next(&mut rest)?) } else { None };
        if form.ids.as_ref().is_some_and(|counts| counts.contains(&rest.len())) {
            source.ids(rest);
        } else {
            self.operands(form, result_type, rest, source)?;
        }
        Some((form, result_type, result_id))
    }

    /// Operands of several kinds.
    fn operands(&mut self, form: &Form, ty: Option<u32>, mut rest: &[u32], source: &mut Source) -> Option<()> {
        let mut logical = form.class.operands[usize::from(form.has_type) + usize::from(form.has_result)..].iter();
        let selector = rest.first().copied();
        let mut repeated = None;
        if form.class.opcode == Op::SpecConstantOp {
            return self.constant_operation(rest, source);
        }
        while let Some(operand) = repeated.or_else(|| logical.next()) {
            let words = rest;
            let Some(word) = next(&mut rest) else {
                match operand.quantifier {
                    OperandQuantifier::One => return None,
                    OperandQuantifier::ZeroOrOne | OperandQuantifier::ZeroOrMore => break,
                }
            };
            match operand.kind {
                OperandKind::IdRef => source.operand(Operand::IdRef(word)),
                OperandKind::IdScope => source.operand(Operand::IdScope(word)),
                OperandKind::IdMemorySemantics => source.operand(Operand::IdMemorySemantics(word)),
                OperandKind::LiteralInteger => source.operand(Operand::LiteralBit32(word)),
                OperandKind::LiteralExtInstInteger => source.operand(Operand::LiteralExtInstInteger(word)),
                OperandKind::LiteralString => {
                    rest = words.get(string(words, &mut self.text)?..)?;
                    source.string(std::str::from_utf8(&self.text).ok()?);
                }
                OperandKind::LiteralContextDependentNumber => self.literal(ty?, word, &mut rest, source)?,
                OperandKind::PairLiteralIntegerIdRef => {
                    self.literal(selector?, word, &mut rest, source)?;
                    source.operand(Operand::IdRef(next(&mut rest)?));
                }
                OperandKind::PairIdRefIdRef => source.ids(&[word, next(&mut rest)?]),
                OperandKind::StorageClass => source.operand(Operand::StorageClass(StorageClass::from_u32(word)?)),
                OperandKind::GroupOperation => {
                    source.operand(Operand::GroupOperation(GroupOperation::from_u32(word)?));
                }
                OperandKind::SelectionControl => {
                    source.operand(Operand::SelectionControl(SelectionControl::from_bits(word)?));
                }
                OperandKind::FunctionControl => {
                    source.operand(Operand::FunctionControl(FunctionControl::from_bits(word)?));
                }
                OperandKind::Capability => {
                    Capability::from_u32(word)?;
                    source.operand(Operand::Other);
                }
                // Others have literals.
                OperandKind::LoopControl if word <= LoopControl::DONT_UNROLL.bits() => {
                    source.operand(Operand::LoopControl(LoopControl::from_bits(word)?));
                }
                OperandKind::Decoration => decoration(word, &mut rest, source)?,
                _ => return None,
            }
            repeated = (operand.quantifier == OperandQuantifier::ZeroOrMore).then_some(operand);
        }
        rest.is_empty().then_some(())
    }

    /// `OpSpecConstantOp`: an opcode, and the operands of an instruction that has it, of which all are ids or literals of one word.
    fn constant_operation(&self, mut rest: &[u32], source: &mut Source) -> Option<()> {
        let opcode = next(&mut rest)?;
        let form = self.forms.get(opcode as usize)?.as_ref()?;
        let kinds = &form.class.operands[usize::from(form.has_type) + usize::from(form.has_result)..];
        source.operand(Operand::LiteralSpecConstantOpInteger(form.class.opcode));
        for (at, &word) in rest.iter().enumerate() {
            let kind = kinds
                .get(at)
                .or_else(|| kinds.last().filter(|last| last.quantifier == OperandQuantifier::ZeroOrMore))?;
            source.operand(match kind.kind {
                OperandKind::IdRef => Operand::IdRef(word),
                OperandKind::LiteralInteger => Operand::LiteralBit32(word),
                _ => return None,
            });
        }
        let least = kinds.iter().filter(|kind| kind.quantifier == OperandQuantifier::One).count();
        (rest.len() >= least).then_some(())
    }

    /// A literal of the type `ty`, or of the type of the value `ty` (SPIR-V 1.6 §2.2.1): one word, as in `rspirv`, if that is no number.
    fn literal(&self, ty: u32, low: u32, rest: &mut &[u32], source: &mut Source) -> Option<()> {
        match self.literals.get(ty).copied().unwrap_or(Literal::One) {
            Literal::One => source.operand(Operand::LiteralBit32(low)),
            Literal::Two => source.wide_literal(u64::from(next(rest)?) << 32 | u64::from(low)),
            Literal::Unknown => return None,
        }
        Some(())
    }

    fn note_literal(&mut self, opcode: Op, result_type: Option<u32>, result: Option<u32>, operands: &[Operand]) {
        let Some(id) = result else { return };
        let literal = match (opcode, operands.first()) {
            (Op::TypeInt, Some(Operand::LiteralBit32(8 | 16 | 32))) => Literal::One,
            (Op::TypeFloat, Some(Operand::LiteralBit32(8 | 16 | 32))) => Literal::One,
            (Op::TypeInt | Op::TypeFloat, Some(Operand::LiteralBit32(64))) => Literal::Two,
            (Op::TypeInt | Op::TypeFloat, _) => Literal::Unknown,
            _ => match result_type.and_then(|ty| self.literals.get(ty)) {
                Some(&literal) => literal,
                None => return,
            },
        };
        // One word is what an unknown type has, too.
        if literal != Literal::One {
            self.literals.insert(id, literal);
        }
    }

    /// An instruction as `rspirv` reads it: one with rare operands, or a wrong one.
    fn other(&self, header: &[u32], words: &[u32], at: usize) -> Result<(&'static Form, dr::Instruction), Error> {
        let wrong = |why: &dyn std::fmt::Display| Error::Parse(format!("the instruction at word {at}: {why}"));
        let opcode = words[0] & 0xFFFF;
        // What `rspirv` cannot know of a single instruction, and what it takes for granted, and panics without.
        let kinds = |opcode| form_of(opcode).map(|form| form.class.operands).unwrap_or_default();
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
        form_of(opcode).zip(read.0.pop()).ok_or_else(|| wrong(&"nothing"))
    }
}

/// A decoration that is known here, with its literals.
fn decoration(word: u32, rest: &mut &[u32], source: &mut Source) -> Option<()> {
    let decoration = Decoration::from_u32(word)?;
    source.operand(Operand::Decoration(decoration));
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
        | Decoration::Offset => source.operand(Operand::LiteralBit32(next(rest)?)),
        Decoration::BuiltIn => source.operand(Operand::BuiltIn(BuiltIn::from_u32(next(rest)?)?)),
        _ => return None,
    }
    Some(())
}

/// The bytes of a string, and the words that it takes, with the zero at its end.
fn string(words: &[u32], bytes: &mut Vec<u8>) -> Option<usize> {
    bytes.clear();
    for (at, word) in words.iter().enumerate() {
        let word = word.to_le_bytes();
        match word.iter().position(|&byte| byte == 0) {
            Some(end) => {
                bytes.extend_from_slice(&word[..end]);
                return Some(at + 1);
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

    /// An operand with what it names.
    #[derive(Debug, PartialEq)]
    enum Shown {
        Text(String),
        Wide(u64),
        Other(Operand),
    }

    /// An instruction with its operands.
    type Read = (Op, Option<u32>, Option<u32>, Vec<Shown>);

    fn ours(words: &[u32]) -> Result<Vec<Read>, String> {
        let source = read(words).map_err(|error| error.to_string())?;
        let shown = |operand: &Operand| match *operand {
            Operand::LiteralString(number) => Shown::Text(source.text(number).to_owned()),
            Operand::LiteralBit64(number) => Shown::Wide(source.wide(number)),
            other => Shown::Other(other),
        };
        let copy = |inst: Instruction<'_>| {
            (inst.class.opcode, inst.result_type, inst.result_id, inst.operands.iter().map(shown).collect())
        };
        Ok(source.all(0..source.len() as u32).map(copy).collect())
    }

    fn of_rspirv(words: &[u32]) -> Result<Vec<Read>, String> {
        let mut all = Instructions::default();
        binary::parse_words(words, &mut all).map_err(|error| error.to_string())?;
        let shown = |operand: &dr::Operand| match operand {
            dr::Operand::LiteralString(text) => Shown::Text(text.clone()),
            dr::Operand::LiteralBit64(literal) => Shown::Wide(*literal),
            other => Shown::Other(Operand::of(other)),
        };
        let copy = |inst: dr::Instruction| {
            (inst.class.opcode, inst.result_type, inst.result_id, inst.operands.iter().map(shown).collect())
        };
        Ok(all.0.into_iter().map(copy).collect())
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
        let mut reader = Reader::new(words.len(), words[3]);
        let (mut at, mut plain) = (HEADER, 0);
        let mut source = Source::new(words.len(), words[3]);
        while at < words.len() {
            let length = (words[at] >> 16) as usize;
            match reader.plain(&words[at..at + length], &mut source) {
                Some((form, ty, id)) => {
                    plain += 1;
                    reader.note_literal(form.class.opcode, ty, id, source.next_operands());
                    source.add(form.class, form.role, ty, id).expect("it is in its place");
                }
                None => source.drop_operands(),
            }
            at += length;
        }
        assert!(10 * plain > 8 * all.len(), "{plain} of {}", all.len());
    }

    /// True for what the loader of `rspirv` does not know outside of blocks.
    fn has_later_ones(read: &[Read]) -> bool {
        let mut in_block = false;
        read.iter().any(|&(opcode, ..)| {
            in_block = match opcode {
                Op::Label => true,
                opcode if is_block_terminator(opcode) => false,
                _ => in_block,
            };
            match opcode {
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
            // %1 = OpTypeFloat 128, and %1 = OpTypeInt 24 0, with %2 = OpConstant %1 5.
            (&[0x0003_0016, 1, 128, 0x0004_002B, 1, 2, 5], "do not fit"),
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
