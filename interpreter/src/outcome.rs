//! What a run gives: buffers with the state of every byte, and how it ended.

use std::fmt;

use rspirv::spirv;

/// An instruction of the module, for people and for tables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The operation of the instruction.
    pub opcode: spirv::Op,
    /// Number of the instruction in the module, counted from 0 in the order of its words, without `OpLine` and `OpNoLine`.
    pub index: u32,
    /// `Result <id>`, if it has one.
    pub result: Option<u32>,
    /// Name of the function that it stands in (`OpName`), if there is one.
    pub function: Option<String>,
    /// File and line of the source (`OpLine`), if the module has them.
    pub source: Option<(String, u32)>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Op{:?}", self.opcode)?;
        if let Some(id) = self.result {
            write!(f, " %{id}")?;
        }
        write!(f, " (instruction {}", self.index)?;
        if let Some(function) = &self.function {
            write!(f, " in {function}")?;
        }
        if let Some((file, line)) = &self.source {
            write!(f, ", {file}:{line}")?;
        }
        write!(f, ")")
    }
}

/// Why no value can be demanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// Undefined: never written (SPIR-V 1.6 §2.2.6; `OpVariable` without initialiser).
    Uninitialised,
    /// Undefined: `OpUndef`, or a function that ends without a value.
    Undef,
    /// Undefined: the source of a shuffle, broadcast, rotation or quad operation is not active, or not in the subgroup.
    InactiveSource,
    /// Undefined: the operands of the instruction leave its result undefined (shift by the width or more, bit field out of range, no bit set
    /// for `FindLSB`, clamp with crossed bounds, a remainder of negative numbers, a conversion out of range, …).
    Operands,
    /// Undefined: a pointer out of bounds. To use it is undefined behaviour.
    OutOfBounds,
    /// Open: the convergence rules do not say which lanes execute the instruction together.
    Tangle,
    /// Open: the order of atomics of several invocations, or of accesses to one location.
    Order,
    /// Open: another invocation released the access before a control barrier, but this one acquires nothing behind it: a fence is missing there (Vulkan memory
    /// model, "Synchronizes-With").
    Unacquired,
    /// Open: the result of a floating-point operation is only bounded by its precision (Vulkan, "Precision and Operation of SPIR-V
    /// Instructions").
    Precision,
    /// Open: read from outside of an image: undefined, or zeros with `robustImageAccess` (Vulkan, "Texel Replacement").
    OutsideImage,
    /// Open: another invocation's access is ordered by a barrier, and yet not made available and visible: it, or this one, is private (Vulkan memory model,
    /// "Location-Ordered").
    Private,
    /// Open: written, or read before, through another variable of the same buffer, of which a consumer of the module may take it that it is none: they are not
    /// both decorated `Aliased` (SPIR-V 1.6 §2.18.2), or through another descriptor without making it available and visible.
    Aliased,
    /// Open: the result of an atomic of a helper invocation. "The values returned by atomic instructions in helper invocations are undefined" (Vulkan, Helper
    /// Invocations), and nothing says that control flow must not depend on them.
    Helper,
    /// Open: sampled from an image; what filtering gives is not computed.
    Sampled,
    /// Open: written by an invocation whose path is unknown, or by one that might have been.
    Path,
    /// Open: the specification leaves the choice to the implementation (sign of a zero, NaN payload, bits of a ballot outside the tangle, …).
    Implementation,
}

impl Why {
    /// True if the value is undefined: it is poison, and control flow must not depend on it. False if it is defined but not known.
    pub const fn is_undefined(self) -> bool {
        matches!(self, Why::Uninitialised | Why::Undef | Why::InactiveSource | Why::Operands | Why::OutOfBounds)
    }

    /// In a few words.
    pub const fn text(self) -> &'static str {
        match self {
            Why::Uninitialised => "never written",
            Why::Undef => "undefined by the module",
            Why::InactiveSource => "the source lane is not active",
            Why::Operands => "undefined for these operands",
            Why::Helper => "returned by an atomic of a helper invocation",
            Why::OutOfBounds => "out of bounds",
            Why::OutsideImage => "read from outside of an image",
            Why::Tangle => "the lanes that execute it together are not determined",
            Why::Order => "the order of accesses is not determined",
            Why::Unacquired => "another invocation's access is fenced before the barrier, but none behind it acquires",
            Why::Precision => "determined up to its precision only",
            Why::Private => {
                "another invocation's access is not made available and visible (Coherent, NonPrivate, memory scopes)"
            }
            Why::Aliased => {
                "accessed through several variables that are not Aliased, or several descriptors that are not coherent"
            }
            Why::Sampled => "sampled from an image",
            Why::Path => "written on a path that is not determined",
            Why::Implementation => "the implementation chooses",
        }
    }
}

/// Where a value stopped being determined.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// What leaves it open.
    pub why: Why,
    /// The instruction; none for contents that were there before.
    pub location: Option<Location>,
    /// For [`Why::Precision`]: the value lies between these, both ends included.
    pub interval: Option<(f64, f64)>,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.why.text())?;
        if let Some((low, high)) = self.interval {
            write!(f, " ({low}..={high})")?;
        }
        match &self.location {
            Some(location) => write!(f, ": {location}"),
            None => Ok(()),
        }
    }
}

/// A branch that some invocations are not followed beyond.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenPath {
    /// The branch.
    pub location: Location,
    /// Why its condition or selector is open.
    pub reason: Reason,
}

impl fmt::Display for OpenPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the operand of {} is open: {}", self.location, self.reason)
    }
}

/// A buffer after the dispatch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferState {
    /// `DescriptorSet`.
    pub set: u32,
    /// `Binding`.
    pub binding: u32,
    /// Element of an array of descriptors.
    pub element: u32,
    /// The device address, of a buffer that has one.
    pub address: Option<u64>,
    /// Contents. Where a byte is not determined, one possible value of it.
    pub bytes: Vec<u8>,
    /// For every byte 0 if it must be what [`bytes`](Self::bytes) says, else `n` for the reason `n - 1` in [`Outcome::reasons`]. Empty if all are
    /// determined.
    pub states: Vec<u32>,
}

impl BufferState {
    /// The little-endian word at a byte offset; `None` if it is not determined or not there.
    pub fn word(&self, offset: usize) -> Option<u32> {
        let bytes = self.bytes.get(offset..offset + 4)?;
        let determined =
            self.states.get(offset..offset + 4).is_none_or(|states| states.iter().all(|&state| state == 0));
        determined.then(|| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}

/// What the invocations of a shader without workgroups leave in an output variable that has a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputState {
    /// `Location`
    pub location: u32,
    /// `Index`
    pub index: u32,
    /// `Component`
    pub component: u32,
    /// Scalars of one invocation.
    pub scalars: u32,
    /// So many for each invocation, in the order of the draw.
    pub values: Vec<OutputValue>,
}

/// A scalar of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputValue {
    /// These bits, not sign-extended.
    Determined(u64),
    /// Not determined, for this reason: `n` for the reason `n - 1` in [`Outcome::reasons`].
    Open(u32),
    /// There is none: of a helper invocation, or of a fragment that was terminated.
    Absent,
}

/// The rules whose violation is undefined behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rule {
    /// Access outside an object (SPIR-V 1.6 §3.52.10, `OpAccessChain`; Vulkan, "Robust buffer access" is not assumed).
    OutOfBounds,
    /// Two accesses of different invocations to one location, one of them a write, not both atomic, and neither ordered before the other
    /// (Vulkan memory model, "Data Race").
    DataRace,
    /// Integer division or remainder by zero, or of the smallest number by -1 (SPIR-V 1.6 §3.52.13).
    Division,
    /// An operand that has to be dynamically uniform is not (`OpGroupNonUniformBroadcast`, rotate delta, quad broadcast index).
    NonUniformOperand,
    /// A resource is not the same in all lanes of a subgroup, and what names it is not decorated `NonUniform` (Vulkan,
    /// VUID-RuntimeSpirv-subgroupSize-10149).
    NonUniformDescriptor,
    /// `OpGroupNonUniformInverseBallot` with different ballots in one tangle.
    NonUniformBallot,
    /// The cluster size exceeds the subgroup size, or is no power of two.
    ClusterSize,
    /// The ballots of a partitioned operation are no partition of the tangle.
    Partition,
    /// `OpControlBarrier` with workgroup scope that not all invocations of the workgroup execute together.
    BarrierInDivergence,
    /// `OpSetMeshOutputsEXT` or `OpEmitMeshTasksEXT` that not all invocations of the workgroup execute together, or the former once more (SPV_EXT_mesh_shader:
    /// "Behavior is undefined if any invocation executes this instruction more than once or under non-uniform control flow").
    OncePerWorkgroup,
    /// An invocation of a task shader came to its end in another way than `OpEmitMeshTasksEXT` (SPV_EXT_mesh_shader: "Behavior is undefined if any invocation
    /// terminates without executing this instruction").
    NothingEmitted,
    /// Control flow, an address or a size depends on an undefined value.
    Poison,
    /// `OpUnreachable` was reached by some invocation.
    Unreachable,
    /// `OpAssumeTrueKHR` of something false.
    Assumption,
    /// An instruction decorated `NoSignedWrap` or `NoUnsignedWrap` overflows (SPV_KHR_no_integer_wrap_decoration: "If the instruction decorated with
    /// NoSignedWrap does overflow or underflow, the behavior is undefined").
    Overflow,
    /// A write to read-only memory (`NonWritable`, uniform and push constant storage).
    ReadOnly,
    /// An access through a physical address that is not as aligned as it has to be (Vulkan, VUID-RuntimeSpirv-PhysicalStorageBuffer64-06314 and 06315).
    Misaligned,
}

impl Rule {
    /// What was violated, in one line.
    pub const fn text(self) -> &'static str {
        match self {
            Rule::OutOfBounds => "access out of bounds",
            Rule::DataRace => "data race: two accesses to one location that nothing orders",
            Rule::Division => "integer division by zero, or overflow of a signed division",
            Rule::NonUniformOperand => {
                "an operand that must be dynamically uniform differs between lanes of the tangle"
            }
            Rule::NonUniformDescriptor => {
                "the resource differs between lanes of a subgroup, and is not decorated NonUniform"
            }
            Rule::NonUniformBallot => "OpGroupNonUniformInverseBallot with different ballots in one tangle",
            Rule::ClusterSize => "the cluster size is no power of two, or exceeds the subgroup size",
            Rule::Partition => "the ballots of a partitioned operation are no partition of the tangle",
            Rule::BarrierInDivergence => "a control barrier that not all invocations of the workgroup execute together",
            Rule::OncePerWorkgroup => {
                "OpSetMeshOutputsEXT or OpEmitMeshTasksEXT that the workgroup does not execute once, all invocations together"
            }
            Rule::NothingEmitted => "an invocation of a task shader ends without OpEmitMeshTasksEXT",
            Rule::Poison => "control flow or an address depends on an undefined value",
            Rule::Unreachable => "OpUnreachable was reached",
            Rule::Assumption => "OpAssumeTrueKHR of a false condition",
            Rule::Overflow => "overflow of an instruction decorated NoSignedWrap or NoUnsignedWrap",
            Rule::ReadOnly => "a write to read-only memory",
            Rule::Misaligned => "an access through a physical address that is not as aligned as it has to be",
        }
    }
}

/// Undefined behaviour: from here on nothing can be said about the program.
#[derive(Clone, Debug, PartialEq)]
pub struct UndefinedBehaviour {
    /// The rule that was violated.
    pub rule: Rule,
    /// The instruction whose execution violates it.
    pub location: Location,
    /// Linear index of the workgroup.
    pub workgroup: u32,
    /// Local invocation indices of the lanes that violate it, ascending.
    pub lanes: Vec<u32>,
    /// The values, in words.
    pub detail: String,
    /// Why the value is undefined that decided, where one did.
    pub why: Option<Why>,
}

impl fmt::Display for UndefinedBehaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at {}, workgroup {}, invocations {:?}",
            self.rule.text(),
            self.location,
            self.workgroup,
            self.lanes
        )?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// Every invocation came to its end. What is determined is what the buffers say.
    Completed,
    /// The program has undefined behaviour. Buffers are as they were when it was met.
    Undefined(Box<UndefinedBehaviour>),
}

/// What a run gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Completed, or with which undefined behaviour.
    pub end: End,
    /// The buffers in the order of the dispatch.
    pub buffers: Vec<BufferState>,
    /// What is left in outputs.
    pub outputs: Vec<OutputState>,
    /// Reasons that [`BufferState::states`] and [`OutputValue::Open`] point to.
    pub reasons: Vec<Reason>,
    /// Instructions executed by tangles, counted over the runs that were needed.
    pub steps: u64,
    /// Executions of subgroup operations by one subgroup, and those of them whose tangle the tier leaves open.
    pub tangles: (u64, u64),
    /// Invocations whose path depends on an open value: they are followed no further from there.
    pub lost: u64,
    /// The first branch from which some are not followed.
    pub open_path: Option<OpenPath>,
}

/// Why a module or a dispatch cannot be judged. None of these is a statement about a driver.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The words are no SPIR-V.
    #[error("no SPIR-V module: {0}")]
    Parse(String),
    /// The module breaks a rule that execution relies on. Run the validator first.
    #[error("the module is not valid: {0}")]
    Invalid(String),
    /// The module uses what is not implemented: each once.
    #[error("not supported: {}", .0.join("; "))]
    Unsupported(Vec<String>),
    /// Whether the behaviour is undefined depends on an open value.
    #[error("whether the behaviour of {0} is undefined depends on control flow that is open{because}", because = because(.1.as_deref()))]
    Undecided(Location, Option<Box<OpenPath>>),
    /// [`Limits::steps`](crate::dispatch::Limits::steps) are executed, the last of them there. It may end later, or when another invocation has done
    /// something; neither SPIR-V nor Vulkan says that what does not end is undefined.
    #[error("gave up after {0} steps, at {1}: whether it ends is not known")]
    Steps(u64, Location),
    /// The dispatch does not fit the module.
    #[error("the dispatch does not fit the module: {0}")]
    Dispatch(String),
    /// A bound of [`Limits`](crate::dispatch::Limits) on memory.
    #[error("the module needs more memory than it may have: {0}")]
    Memory(String),
}

fn because(path: Option<&OpenPath>) -> String {
    path.map_or(String::new(), |path| format!(": {path}"))
}
