//! Somebody else's shader that a device fails on, as a report shows it.

use crate::export::Property;

/// What a report says of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModuleReport {
    /// The heading of the report.
    pub title: String,
    /// What came of it, in lines as a terminal shows them.
    pub what: String,
    /// The machine, as a bug tracker asks for it; a value that is empty is for a person to fill in.
    pub environment: Vec<Property>,
    /// What it was run with: names and values.
    pub facts: Vec<(String, String)>,
    /// Words that differ: where, what has to be there, what is.
    pub rows: Vec<[String; 3]>,
    /// The command that shows it, in the finding's folder.
    pub command: String,
    /// How to see it without tangle, or why there is no such way.
    pub without_tangle: String,
    /// The files of the finding's folder, and what each is.
    pub files: Vec<(String, String)>,
    /// The module, for people.
    pub assembly: String,
}

impl ModuleReport {
    /// What came of it, in one line.
    pub fn verdict(&self) -> &str {
        self.what.lines().next().unwrap_or_default()
    }

    /// The machine and what it was run with. What a person has to fill in says so.
    pub fn all_facts(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let blank = |value: &String| if value.is_empty() { "(fill in)".to_owned() } else { value.clone() };
        let environment = self.environment.iter().map(move |(what, value)| ((*what).to_owned(), blank(value)));
        environment.chain(self.facts.iter().cloned())
    }
}

/// What is demanded of the words that differ.
pub(crate) const WHAT_MUST_BE: &str =
    "What must be there is what the rules of SPIR-V and Vulkan determine with the lanes that the device showed.";

#[cfg(test)]
pub(crate) fn example() -> ModuleReport {
    ModuleReport {
        title: "a & b".into(),
        what: "lvp: wrong: 1 of 2 words compared differ\n  set 0 binding 1, byte 4: 0x1 -> 0x2\n".into(),
        environment: vec![
            ("Device", "llvmpipe".into()),
            ("Driver", "llvmpipe Mesa 26.2.6".into()),
            ("Vulkan", String::new()),
        ],
        facts: vec![("Shader".into(), "shader.comp".into())],
        rows: vec![["set 0, binding 1, byte 4", "0x1", "<0x2>"].map(str::to_owned)],
        command: "tangle judge module.spv --device lvp".into(),
        without_tangle: "Without tangle: `amber module.amber`.".into(),
        files: vec![("module.spv".into(), "the shader".into())],
        assembly: "OpNop ; ```".into(),
    }
}
