//! The decoded form of a module: flat instructions on *columns*.
//!
//! A column holds one scalar of every invocation of a workgroup. Composites are rows of columns, so construction, extraction and swizzles are only names
//! and cost nothing. Recursion is forbidden (SPIR-V 1.6 §2.16.1), so every function has its columns once.

use rspirv::spirv;
use smallvec::SmallVec;

use crate::outcome::{Rule, Why};
use crate::types::{Scalar, TypeId};

/// Number of a column.
pub(crate) type Reg = u32;

/// No column: an operand or result that the instruction does not have.
pub(crate) const NONE: Reg = Reg::MAX;

/// Consecutive columns of [`Code::pool`]: from `at`, `len` of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub at: u32,
    pub len: u32,
}

impl Span {
    pub fn range(self) -> std::ops::Range<usize> {
        self.at as usize..(self.at + self.len) as usize
    }
}

/// Integer and Boolean operations with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Int1 {
    Negate,
    Not,
    BitCount,
    BitReverse,
    FindILsb,
    FindSMsb,
    FindUMsb,
    SAbs,
    SSign,
}

/// Integer and Boolean operations with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Int2 {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    UMod,
    /// Undefined for negative operands, as [`Int2::SMod`] is.
    SRem,
    SMod,
    /// Defined for negative operands.
    SRemAny,
    SModAny,
    ShiftLeft,
    ShiftRightLogical,
    ShiftRightArithmetic,
    And,
    Or,
    Xor,
    Equal,
    NotEqual,
    ULess,
    ULessEqual,
    UGreater,
    UGreaterEqual,
    SLess,
    SLessEqual,
    SGreater,
    SGreaterEqual,
    UMin,
    UMax,
    SMin,
    SMax,
    AddCarry,
    SubBorrow,
    UMulHigh,
    SMulHigh,
}

/// Floating-point operations with one operand and a floating-point result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Float1 {
    Negate,
    Abs,
    Sign,
    Floor,
    Ceil,
    Trunc,
    Round,
    RoundEven,
    Fract,
    /// What `Trunc` takes away, with the sign of the operand.
    Fraction,
    /// A number of [0.5, 1), times a power of two.
    Significand,
    Sqrt,
    InverseSqrt,
    Exp,
    Exp2,
    Log,
    Log2,
    Sin,
    Cos,
    Atan,
}

/// Floating-point operations with two operands and a floating-point result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Float2 {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Mod,
    Min,
    Max,
    NMin,
    NMax,
    Step,
    Pow,
    /// `a`: y, `b`: x.
    Atan2,
}

/// Comparisons; the flag says that the result is true if an operand is a NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FloatCompare {
    Equal,
    NotEqual,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
}

/// Operations of `OpGroupNonUniform*`, quad and rotate operations among them; `QuadSwap` with its direction, 0 to 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Group {
    Elect,
    All,
    Any,
    AllEqual,
    Broadcast,
    BroadcastFirst,
    Ballot,
    InverseBallot,
    BallotBitExtract,
    BallotBitCount(Scan),
    BallotFindLsb,
    BallotFindMsb,
    Shuffle,
    ShuffleXor,
    ShuffleUp,
    ShuffleDown,
    Rotate,
    Fold(Fold, Scan),
    QuadBroadcast,
    QuadSwap(u8),
    QuadAll,
    QuadAny,
    Partition,
    Derivative(Derivative, Of),
}

impl Group {
    /// True if what a lane gets is made of its quad alone.
    pub const fn is_of_quad(self) -> bool {
        matches!(
            self,
            Group::QuadBroadcast | Group::QuadSwap(_) | Group::QuadAll | Group::QuadAny | Group::Derivative(..)
        )
    }
}

/// In which direction a derivative is (SPIR-V 1.6 §3.52.16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Derivative {
    X,
    Y,
    /// The sum of the magnitudes of both.
    Width,
}

/// Which lanes of the quad a derivative is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Of {
    /// The lane's own row or column.
    Own,
    /// Any row or column of the quad.
    Any,
}

/// `Group Operation` (SPIR-V 1.6 §3.28).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scan {
    Reduce,
    Inclusive,
    Exclusive,
    Clustered,
    PartitionedReduce,
    PartitionedInclusive,
    PartitionedExclusive,
}

/// The operator of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fold {
    Add,
    Mul,
    SMin,
    UMin,
    SMax,
    UMax,
    And,
    Or,
    Xor,
    FAdd,
    FMul,
    FMin,
    FMax,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AtomicOp {
    Load,
    Store,
    Exchange,
    CompareExchange,
    Add,
    Sub,
    SMin,
    UMin,
    SMax,
    UMax,
    And,
    Or,
    Xor,
    FAdd,
    FMin,
    FMax,
}

/// What an instruction does. Operands: `a`, `b`, `c`, then `ins`; results: `d`, then `outs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Int1(Int1, u8),
    Int2(Int2, u8),
    /// From width, to width, sign-extended.
    Resize(u8, u8, bool),
    /// `ins`: base, insert, offset, count.
    BitFieldInsert(u8),
    /// Of `a` from `b`, `c` bits; sign-extended.
    BitFieldExtract(u8, bool),
    Select,
    /// `a` is what was selected from `b` and `c`, floats: the sign of a zero may be lost, or the zero itself.
    SelectedZero(u8),
    Clamp(Scalar),
    Float1(Float1, u8),
    Float2(Float2, u8),
    /// A sum, difference, product or quotient that may be rearranged with those that made its operands.
    Rearranged(Float2, u8),
    Fma(u8),
    FClamp(u8),
    FMix(u8),
    /// The operand as it stands: what made it is not rearranged with what it is used for.
    Settled,
    /// A result whose precision is inherited from the formula that gave the operand.
    Inherited(u8),
    /// Widths of the number and of the exponent of two.
    Ldexp(u8, u8),
    /// The exponent that [`Float1::Significand`] leaves: widths of the number and of the integer.
    Exponent(u8, u8),
    FloatCompare(FloatCompare, u8, bool),
    IsNan(u8),
    IsInf(u8),
    FloatConvert(u8, u8),
    /// `OpQuantizeToF16`.
    Quantize,
    /// Integer width, signed, float width.
    IntToFloat(u8, bool, u8),
    /// A sum, a difference or a product that is not rearranged, rounded as the mode of the width says.
    DirectedFloat2(Float2, u8),
    /// `OpFConvert`, rounded as the mode of the second width says.
    DirectedConvert(u8, u8),
    /// [`Op::IntToFloat`], rounded as the mode of the float's width says.
    DirectedInt(u8, bool, u8),
    /// Float width, integer width, signed.
    FloatToInt(u8, u8, bool),
    /// `RelaxedPrecision` of an integer: it may have been computed in 16 bits.
    Relax(Scalar),
    /// Integer dot product; `ins`: components of both; `c`: accumulator or none. Widths of component and result, signs of both.
    Dot {
        from: u8,
        to: u8,
        signs: (bool, bool),
        saturate: bool,
    },
    /// Everything the result could be is open: an operation that has no rule here.
    Open(Why),
    /// Index of the chain.
    Chain(u32),
    /// Index of the texel; `a`: the image, if it is a value; `ins`: coordinates. The address, or [`NO_TEXEL`].
    Texel(u32),
    /// Index of the texel; `outs`: one for each dimension.
    ImageSize(u32),
    /// An integer in fewer bits, signed or not; undefined if it does not fit.
    Narrow(u8, bool),
    /// Index of the access; results in `outs`.
    Load(u32),
    /// Index of the access; values in `ins`.
    Store(u32),
    /// Index of the access; `a`: value; `b`: comparator.
    Atomic(u32, AtomicOp, Scalar),
    /// Length of the run-time array behind a pointer (`a`, or the object): its offset and stride.
    ArrayLength(u32),
    /// `ins`: components; `a`: index.
    VectorExtract,
    /// `ins`: components; `a`: index; `b`: value.
    VectorInsert,
    /// `ins`: operand cells, then id or mask cells; the scalar is that of the value. `n`: cells of the value.
    Group {
        group: Group,
        scalar: Scalar,
        n: u8,
        cluster: u8,
    },
    ControlBarrier(u32),
    /// What it orders accesses to.
    MemoryBarrier(Semantics),
    /// Function; arguments are in `ins`, results in `outs`.
    Call(u32),
    Assume,
    /// The result is never to leave its width (`NoSignedWrap` if true, `NoUnsignedWrap` if not).
    NoWrap(Int2, u8, bool),
    /// The lanes become helper invocations.
    Demote,
    /// Whether a lane is a helper invocation now.
    IsHelper,
}

/// An instruction, executed for all lanes that come to it together; [`NONE`] for columns that it does not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inst {
    pub op: Op,
    pub d: Reg,
    pub a: Reg,
    pub b: Reg,
    pub c: Reg,
    pub outs: Span,
    pub ins: Span,
    /// Where it stands in the module: index into [`Code::places`].
    pub place: u32,
}

/// Where a pointer points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// A column of every invocation: function, private and input variables.
    Cells(u32),
    /// Bytes of an object.
    Bytes { object: u32, offset: u64 },
    /// A column has it: the number of a column, or [`pointer`] bits, or a physical address.
    Reg(Reg),
}

/// What kind of memory a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Cells,
    Bytes,
    Physical,
}

/// Bits of the offset in a pointer to bytes. Above them stands the number of the object.
pub(crate) const OFFSET_BITS: u32 = 40;

/// The offset in a pointer to bytes.
pub(crate) const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

/// One index of an access chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    pub index: Reg,
    pub width: u8,
    pub stride: u64,
    /// Elements; none for a run-time array.
    pub limit: Option<u64>,
}

/// Those of one access chain.
pub(crate) type Terms = SmallVec<[Term; 1]>;

/// Scalars, and where they lie.
pub(crate) type Leaves = SmallVec<[(u32, Scalar); 2]>;

#[derive(Clone, Debug)]
pub(crate) struct Chain {
    pub base: Base,
    pub space: Space,
    /// Added to the base.
    pub offset: u64,
    pub terms: Terms,
}

/// A load, store or atomic.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub base: Base,
    pub space: Space,
    /// Where the scalars lie from the pointer: bytes, or cells.
    pub leaves: Leaves,
    /// Where the last one ends.
    pub end: u64,
    pub read_only: bool,
    /// All lanes of a subgroup have to access the same descriptor.
    pub uniform_descriptor: bool,
    /// Volatile: what races is open.
    pub volatile: bool,
    /// Of an atomic: what it orders, and with whom. Nothing of a load or store.
    pub semantics: Semantics,
    pub sharing: Sharing,
    /// Of an access through a physical address: an offset from the pointer, and what the address there has to be a multiple of.
    pub aligned: Option<(u64, u64)>,
    /// To a texel: nothing is there at [`NO_TEXEL`].
    pub texel: bool,
}

/// Where a texel is sought.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Texel {
    /// The image's memory, or the column that names it.
    pub base: Base,
    /// Bytes of a texel.
    pub size: u64,
    /// Bits of a coordinate.
    pub width: u8,
    pub signed: bool,
    /// The last of the coordinates is a level, of which there is one.
    pub has_level: bool,
}

/// The address of a texel outside of its image.
pub(crate) const NO_TEXEL: u64 = u64::MAX;

/// Which kinds of memory something orders accesses to: workgroup memory, buffers, images.
pub(crate) type Orders = [bool; 3];

/// How far something reaches from an invocation: the instance of a scope (Vulkan, "Scope"), narrow to wide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// No other invocation.
    #[default]
    Nobody,
    Subgroup,
    Workgroup,
    Everybody,
}

/// What an access has to do with those of other invocations (Vulkan memory model, "Private vs. Non-Private" and "Per-Instruction Availability and
/// Visibility Semantics").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// Synchronisation orders it with accesses of others.
    pub non_private: bool,
    /// For whom the instruction makes available what it writes, or whose writes it makes visible.
    pub reach: Reach,
}

impl Sharing {
    /// Of atomics, and of what is `Coherent`.
    pub const WITH_EVERYBODY: Sharing = Sharing { non_private: true, reach: Reach::Everybody };
}

/// Memory semantics: for which kinds of memory they acquire and release, and with whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Semantics {
    pub acquires: Orders,
    pub releases: Orders,
    /// The invocations that the memory scope holds: whom it synchronises with.
    pub scope: Reach,
}

impl Semantics {
    /// Acquires and releases what one of the two does, within the scope of `self`.
    pub fn and(self, other: Semantics) -> Semantics {
        let both = |x: Orders, y: Orders| std::array::from_fn(|kind| x[kind] || y[kind]);
        Semantics {
            acquires: both(self.acquires, other.acquires),
            releases: both(self.releases, other.releases),
            scope: self.scope,
        }
    }

    /// The kinds of memory that they both acquire and release.
    pub fn both(self) -> Orders {
        std::array::from_fn(|kind| self.acquires[kind] && self.releases[kind])
    }

    /// The kinds of memory that they name.
    pub fn kinds(self) -> Orders {
        std::array::from_fn(|kind| self.acquires[kind] || self.releases[kind])
    }
}

/// A run-time array whose length is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    pub base: Base,
    pub offset: u64,
    pub stride: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier {
    /// `Execution` is the workgroup or larger; else the subgroup.
    pub workgroup: bool,
    /// What is violated where a workgroup does not execute it together.
    pub rule: Rule,
    pub semantics: Semantics,
}

/// Structured control flow of a header (SPIR-V 1.6 §2.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    None,
    Selection(u32),
    /// Merge block, continue target.
    Loop(u32, u32),
}

/// A branch and what phis take on it: pairs of columns, destination and source, all at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub to: u32,
    pub moves: Span,
    /// A source is a destination too.
    pub overlap: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Term2 {
    Branch(Edge),
    Cond {
        cond: Reg,
        yes: Edge,
        no: Edge,
    },
    Switch {
        selector: Reg,
        cases: Vec<(u64, Edge)>,
        default: Edge,
        labels: Vec<u32>,
    },
    /// Pairs of columns: result, value.
    Return(Span),
    Terminate,
    /// Ends fragments or makes helper invocations of them.
    Kill,
    /// Whoever comes here has undefined behaviour.
    Undefined(Rule),
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub first: u32,
    pub end: u32,
    pub merge: Merge,
    pub term: Term2,
    pub place: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub entry: u32,
    pub params: Vec<Reg>,
    pub results: Vec<Reg>,
}

/// A variable with bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Buffer {
        set: u32,
        binding: u32,
        element: u32,
        /// Bytes of a texel, of an image; else 0.
        texel: u32,
    },
    Push,
    /// A sampler: nothing is bound to it, and nothing read.
    Nothing,
    /// An array in workgroup memory of so many bytes.
    Workgroup(u64),
}

#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub kind: ObjectKind,
    pub read_only: bool,
    /// Initialised by zeros, for workgroup memory.
    pub zeroed: bool,
    /// Bytes it must have at least.
    pub size: u64,
    /// The variable, by the first of its objects.
    pub variable: u32,
    /// Decorated `Aliased`, so that accesses through other variables may meet its own.
    pub aliased: bool,
}

/// A flat input of a fragment shader: where its first component is, its first column and how many there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlatInput {
    pub location: u32,
    pub component: u32,
    pub first: Reg,
    pub count: u32,
}

/// An output with a location: where it is, its first column and how many there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub location: u32,
    pub index: u32,
    pub component: u32,
    pub first: Reg,
    pub count: u32,
}

/// A built-in variable: `SPIR-V` number, its first column and how many there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltInColumns {
    pub built_in: spirv::BuiltIn,
    /// Decorated `Volatile`: what it is now, and not at the begin.
    pub volatile: bool,
    pub first: Reg,
    pub count: u32,
}

/// Where an instruction of [`Code`] comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlaceInfo {
    pub opcode: spirv::Op,
    pub index: u32,
    pub result: Option<u32>,
    pub function: u32,
    pub line: Option<(u32, u32)>,
}

/// What a column is at the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Start {
    /// The bits of a constant, zero-extended.
    Value(u64),
    /// `OpUndef`: undefined in every invocation.
    Undef,
    /// A variable without initialiser.
    Uninitialised,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub insts: Vec<Inst>,
    pub pool: Vec<Reg>,
    pub blocks: Vec<Block>,
    pub functions: Vec<Function>,
    pub chains: Vec<Chain>,
    pub texels: Vec<Texel>,
    pub accesses: Vec<Access>,
    pub lengths: Vec<Length>,
    pub barriers: Vec<Barrier>,
    pub objects: Vec<Object>,
    pub built_ins: Vec<BuiltInColumns>,
    pub flat_inputs: Vec<FlatInput>,
    /// Of a shader without workgroups.
    pub outputs: Vec<Output>,
    pub places: Vec<PlaceInfo>,
    /// Columns that have a value at the beginning of a workgroup.
    pub starts: Vec<(Reg, Start)>,
    /// Function variables with initialisers: at every call, by function: pairs of columns, or NONE for "uninitialised".
    pub locals: Vec<Vec<(Reg, Reg)>>,
    pub columns: u32,
    /// Function of the entry point.
    pub entry: u32,
    /// Bytes in whose units races are detected: the smallest access there is.
    pub granule: u32,
    /// Some atomic or fence acquires or releases, so that atomics may order other accesses.
    pub fences: bool,
    /// Stores of one value do not race.
    pub equal_stores: bool,
    pub atomics: bool,
    /// Kinds of memory of which every barrier that releases also makes available what was written (`MakeAvailable`).
    pub made_available: Orders,
    /// Kinds of memory of which every barrier that acquires also makes visible what was made available (`MakeVisible`).
    pub made_visible: Orders,
    /// Subgroup instructions, for the classes of their visitors.
    pub group_count: u32,
    pub result_types: Vec<TypeId>,
}
