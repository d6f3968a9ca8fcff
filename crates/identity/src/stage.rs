//! Which stage is to blame: the same program as every variant on every device.
//!
//! ```text
//!   GLSL ──► front end ──► (spirv-opt) ──► driver
//!   tree ──► SPIR-V printer ─────────────►
//! ```
//!
//! What one driver alone gets wrong is its own fault: whoever runs the same module right shows that the module is. What every driver
//! gets wrong in the same way was wrong before it reached them, or the specification is read wrongly. Drivers of one family
//! (lavapipes of several ages) that fail alike count as one: they share their bugs.
//!
//! Better than this vote is a [`Proof`]: what the interpreter makes of each module on the way.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use tangle_program::variant::{FrontEnd, Variant};

use crate::signature::Kind;

/// Which stage changed the meaning of a program on its way to the device, or why none is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// From GLSL to SPIR-V: glslang.
    FrontEnd,
    /// From another language, or by another compiler, to SPIR-V: that compiler.
    Compiler,
    /// From SPIR-V to SPIR-V: spirv-opt.
    Optimiser,
    /// From the tree to SPIR-V: tangle's own printer.
    Printer,
    /// The device's driver: from SPIR-V, or from GLSL where it compiles that itself, to results.
    Driver,
    /// A WebGPU runtime, with its own compiler, or the driver beneath it.
    Runtime,
    /// The front end, or a rule that the specification leaves open although tangle does not.
    Ambiguous,
    /// More devices would have to run it.
    Undecided,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::FrontEnd => "front end (glslang)",
            Stage::Compiler => "compiler",
            Stage::Optimiser => "optimiser (spirv-opt)",
            Stage::Printer => "tangle's SPIR-V printer",
            Stage::Driver => "driver",
            Stage::Runtime => "WebGPU runtime, or the driver beneath",
            Stage::Ambiguous => "front end or specification",
            Stage::Undecided => "undecided",
        })
    }
}

/// The result of one variant on one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Whether the variant failed on the device.
    pub outcome: Outcome,
    /// In words: the signature, `pass`, or why it did not run.
    pub text: String,
    /// Of a failure: the signature without the kind. Findings of older versions do not have it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// Whether a variant failed on a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did what it had to.
    Passes,
    /// It gave a wrong result, or none.
    Fails {
        /// The kind of failure.
        kind: Kind,
        /// The site of the first wrong step, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        site: Option<u32>,
    },
    /// It did not run, or nothing was compared.
    NotRun,
}

/// A device: a column of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The unique name of the device.
    pub device: String,
    /// The name of its driver, the same for all its versions; of a WebGPU runtime, that of the driver beneath.
    pub driver: String,
    /// True if it compiles GLSL itself: the modules of other front ends are not what it runs.
    #[serde(default)]
    pub has_front_end: bool,
    /// True of a WebGPU runtime: it makes a module of its own of the WGSL, and runs no other.
    #[serde(default)]
    pub is_runtime: bool,
}

/// How the program was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    /// As this variant, with nothing else changed.
    Variant(Variant),
    /// As the case's own variant, with no other site than this one logged: stores keep compilers from what they would do without.
    OneSite(u32),
    /// Unoptimised, with the constants of its constant expressions in variables, through which the front end does not look. The driver
    /// may.
    ConstantsInVariables,
    /// Unoptimised, with the constants of its constant expressions in a uniform buffer, where no compiler sees them.
    ConstantsHidden,
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Made::Variant(variant) => variant.fmt(f),
            Made::OneSite(site) => write!(f, "only site {site} logged"),
            Made::ConstantsInVariables => f.write_str("constants in variables"),
            Made::ConstantsHidden => f.write_str("constants in a buffer"),
        }
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantRow {
    /// How the program was made.
    pub made: Made,
    /// One for each column.
    pub cells: Vec<Cell>,
}

/// The file of a [`Table`] in a finding's folder.
pub const VARIANTS: &str = "variants.json";

/// The same program as every variant on every device ([`VARIANTS`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The devices that the variants were run on.
    pub columns: Vec<Column>,
    /// The variants; the case's own comes first.
    pub rows: Vec<VariantRow>,
    /// What is proven of what devices do with the case itself, one for a device at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proofs: Vec<Proof>,
}

/// Which stage changed the meaning, shown by executing the module of each without a driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The device: the modules are executed with the lane map that it showed.
    pub device: String,
    /// The first stage whose module has another meaning than what went into it, and why.
    pub blame: Blame,
}

/// Who is to blame, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blame {
    /// The stage that changed the meaning, or why none is named.
    pub stage: Stage,
    /// The evidence, in a sentence.
    pub because: String,
}

impl Blame {
    /// A stage, and why.
    pub fn new(stage: Stage, because: impl Into<String>) -> Blame {
        Blame { stage, because: because.into() }
    }
}

impl fmt::Display for Blame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.stage, self.because)
    }
}

impl Table {
    /// False where a device makes the module itself, and so says nothing about what others made.
    fn is_of_module(&self, made: &Made, column: usize) -> bool {
        let is_module = matches!(made, Made::Variant(variant) if !variant.may_be_text());
        let column = &self.columns[column];
        !column.is_runtime && (is_module || !column.has_front_end)
    }

    fn cell(&self, made: &Made, column: usize) -> Option<&Outcome> {
        let row = self.rows.iter().find(|row| row.made == *made)?;
        Some(&row.cells.get(column)?.outcome)
    }

    /// Who is to blame for what goes wrong on a device; `None` if nothing does.
    pub fn blame(&self, device: &str) -> Option<Blame> {
        let at = self.columns.iter().position(|column| column.device == device)?;
        let own = &self.rows.first()?.made;
        let Outcome::Fails { kind, site } = self.cell(own, at)? else { return None };
        if let Some(proof) = self.proofs.iter().find(|proof| proof.device == device) {
            return Some(proof.blame.clone());
        }
        let optimised = matches!(own, Made::Variant(variant) if variant.is_optimised());
        let printed = matches!(own, Made::Variant(variant) if variant.is_printed());
        let compiler = match own {
            Made::Variant(variant) => variant.front_end(),
            _ => None,
        };
        match kind {
            Kind::Toolchain if compiler.is_some() => {
                return Some(Blame::new(Stage::Compiler, "it makes no valid module of a valid shader"));
            }
            Kind::Toolchain if printed => {
                return Some(Blame::new(Stage::Printer, "it makes a module that is not valid"));
            }
            Kind::Toolchain if optimised && self.passes_toolchain() => {
                return Some(Blame::new(
                    Stage::Optimiser,
                    "it fails on a valid module, or makes one that is not valid",
                ));
            }
            Kind::Toolchain => return Some(Blame::new(Stage::FrontEnd, "it makes no valid module of valid GLSL")),
            _ if self.columns[at].is_runtime => return Some(self.of_runtime(own, at)),
            kind if kind.has_no_result() => {
                return Some(Blame::new(Stage::Driver, "no valid module may make it crash, hang or fail"));
            }
            Kind::LaneMap => {
                return Some(Blame::new(Stage::Driver, "the built-in variables are its own, whatever the program"));
            }
            _ => {}
        }
        if !self.is_of_module(own, at) {
            return Some(Blame::new(Stage::Driver, "it compiles the GLSL itself"));
        }
        let unoptimised = Made::Variant(Variant::Unoptimised);
        // Where the text stands for it, another front end made that.
        let plain = if self.columns[at].has_front_end { Made::Variant(Variant::Module) } else { unoptimised.clone() };
        if optimised && self.cell(&plain, at) == Some(&Outcome::Passes) {
            return Some(self.of_optimised(own, at));
        }
        if compiler.is_some() {
            return Some(self.of_compiled(own, at));
        }
        if printed {
            return Some(self.of_printed(own, at));
        }
        let right = self.right(&unoptimised);
        if !right.is_empty() {
            return Some(Blame::new(Stage::Driver, format!("the same module is right on {right}")));
        }
        let others = self.other_families(&unoptimised, at);
        let passes =
            |made: Made, column| self.is_of_module(&made, column) && self.cell(&made, column) == Some(&Outcome::Passes);
        let in_variables = |column| passes(Made::ConstantsInVariables, column);
        if others.is_empty() {
            return Some(if in_variables(at) {
                Blame::new(
                    Stage::FrontEnd,
                    "it is right when the front end does not fold its constants, and the driver may",
                )
            } else if passes(Made::ConstantsHidden, at) {
                Blame::new(Stage::Driver, "it is right when the driver does not see its constants")
            } else if passes(Made::Variant(Variant::DriverUnoptimised), at) {
                Blame::new(Stage::Driver, "the same module is right when the driver does not optimise")
            } else {
                Blame::new(Stage::Undecided, "no driver of another family ran it")
            });
        }
        let alike = Outcome::Fails { kind: *kind, site: *site };
        if !others.iter().all(|outcome| **outcome == alike) {
            return Some(Blame::new(Stage::Undecided, "other drivers fail, too, but in other ways"));
        }
        let fails = |column: &usize| matches!(self.cell(&unoptimised, *column), Some(Outcome::Fails { .. }));
        Some(if (0..self.columns.len()).filter(fails).all(in_variables) {
            Blame::new(
                Stage::FrontEnd,
                "every driver fails alike, and none does when the front end does not fold the constants",
            )
        } else {
            Blame::new(Stage::Ambiguous, "every driver fails alike")
        })
    }

    /// True if the toolchain gets through without its optimiser.
    fn passes_toolchain(&self) -> bool {
        let unoptimised = self.rows.iter().find(|row| row.made == Made::Variant(Variant::Unoptimised));
        unoptimised.is_some_and(|row| {
            !row.cells.iter().any(|cell| matches!(cell.outcome, Outcome::Fails { kind: Kind::Toolchain, .. }))
        })
    }

    /// What only the optimised module does.
    fn of_optimised(&self, own: &Made, at: usize) -> Blame {
        let right = self.right(own);
        if !right.is_empty() {
            Blame::new(Stage::Driver, format!("only the optimised module fails, and it is right on {right}"))
        } else if self.other_families(own, at).is_empty() {
            Blame::new(Stage::Undecided, "only the optimised module fails, and no driver of another family ran it")
        } else {
            Blame::new(Stage::Optimiser, "only its module fails, and on every driver")
        }
    }

    /// What the module of another compiler does.
    fn of_compiled(&self, own: &Made, at: usize) -> Blame {
        let right = self.right(own);
        let is_compiler = self.columns[at].device.parse::<FrontEnd>().is_ok();
        if !right.is_empty() {
            Blame::new(Stage::Driver, format!("the same module is right on {right}"))
        } else if is_compiler {
            Blame::new(Stage::Compiler, "its module means something else: the interpreter executed it")
        } else if self.other_families(own, at).is_empty() {
            Blame::new(Stage::Undecided, "no driver of another family ran the compiler's module")
        } else {
            Blame::new(Stage::Compiler, "its module fails on every driver")
        }
    }

    /// What goes wrong on a WebGPU runtime. Others run the module that its compiler makes by itself, which need not be the one that it makes for the
    /// driver beneath.
    fn of_runtime(&self, own: &Made, at: usize) -> Blame {
        let column = &self.columns[at];
        let failed = self.cell(own, at);
        let fails = |index: &usize| {
            self.is_of_module(own, *index) && matches!(self.cell(own, *index), Some(Outcome::Fails { .. }))
        };
        let failing: Vec<usize> = (0..self.columns.len()).filter(fails).collect();
        let right = self.right(own);
        if failing.iter().any(|&index| self.columns[index].device.parse::<FrontEnd>().is_ok()) {
            return Blame::new(Stage::Compiler, "its module means something else: the interpreter executed it");
        }
        let is_beneath =
            |&&index: &&usize| self.columns[index].driver == column.driver && self.cell(own, index) == failed;
        match failing.iter().find(is_beneath).map(|&index| &self.columns[index].device) {
            Some(beneath) if !right.is_empty() => Blame::new(
                Stage::Driver,
                format!("{beneath} fails alike without the runtime, and the compiler's module is right on {right}"),
            ),
            Some(beneath) => Blame::new(
                Stage::Runtime,
                format!("{beneath} fails alike without the runtime, and nothing else ran the compiler's module"),
            ),
            None if right.is_empty() => Blame::new(Stage::Runtime, "nothing else ran the compiler's module"),
            None => Blame::new(
                Stage::Runtime,
                format!(
                    "the compiler's module is right on {right}; what the runtime gives the driver may be another one"
                ),
            ),
        }
    }

    /// What a module does that no front end made.
    fn of_printed(&self, own: &Made, at: usize) -> Blame {
        let right = self.right(own);
        let passes_unoptimised = self.cell(&Made::Variant(Variant::Unoptimised), at) == Some(&Outcome::Passes);
        if !right.is_empty() {
            Blame::new(Stage::Driver, format!("the same module is right on {right}"))
        } else if self.other_families(own, at).is_empty() {
            Blame::new(Stage::Undecided, "no driver of another family ran it")
        } else if passes_unoptimised {
            Blame::new(Stage::Printer, "only its module fails, and on every driver")
        } else {
            Blame::new(Stage::Ambiguous, "every driver fails")
        }
    }

    /// The devices on which it passes, of whatever family.
    fn right(&self, made: &Made) -> String {
        let passes =
            |index: &usize| self.is_of_module(made, *index) && self.cell(made, *index) == Some(&Outcome::Passes);
        let right = (0..self.columns.len()).filter(passes).map(|index| self.columns[index].device.as_str());
        right.collect::<Vec<_>>().join(", ")
    }

    /// What devices of other drivers did, as far as they ran it.
    fn other_families(&self, made: &Made, at: usize) -> Vec<&Outcome> {
        let own = &self.columns[at].driver;
        let is_other = |index: &usize| self.columns[*index].driver != *own && self.is_of_module(made, *index);
        let columns = (0..self.columns.len()).filter(is_other);
        columns.filter_map(|index| self.cell(made, index)).filter(|outcome| **outcome != Outcome::NotRun).collect()
    }

    /// The devices on which the case itself goes wrong.
    pub fn failing(&self) -> Vec<&str> {
        let Some(first) = self.rows.first() else { return Vec::new() };
        let cells = self.columns.iter().zip(&first.cells);
        cells
            .filter(|(_, cell)| matches!(cell.outcome, Outcome::Fails { .. }))
            .map(|(c, _)| c.device.as_str())
            .collect()
    }

    /// The stages to blame, over all devices on which it goes wrong, as lines.
    pub fn blames(&self) -> Vec<String> {
        let lines = self.failing().into_iter().filter_map(|device| Some(format!("{device}: {}", self.blame(device)?)));
        lines.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

impl fmt::Display for Table {
    /// As text, in columns.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, column) in self.columns.iter().enumerate() {
            writeln!(f, "{}:", column.device)?;
            for row in &self.rows {
                writeln!(f, "  {:22} {}", row.made.to_string(), row.cells[index].text)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_program::variant::Printing;

    /// A table from rows like `x.-`: fails, passes, not run; `y` fails elsewhere. Devices a and b are of one family, c of another.
    fn table(rows: &[(Made, &str)]) -> Table {
        let column = |device: &str, driver: &str| Column {
            device: device.into(),
            driver: driver.into(),
            has_front_end: false,
            is_runtime: false,
        };
        let cell = |mark| Cell {
            outcome: match mark {
                'x' => Outcome::Fails { kind: Kind::Value, site: Some(1) },
                'y' => Outcome::Fails { kind: Kind::Path, site: Some(2) },
                't' => Outcome::Fails { kind: Kind::Toolchain, site: None },
                'c' => Outcome::Fails { kind: Kind::Crash, site: None },
                '.' => Outcome::Passes,
                _ => Outcome::NotRun,
            },
            text: mark.into(),
            detail: String::new(),
        };
        Table {
            columns: vec![column("a", "mesa"), column("b", "mesa"), column("c", "nv")],
            rows: rows
                .iter()
                .map(|(made, cells)| VariantRow { made: made.clone(), cells: cells.chars().map(cell).collect() })
                .collect(),
            proofs: Vec::new(),
        }
    }

    #[test]
    fn the_stage_follows_from_the_table() {
        let un = || Made::Variant(Variant::Unoptimised);
        let opt = || Made::Variant(Variant::Performance);
        let noopt = || Made::Variant(Variant::DriverUnoptimised);
        let printed = || Made::Variant(Variant::Printed(Printing::PLAIN));
        let folded = || Made::ConstantsInVariables;
        let hidden = || Made::ConstantsHidden;
        type Rows<'a> = &'a [(Made, &'a str)];
        let tables: &[(Rows<'_>, Option<Stage>)] = &[
            (&[(un(), "...")], None),
            (&[(un(), "x..")], Some(Stage::Driver)),
            (&[(un(), "xx.")], Some(Stage::Driver)),
            // Two versions of one driver that fail are one witness.
            (&[(un(), "xx-")], Some(Stage::Undecided)),
            // A version that is right shows that the module is.
            (&[(un(), "x.-")], Some(Stage::Driver)),
            (&[(un(), "x.x"), (folded(), "x.x")], Some(Stage::Driver)),
            (&[(un(), "xx-"), (noopt(), "..-")], Some(Stage::Driver)),
            (&[(un(), "xx-"), (folded(), "..-")], Some(Stage::FrontEnd)),
            (&[(un(), "xx-"), (folded(), "xx-"), (hidden(), "..-")], Some(Stage::Driver)),
            (&[(un(), "x.."), (folded(), "...")], Some(Stage::Driver)),
            (&[(un(), "xxx"), (folded(), "...")], Some(Stage::FrontEnd)),
            (&[(un(), "xxx"), (folded(), "xxx")], Some(Stage::Ambiguous)),
            (&[(un(), "xxx"), (folded(), "x..")], Some(Stage::Ambiguous)),
            (&[(un(), "xxx")], Some(Stage::Ambiguous)),
            (&[(un(), "xxy"), (folded(), "...")], Some(Stage::Undecided)),
            (&[(opt(), "xxx"), (un(), "...")], Some(Stage::Optimiser)),
            (&[(opt(), "xx-"), (un(), "..-")], Some(Stage::Undecided)),
            (&[(opt(), "x.."), (un(), "...")], Some(Stage::Driver)),
            (&[(opt(), "x.-"), (un(), "..-")], Some(Stage::Driver)),
            (&[(opt(), "x.."), (un(), "x..")], Some(Stage::Driver)),
            (&[(opt(), "xxx"), (un(), "xxx"), (folded(), "...")], Some(Stage::FrontEnd)),
            (&[(opt(), "ttt"), (un(), "...")], Some(Stage::Optimiser)),
            (&[(un(), "ttt")], Some(Stage::FrontEnd)),
            (&[(printed(), "x.."), (un(), "...")], Some(Stage::Driver)),
            (&[(printed(), "xx-"), (un(), "...")], Some(Stage::Undecided)),
            (&[(printed(), "xxx"), (un(), "...")], Some(Stage::Printer)),
            (&[(printed(), "xxx"), (un(), "xxx")], Some(Stage::Ambiguous)),
            (&[(printed(), "ttt"), (un(), "...")], Some(Stage::Printer)),
            (&[(un(), "ccc")], Some(Stage::Driver)),
        ];
        for (rows, stage) in tables {
            let blame = table(rows).blame("a");
            assert_eq!(blame.as_ref().map(|blame| blame.stage), *stage, "{rows:?}: {blame:?}");
        }
    }

    /// OpenGL, alone: that the text passes says nothing about who made a module, and of what only optimised modules do the driver may be the reason.
    #[test]
    fn text_that_passes_blames_no_optimiser() {
        let column = Column { device: "gl".into(), driver: "gl".into(), has_front_end: true, is_runtime: false };
        let cell = |fails: bool| Cell {
            outcome: if fails { Outcome::Fails { kind: Kind::Value, site: Some(1) } } else { Outcome::Passes },
            text: String::new(),
            detail: String::new(),
        };
        let blame = |rows: &[(Variant, bool)]| {
            let row = |(variant, fails): &(Variant, bool)| VariantRow {
                made: Made::Variant(variant.clone()),
                cells: vec![cell(*fails)],
            };
            let rows = rows.iter().map(row).collect();
            Table { columns: vec![column.clone()], rows, proofs: Vec::new() }.blame("gl").map(|blame| blame.stage)
        };
        for (rows, stage) in [
            (vec![(Variant::Unoptimised, true)], Stage::Driver),
            (vec![(Variant::Module, true), (Variant::Unoptimised, false)], Stage::Undecided),
            (vec![(Variant::Size, true), (Variant::Module, true), (Variant::Unoptimised, false)], Stage::Undecided),
            (vec![(Variant::Size, true), (Variant::Module, false), (Variant::Unoptimised, false)], Stage::Undecided),
        ] {
            assert_eq!(blame(&rows), Some(stage), "{rows:?}");
        }
    }

    /// Devices: a WebGPU runtime, the driver beneath it, another driver, and the compiler with the interpreter.
    #[test]
    fn a_runtime_is_told_from_what_is_beneath_and_from_its_compiler() {
        let by: FrontEnd = "wgsl@tint".parse().expect("a front end");
        for (cells, stage) in [
            ("x...", Stage::Runtime),
            ("x---", Stage::Runtime),
            ("xx--", Stage::Runtime),
            // Elsewhere: no sign that it is the same.
            ("xy..", Stage::Runtime),
            ("xx..", Stage::Driver),
            ("xx.-", Stage::Driver),
            ("cc..", Stage::Driver),
            ("c...", Stage::Runtime),
            ("xx.x", Stage::Compiler),
            ("x..y", Stage::Compiler),
            ("tttt", Stage::Compiler),
        ] {
            let mut table = table(&[(Made::Variant(Variant::compiled(by.clone())), &cells[..3])]);
            let runtime = Column { is_runtime: true, has_front_end: true, ..table.columns[0].clone() };
            let compiler =
                Column { device: by.to_string(), driver: by.to_string(), has_front_end: false, is_runtime: false };
            table.columns = vec![runtime, table.columns[1].clone(), table.columns[2].clone(), compiler];
            let last = self::table(&[(Made::Variant(Variant::Unoptimised), &cells[3..])]).rows[0].cells[0].clone();
            table.rows[0].cells.push(last);
            let blame = table.blame("a");
            assert_eq!(blame.as_ref().map(|blame| blame.stage), Some(stage), "{cells}: {blame:?}");
        }
    }

    /// What is shown goes before what others say; of a device that does nothing wrong there is nothing to show.
    #[test]
    fn a_proof_goes_before_the_vote() {
        let mut table = table(&[(Made::Variant(Variant::Unoptimised), "x..")]);
        let proof = |device: &str| Proof {
            device: device.into(),
            blame: Blame::new(Stage::FrontEnd, "its module means something else"),
        };
        table.proofs = vec![proof("a"), proof("b")];
        let stage = |device| table.blame(device).map(|blame| blame.stage);
        assert_eq!((stage("a"), stage("b")), (Some(Stage::FrontEnd), None));
        let json = serde_json::to_string(&table).expect("plain data");
        assert_eq!(serde_json::from_str::<Table>(&json).expect("it was just written"), table);
    }

    #[test]
    fn a_table_reads_back() {
        let table = table(&[(Made::Variant(Variant::Passes(vec!["ccp"])), "x.-"), (Made::ConstantsHidden, "ct.")]);
        let json = serde_json::to_string(&table).expect("plain data");
        assert_eq!(serde_json::from_str::<Table>(&json).expect("it was just written"), table);
    }
}
