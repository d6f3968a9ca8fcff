//! `case.shader_test`: the case for VkRunner (README.md of Igalia/vkrunner, now mesa/vkrunner).

use std::collections::HashMap;
use std::fmt::Write as _;

use tangle_analysis::cost::log_stride;
use tangle_features::Needs;
use tangle_oracle::relation::ShownWord;
use tangle_program::case::interface::{ARRAYS, INPUTS, LOG, MAP, UNIFORMS};
use tangle_program::case::{Case, SpirvVersion, Stage, SubgroupSize};
use tangle_program::needs::resource_classes;

use super::demand::{demands, extensions, nameless, vulkan_minor};
use super::expected::Expected;
use super::repro::{array_words, log_words};
use super::runs::{Run, runs_of};
use super::source::{Source, broken_rule, comment, input_words, map_limit, uniform_words};

/// Words on one line of hexadecimal data.
const ROW: usize = 8;

/// The command that runs the script.
pub(super) const COMMAND: &str = "vkrunner case.shader_test";

/// Why there is no script of a case, in one line.
pub(super) fn lacks(case: &Case) -> Option<&'static str> {
    (case.entry_point.stage != Stage::Compute).then_some("no script: only compute shaders are exported to VkRunner")
}

/// The script for VkRunner; without `expected` it only runs the shader.
pub(super) fn vkrunner(source: &Source<'_>, needs: &Needs, expected: Option<&Expected>) -> String {
    let mut text = String::from("[comment]\n");
    comment(
        &mut text,
        "  ",
        &[&source.title, "", &source.story, "", &format!("Run: {COMMAND}"), "", "What VkRunner cannot carry:"],
    );
    limits(source, needs).iter().for_each(|limit| comment(&mut text, "  ", &[&format!("- {limit}")]));
    comment(&mut text, "  ", &["", "The shader:", "", source.text]);
    requirements(&mut text, needs);
    module(&mut text, &frozen(source.spirv, &source.case.specialization()));
    test(&mut text, source);
    if let (Some(account), Some(expected)) = (source.account, expected) {
        let probe = |text: &mut String, binding: u32, at: usize, words: &[u32]| {
            let _ = writeln!(text, "probe ssbo uint {binding} {} == {}", at * 4, list(words));
        };
        let record_words = source.case.entry_point.packed_map_words();
        text.push_str("\n# The lane map; all else is expected for just this one.\n");
        for (i, record) in expected.map.chunks(record_words).enumerate() {
            probe(&mut text, MAP, i * record_words, record);
        }
        text.push_str("\n# The logs: a site, its values; what the specification leaves open is not looked at.\n");
        for Run { at, words, heading, .. } in runs_of(account) {
            if let Some(heading) = heading {
                let _ = writeln!(text, "# {heading}");
            }
            probe(&mut text, LOG, at, &words);
        }
        let stride = log_stride(source.case) as usize;
        for relation in source.relations {
            if let [ShownWord { invocation, at, value }] = relation.words[..] {
                let place = (invocation * stride + at) * 4;
                let _ = writeln!(text, "# {}\nprobe ssbo uint {LOG} {place} != {value}", broken_rule(relation));
            }
        }
    }
    text
}

/// What the format cannot carry.
pub(super) fn limits(source: &Source<'_>, needs: &Needs) -> Vec<String> {
    let entry_point = &source.case.entry_point;
    let unnamed = demands(needs).filter(|row| !row.vkrunner);
    let mut limits: Vec<String> = unnamed.filter_map(|row| nameless(row, "")).collect();
    match entry_point.subgroup_size {
        SubgroupSize::Default => {}
        SubgroupSize::Varying => {
            limits.push("It cannot allow the subgroup size to vary: the device's default is used.".into())
        }
        SubgroupSize::Required(size) => {
            limits.push(format!(
                "It cannot require the subgroup size {size}: the script fits devices whose default that is."
            ));
        }
    }
    if entry_point.full_subgroups {
        limits.push("It cannot require full subgroups.".into());
    }
    if source.case.variant.disables_driver_optimisation() {
        limits.push("It cannot ask the driver not to optimise (VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT).".into());
    }
    if !source.case.specialization().is_empty() {
        limits.push(
            "It cannot specialise: its module has the values as defaults, and is not the one of shader.spv.".into(),
        );
    }
    if needs.spirv == SpirvVersion::V1_6 {
        limits.push("Its older version, in C, skips every script that requires Vulkan 1.3.".into());
    }
    if !resource_classes(&source.case.program).is_empty() {
        limits.push("It cannot bind arrays of descriptors: it fails where the others run.".into());
    }
    limits.push("It cannot ask for subgroup operations: a device without them fails instead of being left out.".into());
    if source.relations.iter().any(|relation| relation.words.len() > 1) {
        limits.push(
            "It compares each word with a number, and not words with each other: the relation that is broken is checked by repro.c and case.amber \
             only."
                .into(),
        );
    }
    limits.push(map_limit(source, "probe"));
    limits
}

fn requirements(text: &mut String, needs: &Needs) {
    let _ = write!(text, "\n[require]\nvulkan 1.{}.0\n", vulkan_minor(needs));
    for row in demands(needs).filter(|row| row.vkrunner) {
        let _ = writeln!(text, "{}", row.name);
    }
    for extension in extensions(needs) {
        let _ = writeln!(text, "{extension}");
    }
}

/// The module with the values of specialisation constants as their defaults.
fn frozen(spirv: &[u32], constants: &[(u32, u32)]) -> Vec<u32> {
    /// OpDecorate, the decoration SpecId, and OpSpecConstant (SPIR-V 1.6 §3.3.9, §3.2.20, §3.3.7).
    const DECORATE: u32 = 71;
    const SPEC_ID: u32 = 1;
    const SPEC_CONSTANT: u32 = 50;
    let mut words = spirv.to_vec();
    let mut values: HashMap<u32, u32> = HashMap::new();
    let mut at = 5;
    while let Some(&first) = words.get(at) {
        let (code, length) = (first & 0xFFFF, (first >> 16).max(1) as usize);
        match (code, &mut words[at..]) {
            (DECORATE, &mut [_, id, SPEC_ID, number, ..]) => {
                let given = constants.iter().find(|(constant, _)| *constant == number);
                values.extend(given.map(|(_, value)| (id, *value)));
            }
            (SPEC_CONSTANT, [_, _, id, literal, ..]) => *literal = values.get(id).copied().unwrap_or(*literal),
            _ => {}
        }
        at += length;
    }
    words
}

/// The module, word by word: VkRunner's own compiler might be another, or too old.
fn module(text: &mut String, spirv: &[u32]) {
    text.push_str("\n[compute shader binary]\n");
    for row in spirv.chunks(ROW) {
        let words: Vec<String> = row.iter().map(|word| format!("{word:08x}")).collect();
        let _ = writeln!(text, "{}", words.join(" "));
    }
}

fn test(text: &mut String, source: &Source<'_>) {
    text.push_str("\n[test]\n");
    let case = source.case;
    let inputs = input_words(case);
    if !inputs.is_empty() {
        let _ = writeln!(text, "ssbo {INPUTS} subdata uint 0 {}", list(&inputs));
    }
    let uniforms = uniform_words(case);
    if !uniforms.is_empty() {
        let _ = writeln!(text, "ubo {UNIFORMS} subdata uvec4 0 {}", list(&uniforms));
    }
    if !case.data.push.is_empty() {
        let _ = writeln!(text, "push uint 0 {}", list(&case.data.push));
    }
    let _ = writeln!(text, "ssbo {MAP} {}", case.entry_point.packed_map_len() * 4);
    // A buffer is not zero by itself.
    let _ = writeln!(text, "ssbo {LOG} subdata uint 0 {}", list(&vec![0; log_words(case)]));
    if array_words(case) != 0 {
        let _ = writeln!(text, "ssbo {ARRAYS} {}", array_words(case) * 4);
    }
    let [x, y, z] = case.entry_point.workgroups().count;
    let _ = writeln!(text, "compute {x} {y} {z}");
}

fn list(words: &[u32]) -> String {
    words.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_frozen_at_their_values() {
        let decorate = |id, decoration, number| [4 << 16 | 71, id, decoration, number];
        let constant = |id, literal| [4 << 16 | 50, 1, id, literal];
        // Constant 3 is given, 4 is not; id 9 is bound to binding 3 and no constant.
        let module = |first| {
            [
                &[0x0723_0203, 0x0001_0300, 0, 10, 0][..],
                &decorate(7, 1, 3),
                &decorate(8, 1, 4),
                &decorate(9, 33, 3),
                &constant(7, first),
                &constant(8, 6),
                &constant(9, 5),
            ]
            .concat()
        };
        assert_eq!(frozen(&module(5), &[(0, 1), (3, 70_000)]), module(70_000));
        assert_eq!(frozen(&module(5), &[]), module(5));
    }
}
