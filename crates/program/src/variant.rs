//! Variants of one program: ways from its shader to what the driver compiles that change nothing of what it means.
//!
//! Optimisers must keep what a module means, so every variant is judged by the same rules (SPIRV-Tools, README.md, "Optimizer": transforms keep the module's meaning). A variant that alone fails
//! says who to ask first: the optimiser that made it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::entry_point::EntryPoint;

/// How a module is made from a shader, and how the driver is to compile it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Variant {
    /// The front end's module as it is. A device with a front end of its own (OpenGL) gets the text in its place.
    #[default]
    Unoptimised,
    /// The front end's module as it is, where there is another front end, too.
    Module,
    /// `VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT` on top of that.
    DriverUnoptimised,
    /// `spirv-opt -O`, on the front end's module.
    Performance,
    /// `spirv-opt -Os`, on the front end's module.
    Size,
    /// `spirv-opt` with these passes, which are of [`PASSES`], in this order.
    Passes(Vec<&'static str>),
    /// SPIR-V straight from the tree, without a front end (`tangle_emit::spirv`).
    Printed(Printing),
    /// The shader in another language, or compiled by another compiler.
    Compiled(Compiled),
}

/// A shading language that a case can be printed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// GLSL 4.50 for Vulkan.
    Glsl,
    /// HLSL of Shader Model 6.
    Hlsl,
    /// WGSL with the extension `subgroups`.
    Wgsl,
    /// Slang: HLSL, with more operations, the number of the wave, and maximal reconvergence.
    Slang,
}

impl Language {
    /// Every language that has a printer.
    pub const ALL: [Language; 4] = [Language::Glsl, Language::Hlsl, Language::Wgsl, Language::Slang];

    /// The name in a variant's name, and the extension of files.
    pub const fn name(self) -> &'static str {
        match self {
            Language::Glsl => "glsl",
            Language::Hlsl => "hlsl",
            Language::Wgsl => "wgsl",
            Language::Slang => "slang",
        }
    }

    /// The name in texts.
    pub const fn title(self) -> &'static str {
        match self {
            Language::Glsl => "GLSL",
            Language::Hlsl => "HLSL",
            Language::Wgsl => "WGSL",
            Language::Slang => "Slang",
        }
    }

    /// True if its shaders can read `SubgroupId` and `NumSubgroups`. Where they cannot the lane map says
    /// [`NOT_OBSERVED`](crate::case::interface::NOT_OBSERVED) instead; subgroups have names of their own there (docs/rules.md, rule M1).
    pub const fn has_subgroup_id(self) -> bool {
        matches!(self, Language::Glsl | Language::Wgsl | Language::Slang)
    }
}

/// A compiler with its language: `hlsl@dxc`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrontEnd {
    /// What the case is printed in.
    pub language: Language,
    /// The compiler's name: lower-case letters, digits, `.`, `_` and `-`. Which ones there are is said by `tangle_compilers`.
    pub compiler: String,
}

/// What [`Variant::Compiled`] says: who makes the module, and what is done with it then.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Compiled {
    /// The language, and the compiler of it.
    pub by: FrontEnd,
    /// What is done with it: a variant with nothing but an optimiser or an option of the pipeline.
    pub then: Box<Variant>,
}

impl FrontEnd {
    /// The compiler's name without that of a build: `clang` for `clang.patched`.
    pub fn base(&self) -> &str {
        self.compiler.split('.').next().unwrap_or_default()
    }
}

impl fmt::Display for FrontEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.language.name(), self.compiler)
    }
}

impl FromStr for FrontEnd {
    type Err = String;

    fn from_str(text: &str) -> Result<FrontEnd, String> {
        let (language, compiler) =
            text.split_once('@').ok_or_else(|| format!("'{text}' is no front end: LANGUAGE@COMPILER"))?;
        let names = || Language::ALL.map(Language::name).join(", ");
        let known = Language::ALL.into_iter().find(|known| known.name() == language);
        let language = known.ok_or_else(|| format!("there is no language '{language}'; there are: {}", names()))?;
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
        if compiler.is_empty() || !compiler.chars().all(is_plain) {
            return Err(format!("'{compiler}' is no name of a compiler"));
        }
        Ok(FrontEnd { language, compiler: compiler.to_owned() })
    }
}

/// How the SPIR-V printer uses the freedom that the language leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Printing {
    /// Where a freedom is used.
    pub seed: u32,
    /// What is done at all; without any, the control flow is that of the GLSL front end.
    pub freedoms: Vec<Freedom>,
}

impl Printing {
    /// The control flow of the GLSL front end.
    pub const PLAIN: Printing = Printing { seed: 0, freedoms: Vec::new() };

    /// With these freedoms. Without any, nothing depends on the seed.
    pub fn new(seed: u32, freedoms: Vec<Freedom>) -> Printing {
        Printing { seed: if freedoms.is_empty() { 0 } else { seed }, freedoms }
    }
}

macro_rules! freedoms {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What front ends do in different ways. Nothing that the oracle predicts depends on it: see where `tangle_emit::spirv` uses it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Freedom {
            $($(#[$doc])* $name,)*
        }

        impl Freedom {
            /// Every freedom, in the order of the table.
            pub const ALL: &'static [Freedom] = &[$(Freedom::$name,)*];

            /// The name in a variant's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Freedom::$name => $text,)*
                }
            }
        }
    };
}

freedoms! {
    /// Variables are values with OpPhi, not memory.
    Phis = "phis",
    /// Negated conditions with swapped targets.
    SwappedArms = "swapped-arms",
    /// Blocks with nothing but a branch.
    EmptyBlocks = "empty-blocks",
    /// A conditional break or continue without OpSelectionMerge; a case label that is the merge block.
    BareExits = "bare-exits",
    /// OpSelect, OpLogicalAnd and OpLogicalOr where nothing forbids to evaluate both sides.
    Select = "select",
    /// An `if` as OpSwitch.
    IfAsSwitch = "if-as-switch",
    /// Selectors of 64 bits.
    WideSelectors = "wide-selectors",
    /// A default that cannot be reached, where the other labels have every value.
    UnreachableDefault = "unreachable-default",
    /// The header of a loop has its test, or the beginning of its body.
    HeaderTest = "header-test",
    /// A loop that is one block: header, body and continue target.
    SingleBlock = "single-block",
    /// A loop whose body is its continue construct.
    BodyAsContinue = "body-as-continue",
    /// The merge block of one construct, or an arm, is the header of the next loop.
    MergeAsHeader = "merge-as-header",
    /// Statements in a switch with nothing but a default.
    OneCaseSwitch = "one-case-switch",
    /// Statements in a loop that is left at the end of its first iteration.
    OneTripLoop = "one-trip-loop",
    /// One return for all, behind a switch with nothing but a default.
    SharedReturn = "shared-return",
    /// Other instructions with the same result: null constants, initialisers, dynamic indices, mirrored comparisons, cluster sizes that are
    /// specialisation constants.
    Forms = "forms",
    /// Inline and DontInline on functions.
    FunctionControl = "function-control",
}

/// Passes of `spirv-opt` that keep what every valid module means, in any order that [`Variant::of_passes`] makes. Left out are those that prepare a module for one
/// use (legalisation, `--convert-to-half`), that ask for more than the module says (`--loop-fission`, `--loop-fusion`), that add
/// checks, or that crash on much of what they get (`--loop-peeling`, after inlining).
pub const PASSES: [&str; 30] = [
    "ccp",
    "cfg-cleanup",
    "code-sink",
    "combine-access-chains",
    "convert-local-access-chains",
    "copy-propagate-arrays",
    "eliminate-dead-branches",
    "eliminate-dead-code-aggressive",
    "eliminate-dead-const",
    "eliminate-dead-functions",
    "eliminate-dead-inserts",
    "eliminate-dead-variables",
    "eliminate-local-multi-store",
    "eliminate-local-single-block",
    "eliminate-local-single-store",
    "if-conversion",
    "inline-entry-points-exhaustive",
    "local-redundancy-elimination",
    "loop-invariant-code-motion",
    "loop-unroll",
    "merge-blocks",
    "merge-return",
    "private-to-local",
    "reduce-load-size",
    "redundancy-elimination",
    "remove-duplicates",
    "scalar-replacement",
    "simplify-instructions",
    "strength-reduction",
    "vector-dce",
];

/// Passes that are only for modules as another pass leaves them: a list has the second right before the first. Of [`PASSES`], each looked
/// up in `include/spirv-tools/optimizer.hpp` of SPIRV-Tools v2025.3, one has such a condition.
///
/// - `merge-return`, at `CreateMergeReturnPass`: "for structured control flow it is assumed that the only unreachable blocks in the
///   function are trivial merge and continue blocks. […] these conditions are guaranteed to be met after running dead-branch
///   elimination." A pass between the two may leave other blocks unreachable again.
///
/// The others say at most that they find more behind certain passes ("This pass is most effective when preceded by …"), or what they leave
/// alone ("currently will not process functions with function calls").
const RIGHT_BEHIND: [(&str, &str); 1] = [("merge-return", "eliminate-dead-branches")];

/// The pass that must stand right before one of a list, if it does not.
fn lacking(before: Option<&&'static str>, pass: &str) -> Option<&'static str> {
    let (_, needed) = RIGHT_BEHIND.into_iter().find(|(name, _)| *name == pass)?;
    (before != Some(&needed)).then_some(needed)
}

/// What `spirv-opt -O` runs, as SPIRV-Tools v2025.3 has it (`Optimizer::RegisterPerformancePasses`).
const PERFORMANCE: &[&str] = &[
    "wrap-opkill",
    "eliminate-dead-branches",
    "merge-return",
    "inline-entry-points-exhaustive",
    "eliminate-dead-functions",
    "eliminate-dead-code-aggressive",
    "private-to-local",
    "eliminate-local-single-block",
    "eliminate-local-single-store",
    "eliminate-dead-code-aggressive",
    "scalar-replacement=0",
    "convert-local-access-chains",
    "eliminate-local-single-block",
    "eliminate-local-single-store",
    "eliminate-dead-code-aggressive",
    "eliminate-local-multi-store",
    "eliminate-dead-code-aggressive",
    "ccp",
    "eliminate-dead-code-aggressive",
    "loop-unroll",
    "eliminate-dead-branches",
    "redundancy-elimination",
    "combine-access-chains",
    "simplify-instructions",
    "scalar-replacement=0",
    "convert-local-access-chains",
    "eliminate-local-single-block",
    "eliminate-local-single-store",
    "eliminate-dead-code-aggressive",
    "ssa-rewrite",
    "eliminate-dead-code-aggressive",
    "vector-dce",
    "eliminate-dead-inserts",
    "eliminate-dead-branches",
    "simplify-instructions",
    "if-conversion",
    "copy-propagate-arrays",
    "reduce-load-size",
    "eliminate-dead-code-aggressive",
    "merge-blocks",
    "redundancy-elimination",
    "eliminate-dead-branches",
    "merge-blocks",
    "simplify-instructions",
];

/// `--ssa-rewrite` and this one are the same pass (`CreateLocalMultiStoreElimPass`).
const LOCAL_MULTI_STORE: &str = "eliminate-local-multi-store";

/// What `spirv-opt -Os` runs (`Optimizer::RegisterSizePasses`).
const SIZE: &[&str] = &[
    "wrap-opkill",
    "eliminate-dead-branches",
    "merge-return",
    "inline-entry-points-exhaustive",
    "eliminate-dead-functions",
    "private-to-local",
    "scalar-replacement=0",
    "eliminate-local-multi-store",
    "ccp",
    "loop-unroll",
    "eliminate-dead-branches",
    "simplify-instructions",
    "scalar-replacement=0",
    "eliminate-local-single-store",
    "if-conversion",
    "simplify-instructions",
    "eliminate-dead-code-aggressive",
    "eliminate-dead-branches",
    "merge-blocks",
    "convert-local-access-chains",
    "eliminate-local-single-block",
    "eliminate-dead-code-aggressive",
    "copy-propagate-arrays",
    "vector-dce",
    "eliminate-dead-inserts",
    "eliminate-dead-members",
    "eliminate-local-single-store",
    "merge-blocks",
    "eliminate-local-multi-store",
    "redundancy-elimination",
    "simplify-instructions",
    "eliminate-dead-code-aggressive",
    "cfg-cleanup",
];

/// Flags of `spirv-opt` with `-O` and `-Os` spelled out pass by pass.
pub fn single_passes(flags: &[String]) -> Vec<String> {
    let passes = |list: &[&str]| list.iter().map(|pass| format!("--{pass}")).collect();
    let single = |flag: &String| match flag.as_str() {
        "-O" => passes(PERFORMANCE),
        "-Os" => passes(SIZE),
        _ => vec![flag.clone()],
    };
    flags.iter().flat_map(single).collect()
}

/// Names of the variants without passes of their own.
const NAMES: [(Variant, &str); 5] = [
    (Variant::Unoptimised, "unoptimised"),
    (Variant::Module, "module"),
    (Variant::DriverUnoptimised, "driver-unoptimised"),
    (Variant::Performance, "spirv-opt-O"),
    (Variant::Size, "spirv-opt-Os"),
];

/// What the name of a variant without a front end begins with.
const PRINTED: &str = "printed";

/// What the name of a list of passes begins with.
const PASSES_PREFIX: &str = "spirv-opt:";

impl Variant {
    /// Those without passes or freedoms of their own.
    pub const FIXED: [Variant; 5] = [
        Variant::Unoptimised,
        Variant::DriverUnoptimised,
        Variant::Performance,
        Variant::Size,
        Variant::Printed(Printing::PLAIN),
    ];

    /// True for what every case is without a choice.
    pub fn is_unoptimised(&self) -> bool {
        *self == Variant::Unoptimised
    }

    /// The module of a compiler as it is.
    pub fn compiled(by: FrontEnd) -> Variant {
        Variant::Compiled(Compiled { by, then: Box::default() })
    }

    /// The compiler that makes the module of a shader in its language; `None` for glslang with GLSL, and for a printed module.
    pub fn front_end(&self) -> Option<&FrontEnd> {
        match self {
            Variant::Compiled(Compiled { by, .. }) => Some(by),
            _ => None,
        }
    }

    /// The language that the shader is printed in, if only for people.
    pub fn language(&self) -> Language {
        self.front_end().map_or(Language::Glsl, |by| by.language)
    }

    /// What is done with the module that a front end made.
    pub fn then(&self) -> &Variant {
        match self {
            Variant::Compiled(Compiled { then, .. }) => then,
            own => own,
        }
    }

    /// The same optimiser and option of the pipeline behind another front end; a printed module is only another way to make one.
    pub fn by(&self, by: FrontEnd) -> Variant {
        let then = if self.is_printed() { Variant::Unoptimised } else { self.then().clone() };
        Variant::Compiled(Compiled { by, then: Box::new(then) })
    }

    /// True if the pipeline is made with `VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT`.
    pub fn disables_driver_optimisation(&self) -> bool {
        *self.then() == Variant::DriverUnoptimised
    }

    /// The arguments of `spirv-opt`; empty if it does not run.
    pub fn flags(&self) -> Vec<String> {
        match self.then() {
            Variant::Compiled(_)
            | Variant::Unoptimised
            | Variant::Module
            | Variant::DriverUnoptimised
            | Variant::Printed(_) => Vec::new(),
            Variant::Performance => vec!["-O".into()],
            Variant::Size => vec!["-Os".into()],
            Variant::Passes(passes) => passes.iter().map(|pass| format!("--{pass}")).collect(),
        }
    }

    /// True if `spirv-opt` runs.
    pub fn is_optimised(&self) -> bool {
        matches!(self.then(), Variant::Performance | Variant::Size | Variant::Passes(_))
    }

    /// True if a device with a front end of its own gets the text, and no module.
    pub const fn may_be_text(&self) -> bool {
        matches!(self, Variant::Unoptimised | Variant::DriverUnoptimised)
    }

    /// True if no GLSL is compiled.
    pub const fn is_printed(&self) -> bool {
        matches!(self, Variant::Printed(_))
    }

    /// True if shaders like this can be made as this variant: the printer of modules knows those of workgroups, but no payloads.
    pub fn fits(&self, entry_point: &EntryPoint) -> bool {
        !self.is_printed() || entry_point.stage.has_workgroups() && entry_point.payload_copies() == 0
    }

    /// True if it loses a workgroup size that specialisation constants give: before SPIR-V 1.6 it stands in a built-in that nothing
    /// mentions, and SPIRV-Tools takes that for a dead constant.
    pub fn loses_workgroup_size(&self) -> bool {
        matches!(self.then(), Variant::Passes(passes) if passes.contains(&"eliminate-dead-const"))
    }

    /// These passes, and what each of them needs right before it ([`Variant::unpromised`]).
    pub fn of_passes(passes: impl IntoIterator<Item = &'static str>) -> Variant {
        let mut list: Vec<&'static str> = Vec::new();
        for pass in passes {
            list.extend(lacking(list.last(), pass));
            list.push(pass);
        }
        Variant::Passes(list)
    }

    /// `-O` and `-Os` as a list of passes, from which some can be left out. What is not of [`PASSES`] is missing in it.
    pub fn listed(&self) -> Option<Variant> {
        let passes = match self {
            Variant::Performance => PERFORMANCE,
            Variant::Size => SIZE,
            _ => return None,
        };
        let known = |pass: &&str| {
            let name = pass.split('=').next().map(|name| if name == "ssa-rewrite" { LOCAL_MULTI_STORE } else { name });
            PASSES.into_iter().find(|known| Some(*known) == name)
        };
        Some(Variant::of_passes(passes.iter().filter_map(known)))
    }

    /// Why `spirv-opt` promises nothing of this list of passes: one is not where its documentation wants it. What it makes of a module
    /// then says nothing about it, or about the driver that gets it.
    pub fn unpromised(&self) -> Option<String> {
        let Variant::Passes(passes) = self.then() else { return None };
        passes.iter().enumerate().find_map(|(at, pass)| {
            let needed = lacking(at.checked_sub(1).map(|before| &passes[before]), pass)?;
            Some(format!("a promise of spirv-opt for this list of passes: {pass} is only for right behind {needed}"))
        })
    }

    /// A short name, without the passes.
    pub fn family(&self) -> &'static str {
        match self {
            Variant::Passes(_) => "spirv-opt passes",
            Variant::Printed(_) => PRINTED,
            Variant::Compiled(_) => "another front end",
            fixed => NAMES.iter().find(|(variant, _)| variant == fixed).map_or("", |(_, name)| name),
        }
    }

    /// How far it is from the front end's module: for reductions.
    pub fn weight(&self) -> u64 {
        match self {
            Variant::Unoptimised => 0,
            Variant::Module | Variant::DriverUnoptimised => 1,
            Variant::Passes(passes) => 1 + passes.len() as u64,
            // A bug that shows without a front end is easier to look at than one that needs an optimiser.
            Variant::Printed(printing) => 2 + printing.freedoms.len() as u64,
            Variant::Performance | Variant::Size => 1000,
            Variant::Compiled(Compiled { then, .. }) => 2000 + then.weight(),
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Variant::Passes(passes) => write!(f, "{PASSES_PREFIX}{}", passes.join(",")),
            Variant::Printed(Printing { freedoms, .. }) if freedoms.is_empty() => f.write_str(PRINTED),
            Variant::Printed(Printing { seed, freedoms }) => {
                let names: Vec<&str> = freedoms.iter().map(|freedom| freedom.name()).collect();
                write!(f, "{PRINTED}:{seed}:{}", names.join(","))
            }
            Variant::Compiled(Compiled { by, then }) if then.is_unoptimised() => by.fmt(f),
            Variant::Compiled(Compiled { by, then }) => write!(f, "{by}+{then}"),
            fixed => f.write_str(fixed.family()),
        }
    }
}

impl From<Variant> for String {
    fn from(variant: Variant) -> String {
        variant.to_string()
    }
}

impl TryFrom<String> for Variant {
    type Error = String;

    fn try_from(text: String) -> Result<Variant, String> {
        text.parse()
    }
}

impl FromStr for Variant {
    type Err = String;

    fn from_str(text: &str) -> Result<Variant, String> {
        if let Some((variant, _)) = NAMES.iter().find(|(_, name)| *name == text) {
            return Ok(variant.clone());
        }
        if let Some(printing) = printing(text)? {
            return Ok(Variant::Printed(printing));
        }
        if text.split('+').next().is_some_and(|first| first.contains('@')) {
            return compiled(text);
        }
        let Some(passes) = text.strip_prefix(PASSES_PREFIX) else {
            let names: Vec<&str> = NAMES.iter().map(|(_, name)| *name).collect();
            return Err(format!(
                "there is no variant '{text}'; there are: {}, {PASSES_PREFIX}PASS,PASS…, {PRINTED}, {PRINTED}:SEED:FREEDOM,FREEDOM…, \
                 LANGUAGE@COMPILER, LANGUAGE@COMPILER+VARIANT",
                names.join(", ")
            ));
        };
        let known = |pass: &str| {
            let found = PASSES.iter().find(|known| **known == pass);
            found.copied().ok_or_else(|| format!("there is no pass '{pass}'; there are: {}", PASSES.join(", ")))
        };
        passes.split(',').map(known).collect::<Result<_, _>>().map(Variant::Passes)
    }
}

/// Reads `hlsl@dxc`, or `hlsl@dxc+spirv-opt-O`.
fn compiled(text: &str) -> Result<Variant, String> {
    let (by, then) = text.split_once('+').unwrap_or((text, NAMES[0].1));
    let then: Variant = then.parse()?;
    if then.is_printed() || then.front_end().is_some() {
        return Err(format!("'{text}': behind a front end stands an optimiser, or an option of the pipeline"));
    }
    Ok(Variant::Compiled(Compiled { by: by.parse()?, then: Box::new(then) }))
}

/// Reads `printed` or `printed:SEED:FREEDOM,FREEDOM…`; `None` if it is neither.
fn printing(text: &str) -> Result<Option<Printing>, String> {
    if text == PRINTED {
        return Ok(Some(Printing::PLAIN));
    }
    let Some(rest) = text.strip_prefix(PRINTED).and_then(|rest| rest.strip_prefix(':')) else { return Ok(None) };
    let (seed, names) =
        rest.split_once(':').ok_or_else(|| format!("'{text}' has no freedoms: {PRINTED}:SEED:FREEDOM,FREEDOM…"))?;
    let seed = seed.parse().map_err(|_| format!("'{seed}' is no seed"))?;
    let known = |name: &str| {
        let all = || Freedom::ALL.iter().map(|freedom| freedom.name());
        let found = Freedom::ALL.iter().find(|freedom| freedom.name() == name);
        found
            .copied()
            .ok_or_else(|| format!("there is no freedom '{name}'; there are: {}", all().collect::<Vec<_>>().join(", ")))
    };
    let freedoms = names.split(',').map(known).collect::<Result<_, _>>()?;
    Ok(Some(Printing::new(seed, freedoms)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry_point::{Launch, SpirvVersion, Stage};

    #[test]
    fn a_variant_reads_back_from_its_name() {
        let passes = Variant::Passes(vec!["merge-return", "inline-entry-points-exhaustive"]);
        let printed = Variant::Printed(Printing::new(7, Freedom::ALL.to_vec()));
        let dxc = FrontEnd { language: Language::Hlsl, compiler: "dxc-1.7".into() };
        let compiled = [Variant::compiled(dxc.clone()), Variant::Size.by(dxc.clone()), passes.by(dxc)];
        for variant in Variant::FIXED
            .into_iter()
            .chain([Variant::Module, passes, Variant::Passes(PASSES.to_vec()), printed])
            .chain(compiled)
        {
            assert_eq!(variant.to_string().parse(), Ok(variant.clone()));
            let json = serde_json::to_string(&variant).expect("plain data");
            assert_eq!(serde_json::from_str::<Variant>(&json).expect("it was just written"), variant);
        }
    }

    #[test]
    fn front_ends_have_names() {
        let variant: Variant = "hlsl@dxc+spirv-opt-O".parse().expect("a variant");
        assert_eq!((variant.language(), variant.flags()), (Language::Hlsl, vec!["-O".to_owned()]));
        assert!(variant.is_optimised() && !variant.may_be_text());
        for bad in ["hlsl@", "hlsl@DXC", "cg@dxc", "hlsl@dxc+printed", "hlsl@dxc+hlsl@dxc", "hlsl@dxc+", "hlsl"] {
            assert!(bad.parse::<Variant>().is_err(), "{bad}");
        }
    }

    #[test]
    fn passes_stand_where_their_documentation_wants_them() {
        for (list, repaired) in [
            ("ccp", "ccp"),
            ("eliminate-dead-branches,merge-return", "eliminate-dead-branches,merge-return"),
            ("merge-return", "eliminate-dead-branches,merge-return"),
            (
                "eliminate-dead-branches,ccp,merge-return",
                "eliminate-dead-branches,ccp,eliminate-dead-branches,merge-return",
            ),
            (
                "eliminate-dead-branches,merge-return,merge-return",
                "eliminate-dead-branches,merge-return,eliminate-dead-branches,merge-return",
            ),
        ] {
            let variant: Variant =
                format!("{PASSES_PREFIX}{list}").parse().expect("it is one, and old findings have it");
            assert_eq!(variant.unpromised().is_some(), list != repaired, "{list}");
            let Variant::Passes(passes) = variant else { unreachable!("a list of passes") };
            let fit = Variant::of_passes(passes);
            assert_eq!(fit.to_string(), format!("{PASSES_PREFIX}{repaired}"));
            assert_eq!(fit.unpromised(), None);
        }
        for variant in Variant::FIXED {
            assert_eq!(variant.unpromised(), None);
        }
        assert!(RIGHT_BEHIND.iter().all(|(pass, before)| PASSES.contains(pass) && PASSES.contains(before)));
    }

    #[test]
    fn modules_are_printed_of_shaders_of_workgroups_only() {
        for variant in Variant::FIXED {
            let is_printed = variant == Variant::Printed(Printing::PLAIN);
            let mut entry_point = EntryPoint::compute([8, 1, 1], [1, 1, 1], SpirvVersion::V1_4);
            for (stage, meshes, fits) in [
                (Stage::Compute, 0, true),
                (Stage::Task, 0, true),
                (Stage::Task, 1, !is_printed),
                (Stage::Mesh, 0, true),
                (Stage::Fragment, 0, !is_printed),
            ] {
                entry_point.stage = stage;
                if let Launch::Workgroups(workgroups) = &mut entry_point.launch {
                    workgroups.meshes = meshes;
                }
                assert_eq!(variant.fits(&entry_point), fits, "{variant}, {stage:?}, {meshes}");
            }
        }
    }

    #[test]
    fn what_is_no_variant_is_told() {
        for (text, part) in [
            ("O3", "no variant 'O3'"),
            ("spirv-opt:ccp,melt", "no pass 'melt'"),
            ("spirv-opt:", "no pass ''"),
            ("printed:1", "has no freedoms"),
            ("printed:x:phis", "'x' is no seed"),
            ("printed:1:phi", "no freedom 'phi'"),
        ] {
            assert!(text.parse::<Variant>().is_err_and(|error| error.contains(part)), "{text}");
        }
    }

    #[test]
    fn flags_are_those_of_spirv_opt() {
        assert!(Variant::Unoptimised.flags().is_empty());
        assert_eq!(Variant::Size.flags(), ["-Os"]);
        assert_eq!(Variant::Passes(vec!["ccp", "merge-blocks"]).flags(), ["--ccp", "--merge-blocks"]);
        for (variant, missing) in
            [(Variant::Performance, &["wrap-opkill"][..]), (Variant::Size, &["wrap-opkill", "eliminate-dead-members"])]
        {
            let listed = variant.listed().expect("it has passes");
            assert_eq!(listed.unpromised(), None);
            assert_eq!(listed.flags().len() + missing.len(), single_passes(&variant.flags()).len(), "{listed}");
        }
        assert_eq!(Variant::Unoptimised.listed(), None);
    }
}
