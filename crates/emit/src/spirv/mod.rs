//! Prints a case as a SPIR-V module, straight from the tree: no GLSL compiler is in the way, and control flow can be what GLSL cannot say.
//!
//! In: a case, and how to use the freedom that the language leaves ([`Printing`]). Out: the words of a module with the interface of the
//! GLSL shader ([`tangle_program::case::interface`]). Without freedoms its control flow is that of glslang's module.
//!
//! ```text
//!   draws.rs       where a freedom is used
//!   module.rs      types, constants, buffers, built-in variables, entry point
//!   blocks.rs      basic blocks of a function; OpPhi
//!   body.rs        a function that is being printed
//!   expression.rs  expressions; expression/operation.rs: built-in functions and subgroup operations
//!   statement.rs   functions and plain statements; statement/: control flow
//! ```
//!
//! # Why nothing that the oracle predicts depends on a freedom
//!
//! Values do not: an instruction is replaced by one with the same result only where its operands are defined and evaluating them has no
//! effect. Tangles do not, by these rules (SPV: SPIR-V 1.6 rev 6, MR: SPV_KHR_maximal_reconvergence rev 2, R: docs/rules.md):
//!
//! - `phis`: SPV OpPhi: an invocation gets the value of the parent that it came from; no instruction is tangled that was not.
//! - `swapped-arms`: MR: the tangle is partitioned by the condition, whichever label has which part; R2, R3 by the path.
//! - `empty-blocks`: MR: only OpBranchConditional and OpSwitch part a tangle; R2.
//! - `bare-exits`: SPV §2.11: a branch may exit a construct without being a header. Who goes on are the lanes that did not exit, with and
//!   without an OpSelectionMerge that the others never come to: MR "escapes reconvergence", and R6 wants all lanes at the merge block.
//! - `select`: no control flow, so no lanes part: MR; R2. Statements (`if` as OpSelect) at tier maximal only: else lanes would stay
//!   together that the tree lets part.
//! - `if-as-switch`: MR: "Invocations in T(I) with the same Selector value will be partitioned into the same tangle", and there are two
//!   values with a label each; R6 speaks of selections of both kinds.
//! - `wide-selectors`, `unreachable-default`: the same selectors go to the same labels.
//! - `header-test`, `body-as-continue`, `single-block`: the same lanes execute the same iterations. At a continue target MR brings
//!   together the lanes of one iteration: where it is the body, or the header that is all of the loop, they did not part. The weaker
//!   tiers promise nothing there (R7).
//! - `merge-as-header`: R6 at the merge block, once. Not at tier maximal, but for arms: the text of MR relates every execution of the
//!   merge block, also by the back edge, to the last OpSelectionMerge.
//! - `one-case-switch`, `one-trip-loop`: all lanes that come in go to the same label and leave by the merge block; no jump leads out of
//!   it and, below tier maximal, no call is in it: R6 says nothing new.
//! - `shared-return`: MR: lanes that branch to the merge block of a construct around escape as those do that return; behind the call all
//!   are together again. Not at the weaker tiers, where R6 would bring them together earlier than the tree does.
//! - `forms`, `function-control`: no control flow.
//!
//! No block but headers of loops, merge blocks, continue targets and labels of switches has several predecessors (MR, §2.11).

mod blocks;
mod body;
mod draws;
mod expression;
mod module;
mod statement;

use tangle_analysis::undefined::MayBeUndefined;
use tangle_program::case::Case;
use tangle_program::variant::Printing;

use draws::Draws;
use module::Module;

/// The module of a case. The case is valid; of any other some module is made, which the validator rejects.
pub fn module(case: &Case, printing: &Printing) -> Vec<u32> {
    let undefined = MayBeUndefined::of(&case.program, &case.entry_point);
    let mut module = Module::new(case, Draws::new(printing));
    for (number, function) in case.program.functions.iter().enumerate() {
        statement::function(&mut module, function, number, &undefined);
    }
    module.finish()
}
