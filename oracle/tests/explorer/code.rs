//! Programs as lists of instructions, and what one lane does with an instruction.

use super::program::{Arm, Form, Node, Op, PerLane, Program};

/// Number of a construct in the text: a selection, a loop, a call.
pub type Construct = u32;
/// Where an instruction stands.
pub type Pc = u32;

/// What decides a choice; the number that it gives is the way.
#[derive(Clone, Debug)]
pub enum By {
    Mask(u32),
    /// 1 as long as the counter is below.
    Trips(usize, PerLane),
    Selector(PerLane),
    Elected,
}

#[derive(Clone, Debug)]
pub enum Instr {
    /// A static operation; the site that it logs first, if it is the first of an entry.
    Op {
        id: u32,
        op: Op,
        site: Option<u32>,
    },
    Choose {
        by: By,
        ways: Vec<Pc>,
    },
    /// Header of a selection or loop, or a call.
    Open(Construct),
    /// Its merge block; behind a call, the instruction after it.
    Close(Construct),
    /// Header of a loop, once for each iteration.
    Iterate,
    /// Continue target of a loop.
    Continue(Construct),
    /// A label of a switch.
    Label,
    /// Out of everything inside of `within`.
    Jump {
        to: Pc,
        within: Construct,
    },
    Reset(usize),
    Count(usize),
    Call(Pc),
    Return,
}

/// A construct that a lane is in. `entry` and `iteration` tell which lanes came in together: those with the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inside {
    pub construct: Construct,
    pub entry: u32,
    pub iteration: u32,
    /// A call: no construct of SPIR-V's (docs/rules.md, section R).
    pub is_call: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Frame {
    back: Pc,
    depth: usize,
}

/// Where a lane is, and what it has logged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lane {
    pub pc: Pc,
    pub inside: Vec<Inside>,
    pub elected: bool,
    pub log: Vec<u32>,
    counters: Vec<u32>,
    frames: Vec<Frame>,
}

pub struct Code {
    pub instrs: Vec<Instr>,
    main: Pc,
    counters: usize,
}

/// After the end of `main`.
pub const END: Pc = Pc::MAX;

impl Code {
    pub fn of(program: &Program) -> Code {
        let mut emit = Emit { instrs: Vec::new(), functions: Vec::new(), constructs: 0, counters: 0 };
        for body in &program.functions {
            emit.functions.push(emit.here());
            emit.block(body, Targets { broken: None, continued: None });
            emit.instrs.push(Instr::Return);
        }
        let main = emit.functions.pop().expect("there is main");
        let Emit { mut instrs, counters, .. } = emit;
        // Placeholders of places were numbered by construct; now they are known.
        let places: Vec<(Construct, Pc, bool)> = instrs.iter().enumerate().filter_map(place).collect();
        let find = |pc: Pc| match pc.checked_sub(FIRST_MARK) {
            None => pc,
            Some(mark) => {
                let (construct, is_close) = (mark / 2, mark % 2 == 1);
                places.iter().find(|&&(c, _, close)| c == construct && close == is_close).expect("it was emitted").1
            }
        };
        for instr in &mut instrs {
            match instr {
                Instr::Choose { ways, .. } => ways.iter_mut().for_each(|way| *way = find(*way)),
                Instr::Jump { to, .. } => *to = find(*to),
                _ => {}
            }
        }
        Code { instrs, main, counters }
    }

    pub fn start(&self) -> Lane {
        let (counters, frames) = (vec![0; self.counters], Vec::new());
        Lane { pc: self.main, inside: Vec::new(), elected: false, log: Vec::new(), counters, frames }
    }

    pub fn at(&self, lane: &Lane) -> Option<&Instr> {
        (lane.pc != END).then(|| &self.instrs[lane.pc as usize])
    }

    /// The lane with this index executes its instruction; waiting for others, and operations, are not its business. Gives the way that
    /// it went: lanes together go on together if they go the same way.
    pub fn step(&self, lane: &mut Lane, index: usize) -> u32 {
        let Some(instr) = self.at(lane) else { return 0 };
        lane.pc += 1;
        match instr {
            Instr::Op { .. } | Instr::Iterate | Instr::Continue(_) | Instr::Label => 0,
            Instr::Choose { by, ways } => {
                let way = match by {
                    By::Mask(mask) => mask >> index & 1,
                    By::Trips(counter, trips) => u32::from(lane.counters[*counter] < trips[index]),
                    By::Selector(selectors) => selectors[index],
                    By::Elected => u32::from(lane.elected),
                };
                lane.pc = ways[way as usize];
                way
            }
            Instr::Open(construct) => {
                let is_call = matches!(self.instrs[lane.pc as usize], Instr::Call(_));
                lane.inside.push(Inside { construct: *construct, entry: 0, iteration: 0, is_call });
                0
            }
            Instr::Close(_) => {
                lane.inside.pop();
                0
            }
            Instr::Jump { to, within } => {
                while lane.inside.last().is_some_and(|inside| inside.construct != *within) {
                    lane.inside.pop();
                }
                lane.pc = *to;
                0
            }
            Instr::Reset(counter) => {
                lane.counters[*counter] = 0;
                0
            }
            Instr::Count(counter) => {
                lane.counters[*counter] += 1;
                0
            }
            Instr::Call(callee) => {
                lane.frames.push(Frame { back: lane.pc, depth: lane.inside.len() });
                lane.pc = *callee;
                0
            }
            Instr::Return => {
                let Frame { back, depth } = lane.frames.pop().unwrap_or(Frame { back: END, depth: 0 });
                lane.inside.truncate(depth);
                lane.pc = back;
                back
            }
        }
    }
}

/// Places that are not known yet: `FIRST_MARK + 2 * construct` is its continue target, one more its merge block.
const FIRST_MARK: Pc = 1 << 20;

fn place((at, instr): (usize, &Instr)) -> Option<(Construct, Pc, bool)> {
    match instr {
        Instr::Close(construct) => Some((*construct, at as Pc, true)),
        Instr::Continue(construct) => Some((*construct, at as Pc, false)),
        _ => None,
    }
}

/// Where `break` and `continue` go.
#[derive(Clone, Copy)]
struct Targets {
    broken: Option<Construct>,
    continued: Option<Construct>,
}

struct Emit {
    instrs: Vec<Instr>,
    functions: Vec<Pc>,
    constructs: Construct,
    counters: usize,
}

impl Emit {
    fn here(&self) -> Pc {
        self.instrs.len() as Pc
    }

    fn open(&mut self) -> Construct {
        self.constructs += 1;
        self.instrs.push(Instr::Open(self.constructs));
        self.constructs
    }

    fn merge_of(construct: Construct) -> Pc {
        FIRST_MARK + 2 * construct + 1
    }

    fn leave(&mut self, construct: Construct) {
        self.instrs.push(Instr::Jump { to: Emit::merge_of(construct), within: construct });
    }

    fn choose(&mut self, by: By, ways: usize) -> usize {
        self.instrs.push(Instr::Choose { by, ways: vec![0; ways] });
        self.instrs.len() - 1
    }

    fn set_way(&mut self, choice: usize, way: usize, to: Pc) {
        if let Instr::Choose { ways, .. } = &mut self.instrs[choice] {
            ways[way] = to;
        }
    }

    fn see(&mut self, site: u32, ops: &[Op]) {
        for (i, &op) in ops.iter().enumerate() {
            self.instrs.push(Instr::Op { id: site * 8 + i as u32, op, site: (i == 0).then_some(site) });
        }
    }

    fn block(&mut self, nodes: &[Node], targets: Targets) {
        nodes.iter().for_each(|node| self.node(node, targets));
    }

    fn selection(&mut self, by: By, [then, otherwise]: [&[Node]; 2], targets: Targets) {
        let construct = self.open();
        let choice = self.choose(by, 2);
        self.set_way(choice, 1, self.here());
        self.block(then, targets);
        self.leave(construct);
        self.set_way(choice, 0, self.here());
        self.block(otherwise, targets);
        self.instrs.push(Instr::Close(construct));
    }

    fn node(&mut self, node: &Node, targets: Targets) {
        match node {
            Node::See { site, ops } => self.see(*site, ops),
            Node::If(mask, then, otherwise) => self.selection(By::Mask(*mask), [then, otherwise], targets),
            Node::Leader(site, then, otherwise) => {
                self.see(*site, &[Op::Elect]);
                self.selection(By::Elected, [then, otherwise], targets);
            }
            Node::Loop { form, trips, body, tail } => self.run_loop(*form, trips, body, *tail),
            Node::Switch(selectors, arms) => self.switch(selectors, arms, targets),
            Node::Break => self.leave(targets.broken.expect("there is something to break")),
            Node::Continue => {
                let within = targets.continued.expect("there is a loop");
                self.instrs.push(Instr::Jump { to: FIRST_MARK + 2 * within, within });
            }
            Node::Return => self.instrs.push(Instr::Return),
            Node::Call(callee) => {
                let construct = self.open();
                self.instrs.push(Instr::Call(self.functions[*callee]));
                self.instrs.push(Instr::Close(construct));
            }
        }
    }

    /// In the shape of rule G2.
    fn run_loop(&mut self, form: Form, trips: &PerLane, body: &[Node], tail: Option<(u32, Op)>) {
        let counter = self.counters;
        self.counters += 1;
        self.instrs.push(Instr::Reset(counter));
        let construct = self.open();
        let inside = Targets { broken: Some(construct), continued: Some(construct) };
        let header = self.here();
        self.instrs.push(Instr::Iterate);
        let tail = |emit: &mut Emit| tail.iter().for_each(|(site, op)| emit.see(*site, &[*op]));
        let test = |emit: &mut Emit| emit.choose(By::Trips(counter, *trips), 2);
        if form == Form::While {
            tail(self);
        }
        let mut choice = 0;
        if form != Form::DoWhile {
            choice = test(self);
            self.set_way(choice, 1, self.here());
        }
        if form != Form::For {
            self.instrs.push(Instr::Count(counter));
        }
        self.block(body, inside);
        self.instrs.push(Instr::Continue(construct));
        match form {
            Form::For => {
                self.instrs.push(Instr::Count(counter));
                tail(self);
                self.instrs.push(Instr::Jump { to: header, within: construct });
            }
            Form::While => self.instrs.push(Instr::Jump { to: header, within: construct }),
            Form::DoWhile => {
                tail(self);
                choice = test(self);
                self.set_way(choice, 1, header);
            }
        }
        self.set_way(choice, 0, Emit::merge_of(construct));
        self.instrs.push(Instr::Close(construct));
    }

    fn switch(&mut self, selectors: &PerLane, arms: &[Arm], targets: Targets) {
        let construct = self.open();
        let choice = self.choose(By::Selector(*selectors), 4);
        let inside = Targets { broken: Some(construct), ..targets };
        (0..4).for_each(|way| self.set_way(choice, way, Emit::merge_of(construct)));
        let labelled: Vec<u32> = arms.iter().flat_map(|arm| arm.cases.iter().copied()).collect();
        for arm in arms {
            let here = self.here();
            arm.cases.iter().for_each(|&case| self.set_way(choice, case as usize, here));
            if arm.default {
                let others = (0..4).filter(|selector| !labelled.contains(selector));
                others.for_each(|other| self.set_way(choice, other as usize, here));
            }
            self.instrs.push(Instr::Label);
            self.block(&arm.body, inside);
        }
        self.instrs.push(Instr::Close(construct));
    }
}
