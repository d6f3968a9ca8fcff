//! What the files of a bundle are made from, and what they share.

use std::fmt::Write as _;

use tangle_identity::account::Account;
use tangle_oracle::relation::Relation;
use tangle_program::case::{Case, Stage};

/// Every file that a bundle can have, and what it is. One that ends with a dot has the extension of the case ([`Case::extension`]).
pub const FILES: [(&str, &str); 8] = [
    ("README.md", "this text"),
    ("repro.c", "one C program against the Vulkan loader that checks itself"),
    ("case.amber", "the same for Amber (AmberScript)"),
    ("case.shader_test", "the same for VkRunner"),
    ("shader.spvasm", "the disassembly of the module"),
    ("shader.spv", "the module that the driver got"),
    ("shader.", "the shader"),
    ("neighbour.", "the nearest program that passes"),
];

/// The row of a file.
pub(super) fn row(file: &str) -> Option<usize> {
    FILES.iter().position(|(name, _)| file == *name || name.ends_with('.') && file.starts_with(name))
}

/// What the files are made from.
pub(super) struct Source<'a> {
    pub(super) case: &'a Case,
    pub(super) text: &'a str,
    pub(super) spirv: &'a [u32],
    pub(super) disassembly: &'a str,
    /// The modules of the other shaders of its pipeline.
    pub(super) beside: &'a [(Stage, Vec<u32>)],
    /// What every right device with the lane map has to do, whoever it lets execute together where that is its choice.
    pub(super) account: Option<&'a Account<'a>>,
    /// Words that cannot stand together, where the device has a choice: what the finding shows, if no word is wrong by itself.
    pub(super) relations: &'a [Relation],
    /// What it shows, in one line.
    pub(super) title: String,
    /// What it shows, in a few lines.
    pub(super) story: String,
}

/// Adds lines, each behind `prefix`, wherever the texts have line breaks.
pub(super) fn comment(text: &mut String, prefix: &str, texts: &[&str]) {
    for line in texts.iter().flat_map(|text| if text.is_empty() { vec![""] } else { text.lines().collect() }) {
        let _ = writeln!(text, "{}", format!("{prefix}{line}").trim_end());
    }
}

/// The words of the input buffer: `inputs[k][invocation]` as word `invocation * K + k`.
pub(super) fn input_words(case: &Case) -> Vec<u32> {
    let invocations = case.entry_point.invocations() as usize;
    let of_invocation = |i: usize| case.data.inputs.iter().map(move |input| input.get(i).copied().unwrap_or(0));
    (0..invocations).flat_map(of_invocation).collect()
}

/// The words of the uniform buffer: an array of `uvec4`s.
pub(super) fn uniform_words(case: &Case) -> Vec<u32> {
    let mut words = case.data.uniforms.clone();
    words.resize(words.len().next_multiple_of(4), 0);
    words
}

/// What a relation says, in a line.
pub(super) fn broken_rule(relation: &Relation) -> String {
    match relation.rule {
        Some(rule) => rule.text().to_owned(),
        None => "no choice of the device gives these values together".into(),
    }
}

/// What neither AmberScript nor VkRunner can say about the lane map.
pub(super) fn map_limit(source: &Source<'_>, first: &str) -> String {
    match source.account {
        Some(_) => format!(
            "A device that places invocations in other lanes fails at the first {first}, where repro.c says that it cannot judge."
        ),
        None => {
            "It expects nothing: the script passes if the program ends. repro.c checks the rules of the lane map, too."
                .into()
        }
    }
}
