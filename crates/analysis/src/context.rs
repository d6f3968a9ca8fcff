//! Where the subgroup operations of a program stand: what control flow is around each of them, and what came before it.
//!
//! Read off the text, with [`Divergence`] for what may part the lanes of a subgroup. It distinguishes programs, for statistics: what lanes
//! really do is the oracle's business.

use serde::{Deserialize, Serialize};

use crate::divergence::{Divergence, Exits};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Param, SubgroupOp};
use tangle_program::tree::{Block, Expr, Function, Loop, LoopKind, Program, Stmt};
use tangle_program::types::Type;

/// Declares [`Context`] with the list of its variants.
macro_rules! contexts {
    ($($(#[doc = $doc:literal])+ $name:ident $short:literal,)+) => {
        /// A surrounding that matters to how lanes are together. An operation may stand in several at once.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Context { $($(#[doc = $doc])+ $name,)+ }

        impl Context {
            /// Every context, in the order of tables.
            pub const ALL: &[Context] = &[$(Context::$name,)+];

            /// A name for the head of a column: at most four characters.
            pub const fn short(self) -> &'static str {
                match self { $(Context::$name => $short,)+ }
            }

            /// What it is, for people.
            pub const fn about(self) -> &'static str {
                match self { $(Context::$name => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

contexts! {
    /// Where control flow cannot part the lanes of a subgroup.
    Uniform "unif",
    /// Where a part of the lanes of a subgroup may be active.
    Partial "part",
    /// In the first arm of an `if` that may part lanes.
    DivergentIf "if",
    /// In the `else` arm of an `if` that may part lanes.
    ElseArm "else",
    /// In the body of a loop.
    LoopBody "loop",
    /// In the condition of a `for` or `while` loop.
    LoopCondition "test",
    /// In the condition of a `do … while` loop.
    DoWhileCondition "do",
    /// In the update part of a `for` loop, which is its continue construct.
    ContinueConstruct "upd",
    /// After a `break` that a part of the lanes may have taken.
    AfterBreak ">brk",
    /// After a `continue` that a part of the lanes may have taken.
    AfterContinue ">con",
    /// After a `return` that a part of the lanes may have taken.
    AfterReturn ">ret",
    /// In a segment of a `switch`.
    SwitchCase "case",
    /// In a segment of a `switch` that the one before falls through into.
    Fallthrough "fall",
    /// In a function other than `main`.
    Callee "fn",
    /// In an operand of `&&`, `||` or `?:` that not all lanes evaluate.
    Choice "?:",
}

/// A set of contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Contexts(u16);

impl Contexts {
    /// The set with one more.
    #[must_use]
    pub const fn with(self, context: Context) -> Contexts {
        Contexts(self.0 | 1 << context as u16)
    }

    /// The set with one more if the condition holds.
    #[must_use]
    const fn with_if(self, condition: bool, context: Context) -> Contexts {
        if condition { self.with(context) } else { self }
    }

    /// True if the context is one of them.
    pub const fn contains(self, context: Context) -> bool {
        self.0 & 1 << context as u16 != 0
    }

    /// The contexts in it, in the order of [`Context::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Context> {
        Context::ALL.iter().copied().filter(move |&context| self.contains(context))
    }
}

/// A subgroup operation in the text of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Placed {
    /// The operation that stands there.
    pub op: SubgroupOp,
    /// The type of its generic operand, if it has one.
    pub ty: Option<Type>,
    /// Its surroundings; several at once are usual.
    pub contexts: Contexts,
}

/// The subgroup operations of a valid program, numbered as the oracle numbers them: function by function, statement by statement, a loop's
/// start, update and condition before its body, operands before what they are operands of.
pub fn operations(program: &Program) -> Vec<Placed> {
    let divergence = Divergence::of(program);
    let mut placed = Vec::new();
    for (id, function) in program.functions.iter().enumerate() {
        let mut walk = Walk { divergence: &divergence, id, function, placed: &mut placed };
        let contexts = Contexts::default().with_if(id + 1 < program.functions.len(), Context::Callee);
        walk.block(&function.body, Point { contexts, apart: divergence.is_called_apart(id) });
    }
    placed
}

/// What is known of a place in the text.
#[derive(Clone, Copy)]
struct Point {
    contexts: Contexts,
    /// A part of the lanes may be here.
    apart: bool,
}

impl Point {
    fn inside(self, context: Context) -> Point {
        Point { contexts: self.contexts.with(context), ..self }
    }

    fn inside_if(self, condition: bool, context: Context) -> Point {
        Point { contexts: self.contexts.with_if(condition, context), ..self }
    }

    fn apart_if(self, condition: bool) -> Point {
        Point { apart: self.apart || condition, ..self }
    }
}

struct Walk<'a> {
    divergence: &'a Divergence,
    id: usize,
    function: &'a Function,
    placed: &'a mut Vec<Placed>,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block, mut place: Point) {
        for stmt in block {
            self.stmt(stmt, place);
            let left = [
                (Exits::BREAK, Context::AfterBreak),
                (Exits::CONTINUE, Context::AfterContinue),
                (Exits::FUNCTION, Context::AfterReturn),
            ];
            let apart = place.apart;
            for (exits, context) in left {
                if self.divergence.leaves(self.id, stmt, exits, apart) {
                    place = place.inside(context).apart_if(true);
                }
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt, place: Point) {
        match stmt {
            Stmt::Loop(l) => self.repeated(l, place),
            Stmt::If { cond, then, otherwise, .. } => {
                self.expr(cond, place);
                let inside = place.apart_if(self.divergence.varies(self.id, cond));
                self.block(then, inside.inside_if(inside.apart, Context::DivergentIf));
                self.block(otherwise, inside.inside_if(inside.apart, Context::ElseArm));
            }
            Stmt::Switch { selector, arms, .. } => {
                self.expr(selector, place);
                let inside = place.apart_if(self.divergence.varies(self.id, selector)).inside(Context::SwitchCase);
                let mut falls = false;
                for arm in arms {
                    self.block(&arm.body, inside.inside_if(falls, Context::Fallthrough));
                    falls = !arm.body.last().is_some_and(Stmt::is_jump);
                }
            }
            Stmt::SubgroupBarrier(op) => self.place(*op, None, place),
            // What the tree says of a statement is all that matters here.
            _ => {
                stmt.direct_exprs().for_each(|expr| self.expr(expr, place));
                stmt.nested_blocks().for_each(|block| self.block(block, place));
            }
        }
    }

    fn repeated(&mut self, l: &Loop, place: Point) {
        let inside = place.apart_if(self.divergence.parts_lanes(self.id, l));
        if let LoopKind::For { init, update, .. } = &l.kind {
            self.expr(init, place);
            self.block(update, inside.inside(Context::ContinueConstruct));
        }
        let condition = match &l.kind {
            LoopKind::DoWhile => Context::DoWhileCondition,
            LoopKind::For { .. } | LoopKind::While | LoopKind::Forever | LoopKind::Endless => Context::LoopCondition,
        };
        if let Some(test) = &l.test {
            self.block(&test.before, inside.inside(condition));
            self.expr(&test.cond, inside.inside(condition));
        }
        self.expr(&l.bound, inside.inside(condition));
        self.block(&l.body, inside.inside(Context::LoopBody));
    }

    fn expr(&mut self, expr: &Expr, place: Point) {
        match expr {
            Expr::Binary(BinaryOp::And | BinaryOp::Or, lhs, rhs) => {
                self.expr(lhs, place);
                self.expr(rhs, self.chosen(lhs, place));
            }
            Expr::Select(cond, then, otherwise) => {
                self.expr(cond, place);
                let chosen = self.chosen(cond, place);
                self.expr(then, chosen);
                self.expr(otherwise, chosen);
            }
            Expr::Subgroup(call) => {
                call.args.iter().for_each(|arg| self.expr(arg, place));
                let value = call.op.info().params.iter().position(|param| *param == Param::Value);
                let ty = value.and_then(|at| call.args.get(at)?.ty(self.function));
                self.place(call.op, ty, place);
            }
            _ => expr.operands().for_each(|operand| self.expr(operand, place)),
        }
    }

    /// An operand that is evaluated by the lanes which a condition chooses.
    fn chosen(&self, cond: &Expr, place: Point) -> Point {
        place.apart_if(self.divergence.varies(self.id, cond)).inside(Context::Choice)
    }

    fn place(&mut self, op: SubgroupOp, ty: Option<Type>, place: Point) {
        let whole = if place.apart { Context::Partial } else { Context::Uniform };
        self.placed.push(Placed { op, ty, contexts: place.contexts.with(whole) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_program::subgroup::Fold;
    use tangle_program::tree::{Arm, Builtin, Label, Local, MAX_BLOCK_DEPTH, Test};

    fn lane() -> Expr {
        Expr::Builtin(Builtin::Lane)
    }

    fn odd() -> Expr {
        Expr::binary(BinaryOp::Lt, lane(), Expr::Uint(1))
    }

    fn add() -> Expr {
        Expr::subgroup(SubgroupOp::Reduce(Fold::Add), [lane()])
    }

    /// The operation that is looked for.
    fn here() -> Stmt {
        Stmt::Assign { var: 0, value: add() }
    }

    fn when(cond: Expr, then: Block) -> Stmt {
        Stmt::If { cond, then, otherwise: Vec::new(), control: Default::default() }
    }

    fn repeat(kind: LoopKind, body: Block) -> Stmt {
        Stmt::Loop(Box::new(Loop {
            kind,
            counter: 1,
            bound: Expr::Uint(3),
            test: None,
            body,
            control: Default::default(),
        }))
    }

    fn update(update: Block) -> LoopKind {
        LoopKind::For { init: Expr::Uint(0), step: 1, update }
    }

    fn tested(kind: LoopKind) -> Stmt {
        let test = Some(Test { before: Vec::new(), cond: Expr::binary(BinaryOp::Lt, add(), Expr::Uint(9)) });
        Stmt::Loop(Box::new(Loop {
            kind,
            counter: 1,
            bound: Expr::Uint(3),
            test,
            body: Vec::new(),
            control: Default::default(),
        }))
    }

    fn switch(selector: Expr, bodies: Vec<Block>) -> Stmt {
        let arm = |(k, body): (usize, Block)| Arm { labels: vec![Label::Case(k as i64)], body };
        Stmt::Switch { selector, arms: bodies.into_iter().enumerate().map(arm).collect(), control: Default::default() }
    }

    #[test]
    fn a_place_has_every_context_that_it_stands_in() {
        use Context::*;
        let uniform = || Expr::binary(BinaryOp::Lt, Expr::Uniform(0), Expr::Uint(1));
        let otherwise =
            Stmt::If { cond: odd(), then: Vec::new(), otherwise: vec![here()], control: Default::default() };
        let chosen =
            Stmt::Assign { var: 0, value: Expr::Select(Box::new(odd()), Box::new(add()), Box::new(Expr::Uint(0))) };
        let table: Vec<(&str, Block, &[Context])> = vec![
            ("alone", vec![here()], &[Uniform]),
            ("an arm of all", vec![when(uniform(), vec![here()])], &[Uniform]),
            ("an arm", vec![when(odd(), vec![here()])], &[Partial, DivergentIf]),
            ("an else", vec![otherwise], &[Partial, ElseArm]),
            ("after an if", vec![when(odd(), vec![]), here()], &[Uniform]),
            ("a body", vec![repeat(LoopKind::While, vec![here()])], &[Uniform, LoopBody]),
            (
                "after a break",
                vec![repeat(LoopKind::While, vec![when(odd(), vec![Stmt::Break]), here()])],
                &[Partial, LoopBody, AfterBreak],
            ),
            ("after its loop", vec![repeat(LoopKind::While, vec![when(odd(), vec![Stmt::Break])]), here()], &[Uniform]),
            (
                "after a break of all",
                vec![repeat(LoopKind::While, vec![when(uniform(), vec![Stmt::Break]), here()])],
                &[Uniform, LoopBody],
            ),
            (
                "after a continue",
                vec![repeat(LoopKind::While, vec![when(odd(), vec![Stmt::Continue]), here()])],
                &[Partial, LoopBody, AfterContinue],
            ),
            ("after a return", vec![when(odd(), vec![Stmt::Return(None)]), here()], &[Partial, AfterReturn]),
            (
                "after a return from a loop",
                vec![repeat(LoopKind::While, vec![when(odd(), vec![Stmt::Return(None)])]), here()],
                &[Partial, AfterReturn],
            ),
            ("an update", vec![repeat(update(vec![here()]), vec![])], &[Uniform, ContinueConstruct]),
            ("a condition", vec![tested(LoopKind::While)], &[Uniform, LoopCondition]),
            ("a condition at the end", vec![tested(LoopKind::DoWhile)], &[Uniform, DoWhileCondition]),
            ("a segment", vec![switch(lane(), vec![vec![here()]])], &[Partial, SwitchCase]),
            ("a segment of all", vec![switch(Expr::Uniform(0), vec![vec![here()]])], &[Uniform, SwitchCase]),
            (
                "a segment that is fallen into",
                vec![switch(lane(), vec![vec![], vec![here()]])],
                &[Partial, SwitchCase, Fallthrough],
            ),
            (
                "after a segment that ends",
                vec![switch(lane(), vec![vec![Stmt::Break], vec![here()]])],
                &[Partial, SwitchCase],
            ),
            ("a choice", vec![chosen], &[Partial, Choice]),
        ];
        for (what, body, contexts) in table {
            let local = |name: &str| Local::new(name, Type::UINT);
            let function = Function {
                name: "main".into(),
                params: Vec::new(),
                result: None,
                locals: vec![local("a"), local("i")],
                body,
            };
            let helper = Function { name: "helper".into(), ..function.clone() };
            let one = operations(&Program { shared: Vec::new(), functions: vec![function.clone()] });
            let [placed] = one[..] else { panic!("{what}: {one:?}") };
            assert_eq!(placed.contexts.iter().collect::<Vec<_>>(), contexts, "{what}");
            assert_eq!(placed.ty, Some(Type::UINT));
            let two = operations(&Program { shared: Vec::new(), functions: vec![helper, function] });
            assert_eq!(two[0].contexts, placed.contexts.with(Callee), "{what}, in a function");
            assert_eq!(two[1], placed);
        }
    }

    /// What is inside loops inside loops is gone through once for each of them, not once for each set of them.
    #[test]
    fn loops_nest_as_deep_as_is_valid() {
        let deep = (1..MAX_BLOCK_DEPTH).fold(vec![here()], |body, _| vec![repeat(LoopKind::While, body)]);
        let main = Function {
            name: "main".into(),
            params: Vec::new(),
            result: None,
            locals: ["a", "i"].map(|name| Local::new(name, Type::UINT)).into(),
            body: deep,
        };
        let placed = operations(&Program { shared: Vec::new(), functions: vec![main] });
        assert_eq!(placed.len(), 1);
    }
}
