//! Sentences of the specifications, word for word, which `docs/rules.md` quotes, too (`tests/rule_book.rs` compares them).
//!
//! From the versions that are named there, in "Sources", as they are published: without the markup of the documents' sources.

/// A part of a specification.
#[derive(Clone, Copy, Debug)]
pub struct Quotation {
    /// Document and section, as reports cite them.
    pub source: &'static str,
    /// What it says there.
    pub text: &'static str,
}

/// A constant for each row, and the list of all.
macro_rules! quotations {
    ($($(#[$doc:meta])+ $name:ident = $source:expr, $text:literal;)+) => {
        $($(#[$doc])+ pub(crate) const $name: Quotation = Quotation { source: $source, text: $text };)+

        /// All that reports quote, but for those of single operations, which stand in the operations' table.
        pub const QUOTATIONS: &[Quotation] = &[$($name),+];
    };
}

const CONTROL_FLOW: &str = "SPIR-V 1.6 rev 6, §2.2.5 Control Flow";
const MAXIMAL: &str = "SPV_KHR_maximal_reconvergence rev 2";

quotations! {
    /// Y9: a variable that a function declares belongs to one invocation.
    OWN_VARIABLE = "SPIR-V 1.6 rev 6, Storage Class, Function",
        "Visible only within the declaring function of the current invocation.";
    /// Y2, Y3 and Y10: a load gives what was stored last, by whoever the barrier says.
    VISIBLE = "Vulkan, Memory Model, Visible-To", "If X is visible-to Y, then Y reads the value written by X";
    /// Y11: a resource is chosen by the index of the invocation itself.
    NON_UNIFORM_INDEX = "Vulkan, VUID-RuntimeSpirv-subgroupSize-10149",
        "the resource through which that memory is accessed is not uniform within the invocation group, and not uniform within the \
         subgroup, then the operand corresponding to that resource (e.g. the pointer or sampled image operand) must be decorated with \
         NonUniform";
    /// F1: add, subtract and multiply are correctly rounded.
    CORRECTLY_ROUNDED = "Vulkan, Precision of Core SPIR-V Instructions", "Correctly rounded.";
    /// F10: an execution mode says how.
    ROUNDING_MODES = "Vulkan, Precision and Operation of SPIR-V Instructions, Correctly Rounded",
        "this is done according to IEEE 754 “roundTiesToEven” or “roundTowardZero” rounding directions, respectively.";
    /// F7: floats are equal by an ordered compare.
    ORDERED_AND_EQUAL = "SPIR-V 1.6 rev 6, Non-Uniform Instructions, OpGroupNonUniformAllEqual",
        "if it is a floating-point type, an ordered-and-equal compare is used.";
    /// F8: a minimum or maximum chooses what is no NaN.
    OTHER_THAN_NAN = "SPIR-V 1.6 rev 6, Non-Uniform Instructions, OpGroupNonUniformFMin",
        "if for any two Values one of them is a NaN, the other is chosen.";
    /// N1: add, subtract, multiply and negate wrap to the type's width.
    WRAPS = "SPIR-V 1.6 rev 6, Arithmetic Instructions, OpIAdd",
        "The resulting value equals the low-order N bits of the correct result R, where N is the component width and R is computed with \
         enough precision to avoid overflow and underflow.";
    /// N13: the sign of the remainder of a negative number.
    REMAINDER = "SPIR-V 1.6 rev 6, Arithmetic Instructions, OpSRem",
        "the result is the remainder r of Operand 1 divided by Operand 2 where if r ≠ 0, the sign of r is the same as the sign of Operand 1.";
    /// R2: invocations stay together as long as they follow one path.
    SAME_PATH = CONTROL_FLOW,
        "Invocations will continue to execute the same dynamic instances as long as they follow the same control-flow path.";
    /// R6: where uniform control flow reconverges.
    RECONVERGES = CONTROL_FLOW,
        "If control flow is uniform upon entry into a structured loop or selection, and all invocations leave that loop or selection via \
         the header block's declared merge block, then control flow reconverges to be uniform at that merge block.";
    /// P1: the result of an operation is a function of its tangle and operands.
    SCOPE_RESTRICTED = "SPIR-V 1.6 rev 6, §2.2.5 Control Flow (scope restricted tangle)",
        "A set of invocations in the same tangle and within the same scope.";
    /// O2: a ballot shows only lanes that execute this instruction.
    TANGLE = "SPIR-V 1.6 rev 6, §2.2.5 Control Flow (tangle)",
        "The set of invocations that execute the same dynamic instance of an instruction.";
    /// P2: an operation waits for its tangle.
    TANGLED_INSTRUCTION = "SPIR-V 1.6 rev 6, §2.2.5 Control Flow (tangled instruction)",
        "until all invocations in its scope restricted tangle have executed all dynamic instances that are program-ordered before X'";
    /// X3: behind a selection, all are together that entered it together and did not leave it otherwise.
    ALL_MERGE = MAXIMAL, "'T(L)' will include all non-escaping invocations in 'T(M)'";
    /// X8: nothing else comes together.
    NOT_MERGED = MAXIMAL, "implementations will not merge tangles during execution except through reconvergence.";
    /// T2: what the mode subgroup_uniform adds.
    SUBGROUP_UNIFORM = "SPV_KHR_subgroup_uniform_control_flow rev 2, §3.6 Execution Mode",
        "Extends the definition of *Uniform Control Flow* to apply to each *Subgroup* scope instance in addition to the *invocation group*.";
    /// A3: all atomics on a location have one order.
    ATOMIC_STEPS = "SPIR-V 1.6 rev 6, OpAtomicIAdd",
        "Perform the following steps atomically with respect to any other atomic accesses within Scope to the same location: 1) load \
         through Pointer to get an Original Value";
    /// M2: the lanes of a subgroup have different numbers below its size.
    LANE_BELOW_SIZE = "Vulkan, Built-In Variables, SubgroupLocalInvocationId", "This variable is in range [0,SubgroupSize-1].";
    /// M3: one subgroup size in a dispatch.
    ONE_SIZE = "Vulkan, Shaders, Varying Subgroup Size", "subgroups in the same command scope will have the same size.";
    /// M4: when subgroups are full.
    FULL_SUBGROUPS = "Vulkan, Shaders, Full Subgroups",
        "When full subgroups are required, subgroups must be launched with all invocations active";
    /// M6: the number of a subgroup is below the count.
    SUBGROUP_ID = "Vulkan, Built-In Variables, SubgroupId", "This variable is in range [0, NumSubgroups-1].";
    /// M6: the number of a subgroup is its index in the workgroup.
    SUBGROUP_INDEX = "Vulkan, Built-In Variables, SubgroupId",
        "will make that variable contain the index of the subgroup within the local workgroup.";
    /// M6: how many subgroups a workgroup has.
    NUM_SUBGROUPS = "Vulkan, Built-In Variables, NumSubgroups",
        "will make that variable contain the number of subgroups in the local workgroup.";
    /// M7: all lanes of a subgroup execute the first instruction together.
    ENTRY = "SPIR-V 1.6 rev 6, §2.2.5 Control Flow (entry)",
        "At the entry point, all invocations (in the invocation group, unless otherwise stated) execute the same dynamic instance of the \
         first instruction in the entry point function.";
    /// M10: mesh workgroups find what their task's workgroup wrote into the payload.
    PAYLOAD = "Vulkan, Task Shaders",
        "The task shader can write additional outputs to task memory, which can be read by all of the mesh shader workgroups it created.";
    /// M11: on WebGPU the lanes of a subgroup are numbered without a gap.
    DENSE_LANES = "WGSL, Built-in Inputs and Outputs, subgroup_invocation_id",
        "In a compute shader, IDs begin at zero and are dense.";
    /// M12: where an invocation is in its workgroup.
    LOCAL_ID = "Vulkan, Built-In Variables, LocalInvocationId",
        "will make that variable contain the location of the current cluster culling, task, mesh, or compute shader invocation within \
         the local workgroup.";
    /// H1: exactly the samples inside a triangle are fragments of it.
    COVERAGE = "Vulkan, Rasterization, Basic Polygon Rasterization",
        "Coverage bits that correspond to sample points that satisfy the point sampling criteria are 1, other coverage bits are 0.";
    /// P11: a quad is lanes 4q to 4q+3.
    QUADS = "Vulkan, Shaders, Scope, Quad",
        "In all shaders, each invocation in a quad scope instance is formed of invocations in adjacent subgroup invocation indices";
    /// H12: in OpenGL in any order.
    QUADS_IN_ANY_ORDER = "KHR_shader_subgroup (OpenGL), Quad Subgroup Operations",
        "each quad corresponds to one of the groups of four shader invocations used for derivatives. The order in which the fragments appear within the quad is implementation-defined.";
    /// I3: only fragment shaders have helper invocations.
    HELPERS_ARE_OF_FRAGMENTS = "Vulkan, Shaders, Helper Invocations",
        "operations in a fragment shader, additional invocations may be spawned in order to ensure correct results.";
    /// H4: helpers take part in everything at tier maximal.
    HELPERS_STAY = "Vulkan, Shaders, Helper Invocations",
        "If the MaximallyReconvergesKHR execution mode is applied to the entry point, helper invocations must remain active for all \
         instructions for the lifetime of the quad scope instance they are a part of.";
}
