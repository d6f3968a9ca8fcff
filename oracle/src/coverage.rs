//! What was tested: operation × type × context, and operation × type × stage, over many cases.
//!
//! A cell counts places in programs (*generated*), executions by lanes (*reached*), and compared values that came from such a place
//! (*checked*). An operation that is generated and never checked is not tested. Cells that stay empty for a reason are listed in one
//! table, [`EXEMPTIONS`]; every other empty cell is a [`Gap`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use tangle_analysis::context::{Context, Placed};
use tangle_program::case::Stage;
use tangle_program::subgroup::{Category, Gives, OpInfo, SubgroupOp, TABLE};
use tangle_program::types::{Scalar, Type};

use crate::predict::OpUse;

/// Counts of one cell. JSON form is the list of the three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 3]", into = "[u64; 3]")]
pub struct Cell {
    /// Places in programs, each counted once for every case with the program.
    pub generated: u64,
    /// Executions there, one for each lane.
    pub reached: u64,
    /// Compared values that came from there.
    pub checked: u64,
}

impl From<[u64; 3]> for Cell {
    fn from([generated, reached, checked]: [u64; 3]) -> Cell {
        Cell { generated, reached, checked }
    }
}

impl From<Cell> for [u64; 3] {
    fn from(cell: Cell) -> [u64; 3] {
        [cell.generated, cell.reached, cell.checked]
    }
}

impl AddAssign for Cell {
    fn add_assign(&mut self, other: Cell) {
        self.generated += other.generated;
        self.reached += other.reached;
        self.checked += other.checked;
    }
}

/// The cells of an operation, with one type or with all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageRow {
    /// The sum over contexts, each place once.
    pub anywhere: Cell,
    /// By context; contexts where it never stood are left out.
    pub contexts: BTreeMap<Context, Cell>,
    /// By stage; those where it never stood are left out.
    #[serde(default)]
    pub stages: BTreeMap<Stage, Cell>,
}

impl CoverageRow {
    /// The cell of a context.
    pub fn cell(&self, context: Context) -> Cell {
        self.contexts.get(&context).copied().unwrap_or_default()
    }

    /// The cell of a stage.
    pub fn in_stage(&self, stage: Stage) -> Cell {
        self.stages.get(&stage).copied().unwrap_or_default()
    }

    fn add(&mut self, other: &CoverageRow) {
        self.anywhere += other.anywhere;
        for (&stage, &cell) in &other.stages {
            *self.stages.entry(stage).or_default() += cell;
        }
        for (&context, &cell) in &other.contexts {
            *self.contexts.entry(context).or_default() += cell;
        }
    }
}

/// The name of the type of operations that have no generic operand.
const NO_TYPE: &str = "-";

/// The table. JSON form: `operations`, by GLSL name of the operation, and by the name that the type has in cases (`u32x2`;
/// `-` for operations without a generic operand).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Cases that ran and were added.
    pub cases: u64,
    /// Rows by operation and type.
    #[serde(with = "rows")]
    operations: BTreeMap<SubgroupOp, BTreeMap<Option<Type>, CoverageRow>>,
}

impl Coverage {
    /// Adds a case that ran: its stage, the operations of its program ([`tangle_analysis::context::operations`]), and
    /// [`crate::judge::Judgement::op_use`]: nothing of a case without prediction was reached.
    pub fn add(&mut self, stage: Stage, program: &[Placed], used: &[OpUse]) {
        self.cases += 1;
        for (number, placed) in program.iter().enumerate() {
            let used = used.get(number).copied().unwrap_or_default();
            let place = Cell {
                generated: 1,
                reached: used.executed_full + used.executed_partial,
                checked: used.checked_full + used.checked_partial,
            };
            let row = self.operations.entry(placed.op).or_default().entry(placed.ty).or_default();
            row.anywhere += place;
            *row.stages.entry(stage).or_default() += place;
            for context in placed.contexts.iter().filter(|&context| context != Context::Partial) {
                *row.contexts.entry(context).or_default() += place;
            }
            // Here it is known what really happened.
            let generated = u64::from(placed.contexts.contains(Context::Partial));
            let partial = Cell { generated, reached: used.executed_partial, checked: used.checked_partial };
            if partial != Cell::default() {
                *row.contexts.entry(Context::Partial).or_default() += partial;
            }
        }
    }

    /// Adds the counts of another table, cell by cell.
    pub fn merge(&mut self, other: &Coverage) {
        self.cases += other.cases;
        for (&op, types) in &other.operations {
            let mine = self.operations.entry(op).or_default();
            types.iter().for_each(|(&ty, row)| mine.entry(ty).or_default().add(row));
        }
    }

    /// An operation with all types together.
    pub fn operation(&self, op: SubgroupOp) -> CoverageRow {
        let mut sum = CoverageRow::default();
        self.types(op).for_each(|(_, row)| sum.add(row));
        sum
    }

    /// The stages that any of it stood in.
    pub fn stages(&self) -> BTreeSet<Stage> {
        self.operations.values().flat_map(BTreeMap::values).flat_map(|row| row.stages.keys().copied()).collect()
    }

    /// An operation by type.
    pub fn types(&self, op: SubgroupOp) -> impl Iterator<Item = (Option<Type>, &CoverageRow)> {
        self.operations.get(&op).into_iter().flatten().map(|(&ty, row)| (ty, row))
    }
}

/// Cells that stay empty, and why.
#[derive(Debug)]
pub struct Exemption {
    /// The operations that it is of.
    pub applies: fn(&OpInfo) -> bool,
    /// The contexts of the cells; any type.
    pub contexts: &'static [Context],
    /// What their cells never are.
    pub never: Fill,
    /// Why they never are, for reports.
    pub reason: &'static str,
}

/// Every cell that may stay empty.
pub static EXEMPTIONS: [Exemption; 3] = [
    Exemption {
        applies: |info| info.gives == Gives::Nothing,
        contexts: &[Context::LoopCondition, Context::DoWhileCondition, Context::ContinueConstruct, Context::Choice],
        never: Fill::Generated,
        reason: "a barrier is a statement of its own; conditions, updates and operands have expressions and calls",
    },
    Exemption {
        applies: |info| info.gives == Gives::Nothing,
        contexts: Context::ALL,
        never: Fill::Checked,
        reason: "a barrier has no result to compare",
    },
    Exemption {
        applies: |info| info.category == Category::Derivative,
        contexts: &[
            Context::LoopBody,
            Context::LoopCondition,
            Context::DoWhileCondition,
            Context::ContinueConstruct,
            Context::AfterBreak,
            Context::AfterContinue,
            Context::SwitchCase,
            Context::Fallthrough,
            Context::Callee,
            Context::Choice,
        ],
        never: Fill::Generated,
        reason: "derivatives are statements of `main` where control flow is uniform in the triangle or the quad, some of them behind a condition",
    },
];

/// How far a cell got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fill {
    /// No operation stood there.
    Empty,
    /// Operations stood there, and no lane came.
    Generated,
    /// Lanes came, and nothing that came of it was compared.
    Reached,
    /// Values that came of it were compared.
    Checked,
}

impl Cell {
    /// How far the cell got.
    pub const fn fill(self) -> Fill {
        match self {
            Cell { checked: 1.., .. } => Fill::Checked,
            Cell { reached: 1.., .. } => Fill::Reached,
            Cell { generated: 1.., .. } => Fill::Generated,
            _ => Fill::Empty,
        }
    }
}

/// How far the cell of an operation in a context can get, and if that is not [`Fill::Checked`] the reason.
pub fn reachable(info: &OpInfo, context: Context) -> (Fill, Option<&'static str>) {
    let exempt = EXEMPTIONS.iter().find(|exempt| (exempt.applies)(info) && exempt.contexts.contains(&context));
    let best = match exempt.map(|exempt| exempt.never) {
        None => Fill::Checked,
        Some(Fill::Checked) => Fill::Reached,
        Some(Fill::Reached) => Fill::Generated,
        Some(Fill::Generated | Fill::Empty) => Fill::Empty,
    };
    (best, exempt.map(|exempt| exempt.reason))
}

/// How far the cell of an operation in a stage can get.
pub fn reachable_in(info: &OpInfo, stage: Stage) -> Fill {
    match info.gives {
        // Random programs have derivatives in fragment shaders only.
        _ if info.category == Category::Derivative && stage != Stage::Fragment => Fill::Empty,
        // There is no memory of a workgroup to order.
        _ if info.op == SubgroupOp::MemoryBarrierShared && !stage.has_workgroups() => Fill::Empty,
        Gives::Nothing => Fill::Reached,
        _ => Fill::Checked,
    }
}

/// An empty cell that should not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The operation of the cell's row.
    pub op: SubgroupOp,
    /// The cell's column.
    pub at: At,
    /// How far it got.
    pub fill: Fill,
}

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// A context, with any type.
    Context(Context),
    /// Scalars of a type, in any context.
    Scalar(Scalar),
    /// Vectors of a type, in any context.
    Vector(Scalar),
}

impl Gap {
    /// Whether an operation of a program stands where the gap is.
    pub fn may_be_filled_by(&self, placed: &Placed) -> bool {
        let is_there = match self.at {
            At::Context(context) => placed.contexts.contains(context),
            At::Scalar(scalar) => placed.ty == Some(Type::scalar(scalar)),
            At::Vector(scalar) => placed.ty.is_some_and(|ty| ty.scalar == scalar && ty.width > 1),
        };
        placed.op == self.op && is_there
    }
}

impl Coverage {
    /// How many cells got as far as they can, and how many there are: operations in contexts, and operations on types.
    pub fn filled(&self) -> (usize, usize) {
        let cells = self.cells();
        (cells.iter().filter(|(gap, best)| gap.fill >= *best).count(), cells.len())
    }

    /// Every cell that could get further.
    pub fn gaps(&self) -> Vec<Gap> {
        self.cells().into_iter().filter(|(gap, best)| gap.fill < *best).map(|(gap, _)| gap).collect()
    }

    /// Every cell that can be filled, with how far it can get.
    fn cells(&self) -> Vec<(Gap, Fill)> {
        let mut cells = Vec::new();
        for info in &TABLE {
            let row = self.operation(info.op);
            for &context in Context::ALL {
                let fill = row.cell(context).fill();
                cells.push((Gap { op: info.op, at: At::Context(context), fill }, reachable(info, context).0));
            }
            for &scalar in info.scalars {
                let (alone, vector) = self.of_scalar(info.op, scalar);
                cells.push((Gap { op: info.op, at: At::Scalar(scalar), fill: alone.fill() }, Fill::Checked));
                cells.push((Gap { op: info.op, at: At::Vector(scalar), fill: vector.fill() }, Fill::Checked));
            }
        }
        cells.retain(|(_, best)| *best > Fill::Empty);
        cells
    }

    /// The cells of an operation on scalars of a type, and on its vectors.
    pub fn of_scalar(&self, op: SubgroupOp, scalar: Scalar) -> (Cell, Cell) {
        let mut cells = (Cell::default(), Cell::default());
        for (ty, row) in self.types(op) {
            match ty {
                Some(ty) if ty.scalar == scalar && ty.width == 1 => cells.0 += row.anywhere,
                Some(ty) if ty.scalar == scalar => cells.1 += row.anywhere,
                _ => {}
            }
        }
        cells
    }
}

/// The JSON form of the rows: the name of a type for every type, also for none.
mod rows {
    use std::collections::BTreeMap;

    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use tangle_program::subgroup::SubgroupOp;
    use tangle_program::types::Type;

    use super::{CoverageRow, NO_TYPE};

    type Rows = BTreeMap<SubgroupOp, BTreeMap<Option<Type>, CoverageRow>>;

    pub fn serialize<S: Serializer>(rows: &Rows, serializer: S) -> Result<S::Ok, S::Error> {
        let name = |ty: &Option<Type>| ty.map_or_else(|| NO_TYPE.into(), |ty| ty.to_string());
        serializer.collect_map(rows.iter().map(|(op, types)| {
            (op, types.iter().map(|(ty, row)| (name(ty), row)).collect::<BTreeMap<String, &CoverageRow>>())
        }))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rows, D::Error> {
        let named = BTreeMap::<SubgroupOp, BTreeMap<String, CoverageRow>>::deserialize(deserializer)?;
        let ty = |name: String| match name.as_str() {
            NO_TYPE => Ok(None),
            name => name.parse().map(Some).map_err(D::Error::custom),
        };
        let types = |types: BTreeMap<String, CoverageRow>| {
            types.into_iter().map(|(name, row)| Ok((ty(name)?, row))).collect::<Result<_, D::Error>>()
        };
        named.into_iter().map(|(op, named)| Ok((op, types(named)?))).collect()
    }
}
