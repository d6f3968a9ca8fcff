//! Prints a case as a shader of its stage in GLSL 4.50, for compilers and for people.
//!
//! ```text
//!   shader.rs      what stands around the functions; the prologue of `main`
//!   body.rs        a function that is being printed
//!   statement.rs   statements
//!   expression.rs  expressions; precedence.rs: where they need parentheses
//!   stage.rs       what belongs to a stage and not to the case
//!   spelling.rs    the words of the language
//! ```
//!
//! A shader is, in this order: extensions, interface ([`tangle_program::case::interface`]), the log macros, the functions. `main` begins
//! with the prologue that records the lane map before any control flow (docs/rules.md, section M). What a shader does not use it does not
//! declare.
//!
//! The text means exactly what the tree says:
//!
//! - Every local starts at zero at every call. It is declared as zero at the top of its function, unless the first mention
//!   writes it anyway: an assignment at the top level of the function that does not read it, or the loop that it counts.
//! - `gl_SubgroupInvocationID` and `gl_SubgroupSize` are mediump in glslang; each function works on highp copies of them
//!   (rules P14 and P15).
//! - A log entry is written by one comma expression, so that no order of evaluation is left open (GLSL 4.60 §5.9), and nothing
//!   that is logged is evaluated twice.
//! - Operators stand in parentheses where precedence (GLSL 4.60 §5.1) asks for it, and where a reader would have to think.

mod body;
mod expression;
pub(crate) mod precedence;
pub(crate) mod shader;
pub mod spelling;
pub mod stage;
mod statement;

use std::collections::BTreeSet;

use tangle_program::case::{Case, SpirvVersion};
use tangle_program::subgroup::Category;
use tangle_program::tree::{Expr, Function};
use tangle_program::types::{Scalar, Type};

use crate::plan::{Helper, Plan, Uses, plan, structs};
pub use crate::printed::Printed;
pub use crate::printer::Dialect;
use crate::printer::Printer;
pub(crate) use body::Body;
use precedence::Context;
pub use shader::parts;

/// The shader of a case.
pub fn glsl(case: &Case) -> String {
    print(case).text
}

/// The shader of a case, with the place of each statement.
pub fn print(case: &Case) -> Printed<'_> {
    print_in(case, Dialect::Vulkan)
}

/// The same in another dialect, or in a language that is as like C ([`crate::hlsl`]).
pub fn print_in(case: &Case, dialect: Dialect) -> Printed<'_> {
    let plans: Vec<Plan> = case.program.functions.iter().map(|function| plan(case, function, dialect)).collect();
    let mut uses = plans.iter().fold(Uses::default(), |uses, plan| uses.and(plan.uses));
    // The prologue uses these.
    uses.add_category(Category::Basic);
    uses.add_category(Category::Ballot);
    if case.entry_point.draw().is_some() {
        uses.add_category(Category::Shuffle);
        uses.add_category(Category::Quad);
    }

    for array in &case.program.shared {
        uses.scalars |= 1 << array.scalar as u16;
    }

    let copies_constants = dialect == Dialect::Vulkan && copies_constants(case, uses.scalars);
    let mut printer = Printer { copies_constants, ..Printer::new(case, dialect) };
    match dialect {
        Dialect::Hlsl | Dialect::Slang => printer.hlsl_header(uses),
        _ => printer.header(uses),
    }
    let header = printer.line;
    structs(&plans).into_iter().for_each(|ty| printer.structure(ty));
    let helpers: BTreeSet<(Helper, Type)> = plans.iter().flat_map(|plan| plan.helpers.iter().copied()).collect();
    for (helper, ty) in helpers {
        match (dialect, helper) {
            (Dialect::Hlsl | Dialect::Slang, helper) => printer.hlsl_helper(helper, ty),
            (_, Helper::Of(op)) => printer.helper(op, ty),
            (_, Helper::Wave(_) | Helper::Lanes) => {}
        }
    }
    let mut functions = case.program.functions.iter().zip(plans);
    let main = functions.next_back();
    for (function, plan) in functions {
        printer.function(function, plan);
    }
    let prologue = main.map_or(0..0, |(main, plan)| printer.main(main, plan, uses));
    Printed { text: printer.out, places: printer.places, header, prologue }
}

/// True if specialisation constants have to be copied to variables before they are computed with: the front end makes an `OpSpecConstantOp` of
/// `uint16_t(SPEC0)`, and `UConvert` may stand there from SPIR-V 1.4 only (SPIR-V 1.6 §3.49.7).
fn copies_constants(case: &Case, scalars: u16) -> bool {
    let is_other_integer = |scalar: &Scalar| scalar.is_integer() && scalar.size() != 32;
    let mut mentioned = Scalar::ALL.into_iter().filter(|&scalar| scalars >> scalar as u16 & 1 == 1);
    case.entry_point.spirv < SpirvVersion::V1_4 && mentioned.any(|scalar| is_other_integer(&scalar))
}

/// An expression of a function of the case, in a dialect.
pub(crate) fn expression(case: &Case, dialect: Dialect, function: &Function, expr: &Expr) -> String {
    let mut printer = Printer::new(case, dialect);
    Body { printer: &mut printer, function, declared: Vec::new(), single: None }.expr(expr, Context::Open);
    printer.out
}
