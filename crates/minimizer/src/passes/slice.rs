//! Keep some log sites, and of the rest of the program only what leads to them.
//!
//! A statement is *relevant* if by the rules of the language it can change what the kept sites log:
//!
//! - a kept log; an assignment to a relevant variable; a call that does either inside;
//! - a construct with something relevant in it, and then the jumps out of it; a `return` of a function with something relevant.
//!
//! A variable is relevant if a relevant statement reads it. Subgroup operations depend on which lanes execute them, so what
//! decides on a relevant statement is relevant, too.

use std::collections::HashSet;

use tangle_program::case::Case;
use tangle_program::tree::{Arg, Block, Direction, Function, Program, SiteId, Stmt, VarId, walk_block};

use super::candidates::{Candidates, chunks, each, zero};
use super::variables::drop_unused;
use crate::access::{reads, stmts};

/// All sites (only what leads to none of them goes), then halves, quarters, and so on down to single ones.
pub fn candidates(case: &Case) -> Candidates<'_> {
    let sites: Vec<SiteId> = stmts(&case.program).into_iter().filter_map(|(_, stmt)| site_of(stmt)).collect();
    let mut sets = vec![sites.clone()];
    sets.extend(chunks(sites.len()).into_iter().map(|(start, len)| sites[start..start + len].to_vec()));
    each(case, sets, |case, keep| case.program = slice(&case.program, &keep.into_iter().collect()))
}

/// The site of a log.
pub fn site_of(stmt: &Stmt) -> Option<SiteId> {
    if let Stmt::Log { site, .. } = stmt { Some(*site) } else { None }
}

/// The program with this log site only.
pub fn only(program: &Program, site: SiteId) -> Program {
    slice(program, &HashSet::from([site]))
}

/// The program with only the statements that lead to the sites of `keep`.
fn slice(program: &Program, keep: &HashSet<SiteId>) -> Program {
    let mut marks = Marks::of(program, keep);
    let mut sliced = program.clone();
    for (id, function) in sliced.functions.iter_mut().enumerate() {
        marks.current = id;
        marks.next = 0;
        function.body = marks.kept(&function.body);
        if !marks.functions[id].result
            && let (Some(ty), Some(Stmt::Return(value))) = (function.result, function.body.last_mut())
        {
            *value = Some(zero(ty));
        }
    }
    drop_unused(&mut sliced);
    sliced
}

/// What is relevant in one function.
struct Relevant {
    vars: Vec<bool>,
    /// By number in the order of the text.
    stmts: Vec<bool>,
    /// Whether anything in it is, or a call of it.
    any: bool,
    /// Whether it logs at a kept site, or calls what does.
    logs: bool,
    /// Whether its result is.
    result: bool,
}

struct Marks<'a> {
    program: &'a Program,
    keep: &'a HashSet<SiteId>,
    functions: Vec<Relevant>,
    changed: bool,
    current: usize,
    /// Number of the next statement.
    next: usize,
}

/// The constructs around a statement, by their numbers.
#[derive(Clone, Copy, Default)]
struct Around {
    broken: Option<usize>,
    continued: Option<usize>,
}

impl<'a> Marks<'a> {
    fn of(program: &'a Program, keep: &'a HashSet<SiteId>) -> Marks<'a> {
        let none = |function: &Function| {
            let mut count = 0;
            walk_block(&function.body, &mut |_| count += 1);
            let vars = vec![false; function.var_count()];
            Relevant { vars, stmts: vec![false; count], any: false, logs: false, result: false }
        };
        let functions = program.functions.iter().map(none).collect();
        let mut marks = Marks { program, keep, functions, changed: true, current: 0, next: 0 };
        // Marks only ever appear.
        while marks.changed {
            marks.changed = false;
            // Callers first: they say what they need.
            for id in (0..program.functions.len()).rev() {
                marks.current = id;
                marks.next = 0;
                let any = marks.block(&program.functions[id].body, Around::default());
                marks.changed |= any && !marks.functions[id].any;
                marks.functions[id].any |= any;
            }
        }
        marks
    }

    fn here(&mut self) -> &mut Relevant {
        &mut self.functions[self.current]
    }

    fn mark_var(&mut self, function: usize, var: VarId) {
        if let Some(mark) = self.functions[function].vars.get_mut(var as usize) {
            self.changed |= !*mark;
            *mark = true;
        }
    }

    fn has_var(&self, function: usize, var: VarId) -> bool {
        self.functions[function].vars.get(var as usize).copied().unwrap_or(false)
    }

    /// Marks what is relevant in a block; true if anything is.
    fn block(&mut self, block: &Block, around: Around) -> bool {
        let mut any = false;
        for stmt in block {
            any |= self.stmt(stmt, around);
        }
        any
    }

    fn stmt(&mut self, stmt: &Stmt, around: Around) -> bool {
        let number = self.next;
        self.next += 1;
        let inside = match stmt {
            Stmt::Switch { .. } => Around { broken: Some(number), ..around },
            Stmt::Loop(_) => Around { broken: Some(number), continued: Some(number) },
            _ => around,
        };
        let mut nested = false;
        for block in stmt.nested_blocks() {
            nested |= self.block(block, inside);
        }
        let is = |marks: &Marks<'_>, target: Option<usize>| {
            target.is_some_and(|target| marks.functions[marks.current].stmts[target])
        };
        let relevant = nested
            || match stmt {
                Stmt::Log { site, .. } => self.keep.contains(site),
                Stmt::Loop(l) => self.has_var(self.current, l.counter),
                Stmt::Break => is(self, around.broken),
                Stmt::Continue => is(self, around.continued),
                Stmt::Return(_) => self.here().any,
                Stmt::Call { function, args, dest } => self.call(*function as usize, args, *dest),
                // What goes through memory is not followed; another pass deletes it.
                Stmt::Store { .. } | Stmt::Atomic(_) | Stmt::ControlBarrier(_) => !self.program.shared.is_empty(),
                Stmt::If { .. } | Stmt::Switch { .. } | Stmt::SubgroupBarrier(_) => false,
                // What gives no value leads to nothing, but a compiler may make something of it.
                _ => {
                    let mut written = stmt.written().peekable();
                    written.peek().is_none() || written.any(|var| self.has_var(self.current, var))
                }
            };
        if relevant {
            self.changed |= !self.here().stmts[number];
            self.here().stmts[number] = true;
            self.read_by(stmt);
            if matches!(stmt, Stmt::Log { .. }) {
                self.changed |= !self.here().logs;
                self.here().logs = true;
            }
        }
        relevant
    }

    /// Marks the variables that a relevant statement reads.
    fn read_by(&mut self, stmt: &Stmt) {
        let current = self.current;
        match stmt {
            // A call knows which of its arguments matter.
            Stmt::Call { .. } => {}
            Stmt::Return(_) if !self.here().result => {}
            _ => stmt.direct_exprs().flat_map(reads).for_each(|var| self.mark_var(current, var)),
        }
    }

    fn call(&mut self, callee: usize, args: &[Arg], dest: Option<VarId>) -> bool {
        let Some(function) = self.program.functions.get(callee) else { return false };
        let current = self.current;
        if dest.is_some_and(|dest| self.has_var(current, dest)) {
            self.changed |= !self.functions[callee].result;
            self.functions[callee].result = true;
        }
        for (id, arg) in (0..).zip(args) {
            if matches!(arg, Arg::Out(var) if self.has_var(current, *var)) {
                self.mark_var(callee, id);
            }
        }
        let gives = (0..).zip(args).any(|(id, arg)| matches!(arg, Arg::Out(_)) && self.has_var(callee, id));
        let relevant = self.functions[callee].logs || self.functions[callee].result || gives;
        if !relevant {
            return false;
        }
        self.changed |= !self.functions[callee].any;
        self.functions[callee].any = true;
        self.changed |= self.functions[callee].logs && !self.here().logs;
        self.here().logs |= self.functions[callee].logs;
        for (id, (param, arg)) in (0..).zip(function.params.iter().zip(args)) {
            match arg {
                Arg::In(value) if self.has_var(callee, id) => {
                    reads(value).into_iter().for_each(|var| self.mark_var(current, var));
                }
                Arg::Out(var) if param.direction == Direction::Inout && self.has_var(callee, id) => {
                    self.mark_var(current, *var);
                }
                _ => {}
            }
        }
        true
    }

    /// The relevant statements of a block.
    fn kept(&mut self, block: &Block) -> Block {
        let mut kept = Vec::new();
        for stmt in block {
            let relevant = self.functions[self.current].stmts[self.next];
            self.next += 1;
            let copy = self.kept_stmt(stmt);
            if relevant {
                kept.push(copy);
            }
        }
        kept
    }

    fn kept_stmt(&mut self, stmt: &Stmt) -> Stmt {
        let mut stmt = stmt.clone();
        stmt.nested_blocks_mut().into_iter().for_each(|block| *block = self.kept(block));
        if let Stmt::Call { dest, .. } = &mut stmt {
            *dest = dest.filter(|dest| self.has_var(self.current, *dest));
        }
        stmt
    }
}
