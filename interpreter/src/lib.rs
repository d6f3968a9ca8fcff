//! Executes a SPIR-V module for a dispatch and a lane map, and says what its buffers must hold, what is open and why, and where behaviour is
//! undefined.
//!
//! In: a module ([`Module::parse`]), pipeline state ([`PipelineOptions`]), a dispatch ([`Dispatch`]). Out: an [`Outcome`]. No device, no files,
//! no randomness: the same input gives the same answer. It shares no code with the oracle of the program tree (`tangle-oracle`): it is a
//! second opinion.
//!
//! ```text
//!   words ─► Module::parse ─► Pipeline::new ─► Pipeline::run ─► Outcome
//!            (rspirv)         (decode: types,   (lane sets over   (buffers with the state of every
//!                              layouts, CFG)     the CFG)           byte, or undefined behaviour)
//! ```
//!
//! # State
//!
//! A workgroup has invocations `0..n`, by local invocation index. Every scalar that a module computes is a *column*: a value and a state for each
//! invocation. A state is one of
//!
//! - *determined*: the specification demands this value;
//! - *undefined* ([`Why::is_undefined`]): the specification withholds the value; it is poison, and everything computed from it is;
//! - *open*: the value is defined, but the rules do not say which it is. Of some open values more is known: an interval, for floating-point results with
//!   a precision, or two candidates, for a zero of unknown sign.
//!
//! A result of open operands is determined if it is the same for everything that they can be. Otherwise it is open; undefined wins over open.
//! Memory has a state for every byte.
//!
//! # Control flow
//!
//! A *tangle* `A` is a set of invocations that execute a block together. The machine keeps a stack of frames, one for each construct instance and call
//! that has been entered and not left (SPIR-V 1.6 §2.11). A frame of a construct with header `H`, merge block `M` and, for a loop, continue target `C` has
//! the sets `at M`, `at C`, `at H`, and `at L` for every case label `L`; a frame of a call has the set of those that returned.
//!
//! | step | effect |
//! |---|---|
//! | a header is executed by `A` | a frame is pushed: a loop's at the begin of its header, unless the back edge leads there, a selection's at its branch |
//! | `A` branches to `B` | phis of `B` take their values at once; if `B` is `H`, `M`, `C` or a label of an open frame of this call, innermost first, `A` joins that set, else it runs `B` |
//! | a conditional branch | `A` divides; both parts branch |
//! | `OpSwitch` | `A` divides by selector; parts that go to labels of the frame join their sets |
//! | a return | `A` joins the set of the innermost call |
//! | nobody can run | the innermost frame says who is next: parts put aside; then the first label with somebody, in the order of fallthrough; then `at C`; then `at H`; then the frame is left, and `at M` branches to `M` (a frame of a call: those that returned go on after it) |
//!
//! For `MaximallyReconvergesKHR` this is exact: the sets are those of the related instances of SPV_KHR_maximal_reconvergence, and an escaping
//! invocation is one that joins a set of an outer frame, or returns, or terminates. The order among tangles is one of those that are allowed.
//!
//! # Convergence
//!
//! Each invocation has a *class*. Invocations of one class are known to be together where both are.
//!
//! - *Maximal.* `A` is a tangle. Only at an `OpSwitch` lanes get classes, by selector: whether those with different selectors are together in a case
//!   construct is open. Where control flow reconverges (merge block, continue target, after a call) they get back the class they had at the entry.
//! - *Plain.* Invocations that take different sides of a branch, or have different selectors, get different classes ("invocations will continue to execute
//!   the same dynamic instances as long as they follow the same control-flow path", SPIR-V 1.6 §2.2.5). At a merge block all get one class again if
//!   all invocations of the workgroup were one class at the header, and all of them come to the merge block. Nothing else reconverges.
//! - *SubgroupUniformControlFlowKHR.* The same, and also for each subgroup.
//!
//! The tangle of a subgroup instruction `X` in subgroup `S`, with `V = A ∩ S`, is known to be `V`
//!
//! 1. at tier maximal, if `V` is one class, and no lost invocation of `S` entered the innermost construct, or the call, with it;
//! 2. else, if `V` is one class and all of `S`;
//! 3. else, if `V` is one class and all invocations of `S` that ever execute `X` are `V`: a tangle consists of visitors of `X`.
//!
//! Rule 3 speaks of the whole run. It is assumed first; a run that finds another visitor, or a lost invocation in `S`, is repeated without that
//! assumption. Where the tangle is not known the result is open ([`Why::Tangle`]), except where it is the same for every tangle (the source of a shuffle is
//! the lane itself, a function of the lane's own ballot). An invocation whose branch depends on an open value is *lost*: it is not followed any
//! further, and what it could have written is open ([`Why::Path`]).
//!
//! # Fragment shaders
//!
//! The fragments of a [`Draw`], and the helper invocations beside them, run as one workgroup does, but that control flow never counts as uniform in all of
//! them. What a helper stores has no effect, and `OpDemoteToHelperInvocation` makes one. Helpers may be missing where others execute a subgroup operation
//! with them, so that its result is open: at tier maximal those of a quad of which no fragment executes it (Vulkan, Helper Invocations: "All invocations in a
//! quad scope instance may: become permanently inactive at any point once the only remaining invocations in that quad scope instance are helper
//! invocations"), at the other tiers all, but for quad operations and derivatives ("helper invocations may: be considered inactive for group operations
//! other than derivative and quad group operations"). Derivatives are differences in the quad; they are open where control flow is not uniform in the
//! primitive, or in the quad with `QuadDerivativesKHR`. `OpKill` either ends an invocation or makes a helper of it: it has no outputs and stores nothing from
//! there on, and who executes an operation with it is open.
//!
//! # Stages before rasterisation
//!
//! The vertices, patches or primitives of a [`Draw`] run as the fragments of one do, without helpers; the lane map says who is in a subgroup, and those count as together at the begin. What is read of
//! vertices that a stage gets, or of a patch's outputs, is not supported.
//!
//! # Memory
//!
//! Two accesses of different invocations to one location race if one of them writes, not both are atomic, and no control barrier orders them (Vulkan memory
//! model). A race is undefined behaviour, so an execution with one says nothing, and lost invocations can be taken not to touch what others do, unless
//! something may come between: a control barrier, or a release.
//!
//! Atomics that release and acquire, and fences beside atomics, may order more. A chain of them from one access to another begins with a release
//! behind the first and ends with an acquire before the second, of that kind of memory. Accesses without these two, in either direction, race; of
//! others nothing is said, and what is read is open. Where an invocation loops on an atomic it may wait for another one: like any loop that goes on until
//! the limit of steps, that is [`Error::Steps`], and no undefined behaviour.
//!
//! What a barrier orders is also seen only if both accesses are non-private, the write is made available, and visible to the read. In modules of the Vulkan
//! memory model the operands of the instructions and of the barriers say so; in others, where the variable or the member is `Coherent`, and in workgroup
//! memory. Of accesses that are not the values are open ([`Why::Private`]); one whose read came first is found out by running again. Barriers and fences
//! order invocations that are within their memory scope.
//!
//! A control barrier orders a kind of memory that it does not name only together with a fence that releases before it and one that acquires behind it. Without the
//! second one values are open ([`Why::Unacquired`]).
//!
//! Several variables, or several descriptors, may have one buffer. Accesses through different ones are ordered as those of one variable only if these are
//! `Aliased`, and visible only as far as both share them; else the values are open ([`Why::Aliased`]).
//!
//! The result of an atomic is open if atomics of others on the same location are not ordered with it, or if lost invocations may execute some; what
//! others leave is determined if they commute. Atomics that are not in each other's scope are treated as plain accesses. That is found out like rule 3, by running again; a race that the first of these runs has counts, since its
//! order is one that is allowed. Volatile accesses that race are open in the same way.
//!
//! # What is not promised
//!
//! - Modules are taken to be valid: run `spirv-val` first. An invalid one gives an error or some outcome, but no panic, and nothing beyond the limits.
//! - Expressions of floats without `NoContraction` may be rearranged through variables, phis, selections and calls, but not through memory that others
//!   see, nor by identities of functions (`exec/expansion.rs` lists what continues an expression).
//! - Races are found in the orders that are executed, not in all.
//! - Pointers that are parameters of functions count as the variables that they come from, and physical addresses of one buffer as one pointer; both as `Aliased`.
//! - `undefined` means that this execution has undefined behaviour. That no execution has any is not shown, except for what depends on lane sets as above.
//!
//! # Example
//!
//! ```no_run
//! use tangle_interpreter::{Buffer, Dispatch, Draw, LaneMap, Limits, Module, Pipeline, PipelineOptions};
//!
//! # fn main() -> Result<(), tangle_interpreter::Error> {
//! let words: Vec<u32> = Vec::new(); // of a .spv file
//! let module = Module::parse(&words)?;
//! let pipeline = Pipeline::new(&module, &PipelineOptions::default())?;
//! let outcome = pipeline.run(&Dispatch {
//!     workgroups: [1, 1, 1],
//!     lane_map: LaneMap::linear(64, 32),
//!     draw: Draw::default(),
//!     buffers: vec![Buffer { set: 0, binding: 0, bytes: vec![0; 256], ..Buffer::default() }],
//!     push: Vec::new(),
//!     limits: Limits::default(),
//! })?;
//! println!("{:?}", outcome.buffers[0].word(0));
//! # Ok(())
//! # }
//! ```

mod alu;
mod code;
mod decode;
pub mod dispatch;
pub mod draw;
mod exec;
#[doc(hidden)]
pub mod faults;
mod ids;
pub mod lane_map;
mod lanes;
pub mod module;
mod operand;
pub mod outcome;
pub mod pipeline;
mod read;
mod source;
pub mod trace;
mod types;

pub use dispatch::{Buffer, Dispatch, Limits, PipelineOptions, Tier};
pub use draw::{Draw, Fragment, Item, Primitive};
pub use lane_map::{LaneMap, LanePosition};
pub use module::{Binding, BindingKind, ImageShape, Interface, Module, SpecConstant};
pub use outcome::{
    BufferState, End, Error, Location, OpenPath, Outcome, OutputState, OutputValue, Reason, Rule, UndefinedBehaviour,
    Why,
};
pub use pipeline::Pipeline;
