//! What a minimal program consists of, in its order.
//!
//! An outline has a node for each statement that moves lanes or memory, and for each expression that computes something. Variables, constants, assignments
//! and logs are left out, and called functions stand where they are called. A program has the outline of a minimal one if each node of that one
//! has its counterpart, one inside another where it is so in the minimal program, and one behind another where it is so there; anything may
//! stand between. Operands may stand in any order: compilers turn them round. This is ordered tree inclusion (Kilpeläinen and Mannila, "Ordered and
//! unordered tree inclusion", 1995), with the leftmost counterpart of each node.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use tangle_analysis::divergence::Divergence;
use tangle_program::tree::{Discard, Expr, FunctionId, Program, Stmt};
use tangle_program::types::Type;

use crate::pairs::doing;

/// More nodes than programs of the default profiles have: from there on calls are not followed.
const MOST_NODES: usize = 20_000;

/// Up to so many operands are tried in any order.
const MOST_TURNED: usize = 3;

/// What to look for in programs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Outline(Vec<Sought>);

/// A node to look for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Sought {
    /// `if`, `divergent loop`, `Shr`, `arithmetic`.
    name: String,
    /// The type of the first operand, where it matters.
    ty: Option<String>,
    inside: Vec<Sought>,
}

/// A node of a program.
#[derive(Clone, Debug)]
struct Node {
    name: String,
    /// The wider name, if it has one: the category of an operation, `loop` of every loop.
    kind: Option<&'static str>,
    ty: Option<String>,
    /// True of an expression.
    is_operator: bool,
    /// True of a comparison and of a conversion. Of values of the simplest type they tell nothing by themselves, since the minimiser puts `lane == 3` for
    /// conditions, and converts what it puts.
    is_common: bool,
    /// Number of the first of the nodes in it, or its own.
    first: usize,
}

/// The nodes of a program, each behind those that stand in it.
#[derive(Clone, Debug, Default)]
pub struct Nodes(Vec<Node>);

struct Walk<'a> {
    program: &'a Program,
    divergence: Divergence,
    nodes: Vec<Node>,
}

impl Nodes {
    /// Those of a program.
    pub fn of(program: &Program) -> Nodes {
        let mut walk = Walk { program, divergence: Divergence::of(program), nodes: Vec::new() };
        if let Some(main) = program.functions.len().checked_sub(1) {
            walk.block(main, &program.functions[main].body);
        }
        Nodes(walk.nodes)
    }

    /// True if the program has all of the outline.
    pub fn have(&self, outline: &Outline) -> bool {
        let nodes: Vec<&Sought> = outline.0.iter().collect();
        Search { nodes: &self.0, known: HashMap::new() }.all(&nodes, 0, self.0.len())
    }
}

impl Walk<'_> {
    fn node(&mut self, name: impl Into<String>, kind: Option<&'static str>, inside: impl FnOnce(&mut Self)) {
        let first = self.nodes.len();
        inside(self);
        self.nodes.push(Node { name: name.into(), kind, ty: None, is_operator: false, is_common: false, first });
    }

    fn block(&mut self, function: usize, block: &[Stmt]) {
        block.iter().for_each(|stmt| self.stmt(function, stmt));
    }

    /// The expressions of a statement and the statements in it.
    fn parts(&mut self, function: usize, stmt: &Stmt) {
        stmt.direct_exprs().for_each(|expr| self.expr(function, expr));
        stmt.nested_blocks().for_each(|block| self.block(function, block));
    }

    fn stmt(&mut self, function: usize, stmt: &Stmt) {
        match stmt {
            Stmt::Assign { .. } | Stmt::Log { .. } | Stmt::SetElement { .. } => self.parts(function, stmt),
            Stmt::If { .. } => self.node("if", None, |walk| walk.parts(function, stmt)),
            Stmt::Switch { selector, arms, .. } => self.node("switch", None, |walk| {
                walk.expr(function, selector);
                for arm in arms {
                    // The jump that ends an arm is how switches are written.
                    let body = match &arm.body[..] {
                        [body @ .., Stmt::Break] => body,
                        body => body,
                    };
                    walk.block(function, body);
                }
            }),
            Stmt::Loop(l) => {
                let name = if self.divergence.parts_lanes(function, l) { "divergent loop" } else { "loop" };
                self.node(name, Some("loop"), |walk| walk.parts(function, stmt));
            }
            Stmt::Break => self.node("break", None, |_| ()),
            Stmt::Continue => self.node("continue", None, |_| ()),
            Stmt::Return(_) => self.node("return", None, |walk| walk.parts(function, stmt)),
            Stmt::Call { function: callee, .. } => self.node("call", None, |walk| {
                walk.parts(function, stmt);
                walk.callee(function, *callee);
            }),
            Stmt::SubgroupBarrier(op) => {
                let info = op.info();
                self.node(info.name, Some(info.category.name()), |_| ());
            }
            Stmt::Store { .. } => self.node("store", None, |walk| walk.parts(function, stmt)),
            Stmt::Atomic(_) => self.node("atomic", None, |walk| walk.parts(function, stmt)),
            Stmt::ControlBarrier(_) => self.node("barrier", None, |_| ()),
            Stmt::Assume(_) => self.node("assume", None, |walk| walk.parts(function, stmt)),
            Stmt::Discard(Discard::Demote) => self.node("demote", None, |_| ()),
            Stmt::Discard(Discard::Terminate) => self.node("terminate", None, |_| ()),
        }
    }

    fn callee(&mut self, caller: usize, callee: FunctionId) {
        let callee = callee as usize;
        if callee < caller && self.nodes.len() < MOST_NODES {
            let program = self.program;
            self.block(callee, &program.functions[callee].body);
        }
    }

    fn expr(&mut self, function: usize, expr: &Expr) {
        let first = self.nodes.len();
        expr.operands().for_each(|operand| self.expr(function, operand));
        let (name, kind) = match expr {
            Expr::Subgroup(call) => (call.op.info().name.to_owned(), Some(call.op.info().category.name())),
            Expr::Load(_) => ("load".to_owned(), None),
            Expr::Resource(_) => ("resource".to_owned(), None),
            _ => match doing(expr) {
                Some(name) => (name, None),
                None => return,
            },
        };
        let of = &self.program.functions[function];
        let ty = expr.operands().next().and_then(|operand| operand.ty(of)).map(|ty| ty.to_string());
        let is_common = match expr {
            Expr::Cast(..) => true,
            Expr::Binary(op, ..) => op.is_comparison(),
            _ => false,
        };
        self.nodes.push(Node { name, kind, ty, is_operator: true, is_common, first });
    }
}

/// Looks for an outline in a program.
struct Search<'a> {
    nodes: &'a [Node],
    /// Whether a node is the counterpart of one that is sought, by its address and the node's number.
    known: HashMap<(*const Sought, usize), bool>,
}

impl Search<'_> {
    /// True if all of these have counterparts among the nodes of this range, one behind another.
    fn all(&mut self, sought: &[&Sought], start: usize, end: usize) -> bool {
        let mut from = start;
        sought.iter().all(|sought| {
            // The one that ends first leaves most to those behind it.
            let found = (from..end).find(|&number| self.nodes[number].first >= from && self.is(sought, number));
            from = found.map_or(end, |number| number + 1);
            found.is_some()
        })
    }

    fn is(&mut self, sought: &Sought, number: usize) -> bool {
        let node = &self.nodes[number];
        let is_named = sought.name == node.name || node.kind == Some(&sought.name);
        if !is_named || sought.ty.is_some() && sought.ty != node.ty {
            return false;
        }
        let key = (std::ptr::from_ref(sought), number);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let (first, is_operator) = (node.first, node.is_operator);
        let inside: Vec<&Sought> = sought.inside.iter().collect();
        let holds = match inside.len() {
            2..=MOST_TURNED if is_operator => orders(&inside).iter().any(|inside| self.all(inside, first, number)),
            _ => self.all(&inside, first, number),
        };
        self.known.insert(key, holds);
        holds
    }
}

/// The nodes in every order.
fn orders<'s>(nodes: &[&'s Sought]) -> Vec<Vec<&'s Sought>> {
    nodes.iter().fold(vec![Vec::new()], |orders, next| {
        let with_next =
            |order: Vec<&'s Sought>| (0..=order.len()).map(move |at| [&order[..at], &[*next], &order[at..]].concat());
        orders.into_iter().flat_map(with_next).collect()
    })
}

impl Outline {
    /// That of a minimal program; `None` if it has nothing. Of the minimiser's simplest type, `u32`, other types do as well. With `operations` subgroup
    /// operations have their names and types, else any of their category will do.
    pub fn of_minimal(program: &Program, operations: bool) -> Option<Outline> {
        let mut open: Vec<(usize, Sought)> = Vec::new();
        let simplest = Type::UINT.to_string();
        for Node { name, kind, ty, is_operator, is_common, first } in Nodes::of(program).0 {
            let starts = open.partition_point(|(number, _)| *number < first);
            let inside: Vec<Sought> = open.drain(starts..).map(|(_, node)| node).collect();
            if is_common && inside.is_empty() && ty.as_ref() == Some(&simplest) {
                continue;
            }
            let wide = kind.filter(|_| is_operator && !operations);
            let ty = ty.filter(|ty| wide.is_none() && *ty != simplest);
            open.push((first, Sought { name: wide.map_or(name, str::to_owned), ty, inside }));
        }
        (!open.is_empty()).then(|| Outline(open.into_iter().map(|(_, node)| node).collect()))
    }
}

fn write_all(nodes: &[Sought], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (number, node) in nodes.iter().enumerate() {
        f.write_str(if number > 0 { "; " } else { "" })?;
        f.write_str(&node.name)?;
        if let Some(ty) = &node.ty {
            write!(f, " of {ty}")?;
        }
        if !node.inside.is_empty() {
            f.write_str(" {")?;
            write_all(&node.inside, f)?;
            f.write_str("}")?;
        }
    }
    Ok(())
}

impl fmt::Display for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_all(&self.0, f)
    }
}

impl FromStr for Outline {
    type Err = ();

    fn from_str(text: &str) -> Result<Outline, ()> {
        let mut lists: Vec<Vec<Sought>> = vec![Vec::new()];
        let mut rest = text;
        // A node ends at the next of `;`, `{` and `}`, which says what comes then.
        loop {
            let end = rest.find(['{', '}', ';']).unwrap_or(rest.len());
            let (name, mark) = (rest[..end].trim(), rest[end..].chars().next());
            if !name.is_empty() {
                let (name, ty) = match name.split_once(" of ") {
                    Some((name, ty)) => (name, Some(ty.to_owned())),
                    None => (name, None),
                };
                lists.last_mut().ok_or(())?.push(Sought { name: name.to_owned(), ty, inside: Vec::new() });
            }
            match mark {
                None => break,
                Some('{') => lists.push(Vec::new()),
                Some('}') => {
                    let inside = lists.pop().ok_or(())?;
                    lists.last_mut().and_then(|list| list.last_mut()).ok_or(())?.inside = inside;
                }
                Some(_) => {}
            }
            rest = &rest[end + 1..];
        }
        match <[_; 1]>::try_from(lists) {
            Ok([nodes]) if !nodes.is_empty() => Ok(Outline(nodes)),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tangle_program::case::Case;

    use super::*;
    use crate::{Config, from_seed};

    fn nodes(main: &str) -> Nodes {
        let locals = r#"[{"name": "a", "type": "u32"}, {"name": "i", "type": "u32"}, {"name": "b", "type": "u16"}]"#;
        let text = format!(
            r#"{{"functions": [
                {{"name": "f", "body": [{{"subgroup_barrier": "subgroupBarrier"}}]}},
                {{"name": "main", "locals": {locals}, "body": [{main}]}}
            ]}}"#
        );
        let program: Program = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        Nodes::of(&program)
    }

    /// What stands in what, what behind what, operands in any order, and anything between.
    #[test]
    fn a_program_has_an_outline_or_not() {
        let add = r#"{"group_non_uniform": {"op": "subgroupAdd", "args": [{"var": 0}]}}"#;
        let any = r#"{"selection": {"condition": {"group_non_uniform": {"op": "subgroupAny", "args": [{"bool": true}]}}, "then": [INSIDE]}}"#;
        let assign = |value: &str| format!(r#"{{"assign": {{"var": 0, "value": {value}}}}}"#);
        let looped = |body: &str| {
            format!(r#"{{"loop": {{"kind": "while", "counter": 1, "bound": {{"input": 0}}, "body": [{body}]}}}}"#)
        };
        let in_if = any.replace("INSIDE", &assign(add));
        let behind_if = format!("{}, {}", any.replace("INSIDE", ""), assign(add));
        let in_loop = looped(&in_if);
        let shifts = r#"{"binary": ["BitwiseOr", {"unary": ["Not", {"binary": ["ShiftLeft", {"var": 0}, {"u32": 8}]}]}, {"binary": ["ShiftRight", {"var": 0}, {"u32": 8}]}]}"#;
        let shifts = assign(shifts);
        let call = r#"{"function_call": {"function": 0, "args": []}}"#.to_owned();
        let narrow = r#"{"assign": {"var": 2, "value": {"binary": ["Add", {"var": 2}, {"var": 2}]}}}"#.to_owned();
        for (program, outline, has) in [
            (&in_if, "if {subgroupAny of bool; subgroupAdd}", true),
            (&in_if, "if {vote; arithmetic}", true),
            (&in_if, "if {vote {arithmetic}}", false),
            (&in_if, "if {vote}; arithmetic", false),
            (&in_if, "if {arithmetic; vote}", false),
            (&in_if, "arithmetic", true),
            (&in_if, "arithmetic; arithmetic", false),
            (&behind_if, "if {vote}; arithmetic", true),
            (&behind_if, "if {vote; arithmetic}", false),
            (&in_loop, "divergent loop {arithmetic}", true),
            (&in_loop, "loop {if {arithmetic}}", true),
            (&in_loop, "if {loop}", false),
            (&in_loop, "loop; arithmetic", false),
            (&shifts, "BitOr {Shr; Shl}", true),
            (&shifts, "BitOr {Shl; Shr}", true),
            (&shifts, "BitNot {Shl}", true),
            (&shifts, "BitNot {Shr}", false),
            (&shifts, "Shl; Shr", true),
            (&shifts, "Shr; Shl", false),
            (&call, "call {subgroupBarrier}", true),
            (&call, "basic", true),
            (&narrow, "Add of u16", true),
            (&narrow, "Add", true),
            (&narrow, "Add of u64", false),
        ] {
            let read: Outline = outline.parse().unwrap_or_else(|()| panic!("{outline}"));
            assert_eq!(read.to_string(), outline);
            assert_eq!(nodes(program).have(&read), has, "{outline} in {program}");
        }
        for text in ["", ";", "if {", "if }", "{if}", "if {a}}"] {
            assert_eq!(text.parse::<Outline>(), Err(()), "{text}");
        }
    }

    /// What the minimiser puts for conditions is left out, and comparisons of other types are not.
    #[test]
    fn the_outline_of_a_minimal_program_is_what_matters() {
        for (file, of_category, by_name) in [
            (
                include_str!("../../corpus/regressions/bytes_swapped_then_int16.json"),
                "Cast {BitOr {Shr {BitAnd}; Shl {BitAnd}}}",
                "Cast {BitOr {Shr {BitAnd}; Shl {BitAnd}}}",
            ),
            (
                include_str!("../../corpus/regressions/sum_after_loop_and_uniform_if.json"),
                "divergent loop {Mod; arithmetic}; if {arithmetic}; arithmetic",
                "divergent loop {Mod; subgroupAdd}; if {subgroupAdd}; subgroupAdd",
            ),
        ] {
            let case = Case::from_json(file).expect("a case");
            for (operations, expected) in [(false, of_category), (true, by_name)] {
                let outline = Outline::of_minimal(&case.program, operations).expect("it has something");
                assert_eq!(outline.to_string(), expected);
            }
        }
    }

    #[test]
    fn programs_have_their_own_outlines_in_time() {
        for seed in 0..60 {
            let program = from_seed(seed, &Config::default()).program;
            let nodes = Nodes::of(&program);
            for operations in [false, true] {
                let outline = Outline::of_minimal(&program, operations).expect("it has something");
                assert!(nodes.have(&outline), "seed {seed}");
                assert_eq!(outline.to_string().parse().as_ref(), Ok(&outline), "seed {seed}");
            }
        }
    }
}
