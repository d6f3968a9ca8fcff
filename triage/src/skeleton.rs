//! The shape of a program without what does not matter for a bug: what minimal programs of one bug have in common.
//!
//! Half of all convergence bugs need no particular subgroup operation: a ballot or an add is only the detector (peers.md). So a
//! skeleton keeps control flow, and where operations stand in it, but not which ones, as far as the program has control flow that can
//! be to blame:
//!
//! | the program has | an operation is called |
//! |---|---|
//! | a loop, a switch or a call | `op` |
//! | only `if` | its category: `vote`, `ballot`, `arithmetic` … |
//! | no control flow | its name, and the type it works on; of nested ones, the outermost is told |
//!
//! Constants, variables, other expressions and data are left out. Where no operation is left to be to blame, the types are that not every
//! shader has: `if {}; log with small integers`.
//!
//! A value that is assigned, or loaded, in a loop and read after it is `after-loop`. Where a minimal program has that, it is what is
//! broken: which loops there are, and how lanes leave them, is left out, so that thirty programs that show it have one skeleton.
//! Left is whether operations stand in loops (`after-loop of op`), and which less common constructs take part (`after-loop with
//! continue, switch`). Where `after-loop` alone fails, these are no bugs of their own: [`simpler`].
//!
//! It makes sense for minimised cases only; see [`crate::known`].

use std::collections::BTreeSet;

use tangle_program::case::{Case, SpecConstant};
use tangle_program::subgroup::{Category, OpInfo};
use tangle_program::tree::{
    Arg, Block, Builtin, Expr, Function, FunctionId, Label, Loop, LoopKind, Program, Stmt, VarId, walk_block,
};
use tangle_program::types::{Scalar, Type};

use crate::signature::{Kind, Signature};

/// Names the bug that a minimised case shows: findings with one name are witnesses of one bug.
pub fn bug(signature: &Signature, minimal: &Case) -> String {
    match signature.kind {
        // The front end's module is right, as the minimiser has found.
        Kind::Value | Kind::Path if minimal.variant.is_optimised() => {
            format!("wrong result of spirv-opt's module: {}", skeleton(minimal))
        }
        Kind::Value | Kind::Path => format!("wrong result: {}", skeleton(minimal)),
        Kind::Crash | Kind::Hang | Kind::DeviceLost => format!("{signature}: {}", skeleton(minimal)),
        // What is broken does not depend on the program, or the message says it.
        Kind::LaneMap | Kind::VulkanError | Kind::Toolchain | Kind::Invalid => signature.to_string(),
    }
}

/// The shape of a program.
pub fn skeleton(case: &Case) -> String {
    let program = &case.program;
    let Some(main) = program.main() else { return String::new() };
    let mut writer = Writer { program, detail: Detail::of(program), parts: Vec::new() };
    writer.function(main);
    let shape = writer.parts.join("; ");
    if shape.contains(AFTER_LOOP) { after_loop(program) } else { with(&shape, types_to_blame(program)) }
}

/// `shape with this, that`
fn with(shape: &str, more: BTreeSet<&str>) -> String {
    if more.is_empty() {
        return shape.into();
    }
    format!("{shape} with {}", more.into_iter().collect::<Vec<_>>().join(", "))
}

/// The kinds of types other than bool, int, uint and float in a program without subgroup operations; nothing in any other.
fn types_to_blame(program: &Program) -> BTreeSet<&'static str> {
    let blocks = || program.functions.iter().flat_map(|function| &function.body);
    if blocks().any(has_operation) {
        return BTreeSet::new();
    }
    let kind = |scalar: Scalar| match scalar {
        Scalar::Int8 | Scalar::Uint8 | Scalar::Int16 | Scalar::Uint16 => Some("small integers"),
        Scalar::Int64 | Scalar::Uint64 => Some("64-bit integers"),
        Scalar::Float16 => Some("16-bit floats"),
        Scalar::Double => Some("doubles"),
        Scalar::Bool | Scalar::Int | Scalar::Uint | Scalar::Float => None,
    };
    let mut kinds = BTreeSet::new();
    for function in &program.functions {
        let params = function.params.iter().map(|param| param.ty);
        let types = params.chain(function.locals.iter().map(|local| local.ty)).chain(function.result);
        kinds.extend(types.filter_map(|ty| kind(ty.scalar)));
        walk_block(&function.body, &mut |stmt| {
            stmt.direct_exprs().for_each(|expr| {
                expr.walk(&mut |expr| match expr {
                    Expr::Cast(scalar, _) | Expr::Float(scalar, _) => kinds.extend(kind(*scalar)),
                    Expr::Vector(ty, _) => kinds.extend(kind(ty.scalar)),
                    _ => {}
                })
            });
        });
    }
    kinds
}

/// A value that was assigned in a loop that has ended.
const AFTER_LOOP: &str = "after-loop";

/// What an operation in the loop adds to that.
const OF_OP: &str = "after-loop of op";

/// The name of the simpler bug that explains this one on a device that has both: where plain values get lost after plain loops,
/// results of operations and values after loops with more in them do, too.
pub fn simpler(name: &str) -> Option<String> {
    let (before, more) = name.split_once(AFTER_LOOP)?;
    (!more.is_empty()).then(|| format!("{before}{AFTER_LOOP}"))
}

/// The skeleton of a program that uses values after their loops.
fn after_loop(program: &Program) -> String {
    let mut has_op = false;
    let mut more = types_to_blame(program);
    for function in &program.functions {
        walk_block(&function.body, &mut |stmt| match stmt {
            Stmt::Loop(_) => has_op |= has_operation(stmt),
            Stmt::Continue => drop(more.insert("continue")),
            Stmt::Switch { .. } => drop(more.insert("switch")),
            Stmt::Call { .. } => drop(more.insert("call")),
            Stmt::Barrier(_) => drop(more.insert("barrier")),
            Stmt::Store { .. } | Stmt::Atomic(_) => drop(more.insert("shared memory")),
            // A function's last statement may return its result.
            Stmt::Return(_) if function.body.last() != Some(stmt) => drop(more.insert("return")),
            _ => {}
        });
    }
    with(if has_op { OF_OP } else { AFTER_LOOP }, more)
}

/// True if a subgroup operation stands anywhere in a statement.
fn has_operation(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.direct_exprs().for_each(|expr| expr.walk(&mut |expr| found |= matches!(expr, Expr::Subgroup(_))));
    found || stmt.nested_blocks().flatten().any(has_operation)
}

/// The case without what is only names and data: cases with the same normal form are the same test.
pub fn normal_form(case: &Case) -> String {
    let mut case = case.clone();
    case.about.clear();
    case.origin = Default::default();
    let data = case.data.inputs.iter_mut().flatten().chain(&mut case.data.uniforms).chain(&mut case.data.push);
    data.for_each(|word| *word = 0);
    case.data.constants.fill(SpecConstant::default());
    (0..).zip(&mut case.program.shared).for_each(|(number, array): (u32, _)| array.name = format!("s{number}"));
    let mut site = 0;
    for (number, function) in case.program.functions.iter_mut().enumerate() {
        function.name = format!("f{number}");
        let params = function.params.iter_mut().map(|param| &mut param.name);
        let names = params.chain(function.locals.iter_mut().map(|local| &mut local.name));
        (0..).zip(names).for_each(|(var, name): (u32, _)| *name = format!("v{var}"));
        number_sites(&mut function.body, &mut site);
    }
    blake3::hash(case.to_json().as_bytes()).to_hex()[..16].to_owned()
}

fn number_sites(block: &mut Block, last: &mut u32) {
    for stmt in block {
        match stmt {
            Stmt::Log { site, .. } => {
                *last += 1;
                *site = *last;
            }
            Stmt::If { then, otherwise, .. } => {
                number_sites(then, last);
                number_sites(otherwise, last);
            }
            Stmt::Switch { arms, .. } => arms.iter_mut().for_each(|arm| number_sites(&mut arm.body, last)),
            Stmt::Loop(l) => {
                if let Some(test) = &mut l.test {
                    number_sites(&mut test.before, last);
                }
                number_sites(&mut l.body, last);
                if let LoopKind::For { update, .. } = &mut l.kind {
                    number_sites(update, last);
                }
            }
            _ => {}
        }
    }
}

/// How exactly operations are named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    Name,
    Category,
    Any,
}

impl Detail {
    fn of(program: &Program) -> Detail {
        let mut detail = Detail::Name;
        for function in &program.functions {
            walk_block(&function.body, &mut |stmt| {
                detail = detail.max(match stmt {
                    Stmt::Loop(_) | Stmt::Switch { .. } | Stmt::Call { .. } => Detail::Any,
                    Stmt::If { .. } => Detail::Category,
                    _ => Detail::Name,
                });
            });
        }
        detail
    }
}

struct Writer<'a> {
    program: &'a Program,
    detail: Detail,
    parts: Vec<String>,
}

impl<'a> Writer<'a> {
    fn function(&mut self, function: &'a Function) {
        let mut scope = Scope::default();
        self.block(function, &function.body, &mut scope);
    }

    /// The parts of a block of its own.
    fn nested(&mut self, function: &'a Function, block: &'a Block, scope: &mut Scope) -> String {
        let outer = std::mem::take(&mut self.parts);
        self.block(function, block, scope);
        std::mem::replace(&mut self.parts, outer).join("; ")
    }

    fn block(&mut self, function: &'a Function, block: &'a Block, scope: &mut Scope) {
        for stmt in block {
            let part = self.stmt(function, stmt, scope);
            // The same thing twice is the same thing, except for control flow.
            if !part.is_empty() && (part.contains('{') || self.parts.last() != Some(&part)) {
                self.parts.push(part);
            }
        }
    }

    fn stmt(&mut self, function: &'a Function, stmt: &'a Stmt, scope: &mut Scope) -> String {
        match stmt {
            Stmt::Assign { var, value } => {
                let part = self.exprs(function, [value], scope);
                scope.assigned.insert(*var);
                part
            }
            Stmt::Log { values, .. } => {
                let part = self.exprs(function, values, scope);
                if part.is_empty() { "log".into() } else { part }
            }
            Stmt::If { cond, then, otherwise, .. } => {
                let cond = self.exprs(function, [cond], scope);
                let then = self.nested(function, then, scope);
                let otherwise = self.nested(function, otherwise, scope);
                let head = if cond.is_empty() { "if".into() } else { format!("if ({cond})") };
                match otherwise.as_str() {
                    "" => format!("{head} {{{then}}}"),
                    otherwise => format!("{head} {{{then}}} else {{{otherwise}}}"),
                }
            }
            Stmt::Switch { selector, arms, .. } => {
                let selector = self.exprs(function, [selector], scope);
                let arms = arms.iter().map(|arm| {
                    let is_default = arm.labels.contains(&Label::Default);
                    format!(
                        "{}{{{}}}",
                        if is_default { "default " } else { "" },
                        self.nested(function, &arm.body, scope)
                    )
                });
                let arms: Vec<String> = arms.collect();
                format!("switch ({selector}) {{{}}}", arms.join(" "))
            }
            Stmt::Loop(l) => {
                let part = self.loop_(function, l, scope);
                note_loads(stmt, &mut scope.loaded);
                part
            }
            Stmt::Break => "break".into(),
            Stmt::Continue => "continue".into(),
            Stmt::Return(value) => match self.exprs(function, value, scope).as_str() {
                "" => "return".into(),
                value => format!("return {value}"),
            },
            Stmt::Call { function: callee, args, dest } => {
                let ins = args.iter().filter_map(|arg| match arg {
                    Arg::In(expr) => Some(expr),
                    Arg::Out(_) => None,
                });
                let ins = self.exprs(function, ins, scope);
                let outs = args.iter().filter_map(|arg| if let Arg::Out(var) = arg { Some(*var) } else { None });
                scope.assigned.extend(outs.chain(*dest));
                format!("call({ins}) {{{}}}", self.callee(*callee))
            }
            Stmt::Barrier(op) if self.detail == Detail::Name => op.info().name.into(),
            Stmt::Barrier(_) => "barrier".into(),
            Stmt::Sync(sync) => format!("{}()", sync.name()),
            Stmt::Assume(_) => "assume".into(),
            Stmt::SetElement { var, .. } => {
                let part = self.exprs(function, stmt.direct_exprs(), scope);
                scope.assigned.insert(*var);
                part
            }
            Stmt::Store { value, .. } => match self.exprs(function, [value], scope).as_str() {
                "" => "store".into(),
                value => format!("store {value}"),
            },
            Stmt::Atomic(atomic) => {
                let operands = self.exprs(function, stmt.direct_exprs(), scope);
                scope.assigned.extend(atomic.dest);
                let name = if self.detail == Detail::Name { atomic.op.name() } else { "atomic" };
                if operands.is_empty() { name.into() } else { format!("{name}({operands})") }
            }
        }
    }

    fn callee(&mut self, function: FunctionId) -> String {
        let program = self.program;
        let Some(function) = program.functions.get(function as usize) else { return String::new() };
        self.nested(function, &function.body, &mut Scope::default())
    }

    fn loop_(&mut self, function: &'a Function, l: &'a Loop, scope: &mut Scope) -> String {
        let outside = std::mem::take(&mut scope.assigned);
        let body = self.nested(function, &l.body, scope);
        let update = match &l.kind {
            LoopKind::For { update, .. } => self.nested(function, update, scope),
            _ => String::new(),
        };
        let mut test = Vec::new();
        if let Some(t) = &l.test {
            test.push(self.nested(function, &t.before, scope));
            test.push(self.exprs(function, [&t.cond], scope));
        }
        test.push(self.exprs(function, [&l.bound], scope));
        test.push(update);
        test.retain(|part| !part.is_empty());
        let inside = std::mem::replace(&mut scope.assigned, outside);
        scope.after_loop.extend(inside);
        scope.after_loop.insert(l.counter);
        let name = match l.kind {
            LoopKind::For { .. } | LoopKind::While => "while",
            LoopKind::DoWhile => "do",
            LoopKind::Forever => "loop",
        };
        let test = if test.is_empty() { String::new() } else { format!(" ({})", test.join("; ")) };
        format!("{name}{test} {{{body}}}")
    }

    /// What matters of expressions, each thing once.
    fn exprs(&self, function: &Function, exprs: impl IntoIterator<Item = &'a Expr>, scope: &Scope) -> String {
        let mut found = BTreeSet::new();
        for expr in exprs {
            let mut has_operation = false;
            expr.walk(&mut |expr| match expr {
                // What gives an operation its operands is not to blame where the operation itself may be.
                Expr::Subgroup(_) if has_operation => {}
                Expr::Subgroup(call) => {
                    has_operation = true;
                    let value = call.args.first().and_then(|value| value.ty(function));
                    found.insert(self.operation(call.op.info(), value));
                }
                Expr::Var(var) if scope.after_loop.contains(var) && !scope.assigned.contains(var) => {
                    found.insert(AFTER_LOOP.into());
                }
                Expr::Input(input) if scope.loaded.contains(input) => {
                    found.insert(AFTER_LOOP.into());
                }
                Expr::Builtin(
                    builtin @ (Builtin::EqMask | Builtin::GeMask | Builtin::GtMask | Builtin::LeMask | Builtin::LtMask),
                ) if self.detail == Detail::Name => {
                    found.insert(builtin.glsl().into());
                }
                _ => {}
            });
        }
        found.into_iter().collect::<Vec<String>>().join(" ")
    }

    fn operation(&self, info: &OpInfo, value: Option<Type>) -> String {
        match (self.detail, value) {
            (Detail::Any, _) => "op".into(),
            (Detail::Category, _) => category(info.category).into(),
            (Detail::Name, Some(ty)) if ty.width > 1 => format!("{}(vector)", info.name),
            (Detail::Name, Some(ty)) => format!("{}({ty})", info.name),
            (Detail::Name, None) => info.name.into(),
        }
    }
}

/// Where a value comes from that an expression reads.
#[derive(Default)]
struct Scope {
    /// Assigned in the innermost loop around, or before, outside of any other loop.
    assigned: BTreeSet<VarId>,
    /// Assigned in a loop that has ended.
    after_loop: BTreeSet<VarId>,
    /// Inputs that were loaded in a loop that has ended. A compiler keeps the value instead of loading it again.
    loaded: BTreeSet<u32>,
}

/// Notes the inputs that a statement loads, with what stands in it.
fn note_loads(stmt: &Stmt, inputs: &mut BTreeSet<u32>) {
    stmt.direct_exprs().for_each(|expr| {
        expr.walk(&mut |expr| {
            if let Expr::Input(input) = expr {
                inputs.insert(*input);
            }
        });
    });
    stmt.nested_blocks().flatten().for_each(|inner| note_loads(inner, inputs));
}

/// The name of a category.
pub const fn category(category: Category) -> &'static str {
    match category {
        Category::Basic => "elect",
        Category::Vote => "vote",
        Category::Ballot => "ballot",
        Category::Arithmetic => "arithmetic",
        Category::Shuffle => "shuffle",
        Category::ShuffleRelative => "shuffle relative",
        Category::Clustered => "clustered",
        Category::Quad => "quad",
        Category::Rotate => "rotate",
        Category::RotateClustered => "clustered rotate",
        Category::QuadControl => "quad vote",
        Category::Partitioned => "partitioned",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_program::subgroup::{Fold, SubgroupOp};
    use tangle_program::tree::{Local, Test};

    /// A case with this body, with three uint locals; 2 is for counters.
    fn case(body: Block) -> Case {
        let mut case = Case::from_json(include_str!("../../corpus/vectors/V01.json")).expect("a case");
        let local = |name: &str| Local::new(name, Type::UINT);
        let main = Function {
            name: "main".into(),
            params: Vec::new(),
            result: None,
            locals: vec![local("a"), local("b"), local("k")],
            body,
        };
        case.program.functions = vec![main];
        case
    }

    fn add() -> Expr {
        Expr::subgroup(SubgroupOp::Reduce(Fold::Add), [Expr::Uint(1)])
    }

    fn ballot() -> Expr {
        Expr::subgroup(SubgroupOp::Elect, [])
    }

    fn set(var: VarId, value: Expr) -> Stmt {
        Stmt::Assign { var, value }
    }

    fn log(value: Expr) -> Stmt {
        Stmt::Log { site: 1, values: vec![value] }
    }

    fn when(then: Block) -> Stmt {
        Stmt::If { cond: Expr::Bool(true), then, otherwise: Vec::new(), control: Default::default() }
    }

    fn repeat(kind: LoopKind, body: Block) -> Stmt {
        let test = Some(Test { before: Vec::new(), cond: Expr::Bool(true) });
        let test = test.filter(|_| kind != LoopKind::Forever);
        Stmt::Loop(Box::new(Loop { kind, counter: 2, bound: Expr::Uint(3), test, body, control: Default::default() }))
    }

    #[test]
    fn programs_of_one_bug_have_one_skeleton() {
        let table = [
            // A value that is used after its loop: whatever it is, whatever the loop.
            (vec![repeat(LoopKind::DoWhile, vec![set(0, add())]), log(Expr::Var(0))], "after-loop of op"),
            (vec![repeat(LoopKind::While, vec![set(0, Expr::Uint(7))]), log(Expr::Var(0))], "after-loop"),
            (vec![repeat(LoopKind::While, vec![]), when(vec![log(Expr::Var(2))])], "after-loop"),
            (vec![repeat(LoopKind::While, vec![set(0, Expr::Input(0))]), log(Expr::Input(0))], "after-loop"),
            (
                vec![repeat(LoopKind::While, vec![repeat(LoopKind::Forever, vec![Stmt::Continue])]), log(Expr::Var(2))],
                "after-loop with continue",
            ),
            // One that is not: an operation in the loop, or after it.
            (vec![repeat(LoopKind::While, vec![log(add())])], "while {op}"),
            (vec![repeat(LoopKind::Forever, vec![when(vec![Stmt::Break])]), log(add())], "loop {if {break}}; op"),
            (vec![repeat(LoopKind::DoWhile, vec![set(0, add()), log(Expr::Var(0))])], "do {op; log}"),
            // Under divergence, the kind of operation counts.
            (vec![when(vec![log(add())])], "if {arithmetic}"),
            (vec![when(vec![log(ballot())])], "if {elect}"),
            (vec![when(vec![Stmt::Barrier(SubgroupOp::Barrier), log(add())])], "if {barrier; arithmetic}"),
            // Without an operation, the type.
            (vec![when(vec![log(Expr::Var(0))])], "if {log}"),
            (vec![when(vec![log(Expr::Cast(Scalar::Int16, Box::new(Expr::Var(0))))])], "if {log} with small integers"),
            (vec![log(Expr::Cast(Scalar::Uint64, Box::new(Expr::Var(0))))], "log with 64-bit integers"),
            (
                vec![
                    repeat(LoopKind::While, vec![set(0, Expr::Uint(7)), Stmt::Continue]),
                    log(Expr::Cast(Scalar::Uint8, Box::new(Expr::Var(0)))),
                ],
                "after-loop with continue, small integers",
            ),
            // In a straight line, it is the operation that is wrong.
            (vec![log(add())], "subgroupAdd(uint)"),
            (vec![log(Expr::subgroup(SubgroupOp::AllEqual, [add()]))], "subgroupAllEqual(uint)"),
            (
                vec![log(Expr::subgroup(SubgroupOp::AllEqual, [Expr::Vector(Type::MASK, vec![Expr::Uint(0); 4])]))],
                "subgroupAllEqual(vector)",
            ),
        ];
        for (body, wanted) in table {
            assert_eq!(skeleton(&case(body.clone())), wanted, "{body:?}");
        }
    }

    #[test]
    fn lost_values_explain_lost_results_of_operations() {
        let table = [
            ("wrong result: after-loop of op with return", Some("wrong result: after-loop")),
            ("after-loop with continue", Some("after-loop")),
            ("wrong result: after-loop", None),
            ("wrong result: while {op}", None),
        ];
        for (name, wanted) in table {
            assert_eq!(simpler(name).as_deref(), wanted, "{name}");
        }
    }

    #[test]
    fn the_kind_of_failure_belongs_to_a_bug() {
        let minimal = case(vec![log(add())]);
        let signature = |kind| Signature { kind, detail: "while x".into() };
        let table = [
            (Kind::Value, "wrong result: subgroupAdd(uint)"),
            (Kind::Path, "wrong result: subgroupAdd(uint)"),
            (Kind::Hang, "hang: while x: subgroupAdd(uint)"),
            (Kind::LaneMap, "lane_map: while x"),
        ];
        for (kind, name) in table {
            assert_eq!(bug(&signature(kind), &minimal), name);
        }
    }

    #[test]
    fn the_normal_form_forgets_names_and_data_only() {
        let one = case(vec![log(add())]);
        let mut renamed = one.clone();
        renamed.program.functions[0].locals[0].name = "other".into();
        renamed.about = "something else".into();
        renamed.data.inputs.iter_mut().flatten().for_each(|word| *word += 1);
        assert_eq!(normal_form(&one), normal_form(&renamed));
        let mut another_site = one.clone();
        another_site.program.functions[0].body = vec![Stmt::Log { site: 9, values: vec![add()] }];
        assert_eq!(normal_form(&one), normal_form(&another_site));
        assert_ne!(normal_form(&one), normal_form(&case(vec![log(ballot())])));
    }
}
