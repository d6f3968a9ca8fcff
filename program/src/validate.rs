//! Checks that a case is well formed and that nothing undefined can run, whatever the lane map and the convergence choices of the
//! implementation.
//!
//! Everything else in tangle relies on this: the printer prints valid GLSL, the oracle meets no undefined behaviour, and a
//! driver that fails on a valid case is wrong. The rules, in the order of this page:
//!
//! 1. size: nesting and counts, so that nothing that follows can recurse too deep or take too long;
//! 2. launch and data: dimensions, lengths;
//! 3. names ([`crate::names`]);
//! 4. statements: where they may stand, what they may refer to, calls, loops, switches, logs;
//! 5. expressions: types ([`type_of`]);
//! 6. operands: everything that would be undefined behaviour or an unguarded undefined value (semantics.md §1, §5.1), operands that
//!    must be uniform ([`crate::uniform`]), and undefined values that would decide something ([`crate::undefined`]);
//! 7. cost: log words and steps ([`crate::bounds`]).

use std::collections::HashSet;
use std::fmt;

use crate::bounds::{
    Interval, MAX_LOG_WORDS, MAX_LOOP_ITERATIONS, MAX_STEPS, MAX_SUBGROUP_SIZE, Scope, cost, value_words,
};
use crate::case::{Case, Data, FORMAT, Launch, SpirvVersion, SubgroupSize, Tier};
use crate::glsl::MAX_ENTRY_WORDS;
use crate::names;
use crate::needs;
use crate::ops::{BinaryOp, Intrinsic, UnaryOp};
use crate::subgroup::{Gives, Param, SubgroupOp};
use crate::tree::{
    Arg, Arm, Block, Direction, Expr, Function, FunctionId, Label, Loop, LoopKind, Program, SiteId, Stmt, SubgroupCall,
    VarId, walk_block,
};
use crate::types::{Scalar, Type};
use crate::undefined::MayBeUndefined;
use crate::uniform::{Tangles, is_uniform};

/// The deepest nesting of statement lists in a function.
pub const MAX_BLOCK_DEPTH: usize = 24;
/// The deepest nesting of expressions.
pub const MAX_EXPR_DEPTH: usize = 24;
/// The most functions.
pub const MAX_FUNCTIONS: usize = 64;
/// The most parameters and locals of a function.
pub const MAX_VARS: usize = 256;
/// The most statements and switch labels of a program.
pub const MAX_STATEMENTS: usize = 5_000;
/// The most expressions of a program, parts of others included.
pub const MAX_EXPRS: usize = 50_000;
/// The most invocations in a workgroup.
pub const MAX_WORKGROUP: u64 = 1024;
/// The most invocations in a dispatch.
pub const MAX_INVOCATIONS: u64 = 1 << 16;
/// The most words of all inputs together.
pub const MAX_INPUT_WORDS: u64 = 1 << 20;
/// The most words of the log buffer.
pub const MAX_LOG_BUFFER_WORDS: u64 = 1 << 22;
/// The most words of the uniform buffer: what every device offers (`maxUniformBufferRange`).
pub const MAX_UNIFORM_WORDS: usize = 4096;
/// The most words of push constants: what every device offers (`maxPushConstantsSize`).
pub const MAX_PUSH_WORDS: usize = 32;

/// Why a case is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", Prefix(path))]
pub struct Invalid {
    /// Where: the path in the JSON form, `program.functions[2].body[3].if.then[0].assign.value.binary[1]` say.
    pub path: String,
    /// What is wrong there.
    pub reason: String,
}

struct Prefix<'a>(&'a str);

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "{}: ", self.0) }
    }
}

type Checked<T = ()> = Result<T, Invalid>;

fn invalid<T>(reason: impl Into<String>) -> Checked<T> {
    Err(Invalid { path: String::new(), reason: reason.into() })
}

/// `invalid!("format", …)`: an error with a formatted reason.
macro_rules! invalid {
    ($($arg:tt)*) => { return invalid(format!($($arg)*)) };
}

/// Says where an error was found, from the inside out, so that a valid case pays nothing for it.
trait At<T> {
    fn at(self, segment: impl FnOnce() -> String) -> Checked<T>;
}

impl<T> At<T> for Checked<T> {
    fn at(self, segment: impl FnOnce() -> String) -> Checked<T> {
        self.map_err(|Invalid { path, reason }| {
            let mut whole = segment();
            if !path.is_empty() && !path.starts_with('[') && !whole.is_empty() {
                whole.push('.');
            }
            whole.push_str(&path);
            Invalid { path: whole, reason }
        })
    }
}

/// Applies a check to the items of a list; errors say which item.
fn each<T>(items: &[T], mut check: impl FnMut(&T) -> Checked) -> Checked {
    (0..).zip(items).try_for_each(|(i, item)| check(item).at(|| format!("[{i}]")))
}

/// `Ok` if the case is valid.
pub fn validate(case: &Case) -> Result<(), Invalid> {
    if case.format != FORMAT {
        return invalid(format!("is {}, but only {FORMAT} is known", case.format)).at(|| "format".into());
    }
    sizes(&case.program).at(|| "program".into())?;
    launch(&case.launch).at(|| "launch".into())?;
    data(&case.data, &case.launch).at(|| "data".into())?;
    program(case).at(|| "program".into())?;
    costs(case)
}

// 1. Size

/// How much of the allowed size is left.
struct Budget {
    statements: usize,
    exprs: usize,
}

fn sizes(program: &Program) -> Checked {
    if program.functions.len() > MAX_FUNCTIONS {
        invalid!("has {} functions, more than {MAX_FUNCTIONS}", program.functions.len());
    }
    let mut budget = Budget { statements: MAX_STATEMENTS, exprs: MAX_EXPRS };
    each(&program.functions, |function| {
        if function.var_count() > MAX_VARS {
            invalid!("has {} parameters and locals, more than {MAX_VARS}", function.var_count());
        }
        budget.block(&function.body, MAX_BLOCK_DEPTH).at(|| "body".into())
    })
    .at(|| "functions".into())
}

impl Budget {
    fn block(&mut self, block: &Block, depth: usize) -> Checked {
        let Some(depth) = depth.checked_sub(1) else { invalid!("statements nest more than {MAX_BLOCK_DEPTH} deep") };
        each(block, |stmt| {
            self.statements(1)?;
            let mut exprs = Ok(());
            stmt.for_each_expr(|expr| {
                if exprs.is_ok() {
                    exprs = self.expr(expr, MAX_EXPR_DEPTH);
                }
            });
            exprs?;
            if let Stmt::Switch { arms, .. } = stmt {
                self.statements(arms.iter().map(|arm| arm.labels.len().max(1)).sum())?;
            }
            let mut blocks = Ok(());
            stmt.for_each_block(|block| {
                if blocks.is_ok() {
                    blocks = self.block(block, depth);
                }
            });
            blocks
        })
    }

    fn statements(&mut self, n: usize) -> Checked {
        match self.statements.checked_sub(n) {
            Some(left) => self.statements = left,
            None => invalid!("the program has more than {MAX_STATEMENTS} statements and switch labels"),
        }
        Ok(())
    }

    fn expr(&mut self, expr: &Expr, depth: usize) -> Checked {
        let Some(depth) = depth.checked_sub(1) else { invalid!("expressions nest more than {MAX_EXPR_DEPTH} deep") };
        match self.exprs.checked_sub(1) {
            Some(left) => self.exprs = left,
            None => invalid!("the program has more than {MAX_EXPRS} expressions"),
        }
        let mut result = Ok(());
        expr.for_each_child(|child| {
            if result.is_ok() {
                result = self.expr(child, depth);
            }
        });
        result
    }
}

// 2. Launch and data

fn launch(launch: &Launch) -> Checked {
    let count = |sides: [u32; 3]| sides.iter().fold(1u64, |n, &side| n.saturating_mul(side.into()));
    let (workgroup, groups) = (count(launch.workgroup), count(launch.groups));
    if !(1..=MAX_WORKGROUP).contains(&workgroup) {
        return invalid(format!("{workgroup} invocations: must be 1 to {MAX_WORKGROUP}")).at(|| "workgroup".into());
    }
    if groups == 0 || workgroup.saturating_mul(groups) > MAX_INVOCATIONS {
        return invalid(format!("{groups} workgroups of {workgroup} invocations: must be 1 to {MAX_INVOCATIONS} together"))
            .at(|| "groups".into());
    }
    if let SubgroupSize::Required(size) = launch.subgroup_size {
        required_size(launch, size).at(|| "subgroup_size".into())?;
    }
    Ok(())
}

fn required_size(launch: &Launch, size: u32) -> Checked {
    if !size.is_power_of_two() || size > MAX_SUBGROUP_SIZE {
        invalid!("a required subgroup size of {size}: must be a power of two up to {MAX_SUBGROUP_SIZE}");
    }
    // VUID-VkPipelineShaderStageCreateInfo-pNext-02757
    if launch.full_subgroups && launch.workgroup[0] % size != 0 {
        invalid!("full subgroups of {size} need a multiple of that as the x dimension, not {}", launch.workgroup[0]);
    }
    Ok(())
}

fn data(data: &Data, launch: &Launch) -> Checked {
    let invocations = u64::from(launch.invocations()) * u64::from(launch.workgroups());
    each(&data.inputs, |words| {
        if words.len() as u64 != invocations {
            invalid!("has {} words for {invocations} invocations", words.len());
        }
        Ok(())
    })
    .at(|| "inputs".into())?;
    let words = invocations * data.inputs.len() as u64;
    if words > MAX_INPUT_WORDS {
        return invalid(format!("{words} words, more than {MAX_INPUT_WORDS}")).at(|| "inputs".into());
    }
    for (name, len, most) in
        [("uniforms", data.uniforms.len(), MAX_UNIFORM_WORDS), ("push", data.push.len(), MAX_PUSH_WORDS)]
    {
        if len > most {
            return invalid(format!("{len} words, more than {most}")).at(|| name.into());
        }
    }
    Ok(())
}

// 3. Names

fn function_names(functions: &[Function]) -> Checked {
    let mut seen = HashSet::new();
    (0..).zip(functions).try_for_each(|(i, function)| {
        let name = function.name.as_str();
        let is_last = i + 1 == functions.len();
        let checked = match name {
            "main" if is_last => Ok(()),
            "main" => Err("only the last function is main".to_owned()),
            _ if is_last => Err(format!("the last function must be main, not '{name}'")),
            _ if !seen.insert(name) => Err(format!("there are two functions '{name}'")),
            _ => names::check(name),
        };
        checked.or_else(invalid).at(|| format!("[{i}].name"))
    })
}

fn variable_names(function: &Function, functions: &[Function]) -> Checked {
    let mut seen: HashSet<&str> = HashSet::with_capacity(function.var_count());
    let mut check = |name: &'_ str, known: bool| -> Checked {
        if known {
            invalid!("there are two variables '{name}'");
        }
        // A variable would hide the function.
        if functions.iter().any(|function| function.name == name) {
            invalid!("'{name}' is a function, too");
        }
        names::check(name).or_else(invalid)
    };
    for (i, param) in function.params.iter().enumerate() {
        check(&param.name, !seen.insert(&param.name)).at(|| format!("params[{i}].name"))?;
    }
    for (i, local) in function.locals.iter().enumerate() {
        check(&local.name, !seen.insert(&local.name)).at(|| format!("locals[{i}].name"))?;
    }
    Ok(())
}

// 4. Statements

fn program(case: &Case) -> Checked {
    let functions = &case.program.functions;
    if functions.is_empty() {
        return invalid("there is no main").at(|| "functions".into());
    }
    function_names(functions).at(|| "functions".into())?;
    let undefined = MayBeUndefined::of(&case.program, &case.launch);
    let in_switch = called_in_switch(functions);
    let mut sites = HashSet::new();
    (0..).zip(functions).try_for_each(|(id, function)| {
        let mut checker = Checker {
            case,
            id,
            function,
            scope: Scope::new(case, function),
            undefined: &undefined,
            counters: vec![Counter::No; function.var_count()],
            sites: &mut sites,
        };
        checker.function(in_switch[id as usize]).at(|| format!("functions[{id}]"))
    })
}

/// For each function: whether a switch, in its callers, may be around it.
fn called_in_switch(functions: &[Function]) -> Vec<bool> {
    fn mark(block: &Block, in_switch: bool, found: &mut [bool]) {
        for stmt in block {
            if let Stmt::Call { function, .. } = stmt {
                if let Some(found) = found.get_mut(*function as usize) {
                    *found |= in_switch;
                }
            }
            let inside = in_switch || matches!(stmt, Stmt::Switch { .. });
            stmt.for_each_block(|block| mark(block, inside, found));
        }
    }
    let mut found = vec![false; functions.len()];
    // Callers stand after what they call.
    for id in (0..functions.len()).rev() {
        mark(&functions[id].body, found[id], &mut found);
    }
    found
}

/// Whether a variable counts a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counter {
    No,
    /// Of a loop that the check has not reached.
    Ahead,
    /// Of a loop that the check has reached.
    Seen,
}

/// What is around a statement.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// What `break` leaves.
    breaks: Breaks,
    in_loop: bool,
    tangles: Tangles,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Breaks {
    Nothing,
    Something,
}

struct Checker<'a, 's> {
    case: &'a Case,
    id: FunctionId,
    function: &'a Function,
    scope: Scope<'a>,
    undefined: &'s MayBeUndefined<'a>,
    counters: Vec<Counter>,
    sites: &'s mut HashSet<SiteId>,
}
