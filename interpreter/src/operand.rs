//! Operands of instructions, in eight bytes each: those of `rspirv` take four times as much, since they own their strings.

use rspirv::dr;
use rspirv::spirv::{
    AddressingModel, BuiltIn, Decoration, Dim, ExecutionMode, ExecutionModel, FunctionControl, GroupOperation,
    ImageFormat, ImageOperands, LoopControl, MemoryAccess, MemoryModel, Op, PackedVectorFormat, SelectionControl,
    StorageClass,
};

/// Number of a string or of a literal of 64 bits, in the [`Source`](crate::source::Source) that has the operand.
pub(crate) type Number = u32;

/// An operand; what it can be is named as in `rspirv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    IdRef(u32),
    IdScope(u32),
    IdMemorySemantics(u32),
    LiteralBit32(u32),
    LiteralBit64(Number),
    LiteralExtInstInteger(u32),
    LiteralSpecConstantOpInteger(Op),
    LiteralString(Number),
    AddressingModel(AddressingModel),
    BuiltIn(BuiltIn),
    Decoration(Decoration),
    Dim(Dim),
    ExecutionMode(ExecutionMode),
    ExecutionModel(ExecutionModel),
    FunctionControl(FunctionControl),
    GroupOperation(GroupOperation),
    ImageFormat(ImageFormat),
    ImageOperands(ImageOperands),
    LoopControl(LoopControl),
    MemoryAccess(MemoryAccess),
    MemoryModel(MemoryModel),
    PackedVectorFormat(PackedVectorFormat),
    SelectionControl(SelectionControl),
    StorageClass(StorageClass),
    /// One that nothing here looks at.
    Other,
}

const _: () = assert!(size_of::<Operand>() == 8);

impl Operand {
    /// The id, whatever it is for.
    pub fn id(&self) -> Option<u32> {
        match *self {
            Operand::IdRef(id) | Operand::IdScope(id) | Operand::IdMemorySemantics(id) => Some(id),
            _ => None,
        }
    }

    /// What `rspirv` read, if it is no string and no literal of 64 bits, which have a place of their own.
    pub fn of(operand: &dr::Operand) -> Operand {
        use dr::Operand as O;
        match *operand {
            O::IdRef(id) => Operand::IdRef(id),
            O::IdScope(id) => Operand::IdScope(id),
            O::IdMemorySemantics(id) => Operand::IdMemorySemantics(id),
            O::LiteralBit32(literal) => Operand::LiteralBit32(literal),
            O::LiteralExtInstInteger(number) => Operand::LiteralExtInstInteger(number),
            O::LiteralSpecConstantOpInteger(opcode) => Operand::LiteralSpecConstantOpInteger(opcode),
            O::AddressingModel(model) => Operand::AddressingModel(model),
            O::BuiltIn(built_in) => Operand::BuiltIn(built_in),
            O::Decoration(decoration) => Operand::Decoration(decoration),
            O::Dim(dim) => Operand::Dim(dim),
            O::ExecutionMode(mode) => Operand::ExecutionMode(mode),
            O::ExecutionModel(model) => Operand::ExecutionModel(model),
            O::FunctionControl(mask) => Operand::FunctionControl(mask),
            O::GroupOperation(operation) => Operand::GroupOperation(operation),
            O::ImageFormat(format) => Operand::ImageFormat(format),
            O::ImageOperands(mask) => Operand::ImageOperands(mask),
            O::LoopControl(mask) => Operand::LoopControl(mask),
            O::MemoryAccess(mask) => Operand::MemoryAccess(mask),
            O::MemoryModel(model) => Operand::MemoryModel(model),
            O::PackedVectorFormat(format) => Operand::PackedVectorFormat(format),
            O::SelectionControl(mask) => Operand::SelectionControl(mask),
            O::StorageClass(class) => Operand::StorageClass(class),
            _ => Operand::Other,
        }
    }
}
