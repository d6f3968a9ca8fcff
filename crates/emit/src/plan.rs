//! What has to be known of a function before it is printed: where its locals are declared, what the shader has to declare for it and which
//! functions of its own the shader needs.

use std::collections::BTreeSet;

use rspirv::spirv::{Capability, ExecutionMode};

use tangle_analysis::cost::value_words;
use tangle_program::case::{Case, FloatMode};
use tangle_program::memory::{ArrayId, Shared};
use tangle_program::needs::{
    category_of, declared_scalars, declared_types, operated_scalar, rounded_scalars, scalar_of,
};
use tangle_program::ops::Intrinsic;
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::{Category, SubgroupOp};
use tangle_program::tree::{
    Block, Builtin, Expr, Function, Loop, LoopKind, MAX_ENTRY_WORDS, Stmt, SubgroupCall, VarId,
};
use tangle_program::types::Type;

use crate::printer::Dialect;
use crate::{hlsl, wgsl};

/// Where a variable is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declared {
    /// Nowhere: it is not mentioned.
    Never,
    /// At the top of the function.
    AtTop,
    /// By the statement that mentions it first.
    AtFirstMention,
    /// Before what is printed next.
    Already,
}

/// What has to be known of a function before it can be printed.
pub(crate) struct Plan {
    /// For each variable, parameters included.
    pub(crate) declared: Vec<Declared>,
    pub(crate) uses: Uses,
    /// The struct types that are mentioned.
    pub(crate) structs: BTreeSet<Type>,
    /// The functions that the shader has for itself, with the types of their operands.
    pub(crate) helpers: BTreeSet<(Helper, Type)>,
}

/// A function that the shader has because the language has none, or one with other results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Helper {
    /// In HLSL and WGSL: which bits of a ballot are those of lanes.
    Lanes,
    /// One of several results of a built-in function, or what a language has no built-in function for.
    Of(Intrinsic),
    /// In HLSL and WGSL: a subgroup operation that takes an expression of those that the language has.
    Wave(SubgroupOp),
}

/// What a function, or a whole shader, has to declare.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Uses {
    /// Bit `category as u16`.
    pub(crate) categories: u16,
    /// Bit `scalar as u16`: a type that is mentioned.
    pub(crate) scalars: u16,
    /// Bit `scalar as u16`: a type that a subgroup operation works on.
    pub(crate) operated: u16,
    /// Bit n: an entry of n words besides the site is logged.
    pub(crate) entries: u64,
    /// Bit `scalar as u16`: a type of a logged value.
    pub(crate) logged: u16,
    pub(crate) lane: bool,
    pub(crate) subgroup_size: bool,
    pub(crate) workgroup_index: bool,
    pub(crate) inputs: bool,
    pub(crate) uniforms: bool,
    pub(crate) push: bool,
    /// Bit `k`: specialisation constant `k`.
    pub(crate) constants: u32,
    /// A control-flow attribute, of a selection or a loop.
    pub(crate) attributes: bool,
    /// What the compiler may expect or assume.
    pub(crate) hints: bool,
    /// Integer dot products of packed bytes.
    pub(crate) dots: bool,
    /// Instructions of SPIR-V that are functions of the shader.
    pub(crate) instructions: bool,
    /// Bit `class as u8`: an array of descriptors.
    pub(crate) resources: u8,
    /// A non-uniform index of one.
    pub(crate) non_uniform: bool,
    /// In HLSL: a function of the shader for a ballot, which asks for the lane or for the number of lanes.
    pub(crate) ballots: bool,
}

impl Uses {
    pub(crate) fn and(self, other: Uses) -> Uses {
        Uses {
            categories: self.categories | other.categories,
            scalars: self.scalars | other.scalars,
            operated: self.operated | other.operated,
            entries: self.entries | other.entries,
            logged: self.logged | other.logged,
            lane: self.lane | other.lane,
            subgroup_size: self.subgroup_size | other.subgroup_size,
            workgroup_index: self.workgroup_index | other.workgroup_index,
            inputs: self.inputs | other.inputs,
            uniforms: self.uniforms | other.uniforms,
            push: self.push | other.push,
            constants: self.constants | other.constants,
            attributes: self.attributes | other.attributes,
            hints: self.hints | other.hints,
            dots: self.dots | other.dots,
            instructions: self.instructions | other.instructions,
            resources: self.resources | other.resources,
            non_uniform: self.non_uniform | other.non_uniform,
            ballots: self.ballots | other.ballots,
        }
    }

    /// The arrays of descriptors that there are.
    pub(crate) fn resource_classes(self) -> impl Iterator<Item = ResourceClass> {
        ResourceClass::ALL.into_iter().filter(move |&class| self.resources >> class as u8 & 1 == 1)
    }

    pub(crate) fn add_category(&mut self, category: Category) {
        self.categories |= 1 << category as u16;
        if category == Category::QuadControl {
            // The functions need both extensions (GL_EXT_shader_quad_control §8.18).
            self.add_category(Category::Vote);
        }
    }

    pub(crate) fn has_category(&self, category: Category) -> bool {
        self.categories >> category as u16 & 1 == 1
    }
}

/// Goes through the statements of a function in the order of the text; finds out where its locals are declared and what it uses.
struct Planner<'a> {
    case: &'a Case,
    dialect: Dialect,
    function: &'a Function,
    uses: Uses,
    /// For each variable: how often it was mentioned so far.
    mentions: Vec<u32>,
    /// The locals that the statement that mentions them first can declare.
    at_first_mention: Vec<VarId>,
    /// Loop counters, and how often they are mentioned by their loops (in the head, too, but not in the initial value).
    inside_loops: Vec<(VarId, u32)>,
    structs: BTreeSet<Type>,
    helpers: BTreeSet<(Helper, Type)>,
}

/// True if several workgroups have their slices in the array.
pub(crate) fn is_sliced(case: &Case, array: &Shared) -> bool {
    !array.storage.is_workgroup() && case.entry_point.groups() != 1
}

/// True if arrays are in a buffer.
pub(crate) fn has_buffer_arrays(case: &Case) -> bool {
    case.program.shared.iter().any(|array| !array.storage.is_workgroup())
}

pub(crate) fn plan(case: &Case, function: &Function, dialect: Dialect) -> Plan {
    let mut planner = Planner {
        case,
        dialect,
        function,
        uses: Uses::default(),
        mentions: vec![0; function.var_count()],
        at_first_mention: Vec::new(),
        inside_loops: Vec::new(),
        structs: declared_types(function).flat_map(Type::structs).collect(),
        helpers: BTreeSet::new(),
    };
    declared_scalars(function).for_each(|scalar| planner.uses.scalars |= 1 << scalar as u16);
    function.body.iter().for_each(|stmt| planner.top_level(stmt));
    let Planner { uses, mentions, at_first_mention, inside_loops, structs, helpers, .. } = planner;
    let mut declared: Vec<Declared> =
        mentions.iter().map(|&n| if n == 0 { Declared::Never } else { Declared::AtTop }).collect();
    // A counter that lives only in its loop is declared there, wherever the loop stands.
    let only_inside = |&(counter, inside): &(VarId, u32)| mentions.get(counter as usize) == Some(&inside);
    for var in inside_loops.into_iter().filter(only_inside).map(|(counter, _)| counter).chain(at_first_mention) {
        if let Some(declared) = declared.get_mut(var as usize) {
            *declared = Declared::AtFirstMention;
        }
    }
    declared[..function.params.len()].fill(Declared::Already);
    Plan { declared, uses, structs, helpers }
}

impl Planner<'_> {
    fn mention(&mut self, var: VarId) {
        if let Some(count) = self.mentions.get_mut(var as usize) {
            *count += 1;
        }
    }

    fn mentions(&self, var: VarId) -> u32 {
        self.mentions.get(var as usize).copied().unwrap_or(0)
    }

    /// A statement that runs at most once in a call, before everything that follows it in the text. If it writes a local that
    /// is mentioned neither before nor in what is written, it can declare it.
    fn top_level(&mut self, stmt: &Stmt) {
        let written = match stmt {
            Stmt::Assign { var, .. } | Stmt::Call { dest: Some(var), .. } => Some(*var),
            // The counter is set to zero before anything of such a loop is evaluated.
            Stmt::Loop(l) if !matches!(l.kind, LoopKind::For { .. }) => Some(l.counter),
            _ => None,
        };
        let first = written.filter(|&var| self.mentions(var) == 0);
        self.stmt(stmt);
        let is_loop = matches!(stmt, Stmt::Loop(_));
        let declares = first.filter(|&var| is_loop || self.mentions(var) == 1);
        self.at_first_mention.extend(declares);
    }

    fn block(&mut self, block: &Block) {
        block.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Log { values, .. } => {
                self.uses.entries |= 1 << entry_words(values, self.function);
                let tys = values.iter().filter_map(|value| value.ty(self.function));
                self.uses.logged |= tys.fold(0, |logged, ty| logged | 1 << ty.scalar as u16);
            }
            Stmt::If { control, .. } | Stmt::Switch { control, .. } => {
                self.uses.attributes |= !control.is_unspecified();
            }
            Stmt::Loop(l) => return self.repeated(l),
            Stmt::SubgroupBarrier(op) => self.uses.add_category(op.info().category),
            Stmt::Assume(_) => self.uses.hints = true,
            _ => {}
        }
        stmt.array().into_iter().for_each(|array| self.array(array));
        stmt.direct_exprs().for_each(|expr| self.expr(expr));
        stmt.nested_blocks().for_each(|block| self.block(block));
        stmt.written().for_each(|var| self.mention(var));
    }

    /// True if the shader has a function for a subgroup operation.
    fn has_helper(&self, call: &SubgroupCall) -> bool {
        match self.dialect {
            Dialect::Hlsl | Dialect::Slang => hlsl::spelling::is_helper(call.op),
            Dialect::Wgsl => wgsl::spelling::is_helper(call, self.function),
            Dialect::Vulkan | Dialect::OpenGl | Dialect::OpenGlArb => false,
        }
    }

    fn array(&mut self, array: ArrayId) {
        let array = self.case.program.shared.get(array as usize);
        self.uses.workgroup_index |= array.is_some_and(|array| is_sliced(self.case, array));
    }

    fn repeated(&mut self, l: &Loop) {
        self.uses.attributes |= !l.control.is_unspecified();
        if l.kind == LoopKind::Endless {
            return self.block(&l.body);
        }
        if let LoopKind::For { init, .. } = &l.kind {
            self.expr(init);
        }
        let before = self.mentions(l.counter);
        self.mention(l.counter);
        if let Some(test) = &l.test {
            self.block(&test.before);
            self.expr(&test.cond);
        }
        self.expr(&l.bound);
        self.block(&l.body);
        if let LoopKind::For { update, .. } = &l.kind {
            self.block(update);
        }
        self.inside_loops.push((l.counter, self.mentions(l.counter) - before));
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Var(var) => self.mention(*var),
            Expr::Builtin(Builtin::Lane) => self.uses.lane = true,
            Expr::Builtin(Builtin::SubgroupSize) => self.uses.subgroup_size = true,
            Expr::Builtin(Builtin::WorkgroupIndex) => self.uses.workgroup_index = true,
            Expr::Input(_) | Expr::InputOf(..) => self.uses.inputs = true,
            Expr::Uniform(_) => self.uses.uniforms = true,
            Expr::Vector(ty, _) => self.structs.extend(ty.structs()),
            Expr::Push(_) => self.uses.push = true,
            Expr::Constant(k) => self.uses.constants |= 1 << (*k).min(31),
            Expr::Load(load) => self.array(load.array),
            Expr::Resource(resource) => {
                self.uses.resources |= 1 << resource.class as u8;
                self.uses.non_uniform |= resource.non_uniform;
            }
            Expr::Intrinsic(Intrinsic::Expect, _) => self.uses.hints = true,
            Expr::Intrinsic(op, _) if op.is_dot() => self.uses.dots = true,
            Expr::Intrinsic(op, args) if has_helper(*op) => {
                self.uses.instructions |= op.is_signed_remainder();
                let ty = args.first().and_then(|arg| arg.ty(self.function));
                let result = ty.and_then(|ty| op.info().result(ty));
                self.uses.scalars |= result.map_or(0, |ty| 1 << ty.scalar as u16);
                self.helpers.extend(ty.map(|ty| (Helper::Of(*op), ty)));
            }
            Expr::Subgroup(call) if self.has_helper(call) => {
                let ty = call.args.first().and_then(|arg| arg.ty(self.function));
                self.helpers.extend(ty.map(|ty| (Helper::Wave(call.op), ty)));
                if hlsl::spelling::counts_lanes(call.op) {
                    self.helpers.insert((Helper::Lanes, Type::UINT));
                }
                self.uses.ballots |= hlsl::spelling::counts_lanes(call.op) || call.op == SubgroupOp::InverseBallot;
            }
            Expr::Bool(_)
            | Expr::Int(_)
            | Expr::Uint(_)
            | Expr::Float(..)
            | Expr::Builtin(_)
            | Expr::Flat(_)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Select(..)
            | Expr::Cast(..)
            | Expr::Intrinsic(..)
            | Expr::Component(..)
            | Expr::Subgroup(_)
            | Expr::Element(..) => {}
        }
        if let Some(category) = category_of(expr) {
            self.uses.add_category(category);
        }
        if let Some(scalar) = scalar_of(expr) {
            self.uses.scalars |= 1 << scalar as u16;
        }
        rounded_scalars(expr, self.function).for_each(|scalar| self.uses.scalars |= 1 << scalar as u16);
        if let Some(scalar) = operated_scalar(expr, self.function) {
            self.uses.operated |= 1 << scalar as u16;
        }
        expr.operands().for_each(|operand| self.expr(operand));
    }
}

/// The structs of a shader, in an order in which they can be declared: those that have no others within, then those that have these.
pub(crate) fn structs(plans: &[Plan]) -> Vec<Type> {
    let found: BTreeSet<Type> = plans.iter().flat_map(|plan| plan.structs.iter().copied()).collect();
    let mut found: Vec<Type> = found.into_iter().collect();
    found.sort_by_key(|ty| ty.depth());
    found
}

/// True for the built-in functions that a shader has a function of its own for, in some language.
const fn has_helper(op: Intrinsic) -> bool {
    matches!(op, Intrinsic::MulHigh | Intrinsic::AddCarry | Intrinsic::SubBorrow)
        || op.is_signed_remainder()
        || op.is_of_bits()
        || op.rounded().is_some()
}

/// Words of a log entry besides the site. A valid one has at most [`MAX_ENTRY_WORDS`].
pub(crate) fn entry_words(values: &[Expr], function: &Function) -> u64 {
    values.iter().map(|value| value_words(value, function)).sum::<u64>().min(MAX_ENTRY_WORDS)
}

/// The extension of SPIR-V that has the modes before version 1.4.
pub(crate) const FLOAT_CONTROLS: &str = "SPV_KHR_float_controls";

/// The numbers of the capability and of the execution mode.
pub(crate) const fn mode_numbers(mode: FloatMode) -> [u32; 2] {
    match mode {
        FloatMode::SignedZeroInfNanPreserve => {
            [Capability::SignedZeroInfNanPreserve as u32, ExecutionMode::SignedZeroInfNanPreserve as u32]
        }
        FloatMode::DenormPreserve => [Capability::DenormPreserve as u32, ExecutionMode::DenormPreserve as u32],
        FloatMode::RoundingModeRTE => [Capability::RoundingModeRTE as u32, ExecutionMode::RoundingModeRTE as u32],
        FloatMode::RoundingModeRTZ => [Capability::RoundingModeRTZ as u32, ExecutionMode::RoundingModeRTZ as u32],
    }
}
