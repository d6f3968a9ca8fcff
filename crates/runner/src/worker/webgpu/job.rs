//! A job in the runtime's words, and what comes back.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::runtime::Asked;
use crate::info::DriverMode;
use crate::job::{BufferKind, Init, Job, Launch, ReadBackMode};
use crate::outcome::{LaunchOutput, ReadBack};

/// What WebGPU lacks for a job, beside what the device lacks.
pub(super) fn missing(job: &Job) -> Vec<String> {
    let mut missing = Vec::new();
    let kinds = job.launches.iter().flat_map(|launch| &launch.buffers).map(|buffer| buffer.kind);
    if kinds.into_iter().any(|kind| !matches!(kind, BufferKind::Storage | BufferKind::Uniform)) {
        missing.push("images, texel buffers and device addresses (not made here)".to_owned());
    }
    missing
}

/// The line for a job, and the words behind it.
pub(super) fn asked(job: &Job, wgsl: &str, mode: DriverMode) -> Asked {
    let launches = run(job, mode);
    let immediates = job.launches.first().map_or(0, |launch| launch.push_constants.len());
    let mut words = Vec::new();
    for buffer in launches.iter().flat_map(|launch| &launch.buffers) {
        if let Init::Data(data) = &buffer.init {
            words.extend(data.iter().flat_map(|word| word.to_ne_bytes()));
        }
    }
    let line = json!({
        "wgsl": wgsl,
        "bindings": bindings(wgsl),
        "immediates": immediates,
        "launches": launches.iter().map(of_launch).collect::<Vec<Value>>(),
        "bytes": words.len(),
    });
    Asked { line: line.to_string(), words, expected: launches.iter().map(bytes_back).sum() }
}

/// The launches that run.
fn run(job: &Job, mode: DriverMode) -> &[Launch] {
    match mode {
        DriverMode::Execute => &job.launches,
        DriverMode::CompileOnly => &[],
    }
}

fn of_launch(launch: &Launch) -> Value {
    let buffers: Vec<Value> = launch
        .buffers
        .iter()
        .map(|buffer| {
            let has_data = matches!(buffer.init, Init::Data(_));
            let is_read = buffer.read_back != ReadBackMode::None;
            json!([buffer.binding, buffer.kind == BufferKind::Uniform, buffer.init.words() * 4, has_data, is_read])
        })
        .collect();
    let immediates = launch.push_constants.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    json!({ "groups": launch.groups, "immediates": immediates, "buffers": buffers })
}

fn bytes_back(launch: &Launch) -> u64 {
    let read = launch.buffers.iter().filter(|buffer| buffer.read_back != ReadBackMode::None);
    read.map(|buffer| buffer.init.words() * 4).sum()
}

/// What was read, cut into launches and buffers; `None` if it is another number of words.
pub(super) fn launches(job: &Job, mode: DriverMode, words: &[u32]) -> Option<Vec<LaunchOutput>> {
    let mut rest = words;
    let mut launches = Vec::new();
    for launch in run(job, mode) {
        let mut output = LaunchOutput::default();
        for buffer in &launch.buffers {
            let slice = match buffer.read_back {
                ReadBackMode::None => continue,
                ReadBackMode::Whole => None,
                ReadBackMode::Slices(words) => Some(words),
            };
            let (own, behind) = rest.split_at_checked(usize::try_from(buffer.init.words()).ok()?)?;
            rest = behind;
            output.buffers.push(ReadBack::trimmed(own, slice));
        }
        launches.push(output);
    }
    rest.is_empty().then_some(launches)
}

/// The bindings that a shader declares, each with its type (WebGPU, GPUBufferBindingType).
fn bindings(wgsl: &str) -> Vec<(u32, &'static str)> {
    const TYPES: [(&str, &str); 3] =
        [("storage, read_write", "storage"), ("storage, read", "read-only-storage"), ("uniform", "uniform")];
    let declared = |line: &str| {
        let (number, rest) = line.split_once("@binding(")?.1.split_once(')')?;
        let (space, _) = rest.trim_start().strip_prefix("var<")?.split_once('>')?;
        let (_, kind) = TYPES.into_iter().find(|(text, _)| *text == space)?;
        Some((number.trim().parse().ok()?, kind))
    };
    wgsl.lines().filter_map(declared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Buffer;

    #[test]
    fn bindings_are_read_from_the_text() {
        let wgsl = "@group(0) @binding(3) var<storage, read> a: array<u32>;\n@group(0) @binding(1) var<uniform> b: array<vec4<u32>, 2>;\n\
                    var<immediate> c: Push;\n@group(0) @binding(0) var<storage, read_write> d: array<u32>;\nfn main() {}\n";
        assert_eq!(bindings(wgsl), [(3, "read-only-storage"), (1, "uniform"), (0, "storage")]);
        assert_eq!(bindings("@binding(x) var<uniform> a: u32;\n@binding(1"), []);
    }

    #[test]
    fn what_comes_back_is_cut_as_it_was_asked_for() {
        let buffer =
            |words, read_back| Buffer { binding: 0, kind: BufferKind::Storage, init: Init::Zero { words }, read_back };
        let buffers =
            vec![buffer(2, ReadBackMode::Whole), buffer(9, ReadBackMode::None), buffer(4, ReadBackMode::Slices(2))];
        let job = Job { launches: vec![Launch { buffers, ..Launch::default() }; 2], ..Job::default() };
        let words: Vec<u32> = (1..=12).collect();
        let cut = launches(&job, DriverMode::Execute, &words).expect("as many as were asked for");
        let read: Vec<Vec<u32>> = cut.iter().flat_map(|launch| launch.buffers.iter().map(ReadBack::to_words)).collect();
        assert_eq!(read, [vec![1, 2], vec![3, 4, 5, 6], vec![7, 8], vec![9, 10, 11, 12]]);
        assert_eq!(asked(&job, "", DriverMode::Execute).expected, 48);
        for wrong in [0, 11, 13] {
            assert!(launches(&job, DriverMode::Execute, &vec![0; wrong]).is_none(), "{wrong}");
        }
        assert_eq!(launches(&job, DriverMode::CompileOnly, &[]), Some(Vec::new()));
    }
}
