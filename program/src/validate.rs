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
//! 6. operands: everything that would be undefined behaviour or an unguarded undefined value (semantics.md §1, §5.1), floats that
//!    might not be exact ([`crate::exact`]), operands that must be uniform ([`crate::uniform`]), and undefined values that would decide
//!    something ([`crate::undefined`]);
//! 7. shared memory: no data races, barriers in uniform control flow ([`crate::races`]);
//! 8. cost: log words and steps ([`crate::bounds`]).

use std::collections::HashSet;
use std::fmt;

use crate::bounds::{
    Interval, MAX_LOG_WORDS, MAX_LOOP_ITERATIONS, MAX_STEPS, MAX_SUBGROUP_SIZE, Scope, cost, value_words,
};
use crate::case::{Case, Data, FORMAT, Launch, SpirvVersion, SubgroupSize, Tier};
use crate::glsl::MAX_ENTRY_WORDS;
use crate::memory::{ArrayId, AtomicOp, MAX_SHARED_BYTES, Shared, is_element};
use crate::names;
use crate::needs;
use crate::ops::{BinaryOp, Intrinsic, UnaryOp};
use crate::races;
use crate::subgroup::{Gives, Param, SubgroupOp};
use crate::tree::{
    Arg, Arm, Atomic, Block, Builtin, Direction, Expr, Function, FunctionId, Label, Load, Loop, LoopKind, Program,
    SiteId, Stmt, SubgroupCall, VarId, walk_block,
};
use crate::types::{Scalar, Shape, Type};
use crate::undefined::MayBeUndefined;
use crate::uniform::{Tangles, is_uniform};

/// The deepest nesting of statement lists in a function.
pub const MAX_BLOCK_DEPTH: usize = 32;
/// The deepest nesting of expressions.
pub const MAX_EXPR_DEPTH: usize = 48;
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
/// The most specialisation constants.
pub const MAX_CONSTANTS: usize = 32;
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
    races::check(case)
        .or_else(|race| invalid(race.reason).at(|| format!("program.functions[{}].body", race.function)))?;
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
        each(&function.body, |stmt| budget.stmt(stmt, MAX_BLOCK_DEPTH - 1)).at(|| "body".into())
    })
    .at(|| "functions".into())
}

impl Budget {
    fn block(&mut self, block: &Block, depth: usize) -> Checked {
        let Some(depth) = depth.checked_sub(1) else { invalid!("statements nest more than {MAX_BLOCK_DEPTH} deep") };
        block.iter().try_for_each(|stmt| self.stmt(stmt, depth))
    }

    fn stmt(&mut self, stmt: &Stmt, depth: usize) -> Checked {
        let labels = match stmt {
            Stmt::Switch { arms, .. } => arms.iter().map(|arm| arm.labels.len()).sum(),
            _ => 0,
        };
        match self.statements.checked_sub(1 + labels) {
            Some(left) => self.statements = left,
            None => invalid!("the program has more than {MAX_STATEMENTS} statements and switch labels"),
        }
        stmt.direct_exprs().try_for_each(|expr| self.expr(expr, MAX_EXPR_DEPTH))?;
        stmt.nested_blocks().try_for_each(|block| self.block(block, depth))
    }

    fn expr(&mut self, expr: &Expr, depth: usize) -> Checked {
        let Some(depth) = depth.checked_sub(1) else { invalid!("expressions nest more than {MAX_EXPR_DEPTH} deep") };
        match self.exprs.checked_sub(1) {
            Some(left) => self.exprs = left,
            None => invalid!("the program has more than {MAX_EXPRS} expressions"),
        }
        expr.operands().try_for_each(|operand| self.expr(operand, depth))
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
        return invalid(format!(
            "{groups} workgroups of {workgroup} invocations: must be 1 to {MAX_INVOCATIONS} together"
        ))
        .at(|| "groups".into());
    }
    if let Some(size) = launch.default_workgroup {
        if !(1..=MAX_WORKGROUP).contains(&count(size)) {
            return invalid(format!("{} invocations: must be 1 to {MAX_WORKGROUP}", count(size)))
                .at(|| "default_workgroup".into());
        }
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
    for (name, len, most) in [
        ("uniforms", data.uniforms.len(), MAX_UNIFORM_WORDS),
        ("push", data.push.len(), MAX_PUSH_WORDS),
        ("constants", data.constants.len(), MAX_CONSTANTS),
    ] {
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

fn variable_names(function: &Function, program: &Program) -> Checked {
    let mut seen: HashSet<&str> = HashSet::with_capacity(function.var_count());
    let check = |name: &str, known: bool| -> Checked {
        if known {
            invalid!("there are two variables '{name}'");
        }
        // A variable would hide the function.
        if program.functions.iter().any(|function| function.name == name) {
            invalid!("'{name}' is a function, too");
        }
        if program.shared.iter().any(|array| array.name == name) {
            invalid!("'{name}' is an array in shared memory, too");
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

fn shared(case: &Case) -> Checked {
    let program = &case.program;
    let bytes = program.shared.iter().fold(0, |sum: u64, array| sum.saturating_add(array.bytes()));
    if bytes > MAX_SHARED_BYTES {
        invalid!("{bytes} bytes, more than {MAX_SHARED_BYTES}");
    }
    let mut seen = HashSet::new();
    each(&program.shared, |array| {
        if !seen.insert(array.name.clone()) || program.functions.iter().any(|function| function.name == array.name) {
            return invalid(format!("there are two things called '{}'", array.name)).at(|| "name".into());
        }
        if array.name == "slot" {
            return invalid("'slot' counts the elements when arrays are filled").at(|| "name".into());
        }
        names::check(&array.name).or_else(invalid).at(|| "name".into())?;
        if !is_element(array.scalar) {
            return invalid(format!("an array holds integers of 32 or 64 bits, not {}", array.scalar.name()))
                .at(|| "type".into());
        }
        if array.len == 0 {
            return invalid("an array has at least one element").at(|| "len".into());
        }
        Ok(())
    })
}

// 4. Statements

fn program(case: &Case) -> Checked {
    let functions = &case.program.functions;
    if functions.is_empty() {
        return invalid("there is no main").at(|| "functions".into());
    }
    function_names(functions).at(|| "functions".into())?;
    shared(case).at(|| "shared".into())?;
    let undefined = MayBeUndefined::of(&case.program, &case.launch);
    let in_switch = called_in_switch(functions);
    let tangles = |id: FunctionId| match case.tier {
        Tier::Maximal if !in_switch[id as usize] => Tangles::Exact,
        Tier::Plain | Tier::SubgroupUniform | Tier::Maximal => Tangles::Loose,
    };
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
        checker.function(tangles(id)).at(|| format!("functions[{id}]"))
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
            stmt.nested_blocks().for_each(|block| mark(block, inside, found));
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
    Taken,
}

/// What is around a statement.
#[derive(Clone, Copy, Debug)]
struct Place {
    around: Around,
    in_loop: bool,
    tangles: Tangles,
}

/// What `break` would leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Around {
    Function,
    LoopOrSwitch,
}

/// Checks one function.
struct Checker<'a, 's> {
    case: &'a Case,
    id: FunctionId,
    function: &'a Function,
    scope: Scope<'a>,
    undefined: &'s MayBeUndefined<'a>,
    counters: Vec<Counter>,
    sites: &'s mut HashSet<SiteId>,
}

impl Checker<'_, '_> {
    fn function(&mut self, tangles: Tangles) -> Checked {
        let function = self.function;
        if self.is_main() && !function.params.is_empty() {
            return invalid("main has no parameters").at(|| "params".into());
        }
        if self.is_main() && function.result.is_some() {
            return invalid("main has no result").at(|| "result".into());
        }
        variable_names(function, &self.case.program)?;
        walk_block(&function.body, &mut |stmt| {
            if let Stmt::Loop(l) = stmt {
                if let Some(counter) = self.counters.get_mut(l.counter as usize) {
                    *counter = Counter::Ahead;
                }
            }
        });
        let place = Place { around: Around::Function, in_loop: false, tangles };
        self.block(&function.body, place).at(|| "body".into())?;
        if function.result.is_some() && !matches!(function.body.last(), Some(Stmt::Return(_))) {
            return invalid("a function with a result ends with a return").at(|| "body".into());
        }
        Ok(())
    }

    fn is_main(&self) -> bool {
        self.id as usize + 1 == self.case.program.functions.len()
    }

    fn block(&mut self, block: &Block, place: Place) -> Checked {
        let mut jumped = false;
        each(block, |stmt| {
            if jumped {
                invalid!("nothing comes here: the statement before jumps away");
            }
            jumped = stmt.is_jump();
            self.stmt(stmt, place)
        })
    }

    fn stmt(&mut self, stmt: &Stmt, place: Place) -> Checked {
        match stmt {
            Stmt::Assign { var, value } => self.assign(*var, value, place).at(|| "assign".into()),
            Stmt::Log { site, values } => self.log(*site, values, place).at(|| "log".into()),
            Stmt::If { cond, then, otherwise, .. } => {
                self.condition(cond, place).at(|| "if.cond".into())?;
                self.block(then, place).at(|| "if.then".into())?;
                self.block(otherwise, place).at(|| "if.else".into())
            }
            Stmt::Switch { selector, arms, .. } => self.switch(selector, arms, place).at(|| "switch".into()),
            Stmt::Loop(l) => self.repeated(l, place).at(|| "loop".into()),
            Stmt::Break if place.around == Around::Function => invalid("break outside of every loop and switch"),
            Stmt::Continue if !place.in_loop => invalid("continue outside of every loop"),
            Stmt::Break | Stmt::Continue => Ok(()),
            Stmt::Return(value) => self.returned(value.as_ref(), place).at(|| "return".into()),
            Stmt::Call { function, args, dest } => self.call(*function, args, *dest, place).at(|| "call".into()),
            Stmt::SetElement { var, index, value } => {
                self.set_element(*var, index, value, place).at(|| "set_element".into())
            }
            Stmt::Store { array, value } => self.store(*array, value, place).at(|| "store".into()),
            Stmt::Atomic(atomic) => self.atomic(atomic, place).at(|| "atomic".into()),
            Stmt::Assume(cond) => self.assumption(cond, place).at(|| "assume".into()),
            // Where it may stand is checked for the whole program.
            Stmt::Sync(_) => Ok(()),
            Stmt::Barrier(op) if op.info().gives == Gives::Nothing => Ok(()),
            Stmt::Barrier(op) => {
                invalid(format!("{} has a result: it is an expression", op.info().name)).at(|| "barrier".into())
            }
        }
    }

    /// Statements printed with the comma operator.
    fn comma_list(&mut self, block: &Block, place: Place) -> Checked {
        each(block, |stmt| match stmt {
            Stmt::Assign { .. } | Stmt::Log { .. } | Stmt::Call { .. } => self.stmt(stmt, place),
            _ => invalid("only assign, log and call can stand in the head of a loop"),
        })
    }

    /// The type of a variable that is written here.
    fn written(&self, var: VarId) -> Checked<Type> {
        let Some(ty) = self.function.var_type(var) else { invalid!("there is no variable {var}") };
        if self.counters[var as usize] != Counter::No {
            invalid!("'{}' counts a loop, which alone may write it", self.name(var));
        }
        Ok(ty)
    }

    fn name(&self, var: VarId) -> &str {
        self.function.var_name(var).unwrap_or("?")
    }

    fn assign(&self, var: VarId, value: &Expr, place: Place) -> Checked {
        let expected = self.written(var).at(|| "var".into())?;
        self.stored(value, expected, place).at(|| "value".into())
    }

    fn set_element(&self, var: VarId, index: &Expr, value: &Expr, place: Place) -> Checked {
        let ty = self.written(var).at(|| "var".into())?;
        self.expr_of(index, Type::UINT, place).at(|| "index".into())?;
        let element = self.element(ty, index).at(|| "index".into())?;
        self.stored(value, element, place).at(|| "value".into())
    }

    /// The type of an element. GLSL 4.60 §5.11: an index out of range is undefined behaviour, and so is an undefined index. A member of a
    /// struct is named.
    fn element(&self, ty: Type, index: &Expr) -> Checked<Type> {
        let Some((element, count)) = ty.indexed() else { invalid!("{ty} has no elements") };
        let range = self.scope.range(index);
        if !range.is_within(Interval::new(0, i128::from(count) - 1)) {
            invalid!("may be {} to {}, but {ty} has {count} elements", range.lo, range.hi);
        }
        if matches!(ty.shape, Shape::Struct(_)) && !matches!(index, Expr::Uint(_)) {
            invalid!("the member of a struct is a literal");
        }
        self.defined(index, "is an index")?;
        Ok(element)
    }

    fn array(&self, array: ArrayId) -> Checked<&Shared> {
        match self.case.program.shared.get(array as usize) {
            Some(array) => Ok(array),
            None => invalid(format!("there is no array {array}")).at(|| "array".into()),
        }
    }

    fn store(&self, array: ArrayId, value: &Expr, place: Place) -> Checked {
        let array = self.array(array)?;
        if array.len < self.case.launch.invocations() {
            return invalid(format!("'{}' has no slot for every invocation", array.name)).at(|| "array".into());
        }
        self.expr_of(value, array.ty(), place).at(|| "value".into())
    }

    fn atomic(&self, atomic: &Atomic, place: Place) -> Checked {
        let array = self.array(atomic.array)?;
        self.expr_of(&atomic.index, Type::UINT, place).at(|| "index".into())?;
        self.in_range(&atomic.index, array).at(|| "index".into())?;
        match (&atomic.compare, atomic.op) {
            (Some(compare), AtomicOp::CompSwap) => self.expr_of(compare, array.ty(), place).at(|| "compare".into())?,
            (None, AtomicOp::CompSwap) => return invalid("atomicCompSwap compares").at(|| "compare".into()),
            (Some(_), op) => return invalid(format!("{} does not compare", op.name())).at(|| "compare".into()),
            (None, _) => {}
        }
        self.expr_of(&atomic.value, array.ty(), place).at(|| "value".into())?;
        let Some(dest) = atomic.dest else { return Ok(()) };
        let ty = self.written(dest).at(|| "dest".into())?;
        if ty != array.ty() {
            return invalid(format!("'{}' is {ty}, not {}", self.name(dest), array.ty())).at(|| "dest".into());
        }
        Ok(())
    }

    /// An index out of range is undefined behaviour, and so is an undefined index.
    fn in_range(&self, index: &Expr, array: &Shared) -> Checked {
        let range = self.scope.range(index);
        if !range.is_within(Interval::new(0, i128::from(array.len) - 1)) {
            invalid!("may be {} to {}, but '{}' has {} elements", range.lo, range.hi, array.name, array.len);
        }
        self.defined(index, "is an index")
    }

    fn log(&mut self, site: SiteId, values: &[Expr], place: Place) -> Checked {
        if site == 0 {
            return invalid("0 marks the unwritten part of a log").at(|| "site".into());
        }
        if !self.sites.insert(site) {
            return invalid(format!("there are two sites {site}")).at(|| "site".into());
        }
        each(values, |value| {
            let ty = self.expr(value, place)?;
            if !matches!(value, Expr::Var(_)) {
                if !ty.is_scalar() {
                    invalid!("a vector must be a variable to be logged");
                }
                if ty.scalar.words() > 1 || ty.scalar.is_float() {
                    invalid!("a 64-bit or floating-point value must be a variable to be logged");
                }
            }
            Ok(())
        })
        .at(|| "values".into())?;
        let words: u64 = values.iter().map(|value| value_words(value, self.function)).sum();
        if words > MAX_ENTRY_WORDS {
            return invalid(format!("{words} words in one entry, more than {MAX_ENTRY_WORDS}")).at(|| "values".into());
        }
        Ok(())
    }

    fn switch(&mut self, selector: &Expr, arms: &[Arm], place: Place) -> Checked {
        let scalar = self.selector(selector, place).at(|| "selector".into())?;
        if arms.is_empty() {
            return invalid("a switch has at least one arm").at(|| "arms".into());
        }
        let mut seen = HashSet::new();
        let inside = Place { around: Around::LoopOrSwitch, tangles: Tangles::Loose, ..place };
        each(arms, |arm| {
            if arm.labels.is_empty() {
                return invalid("an arm has at least one label").at(|| "labels".into());
            }
            each(&arm.labels, |label| match label {
                Label::Case(value) if !Interval::all(scalar).contains((*value).into()) => {
                    invalid!("{value} is no {}", scalar.name());
                }
                _ if !seen.insert(*label) => invalid!("the label stands twice in one switch"),
                _ => Ok(()),
            })
            .at(|| "labels".into())?;
            self.block(&arm.body, inside).at(|| "body".into())
        })
        .at(|| "arms".into())
    }

    fn selector(&self, selector: &Expr, place: Place) -> Checked<Scalar> {
        let ty = self.expr(selector, place)?;
        if ty != Type::INT && ty != Type::UINT {
            invalid!("a selector is int or uint, not {ty}");
        }
        self.defined(selector, "decides a switch")?;
        Ok(ty.scalar)
    }

    fn repeated(&mut self, l: &Loop, place: Place) -> Checked {
        self.counter(l.counter).at(|| "counter".into())?;
        let inside = Place { around: Around::LoopOrSwitch, in_loop: true, ..place };
        match &l.kind {
            LoopKind::For { init, step, update } => {
                self.bound(init, place).at(|| "kind.for.init".into())?;
                if !(1..=MAX_LOOP_ITERATIONS).contains(&u64::from(*step)) {
                    return invalid(format!("a step of {step}: must be 1 to {MAX_LOOP_ITERATIONS}"))
                        .at(|| "kind.for.step".into());
                }
                self.comma_list(update, place).at(|| "kind.for.update".into())?;
            }
            LoopKind::Forever if l.test.is_some() => {
                return invalid("a forever loop has no test").at(|| "test".into());
            }
            LoopKind::Forever | LoopKind::While | LoopKind::DoWhile => {}
        }
        if let Some(test) = &l.test {
            self.comma_list(&test.before, place).at(|| "test.before".into())?;
            self.condition(&test.cond, place).at(|| "test.cond".into())?;
        }
        self.bound(&l.bound, place).at(|| "bound".into())?;
        let most = self.scope.range(&l.bound).hi;
        if most > i128::from(MAX_LOOP_ITERATIONS) {
            return invalid(format!("can be {most}, more than {MAX_LOOP_ITERATIONS}")).at(|| "bound".into());
        }
        self.block(&l.body, inside).at(|| "body".into())
    }

    fn counter(&mut self, counter: VarId) -> Checked {
        if self.function.var_type(counter) != Some(Type::UINT) || (counter as usize) < self.function.params.len() {
            invalid!("a loop counter is a uint local");
        }
        let state = &mut self.counters[counter as usize];
        if *state == Counter::Taken {
            invalid!("'{}' counts another loop, too", self.name(counter));
        }
        *state = Counter::Taken;
        Ok(())
    }

    fn bound(&self, bound: &Expr, place: Place) -> Checked {
        self.expr_of(bound, Type::UINT, place)?;
        self.defined(bound, "decides how often a loop runs")
    }

    fn condition(&self, cond: &Expr, place: Place) -> Checked {
        self.expr_of(cond, Type::BOOL, place)?;
        self.defined(cond, "is a condition")
    }

    /// SPV_KHR_expect_assume: if the condition is false, behaviour is undefined.
    fn assumption(&self, cond: &Expr, place: Place) -> Checked {
        self.condition(cond, place)?;
        if self.scope.range(cond) != Interval::exactly(1) {
            invalid!("is assumed, but not known to hold");
        }
        let mut operates = false;
        cond.walk(&mut |expr| operates |= matches!(expr, Expr::Subgroup(_)));
        if operates {
            invalid!("an assumption has no subgroup operation");
        }
        Ok(())
    }

    fn returned(&self, value: Option<&Expr>, place: Place) -> Checked {
        match (self.function.result, value) {
            (None, None) => Ok(()),
            (Some(ty), Some(value)) => self.stored(value, ty, place),
            (Some(ty), None) => invalid(format!("returns nothing, but the result is {ty}")),
            (None, Some(_)) => invalid("returns a value, but the function has no result"),
        }
    }

    fn call(&self, function: FunctionId, args: &[Arg], dest: Option<VarId>, place: Place) -> Checked {
        let callee = match self.case.program.functions.get(function as usize) {
            Some(callee) if function < self.id => callee,
            _ => {
                return invalid(format!("{function} is not the index of a function before this one"))
                    .at(|| "function".into());
            }
        };
        if args.len() != callee.params.len() {
            return invalid(format!("'{}' takes {}, not {}", callee.name, callee.params.len(), args.len()))
                .at(|| "args".into());
        }
        let mut outs = Vec::new();
        (0..).zip(callee.params.iter().zip(args)).try_for_each(|(i, (param, arg))| {
            match (param.direction, arg) {
                (Direction::In, Arg::In(value)) => self.stored(value, param.ty, place).at(|| "in".into()),
                (Direction::Out | Direction::Inout, Arg::Out(var)) => {
                    self.received(*var, param.ty, &mut outs).at(|| "out".into())
                }
                (Direction::In, Arg::Out(_)) => invalid(format!("'{}' is an in parameter", param.name)),
                (_, Arg::In(_)) => invalid(format!("'{}' is an out parameter: it needs a variable", param.name)),
            }
            .at(|| format!("args[{i}]"))
        })?;
        match (dest, callee.result) {
            (None, _) => Ok(()),
            (Some(var), Some(ty)) => self.received(var, ty, &mut outs),
            (Some(_), None) => invalid(format!("'{}' has no result", callee.name)),
        }
        .at(|| "dest".into())
    }

    /// A variable that a call writes, `outs` being those before it.
    fn received(&self, var: VarId, expected: Type, outs: &mut Vec<VarId>) -> Checked {
        let ty = self.written(var)?;
        if ty != expected {
            invalid!("'{}' is {ty}, not {expected}", self.name(var));
        }
        if outs.contains(&var) {
            invalid!("'{}' is written twice by one call, in no certain order", self.name(var));
        }
        outs.push(var);
        Ok(())
    }
}

// 5. Expressions

/// The type of an expression of a function, after a check of everything below it. (Whether inputs, uniforms and push
/// constants exist is up to the whole case; whether operands are in range, to [`validate`].)
pub fn type_of(expr: &Expr, function: &Function) -> Result<Type, Invalid> {
    match expr {
        Expr::Bool(_) => Ok(Type::BOOL),
        Expr::Int(_) => Ok(Type::INT),
        Expr::Uint(_) | Expr::Input(_) | Expr::Uniform(_) | Expr::Push(_) | Expr::Constant(_) => Ok(Type::UINT),
        Expr::Float(scalar, _) if scalar.is_float() => Ok(Type::scalar(*scalar)),
        Expr::Float(scalar, _) => invalid(format!("{} is no floating-point type", scalar.name())).at(|| "float".into()),
        Expr::Var(var) => match function.var_type(*var) {
            Some(ty) => Ok(ty),
            None => invalid(format!("there is no variable {var}")).at(|| "var".into()),
        },
        Expr::Builtin(builtin) => Ok(builtin.ty()),
        Expr::Unary(op, x) => {
            let ty = operand(expr, 0, x, function)?;
            let fits = match op {
                UnaryOp::Neg => is_number(ty),
                UnaryOp::BitNot => ty.scalar.is_integer(),
                UnaryOp::Not => ty == Type::BOOL,
            };
            if fits { Ok(ty) } else { mismatch(expr, op.token(), &[ty]) }
        }
        Expr::Binary(op, x, y) => {
            let tys = [operand(expr, 0, x, function)?, operand(expr, 1, y, function)?];
            binary_type(*op, tys).map_or_else(|| mismatch(expr, op.token(), &tys), Ok)
        }
        Expr::Select(c, x, y) => {
            let cond = operand(expr, 0, c, function)?;
            let (x, y) = (operand(expr, 1, x, function)?, operand(expr, 2, y, function)?);
            if cond == Type::BOOL && x == y { Ok(x) } else { mismatch(expr, "?:", &[cond, x, y]) }
        }
        Expr::Cast(scalar, x) => {
            let ty = operand(expr, 0, x, function)?;
            // The way of a float to other integers is by int.
            let fits = !ty.scalar.is_float() || !scalar.is_integer() || *scalar == Scalar::Int;
            if fits { Ok(Type { scalar: *scalar, ..ty }) } else { mismatch(expr, scalar.name(), &[ty]) }
        }
        Expr::Intrinsic(op, args) => intrinsic_type(expr, *op, args, function),
        Expr::Vector(ty, args) => {
            let Some((element, count)) = ty.indexed().filter(|(_, count)| args.len() == usize::from(*count)) else {
                return invalid(format!("{ty} from {} components", args.len())).at(|| "vector".into());
            };
            debug_assert_eq!(usize::from(count), args.len());
            for (i, arg) in args.iter().enumerate() {
                let component = operand(expr, i, arg, function)?;
                if component != element {
                    return invalid(format!("{component} as a component of {ty}")).at(|| segment(expr, i));
                }
            }
            Ok(*ty)
        }
        Expr::Component(x, c) => {
            let ty = operand(expr, 0, x, function)?;
            if ty.is_scalar() || !ty.is_single() || *c >= ty.width {
                return invalid(format!("{ty} has no component {c}")).at(|| "component".into());
            }
            Ok(Type::scalar(ty.scalar))
        }
        Expr::Subgroup(call) => subgroup_type(expr, call, function),
        Expr::Element(x, index) => {
            let ty = type_of(x, function).at(|| segment(expr, 0))?;
            let index = operand(expr, 1, index, function)?;
            match ty.indexed() {
                Some((element, _)) if index == Type::UINT => Ok(element),
                _ => mismatch(expr, "[]", &[ty, index]),
            }
        }
        Expr::Load(load) => match operand(expr, 0, &load.index, function)? {
            Type::UINT => Ok(Type::scalar(load.scalar)),
            ty => mismatch(expr, "[]", &[ty]),
        },
    }
}

/// The type of the operand with this number: a scalar or vector.
fn operand(parent: &Expr, number: usize, operand: &Expr, function: &Function) -> Checked<Type> {
    let ty = type_of(operand, function).at(|| segment(parent, number))?;
    if !ty.is_single() {
        return invalid(format!("{ty} is no operand of anything but an index")).at(|| segment(parent, number));
    }
    Ok(ty)
}

/// Where an operand stands in the JSON form.
fn segment(parent: &Expr, number: usize) -> String {
    match parent {
        Expr::Unary(..) => "unary[1]".into(),
        Expr::Binary(..) => format!("binary[{}]", number + 1),
        Expr::Select(..) => format!("select[{number}]"),
        Expr::Cast(..) => "cast[1]".into(),
        Expr::Intrinsic(..) => format!("intrinsic[1][{number}]"),
        Expr::Vector(..) => format!("vector[1][{number}]"),
        Expr::Component(..) => "component[0]".into(),
        Expr::Subgroup(_) => format!("subgroup.args[{number}]"),
        Expr::Load(_) => "load.index".into(),
        Expr::Element(..) => format!("element[{number}]"),
        _ => String::new(),
    }
}

/// The name of an expression in the JSON form.
fn tag(expr: &Expr) -> &'static str {
    match expr {
        Expr::Bool(_) => "bool",
        Expr::Int(_) => "int",
        Expr::Uint(_) => "uint",
        Expr::Float(..) => "float",
        Expr::Var(_) => "var",
        Expr::Builtin(_) => "builtin",
        Expr::Input(_) => "input",
        Expr::Uniform(_) => "uniform",
        Expr::Push(_) => "push",
        Expr::Constant(_) => "constant",
        Expr::Unary(..) => "unary",
        Expr::Binary(..) => "binary",
        Expr::Select(..) => "select",
        Expr::Cast(..) => "cast",
        Expr::Intrinsic(..) => "intrinsic",
        Expr::Vector(..) => "vector",
        Expr::Component(..) => "component",
        Expr::Subgroup(_) => "subgroup",
        Expr::Load(_) => "load",
        Expr::Element(..) => "element",
    }
}

fn mismatch(expr: &Expr, operation: &str, tys: &[Type]) -> Checked<Type> {
    let tys: Vec<String> = tys.iter().map(Type::to_string).collect();
    invalid(format!("{operation} does not take ({})", tys.join(", "))).at(|| tag(expr).into())
}

fn is_number(ty: Type) -> bool {
    ty.scalar != Scalar::Bool
}

fn binary_type(op: BinaryOp, [x, y]: [Type; 2]) -> Option<Type> {
    let uints = Type { scalar: Scalar::Uint, ..x };
    let (fits, ty) = match op {
        _ if op.is_logical() => (x == Type::BOOL && y == Type::BOOL, Type::BOOL),
        BinaryOp::Eq | BinaryOp::Ne => (x.is_scalar() && x == y, Type::BOOL),
        _ if op.is_comparison() => (x.is_scalar() && is_number(x) && x == y, Type::BOOL),
        _ if op.is_shift() => (x.scalar.is_integer() && y == uints, x),
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => (is_number(x) && x == y, x),
        _ => (x.scalar.is_integer() && x == y, x),
    };
    fits.then_some(ty)
}

fn intrinsic_type(expr: &Expr, op: Intrinsic, args: &[Expr], function: &Function) -> Checked<Type> {
    let shape = op.shape();
    if args.len() != shape.values + shape.offsets {
        return invalid(format!("{} takes {}, not {}", shape.name, shape.values + shape.offsets, args.len()))
            .at(|| "intrinsic[1]".into());
    }
    let ty = operand(expr, 0, &args[0], function)?;
    let mut fits = shape.operand.admits(ty.scalar);
    for (i, arg) in args.iter().enumerate().skip(1) {
        let expected = if i < shape.values { ty } else { Type::INT };
        fits &= operand(expr, i, arg, function)? == expected;
    }
    if !fits {
        let tys: Vec<Type> = args.iter().filter_map(|arg| arg.ty(function)).collect();
        return mismatch(expr, shape.name, &tys);
    }
    Ok(if shape.gives_int { Type { scalar: Scalar::Int, ..ty } } else { ty })
}

fn subgroup_type(expr: &Expr, call: &SubgroupCall, function: &Function) -> Checked<Type> {
    let info = call.op.info();
    if call.args.len() != info.params.len() {
        return invalid(format!("{} takes {}, not {}", info.name, info.params.len(), call.args.len()))
            .at(|| "subgroup.args".into());
    }
    let mut value = None;
    for (i, (param, arg)) in info.params.iter().zip(&call.args).enumerate() {
        let ty = operand(expr, i, arg, function)?;
        let fits = match param {
            Param::Value => {
                value = Some(ty);
                info.scalars.contains(&ty.scalar)
            }
            Param::Predicate => ty == Type::BOOL,
            Param::Mask | Param::UniformMask | Param::Partition => ty == Type::MASK,
            Param::Uint | Param::BroadcastLane | Param::UniformUint => ty == Type::UINT,
            Param::QuadIndex => matches!(arg, Expr::Uint(0..=3) | Expr::Constant(_)),
        };
        if !fits {
            let what = match param {
                Param::QuadIndex => "a literal 0u to 3u or a specialisation constant".to_owned(),
                Param::Value => format!("a vector or scalar of {}", names_of(info.scalars)),
                Param::Predicate => "a bool".to_owned(),
                Param::Mask | Param::UniformMask | Param::Partition => "a uvec4".to_owned(),
                Param::Uint | Param::BroadcastLane | Param::UniformUint => "a uint".to_owned(),
            };
            return invalid(format!("{} takes {what} here, not {ty}", info.name)).at(|| segment(expr, i));
        }
    }
    cluster(call).at(|| "subgroup.cluster".into())?;
    match info.result_type(value) {
        Some(ty) => Ok(ty),
        None => invalid(format!("{} has no result: it is a statement", info.name)).at(|| "subgroup.op".into()),
    }
}

fn names_of(scalars: &[Scalar]) -> String {
    scalars.iter().map(|scalar| scalar.name()).collect::<Vec<_>>().join(", ")
}

/// GL_KHR_shader_subgroup: a constant power of two, at least 1; more than the subgroup size is undefined behaviour.
fn cluster(call: &SubgroupCall) -> Checked {
    let info = call.op.info();
    match call.cluster {
        None if info.clustered => invalid(format!("{} needs a cluster size", info.name)),
        Some(_) if !info.clustered => invalid(format!("{} has no cluster size", info.name)),
        Some(n) if !n.is_power_of_two() || n > MAX_SUBGROUP_SIZE => {
            invalid(format!("a cluster size of {n}: must be a power of two up to {MAX_SUBGROUP_SIZE}"))
        }
        _ => Ok(()),
    }
}

// 6. Operands

impl Checker<'_, '_> {
    fn expr_of(&self, expr: &Expr, expected: Type, place: Place) -> Checked {
        let ty = self.expr(expr, place)?;
        if ty != expected {
            return invalid(format!("is {ty}, must be {expected}"));
        }
        Ok(())
    }

    /// Checks what is stored to a variable.
    fn stored(&self, expr: &Expr, expected: Type, place: Place) -> Checked {
        self.expr_of(expr, expected, place)?;
        if !self.scope.fits(expr, expected) {
            invalid!("may be more than a variable of {expected} can hold");
        }
        Ok(())
    }

    /// Checks an expression completely.
    fn expr(&self, expr: &Expr, place: Place) -> Checked<Type> {
        let ty = type_of(expr, self.function)?;
        self.operands(expr, place)?;
        Ok(ty)
    }

    /// An undefined value must not get here.
    fn defined(&self, expr: &Expr, role: &str) -> Checked {
        if self.undefined.expr(self.id, expr) {
            invalid!("{role}, but may be undefined");
        }
        Ok(())
    }

    fn operands(&self, expr: &Expr, place: Place) -> Checked {
        expr.operands()
            .enumerate()
            .try_for_each(|(i, operand)| self.operands(operand, place).at(|| segment(expr, i)))?;
        let data = &self.case.data;
        match expr {
            Expr::Input(k) => exists(*k, data.inputs.len(), "input"),
            Expr::Uniform(k) => exists(*k, data.uniforms.len(), "uniform"),
            Expr::Push(k) => exists(*k, data.push.len(), "push"),
            Expr::Constant(k) => exists(*k, data.constants.len(), "constant"),
            Expr::Binary(op @ (BinaryOp::Div | BinaryOp::Mod), x, y) => self.division(*op, x, y),
            Expr::Binary(BinaryOp::Shl | BinaryOp::Shr, x, y) => self.shift(x, y).at(|| "binary[2]".into()),
            Expr::Binary(BinaryOp::And | BinaryOp::Or, x, _) => {
                self.defined(x, "decides whether the right operand is evaluated").at(|| "binary[1]".into())
            }
            Expr::Select(cond, ..) => self.defined(cond, "is a condition").at(|| "select[0]".into()),
            Expr::Cast(to, x) if to.is_integer() && self.is_float(x) => {
                // SPIR-V 1.6 §3.3.11: undefined behaviour if the integer cannot be represented.
                self.defined(x, "is converted to an integer").at(|| "cast[1]".into())
            }
            Expr::Intrinsic(op, args) => self.intrinsic(*op, args).at(|| "intrinsic[1]".into()),
            Expr::Subgroup(call) => self.subgroup(call, place).at(|| "subgroup".into()),
            Expr::Load(load) => self.load(load).at(|| "load".into()),
            Expr::Element(x, index) => {
                let ty = type_of(x, self.function)?;
                self.element(ty, index).map(drop).at(|| "element[1]".into())
            }
            _ => Ok(()),
        }?;
        if self.is_float(expr) && self.scope.extent(expr).is_none() {
            return invalid("may not be exact").at(|| tag(expr).into());
        }
        Ok(())
    }

    fn is_float(&self, expr: &Expr) -> bool {
        expr.ty(self.function).is_some_and(|ty| ty.scalar.is_float())
    }

    fn load(&self, load: &Load) -> Checked {
        let array = self.array(load.array)?;
        if load.scalar != array.scalar {
            return invalid(format!("'{}' holds {}", array.name, array.scalar.name())).at(|| "type".into());
        }
        self.in_range(&load.index, array).at(|| "index".into())
    }

    /// SPIR-V 1.6 §3.3.13: division by zero and INT_MIN / -1 are undefined behaviour. GLSL 4.60 §5.9: a remainder with
    /// a negative operand is undefined.
    fn division(&self, op: BinaryOp, x: &Expr, y: &Expr) -> Checked {
        let divisor = self.scope.range(y);
        if !self.scope.is_nonzero(y) {
            return invalid("divides, but may be 0").at(|| "binary[2]".into());
        }
        self.defined(y, "divides").at(|| "binary[2]".into())?;
        let dividend = self.scope.range(x);
        if op == BinaryOp::Mod {
            if dividend.lo < 0 {
                return invalid("may be negative, but is an operand of %").at(|| "binary[1]".into());
            }
            if divisor.lo < 0 {
                return invalid("may be negative, but is an operand of %").at(|| "binary[2]".into());
            }
        } else if divisor.contains(-1) {
            if dividend.contains(self.least(x)) {
                return invalid("may be -1, while the dividend may be the least int").at(|| "binary[2]".into());
            }
            self.defined(x, "is divided by what may be -1").at(|| "binary[1]".into())?;
        }
        Ok(())
    }

    /// The least value of the type of a number.
    fn least(&self, x: &Expr) -> i128 {
        x.ty(self.function).map_or(0, |ty| ty.scalar.least().into())
    }

    /// SPIR-V 1.6 §3.3.14: a shift by the width of the base or more is undefined.
    fn shift(&self, base: &Expr, amount: &Expr) -> Checked {
        let range = self.scope.range(amount);
        let most = base.ty(self.function).map_or(0, |ty| ty.scalar.size() - 1);
        if !range.is_within(Interval::new(0, most.into())) {
            invalid!("a shift by 0 to {most} is defined, this is {} to {}", range.lo, range.hi);
        }
        self.defined(amount, "is a shift amount")
    }

    /// GLSL 4.60 §8.3 and §8.8.
    fn intrinsic(&self, op: Intrinsic, args: &[Expr]) -> Checked {
        let range = |i: usize| self.scope.range(&args[i]);
        match op {
            _ if self.is_float(&args[0]) => float_clamp(op, args),
            Intrinsic::Clamp if range(1).hi > range(2).lo => {
                invalid(format!("clamp to {} at least, but {} at most", range(1).hi, range(2).lo))
            }
            Intrinsic::Abs if range(0).contains(self.least(&args[0])) => {
                invalid("the absolute value of what may be the least int").at(|| "[0]".into())
            }
            Intrinsic::BitfieldExtract => self.bit_field(args, 1),
            Intrinsic::BitfieldInsert => self.bit_field(args, 2),
            _ => Ok(()),
        }
    }

    /// Offset and number of bits, from the operand `first`.
    fn bit_field(&self, args: &[Expr], first: usize) -> Checked {
        let (offset, bits) = (self.scope.range(&args[first]), self.scope.range(&args[first + 1]));
        for (i, range) in [(first, offset), (first + 1, bits)] {
            if range.lo < 0 {
                return invalid("may be negative").at(|| format!("[{i}]"));
            }
            self.defined(&args[i], "selects bits").at(|| format!("[{i}]"))?;
        }
        if offset.hi + bits.hi > 32 {
            invalid!("offset and bits may be {} together, more than 32", offset.hi + bits.hi);
        }
        Ok(())
    }

    fn subgroup(&self, call: &SubgroupCall, place: Place) -> Checked {
        let info = call.op.info();
        if let SubgroupSize::Required(size) = self.case.launch.subgroup_size {
            let least = needs::least_subgroup_size(call);
            if least > size {
                return invalid(format!("{} needs subgroups of {least}, but the launch asks for {size}", info.name))
                    .at(|| "op".into());
            }
        }
        for (i, (param, arg)) in info.params.iter().zip(&call.args).enumerate() {
            match param {
                Param::UniformMask | Param::UniformUint | Param::BroadcastLane => {
                    self.uniform(*param, arg, place).at(|| format!("args[{i}]"))?;
                }
                Param::Partition => self.partition(arg).at(|| format!("args[{i}]"))?,
                Param::QuadIndex => self.quad_index(arg).at(|| format!("args[{i}]"))?,
                Param::Value | Param::Predicate | Param::Mask | Param::Uint => {}
            }
        }
        Ok(())
    }

    /// SPIR-V 1.6 §3.3.23, OpGroupNonUniformQuadBroadcast: a constant in the quad. The front end takes nothing but literals before
    /// SPIR-V 1.5.
    fn quad_index(&self, arg: &Expr) -> Checked {
        if !self.scope.range(arg).is_within(Interval::new(0, 3)) {
            invalid!("a quad has lanes 0 to 3");
        }
        if self.case.launch.spirv < SpirvVersion::V1_5 && !matches!(arg, Expr::Uint(_)) {
            invalid!("must be a literal before SPIR-V 1.5");
        }
        Ok(())
    }

    /// semantics.md §1.9
    fn partition(&self, arg: &Expr) -> Checked {
        if !is_partition(arg) {
            invalid!("must be a partition, by itself and visibly");
        }
        self.defined(arg, "is a partition")
    }

    /// semantics.md §1.10
    fn uniform(&self, param: Param, arg: &Expr, place: Place) -> Checked {
        let early = self.case.launch.spirv < SpirvVersion::V1_5;
        if param == Param::BroadcastLane && early && !matches!(arg, Expr::Uint(_)) {
            invalid!("must be a literal before SPIR-V 1.5");
        }
        if !is_uniform(arg, place.tangles) {
            invalid!("must be uniform, by itself and visibly");
        }
        self.defined(arg, "must be uniform")
    }
}

/// The bounds of a clamp of floats are literals in order.
fn float_clamp(op: Intrinsic, args: &[Expr]) -> Checked {
    let literals = |expr: &Expr| -> Option<Vec<i32>> {
        let literal = |expr: &Expr| if let Expr::Float(_, quarters) = expr { Some(*quarters) } else { None };
        match expr {
            Expr::Vector(_, args) => args.iter().map(literal).collect(),
            _ => literal(expr).map(|quarters| vec![quarters]),
        }
    };
    if op != Intrinsic::Clamp {
        return Ok(());
    }
    match (literals(&args[1]), literals(&args[2])) {
        (Some(lo), Some(hi)) if lo.iter().zip(&hi).all(|(lo, hi)| lo <= hi) => Ok(()),
        (Some(_), Some(_)) => invalid("clamp to more at least than at most"),
        _ => invalid("the bounds of a clamp of floats are literals"),
    }
}

/// True if the values of all lanes that execute an operation on this mask are a valid partition of them
/// (GL_NV_shader_subgroup_partitioned §3.8), whatever the tier. Between the mask and the operation a tangle may grow by others that
/// made masks of their own lanes, which are disjoint from these, and may lose lanes, whose bits then do not matter (semantics.md
/// §3.3). A mask that was kept in a variable may come from an earlier iteration, and proves nothing.
fn is_partition(mask: &Expr) -> bool {
    match mask {
        Expr::Builtin(Builtin::EqMask) => true,
        Expr::Subgroup(call) if call.op == SubgroupOp::Ballot => call.args == [Expr::Bool(true)],
        Expr::Subgroup(call) => call.op == SubgroupOp::Partition,
        _ => false,
    }
}

fn exists(k: u32, count: usize, what: &str) -> Checked {
    if k as usize >= count {
        return invalid(format!("there are only {count}")).at(|| what.into());
    }
    Ok(())
}

// 8. Cost

fn costs(case: &Case) -> Checked {
    let cost = cost(case);
    if cost.log_words > MAX_LOG_WORDS {
        invalid!("an invocation may log {} words, more than {MAX_LOG_WORDS}", cost.log_words);
    }
    if cost.steps > MAX_STEPS {
        invalid!("an invocation may execute {} statements, more than {MAX_STEPS}", cost.steps);
    }
    let invocations = u64::from(case.launch.invocations()) * u64::from(case.launch.workgroups());
    let words = invocations * u64::from(case.log_stride());
    if words > MAX_LOG_BUFFER_WORDS {
        invalid!("the logs of {invocations} invocations take {words} words, more than {MAX_LOG_BUFFER_WORDS}");
    }
    Ok(())
}
