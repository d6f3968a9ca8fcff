//! Which switch of a driver or compiler makes a failing case pass: what narrows a bug down to a part of a driver.
//!
//! A case that always fails is run with one thing changed at a time: a debug switch of the driver, `VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT`,
//! a single pass of `spirv-opt`. None of them changes what the program means. What makes it pass is no proof of where the fault is: a pass that
//! is left out may only have made the pattern that another one gets wrong. That one case passes with a switch with which another fails
//! separates two bugs ([`crate::duplicates`]).

use std::fmt;

use serde::{Deserialize, Serialize};
use tangle_program::variant::Variant;

/// A debug switch of a driver: an environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name of the environment variable, which the worker is started with.
    pub name: String,
    /// What it is set to.
    pub value: String,
    /// True if it is a list with commas, to which the value is added.
    pub is_list: bool,
}

impl Variable {
    /// The value where the variable has one already.
    pub fn beside(&self, own: Option<&str>) -> String {
        match own {
            Some(own) if self.is_list && !own.is_empty() => format!("{own},{}", self.value),
            _ => self.value.clone(),
        }
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// Switches of one driver, by Vulkan's `driverName`: variable, values that are tried one by one, whether it is a list.
struct DriverSwitch {
    driver: &'static str,
    name: &'static str,
    values: &'static [&'static str],
    is_list: bool,
}

const fn list(driver: &'static str, name: &'static str, values: &'static [&'static str]) -> DriverSwitch {
    DriverSwitch { driver, name, values, is_list: true }
}

/// Those that change how shaders are compiled. Sources, in Mesa 25.0: `docs/envvars.rst` (ACO_DEBUG, INTEL_DEBUG, INTEL_SIMD_DEBUG,
/// AGX_MESA_DEBUG, NIR_SKIP), `docs/drivers/llvmpipe.rst` (LP_NATIVE_VECTOR_WIDTH), `docs/drivers/nvk.rst` (NAK_DEBUG); and the tables that
/// their `help` prints: `src/gallium/auxiliary/gallivm/lp_bld_init_common.c` (GALLIVM_PERF), `src/amd/vulkan/radv_instance.c` (RADV_DEBUG),
/// `src/freedreno/ir3/ir3_compiler.c` (IR3_SHADER_DEBUG), `src/panfrost/compiler/bifrost_compile.c` (BIFROST_MESA_DEBUG),
/// `src/broadcom/common/v3d_debug.c` (V3D_DEBUG).
const TABLE: [DriverSwitch; 11] = [
    list("llvmpipe", "GALLIVM_PERF", &["nopt"]),
    DriverSwitch { driver: "llvmpipe", name: "LP_NATIVE_VECTOR_WIDTH", values: &["128", "256", "512"], is_list: false },
    list("radv", "ACO_DEBUG", &["noopt", "novn", "nosched"]),
    list("radv", "RADV_DEBUG", &["llvm"]),
    list("Intel open-source Mesa driver", "INTEL_SIMD_DEBUG", &["cs8", "cs16", "cs32"]),
    list("Intel open-source Mesa driver", "INTEL_DEBUG", &["nocompact"]),
    list("NVK", "NAK_DEBUG", &["serial", "spill"]),
    list("turnip Mesa driver", "IR3_SHADER_DEBUG", &["nouboopt", "nopreamble", "nofp16", "spillall"]),
    list("panvk", "BIFROST_MESA_DEBUG", &["noopt"]),
    list("V3DV Mesa", "V3D_DEBUG", &["noloopunroll"]),
    list("Honeykrisp", "AGX_MESA_DEBUG", &["noopt"]),
];

/// Passes that every driver of Mesa can leave out (`NIR_SKIP`): those of `src/compiler/nir/nir.h` that optimise, and have to do with
/// compute, and without which drivers get what they can still compile. A build without assertions does not look at the variable.
const NIR_PASSES: [&str; 31] = [
    "nir_copy_prop",
    "nir_opt_algebraic",
    "nir_opt_algebraic_late",
    "nir_opt_combine_barriers",
    "nir_opt_combine_stores",
    "nir_opt_comparison_pre",
    "nir_opt_constant_folding",
    "nir_opt_copy_prop_vars",
    "nir_opt_cse",
    "nir_opt_dce",
    "nir_opt_dead_cf",
    "nir_opt_dead_write_vars",
    "nir_opt_deref",
    "nir_opt_gcm",
    "nir_opt_idiv_const",
    "nir_opt_if",
    "nir_opt_intrinsics",
    "nir_opt_large_constants",
    "nir_opt_licm",
    "nir_opt_load_store_vectorize",
    "nir_opt_loop",
    "nir_opt_loop_unroll",
    "nir_opt_move",
    "nir_opt_peephole_select",
    "nir_opt_phi_precision",
    "nir_opt_remove_phis",
    "nir_opt_shrink_vectors",
    "nir_opt_sink",
    "nir_opt_undef",
    "nir_opt_uniform_atomics",
    "nir_opt_uniform_subgroup",
];

/// The switches of a driver, from Vulkan's `driverName` and `driverInfo`; none for a driver without documented ones.
pub fn variables(driver: &str, version: &str) -> Vec<Variable> {
    let rows = TABLE.iter().filter(|row| row.driver == driver.trim());
    let mut all: Vec<Variable> = rows
        .flat_map(|row| {
            row.values.iter().map(|&value| Variable {
                name: row.name.into(),
                value: value.into(),
                is_list: row.is_list,
            })
        })
        .collect();
    if version.contains("Mesa") {
        let skip = |&pass: &&str| Variable { name: "NIR_SKIP".into(), value: pass.into(), is_list: true };
        all.extend(NIR_PASSES.iter().map(skip));
    }
    all
}

/// Something that is changed to see whether a case passes then. In text, in JSON and in the files of bugs, it is `NAME=VALUE`, or the name of the
/// variant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Switch {
    /// A variable of the driver, with its value.
    Variable(String, String),
    /// The variant of the case that was run in place of its own.
    Variant(Variant),
    /// A variant that this version of tangle does not have.
    Other(String),
}

impl Switch {
    /// True of the driver's own: its variables, and the option of the pipeline. What a pass of `spirv-opt` does to a program depends on the
    /// program.
    pub fn is_of_driver(&self) -> bool {
        match self {
            Switch::Variable(..) => true,
            Switch::Variant(variant) => variant.disables_driver_optimisation(),
            Switch::Other(_) => false,
        }
    }

    /// True of a list of passes of `spirv-opt`.
    fn is_of_passes(&self) -> bool {
        matches!(self, Switch::Variant(variant) if matches!(variant.then(), Variant::Passes(_)))
    }
}

impl From<&Variable> for Switch {
    fn from(variable: &Variable) -> Switch {
        Switch::Variable(variable.name.clone(), variable.value.clone())
    }
}

impl From<String> for Switch {
    fn from(text: String) -> Switch {
        match text.split_once('=') {
            Some((name, value)) => Switch::Variable(name.into(), value.into()),
            None => text.parse().map_or(Switch::Other(text), Switch::Variant),
        }
    }
}

impl From<Switch> for String {
    fn from(switch: Switch) -> String {
        switch.to_string()
    }
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Switch::Variable(name, value) => write!(f, "{name}={value}"),
            Switch::Variant(variant) => variant.fmt(f),
            Switch::Other(name) => f.write_str(name),
        }
    }
}

/// Switches in a sentence.
pub fn listed<'s>(switches: impl IntoIterator<Item = &'s Switch>) -> String {
    switches.into_iter().map(Switch::to_string).collect::<Vec<_>>().join(", ")
}

/// Single passes that are named in a sentence; of more, how many they are.
const SINGLE_NAMED: usize = 6;

/// The results of the switches on a device (`switches.json` in a finding's folder).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switches {
    /// The unique name of the device on which the switches were tried.
    pub device: String,
    /// Vulkan's `driverName`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub driver: String,
    /// Vulkan's `driverInfo`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// With these it passes.
    #[serde(default)]
    pub passes: Vec<Switch>,
    /// With these it passes, and subgroups have another size: what is computed is something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes_in_another_size: Vec<Switch>,
    /// With these it fails as it does without.
    #[serde(default)]
    pub fails: Vec<Switch>,
    /// With these it says nothing: it fails in another way, or does not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub says_nothing: Vec<Switch>,
}

impl Switches {
    /// True if nothing that was tried says anything: it fails in another way, or does not run, whatever is changed.
    pub fn say_nothing(&self) -> bool {
        self.passes.is_empty() && self.passes_in_another_size.is_empty() && self.fails.is_empty()
    }

    /// What they say, in sentences.
    pub fn sentences(&self) -> String {
        let (single, others): (Vec<&Switch>, Vec<&Switch>) =
            self.passes.iter().partition(|switch| switch.is_of_passes());
        let mut passes: Vec<String> = others.into_iter().map(Switch::to_string).collect();
        match single.len() {
            // With a list of passes to blame, most passes alone do no harm.
            many if many > SINGLE_NAMED => passes.push(format!("{many} passes of spirv-opt, one at a time")),
            _ => passes.extend(single.into_iter().map(Switch::to_string)),
        }
        let mut text = match passes.as_slice() {
            [] => "No switch makes it pass".to_owned(),
            passes => format!("It passes with {}", passes.join(", ")),
        };
        if !self.passes_in_another_size.is_empty() {
            text += &format!("; with subgroups of another size, with {}", listed(&self.passes_in_another_size));
        }
        text += &match self.fails.len() {
            0 => String::new(),
            fails => format!(". It fails as before with {fails} others"),
        };
        if !self.says_nothing.is_empty() {
            text += &format!("; nothing is known of {}", self.says_nothing.len());
        }
        text + "."
    }
}

#[cfg(test)]
mod tests {
    use tangle_program::variant::PASSES;

    use super::*;

    #[test]
    fn drivers_have_their_switches() {
        let named = |driver, version| variables(driver, version).iter().map(Variable::to_string).collect::<Vec<_>>();
        assert!(named("llvmpipe", "Mesa 25.0.7 (LLVM 19.1.7)").contains(&"GALLIVM_PERF=nopt".to_owned()));
        assert!(named("radv", "Mesa 25.0.7").contains(&"NIR_SKIP=nir_opt_cse".to_owned()));
        assert_eq!(named("NVIDIA", "580.1"), [""; 0]);
    }

    #[test]
    fn few_passes_are_named_and_many_are_counted() {
        let words = |count: usize, name: &str| -> Vec<Switch> {
            (0..count).map(|number| format!("{name}{number}").into()).collect()
        };
        let of = |single: usize, fails: usize, unknown: usize| {
            let mut passes: Vec<Switch> =
                PASSES[..single].iter().map(|pass| format!("spirv-opt:{pass}").into()).collect();
            passes.push("A=1".to_owned().into());
            Switches { passes, fails: words(fails, "B="), says_nothing: words(unknown, "C="), ..Switches::default() }
        };
        for (single, fails, unknown, expected) in [
            (1, 2, 0, "It passes with A=1, spirv-opt:ccp. It fails as before with 2 others."),
            (7, 0, 0, "It passes with A=1, 7 passes of spirv-opt, one at a time."),
            (0, 0, 3, "It passes with A=1; nothing is known of 3."),
        ] {
            assert_eq!(of(single, fails, unknown).sentences(), expected);
        }
        let none = Switches { says_nothing: words(3, "C="), ..Switches::default() };
        assert!(none.say_nothing() && !of(0, 0, 3).say_nothing());
    }

    #[test]
    fn switches_are_read_as_they_are_written() {
        let table: [(&str, bool, bool); 6] = [
            ("GALLIVM_PERF=nopt", true, false),
            ("driver-unoptimised", true, false),
            ("hlsl@dxc+driver-unoptimised", true, false),
            ("spirv-opt-O", false, false),
            ("spirv-opt:ccp", false, true),
            ("a-variant-of-another-version", false, false),
        ];
        for (text, is_of_driver, is_of_passes) in table {
            let switch = Switch::from(text.to_owned());
            assert_eq!((switch.is_of_driver(), switch.is_of_passes()), (is_of_driver, is_of_passes), "{switch:?}");
            assert_eq!(serde_json::to_value(&switch).expect("plain data"), text);
            assert_eq!(switch.to_string(), text);
        }
    }

    #[test]
    fn a_list_keeps_what_is_in_it() {
        let variable = |is_list| Variable { name: "RADV_DEBUG".into(), value: "llvm".into(), is_list };
        for (is_list, own, expected) in [
            (true, Some("nocache"), "nocache,llvm"),
            (true, Some(""), "llvm"),
            (true, None, "llvm"),
            (false, Some("nocache"), "llvm"),
        ] {
            assert_eq!(variable(is_list).beside(own), expected);
        }
    }
}
