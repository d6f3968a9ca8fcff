//! Compilers as devices: a case is printed in the compiler's language, compiled, and the module executed by the interpreter. No driver takes
//! part, and what is wrong is the compiler's fault.
//!
//! A device of this kind runs only modules that its own compiler made ([`Executor::front_end`]): whoever gives it a case sets the variant first
//! ([`Target::dressed`](crate::target::Target::dressed)).

use std::num::NonZero;
use std::str::FromStr as _;

use anyhow::Context as _;
use crossbeam_channel::Sender;
use tangle_compilers::faults::{FAULTS, Fault};
use tangle_compilers::{Compiler, Found};
use tangle_program::variant::{FrontEnd, Language};
use tangle_runner::Completion;

use super::interpreter::Interpreter;
use super::traits::{BuiltIn, Description, Economy, Executor, Task, Worker, subgroup_size};
use crate::capabilities::Capabilities;
use crate::prepare::Prepared;

/// `hlsl@COMPILER`, or `hlsl@COMPILER:FAULT` with a planted fault ([`FAULTS`]), each with `@SIZE` at the end for a subgroup size other
/// than 8.
pub const HLSL: BuiltIn = BuiltIn { word: Language::Hlsl.name(), open };

/// `slang@COMPILER`, with fault and size as in [`HLSL`].
pub const SLANG: BuiltIn = BuiltIn { word: Language::Slang.name(), open };

/// `wgsl@COMPILER`, with fault and size as in [`HLSL`].
pub const WGSL: BuiltIn = BuiltIn { word: Language::Wgsl.name(), open };

/// `glsl@COMPILER`, with fault and size as in [`HLSL`].
pub const GLSL: BuiltIn = BuiltIn { word: Language::Glsl.name(), open };

fn open(name: &str) -> anyhow::Result<Box<dyn Executor>> {
    // LANGUAGE@COMPILER@SIZE
    let (language, rest) = name.split_once('@').context("a compiler is named LANGUAGE@COMPILER")?;
    let (compiler, size) = subgroup_size(rest)?;
    let (compiler, fault) = match compiler.split_once(':') {
        Some((compiler, fault)) => {
            let planted = Fault::named(fault).with_context(|| {
                let names: Vec<&str> = FAULTS.iter().map(|fault| fault.name).collect();
                format!("no planted fault '{fault}'; there are: {}", names.join(", "))
            })?;
            (compiler, Some(planted))
        }
        None => (compiler, None),
    };
    let front_end = FrontEnd::from_str(&format!("{language}@{compiler}")).map_err(anyhow::Error::msg)?;
    let names = || tangle_compilers::TABLE.iter().map(|row| row.front_end().to_string()).collect::<Vec<_>>().join(", ");
    let row = tangle_compilers::row(&front_end)
        .with_context(|| format!("no compiler is called {front_end}; there are: {}", names()))?;
    let found = tangle_compilers::found(&front_end);
    let found = found.and_then(|found| tangle_compilers::check_start(&found).map(|()| found));
    let found = found.map_err(|reason| anyhow::anyhow!("compiler {front_end}: {reason}"))?;
    let interpreter = Interpreter { subgroup_size: size, fault: None };
    Ok(Box::new(CompilerDevice {
        name: name.to_owned(),
        row,
        front_end,
        found,
        interpreter,
        fault,
        jobs: NonZero::<usize>::MIN,
    }))
}

/// A compiler under its name.
struct CompilerDevice {
    name: String,
    row: &'static Compiler,
    front_end: FrontEnd,
    found: Found,
    interpreter: Interpreter,
    /// A mistake that its modules have, to see that it is found.
    fault: Option<&'static Fault>,
    jobs: NonZero<usize>,
}

impl Worker for CompilerDevice {
    fn submit(&self, task: &Task<'_>, completions: &Sender<Completion>) {
        let Some(spirv) = self.fault.and_then(|fault| fault.plant(&task.prepared.spirv)) else {
            return self.interpreter.submit(task, completions);
        };
        let prepared = Prepared { spirv, ..task.prepared.clone() };
        self.interpreter.submit(&Task { prepared: &prepared, ..*task }, completions);
    }
}

impl Executor for CompilerDevice {
    fn description(&self) -> Description {
        Description {
            name: self.name.clone(),
            capabilities: Capabilities::of_interpreter(self.interpreter.subgroup_size).through(self.row, &self.found),
            info: serde_json::json!({
                "name": self.name,
                "device_name": self.row.about,
                // Builds of one compiler have its bugs.
                "driver_name": self.row.front_end().to_string(),
                "driver_info": self.found.version,
            }),
        }
    }

    fn workers(&self) -> Vec<&dyn Worker> {
        (0..self.jobs.get()).map(|_| self as &dyn Worker).collect()
    }

    fn open_workers(&mut self, jobs: NonZero<usize>, _warn: &mut dyn FnMut(String)) {
        self.jobs = jobs;
    }

    fn economy(&self) -> Economy {
        Economy::OF_THE_INTERPRETER
    }

    fn front_end(&self) -> Option<&FrontEnd> {
        Some(&self.front_end)
    }
}
