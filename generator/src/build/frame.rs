//! The function being written: its variables, where control flow stands, and what it may still cost.

use tangle_program::tree::{Direction, Expr, Function, Local, Param, VarId};
use tangle_program::types::Type;

use super::estimate::{EstimatedMask, Guess};
use crate::class::{Class, Flow, Leaving};

/// What a variable is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Anything may read and write it.
    Data,
    /// Only its loop writes it.
    Counter,
    /// Only the template that made it writes it.
    Private,
    /// Nothing reads or writes it.
    Hidden,
}

/// What the generator knows about a variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Var {
    pub(crate) ty: Type,
    pub(crate) class: Class,
    pub(crate) role: Role,
    /// The same in all lanes of the tier's group, at every point; only counters of uniform loops are.
    pub(crate) uniform: bool,
    /// When it was last written, by [`Frame::clock`].
    pub(crate) written: u32,
}

/// What a value tested by an enclosing condition was, so that nested conditions test something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Lane,
    Local,
    Input(u32),
    Var(VarId),
    Other,
}

/// The kinds of constructs that statements can leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    If,
    Loop,
    Switch,
}

/// Which exits a loop may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exits {
    /// Any exits: some lanes may leave before others.
    Free,
    /// Only those that all lanes take together.
    Uniform,
}

/// A construct that is open at this point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) kind: Kind,
    pub(crate) leaving: Leaving,
    /// What a loop demands of its exits.
    pub(crate) exits: Exits,
}

/// How lanes leave where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Jump {
    Break,
    Continue,
    Return,
}

/// Costs of an invocation, by static bounds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) words: u32,
    pub(crate) steps: u32,
}

/// The function being written.
pub(crate) struct Frame {
    pub(crate) function: Function,
    pub(crate) vars: Vec<Var>,
    /// What the variables are believed to hold.
    pub(crate) guesses: Vec<Option<Guess>>,
    pub(crate) flow: Flow,
    /// Who is believed to come here.
    pub(crate) estimated: EstimatedMask,
    pub(crate) opens: Vec<Open>,
    /// How often this point runs in one call, at most.
    pub(crate) trips: u32,
    pub(crate) spent: Cost,
    pub(crate) limit: Cost,
    /// Type and class of the result.
    pub(crate) result: Option<(Type, Class)>,
    /// How lanes may come back from it.
    pub(crate) returns: Leaving,
    /// Loops and callers that rely on lanes staying together.
    pub(crate) together: u32,
    pub(crate) tested: Vec<Source>,
    pub(crate) clock: u32,
    /// 0 for `main`, 1 for what it calls, and so on.
    pub(crate) level: u32,
    /// Whether statements may return.
    pub(crate) may_return: bool,
    /// What is the same in all lanes that come here, though it may differ elsewhere.
    pub(crate) keys: Vec<Key>,
}

/// A uint or a mask that is uniform in a part of the program, by control flow or by assignment, where nothing else writes what it is made of.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) expr: Expr,
    pub(crate) ty: Type,
    /// Only as long as tangles are exact.
    pub(crate) exact: bool,
}

impl Frame {
    pub(crate) fn new(name: String, flow: Flow, estimated: EstimatedMask, limit: Cost, level: u32) -> Frame {
        Frame {
            function: Function { name, params: Vec::new(), result: None, locals: Vec::new(), body: Vec::new() },
            vars: Vec::new(),
            guesses: Vec::new(),
            flow,
            estimated,
            opens: Vec::new(),
            trips: 1,
            spent: Cost::default(),
            limit,
            result: None,
            returns: Leaving::Together,
            together: 0,
            tested: Vec::new(),
            clock: 0,
            level,
            may_return: level > 0,
            keys: Vec::new(),
        }
    }

    /// Declares a local; the name gets a number.
    pub(crate) fn local(&mut self, stem: &str, ty: Type, class: Class, role: Role) -> VarId {
        let id = self.vars.len() as VarId;
        self.function.locals.push(Local::new(format!("{stem}{id}"), ty));
        self.vars.push(Var { ty, class, role, uniform: false, written: 0 });
        self.guesses.push((ty.is_scalar() && role != Role::Counter).then(|| Guess::all(0)));
        id
    }

    /// Declares a parameter; all of them come before the first local.
    pub(crate) fn param(&mut self, direction: Direction, ty: Type, class: Class, guess: Option<Guess>) -> VarId {
        debug_assert!(self.function.locals.is_empty());
        let id = self.vars.len() as VarId;
        self.function.params.push(Param { name: format!("p{id}"), direction, ty });
        self.vars.push(Var { ty, class, role: Role::Data, uniform: false, written: 0 });
        self.guesses.push(guess);
        id
    }

    pub(crate) fn var(&self, id: VarId) -> Var {
        self.vars[id as usize]
    }

    /// Notes a write of something unknown.
    pub(crate) fn forget(&mut self, id: VarId) {
        self.guesses[id as usize] = None;
        self.touch(id);
    }

    /// Forgets what was written after that moment.
    pub(crate) fn forget_since(&mut self, clock: u32) {
        for (guess, var) in self.guesses.iter_mut().zip(&self.vars) {
            if var.written > clock {
                *guess = None;
            }
        }
    }

    /// Notes that the variable is written: it is the newest now.
    pub(crate) fn touch(&mut self, id: VarId) {
        self.clock += 1;
        self.vars[id as usize].written = self.clock;
    }

    /// True if one more thing of that cost at this point stays within the limit.
    pub(crate) fn affords(&self, cost: Cost) -> bool {
        let trips = u64::from(self.trips);
        u64::from(self.spent.words) + u64::from(cost.words) * trips <= u64::from(self.limit.words)
            && u64::from(self.spent.steps) + u64::from(cost.steps) * trips <= u64::from(self.limit.steps)
    }

    pub(crate) fn charge(&mut self, cost: Cost) {
        self.spent.words += cost.words * self.trips;
        self.spent.steps += cost.steps * self.trips;
    }

    /// What one execution of this point may still cost.
    pub(crate) fn room(&self) -> Cost {
        Cost {
            words: self.limit.words.saturating_sub(self.spent.words) / self.trips,
            steps: self.limit.steps.saturating_sub(self.spent.steps) / self.trips,
        }
    }

    pub(crate) fn open(&mut self, kind: Kind) {
        self.opens.push(Open { kind, leaving: Leaving::Together, exits: Exits::Free });
    }

    /// Closes the innermost construct; returns how lanes may have left it.
    pub(crate) fn close(&mut self) -> Leaving {
        let open = self.opens.pop().expect("a construct is open");
        self.together -= u32::from(open.exits == Exits::Uniform);
        open.leaving
    }

    /// Makes the innermost construct, a loop, one whose lanes stay together.
    pub(crate) fn keep_together(&mut self) {
        self.opens.last_mut().expect("a loop is open").exits = Exits::Uniform;
        self.together += 1;
    }

    /// The construct a jump goes out of.
    fn target(&self, jump: Jump) -> Option<usize> {
        self.opens.iter().rposition(|open| match jump {
            Jump::Break => open.kind != Kind::If,
            Jump::Continue => open.kind == Kind::Loop,
            Jump::Return => false,
        })
    }

    /// True if the jump may stand here.
    pub(crate) fn can_jump(&self, jump: Jump) -> bool {
        self.can_jump_from(self.flow, jump)
    }

    /// True if the jump may stand in a branch taken here that leads to `flow`.
    pub(crate) fn can_jump_from(&self, flow: Flow, jump: Jump) -> bool {
        let may_part = match self.target(jump) {
            Some(target) => self.opens[target].exits == Exits::Free,
            None if jump == Jump::Return => {
                return self.may_return && (flow.is_uniform() || self.together == 0);
            }
            None => return false,
        };
        may_part || flow.is_uniform()
    }

    /// Notes that a jump stands here.
    pub(crate) fn note_jump(&mut self, jump: Jump) {
        if self.flow.is_uniform() {
            return;
        }
        let left = self.target(jump).map_or(0, |target| target + 1);
        self.opens[left..].iter_mut().for_each(|open| open.leaving = Leaving::Apart);
        if jump == Jump::Return {
            self.returns = Leaving::Apart;
        }
    }

    /// True if a loop or a caller relies on the lanes of a call here coming back by one return.
    pub(crate) fn must_come_back_together(&self) -> bool {
        self.together > 0 && (self.flow.is_uniform() || self.opens.is_empty())
    }

    pub(crate) fn in_loop(&self) -> bool {
        self.opens.iter().any(|open| open.kind == Kind::Loop)
    }
}
