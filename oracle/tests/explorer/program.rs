//! Small programs: what they are, the case that a device would run, and random ones.

use tangle_program::case::{Case, Tier};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Block, Builtin, Expr, Label, LoopKind, Stmt, VarId};
use tangle_program::types::Scalar;

use crate::common::{self, arm, bin, call, counted, either, function, lane, log, repeat, set, switch, uint, var};

/// Invocations of a program at most.
pub const MOST: usize = 8;

/// One value for every invocation.
pub type PerLane = [u32; MOST];

/// A subgroup operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// `subgroupBallot(true)`
    Ballot,
    /// `subgroupBallot` of the odd lanes.
    Odd,
    /// `subgroupAdd(lane + 1)`
    Sum,
    /// `subgroupExclusiveAdd(lane + 1)`
    Scan,
    /// `subgroupBroadcastFirst(lane)`
    First,
    /// `subgroupElect()`
    Elect,
}

impl Op {
    /// What it gives a lane of a tangle.
    pub fn of(self, tangle: u32, lane: u32) -> u32 {
        let sum = |lanes: u32| (0..32).filter(|lane| lanes >> lane & 1 == 1).map(|lane| lane + 1).sum();
        match self {
            Op::Ballot => tangle,
            Op::Odd => tangle & 0xAAAA_AAAA,
            Op::Sum => sum(tangle),
            Op::Scan => sum(tangle & ((1 << lane) - 1)),
            Op::First => tangle.trailing_zeros(),
            Op::Elect => u32::from(tangle.trailing_zeros() == lane),
        }
    }

    fn expr(self) -> Expr {
        let op = |op, args: &[Expr]| Expr::subgroup(op, args);
        let number = || bin(lane(), BinaryOp::Add, uint(1));
        let ballot = |of| Expr::Component(Box::new(op(SubgroupOp::Ballot, &[of])), 0);
        match self {
            Op::Ballot => ballot(Expr::Bool(true)),
            Op::Odd => ballot(common::odd()),
            Op::Sum => op(SubgroupOp::Reduce(Fold::Add), &[number()]),
            Op::Scan => op(SubgroupOp::Exclusive(Fold::Add), &[number()]),
            Op::First => op(SubgroupOp::BroadcastFirst, &[lane()]),
            Op::Elect => Expr::Cast(Scalar::Uint, Box::new(op(SubgroupOp::Elect, &[]))),
        }
    }
}

/// Where the test of a loop stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    For,
    While,
    DoWhile,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Node {
    /// Logs what operations give.
    See {
        site: u32,
        ops: Vec<Op>,
    },
    /// The lanes of the mask go one way.
    If(u32, Vec<Node>, Vec<Node>),
    /// The elected lanes go one way, after they have logged that.
    Leader(u32, Vec<Node>, Vec<Node>),
    /// How often each lane goes round. `tail` stands where the iterations of a tangle come together: the increment of a `for`, the test of
    /// the others.
    Loop {
        form: Form,
        trips: PerLane,
        body: Vec<Node>,
        tail: Option<(u32, Op)>,
    },
    Switch(PerLane, Vec<Arm>),
    Break,
    Continue,
    Return,
    Call(usize),
}

/// A segment of a switch.
#[derive(Clone, Debug)]
pub struct Arm {
    pub cases: Vec<u32>,
    pub default: bool,
    pub body: Vec<Node>,
}

/// Functions, the last one `main`.
#[derive(Clone, Debug)]
pub struct Program {
    pub functions: Vec<Vec<Node>>,
}

// ---- as a case ----

/// The variables of a function that are taken.
#[derive(Default)]
struct Vars(VarId);

impl Vars {
    fn fresh(&mut self) -> VarId {
        self.0 += 1;
        self.0 - 1
    }
}

/// A value of each invocation, of `bits` bits.
fn of_lane(values: &PerLane, bits: u32) -> Expr {
    let packed = values.iter().rev().fold(0, |packed, value| packed << bits | value);
    let index = bin(Expr::Builtin(Builtin::LocalIndex), BinaryOp::BitAnd, uint(MOST as u32 - 1));
    let shift = if bits == 1 { index } else { bin(index, BinaryOp::Mul, uint(bits)) };
    bin(bin(uint(packed), BinaryOp::Shr, shift), BinaryOp::BitAnd, uint((1 << bits) - 1))
}

fn statements(nodes: &[Node], vars: &mut Vars) -> Block {
    nodes.iter().flat_map(|node| statement(node, vars)).collect()
}

fn statement(node: &Node, vars: &mut Vars) -> Block {
    let is_1 = |value| bin(value, BinaryOp::Eq, uint(1));
    let one = match node {
        Node::See { site, ops } => log(*site, ops.iter().map(|op| op.expr()).collect::<Vec<_>>()),
        Node::If(mask, then, otherwise) => {
            let bits = std::array::from_fn(|lane| mask >> lane & 1);
            let (then, otherwise) = (statements(then, vars), statements(otherwise, vars));
            either(is_1(of_lane(&bits, 1)), then, otherwise)
        }
        Node::Leader(site, then, otherwise) => {
            let elected = vars.fresh();
            let (then, otherwise) = (statements(then, vars), statements(otherwise, vars));
            return vec![
                set(elected, Op::Elect.expr()),
                log(*site, [var(elected)]),
                either(is_1(var(elected)), then, otherwise),
            ];
        }
        Node::Loop { form, trips, body, tail } => {
            let (counter, bound) = (vars.fresh(), of_lane(trips, 2));
            let tail: Block = tail.iter().map(|(site, op)| log(*site, [op.expr()])).collect();
            let body = statements(body, vars);
            let kind = match form {
                Form::For => return vec![counted(counter, bound, tail, body)],
                Form::While => LoopKind::While,
                Form::DoWhile => LoopKind::DoWhile,
            };
            let mut whole = repeat(kind, counter, 0, tail, body);
            if let Stmt::Loop(inner) = &mut whole {
                inner.bound = bound;
            }
            whole
        }
        Node::Switch(selectors, arms) => {
            let labels = |arm: &Arm| {
                let cases = arm.cases.iter().map(|&case| Label::Case(i64::from(case)));
                cases.chain(arm.default.then_some(Label::Default)).collect::<Vec<_>>()
            };
            let arms: Vec<_> = arms.iter().map(|a| arm(labels(a), statements(&a.body, vars))).collect();
            switch(of_lane(selectors, 2), arms)
        }
        Node::Break => Stmt::Break,
        Node::Continue => Stmt::Continue,
        Node::Return => Stmt::Return(None),
        Node::Call(callee) => call(*callee as u32),
    };
    vec![one]
}

impl Program {
    /// The case of one workgroup of `lanes` invocations.
    pub fn case(&self, lanes: u32, tier: Tier) -> Case {
        let last = self.functions.len() - 1;
        let functions = self.functions.iter().enumerate().map(|(i, body)| {
            let name = if i == last { "main".to_owned() } else { format!("f{i}") };
            function(&name, statements(body, &mut Vars::default()))
        });
        let mut case = common::case(functions.collect());
        case.tier = tier;
        case.entry_point.workgroups_mut().size = [lanes, 1, 1];
        case
    }
}

// ---- random ones ----

/// What a random program may be made of.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub lanes: u32,
    /// Jumps, switches, calls and the other loops, beside `if` and `for`.
    pub jumps: bool,
    /// Operations beside ballots; at a site, or with none there at all.
    pub operations: bool,
    /// Control flow that depends on who is elected.
    pub leaders: bool,
}

/// Draws lots.
pub struct Lots {
    state: u64,
    style: Style,
    site: u32,
    /// Functions made so far.
    functions: usize,
}

/// Where a statement stands.
#[derive(Clone, Copy)]
struct Place {
    depth: u32,
    in_loop: bool,
    in_switch: bool,
    is_main: bool,
}

impl Place {
    fn inside(self) -> Place {
        Place { depth: self.depth - 1, ..self }
    }
}

impl Lots {
    pub fn new(seed: u64, style: Style) -> Lots {
        Lots { state: (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15), style, site: 0, functions: 0 }
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn mask(&mut self) -> u32 {
        self.below(1 << self.style.lanes) as u32
    }

    fn per_lane(&mut self, n: u64) -> PerLane {
        std::array::from_fn(|_| self.below(n) as u32)
    }

    /// A program whose control flow is seldom uniform inside, so that there is something to explore.
    pub fn program(mut self) -> Program {
        let place = Place { depth: 2, in_loop: false, in_switch: false, is_main: false };
        let mut functions = Vec::new();
        if self.style.jumps && self.one_in(3) {
            let mut body = self.block(2, Place { depth: 1, ..place });
            body.insert(0, Node::If(self.mask(), vec![Node::Return], Vec::new()));
            body.extend((!jumps(&body)).then(|| self.see()));
            functions.push(body);
            self.functions = 1;
        }
        let main = Place { is_main: true, ..place };
        let mut body = match self.below(4) {
            0 => {
                let mut body = self.block(2, Place { in_loop: true, ..main });
                body.extend((!jumps(&body)).then(|| self.see()));
                let trips = std::array::from_fn(|_| 1 + self.below(2) as u32);
                vec![Node::Loop { form: self.form(), trips, body, tail: None }]
            }
            which @ (1 | 2) => {
                let mask = if which == 1 { self.below(2) as u32 | !1 } else { !(1 << (self.style.lanes - 1)) };
                let mut body = self.block(2, main);
                body.extend((!jumps(&body)).then(|| self.see()));
                vec![Node::If(mask & ((1 << self.style.lanes) - 1), body, Vec::new())]
            }
            _ => self.block(2, main),
        };
        if !jumps(&body) && self.one_in(2) {
            body.push(self.see());
        }
        functions.push(body);
        Program { functions }
    }

    fn form(&mut self) -> Form {
        match self.below(if self.style.jumps { 3 } else { 1 }) {
            0 => Form::For,
            1 => Form::While,
            _ => Form::DoWhile,
        }
    }

    fn fresh_site(&mut self) -> u32 {
        self.site += 1;
        self.site
    }

    fn op(&mut self) -> Op {
        [Op::Ballot, Op::Odd, Op::Sum, Op::Scan, Op::First, Op::Elect][self.below(6) as usize]
    }

    fn see(&mut self) -> Node {
        let site = self.fresh_site();
        let ops = match self.below(4) {
            0 | 1 => vec![Op::Ballot],
            2 if self.style.operations => vec![Op::Ballot, self.op()],
            3 if self.style.operations => vec![self.op()],
            _ => vec![Op::Ballot],
        };
        Node::See { site, ops }
    }

    fn block(&mut self, most: u64, place: Place) -> Vec<Node> {
        let mut block = Vec::new();
        for _ in 0..=self.below(most) {
            block.push(self.node(place));
            if jumps(&block) {
                break;
            }
        }
        block
    }

    fn node(&mut self, place: Place) -> Node {
        let kinds = match (place.depth, self.style.jumps) {
            (0, false) => 1,
            (0, true) => 2,
            (_, false) => 5,
            (_, true) => 9,
        };
        match self.below(kinds) {
            1 if self.style.jumps => self.jump(place),
            2 | 3 => {
                let (mask, then) = (self.mask(), self.block(2, place.inside()));
                let otherwise = if self.one_in(2) { Vec::new() } else { self.block(1, place.inside()) };
                match self.style.leaders && self.one_in(3) {
                    true => Node::Leader(self.fresh_site(), then, otherwise),
                    false => Node::If(mask, then, otherwise),
                }
            }
            4 => {
                let (form, trips) = (self.form(), self.per_lane(3));
                let body = self.block(1, Place { in_loop: true, in_switch: false, ..place.inside() });
                let tail = (self.style.jumps && self.one_in(3)).then(|| (self.fresh_site(), self.op()));
                let tail = tail.map(|(site, op)| (site, if self.style.operations { op } else { Op::Ballot }));
                Node::Loop { form, trips, body, tail }
            }
            5 => self.switch(place),
            6 if self.functions > 0 && place.is_main => Node::Call(0),
            7 if place.in_loop => Node::If(self.mask(), vec![self.jump(place)], Vec::new()),
            8 if self.style.operations => {
                let (site, op) = (self.fresh_site(), self.op());
                Node::See { site, ops: vec![op] }
            }
            _ => self.see(),
        }
    }

    /// A jump, where there is somewhere to go.
    fn jump(&mut self, place: Place) -> Node {
        match self.below(4) {
            0 if place.in_loop || place.in_switch => Node::Break,
            1 if place.in_loop => Node::Continue,
            2 if !place.is_main || self.one_in(4) => Node::Return,
            _ => self.see(),
        }
    }

    fn switch(&mut self, place: Place) -> Node {
        let selectors = self.per_lane(4);
        let place = Place { in_switch: true, ..place.inside() };
        let mut arms = Vec::new();
        let default = self.below(4);
        for case in 0..1 + self.below(3) as u32 {
            let mut body = self.block(1, place);
            if !jumps(&body) && self.one_in(2) {
                body.push(Node::Break);
            }
            arms.push(Arm { cases: vec![case], default: default == u64::from(case), body });
        }
        // The last segment must not be empty, nor end in a label.
        if let Some(arm) = arms.last_mut()
            && self.one_in(3)
        {
            arm.cases.push(3);
        }
        Node::Switch(selectors, arms)
    }
}

/// True if nobody comes to the end of the block.
fn jumps(block: &[Node]) -> bool {
    matches!(block.last(), Some(Node::Break | Node::Continue | Node::Return))
}
