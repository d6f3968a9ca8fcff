//! Tint, Chrome's compiler of WGSL: as Dawn uses it on Vulkan, or somebody's own build of the program `tint`.
//!
//! Dawn comes as the Python package `wgpudawn`, which a script (`tint.py`) that is kept running loads. A Vulkan layer between Dawn and the
//! driver (`setup/module_layer.c`) takes the modules that Dawn gives to the driver: with Dawn's choices of transforms for that driver, indices
//! restricted to what they index among them, and arrays of the workgroup filled with zeros. The driver, which compiles nothing, is SwiftShader where
//! the set-up has it, since Dawn asks for more than old drivers have.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tangle_emit::wgsl::without_subgroup_size;
use tangle_files::module::instructions;
use tangle_program::case::{Case, SpirvVersion, Stage, Tier};
use tangle_program::variant::Language;

use crate::compiler::{Call, Compiler, Failure, Found, absent, installed};
use crate::server::{Kept, Server};
use crate::started;

pub(crate) const WGSL: Compiler = Compiler {
    name: "tint",
    language: Language::Wgsl,
    about: "Tint, Chrome's shader compiler, in Dawn",
    promise: Tier::Plain,
    stages: |_| &[Stage::Compute],
    // With Dawn's toggle `use_spirv_1_4`, on by default where the driver takes it.
    least_spirv: SpirvVersion::V1_4,
    lacks_features: &[],
    lacks,
    fitted: None,
    find,
    compile,
    command: |_, _| Some("tint --format spirv --output-name shader.spv shader.wgsl".into()),
};

/// The most invocations of a workgroup, and the most in its third dimension, that every device has (WebGPU, Limits:
/// `maxComputeInvocationsPerWorkgroup`, `maxComputeWorkgroupSizeZ`).
const MOST_INVOCATIONS: u32 = 256;
const MOST_IN_Z: u32 = 64;

fn lacks(case: &Case) -> Vec<String> {
    let mut lacking = Vec::new();
    if case.entry_point.stage == Stage::Compute {
        let size = case.entry_point.workgroups().size;
        if size.iter().product::<u32>() > MOST_INVOCATIONS || size[2] > MOST_IN_Z {
            lacking.push("workgroups larger than WebGPU's limits".to_owned());
        }
    }
    lacking
}

/// The file of the Python package by which it is recognised.
const PACKAGE: &str = "wgpudawn/__init__.py";

fn find(named: Option<&Path>) -> Result<Found, String> {
    if let Some(path) = named {
        let version = path.display().to_string();
        return match path.is_file() || path.join(PACKAGE).is_file() {
            true => Ok(Found { path: Some(path.to_owned()), version, ..Found::default() }),
            false => {
                Err(format!("{version} is neither the program tint nor a folder with the Python package wgpudawn"))
            }
        };
    }
    let folder = installed(WGSL.name).ok_or_else(|| absent(WGSL.name))?;
    let version = std::fs::read_to_string(folder.join("version")).unwrap_or_default();
    Ok(Found { path: Some(folder), version: version.trim().to_owned(), ..Found::default() })
}

/// Answers a line for each shader; see there.
const SCRIPT: &str = include_str!("tint.py");

thread_local! {
    static RUNNING: Kept = const { Kept::new() };
}

/// Ends the process, if there is one.
pub(crate) fn end() {
    RUNNING.with(Kept::end);
}

/// The folder with the Vulkan layer, in that of what the set-up got.
const LAYER: &str = "module-layer";
const LIBRARY: &str = "module_layer.so";

fn start(folder: &Path) -> Result<Server, Failure> {
    let cache = tangle_files::cache_folder();
    let layer = cache.as_ref().map(|cache| cache.join(LAYER)).filter(|layer| layer.join(LIBRARY).is_file());
    let layer = layer.ok_or_else(|| {
        Failure::Absent("the Vulkan layer that takes Dawn's modules is not there: ./x setup builds it".into())
    })?;
    let mut command = Command::new("python3");
    command.args(["-I", "-c", SCRIPT]).arg(folder).arg(layer.join(LIBRARY));
    command.env("VK_LAYER_PATH", &layer).env("VK_INSTANCE_LAYERS", "VK_LAYER_TANGLE_modules");
    let swiftshader = cache.map(|cache| cache.join("drivers/swiftshader/swiftshader.json"));
    if let Some(manifest) = swiftshader.filter(|manifest| manifest.is_file()) {
        command.env("VK_DRIVER_FILES", &manifest).env("VK_ICD_FILENAMES", manifest);
    }
    Server::start(&mut command, "Dawn")
}

fn compile(call: &Call<'_>) -> Result<Vec<u32>, Failure> {
    let Some(path) = call.path else { return Err(Failure::Absent(absent(WGSL.name))) };
    // Older versions do not know it, and it is in no module.
    let source = without_subgroup_size(call.source);
    if path.is_file() {
        return compile_by_program(path, call.prefix, &source);
    }
    let line = Value::from(source).to_string();
    match RUNNING.with(|running| running.ask(path, &line, || start(path)))? {
        (kind, digits) if kind == "spirv" => {
            words(&digits).map(called_main).ok_or_else(|| Failure::Absent("Dawn's process gives no words".into()))
        }
        (_, message) => Err(Failure::Refused(message)),
    }
}

/// The words of a module in hexadecimal digits, the lowest byte first.
fn words(digits: &str) -> Option<Vec<u32>> {
    let word = |digits: &[u8]| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok().map(u32::swap_bytes);
    digits.as_bytes().chunks(8).map(word).collect()
}

/// The module with `main` as the name of its entry point, which Dawn calls by a name of its own.
fn called_main(mut words: Vec<u32>) -> Vec<u32> {
    let entry_point = instructions(&words).flatten().find(|found| found.opcode() == spirv::Op::EntryPoint as u32);
    // Behind the first word, the execution model and the function; it ends with the first byte 0.
    let name = entry_point.and_then(|found| found.words.get(3..));
    let last = name.and_then(|name| name.iter().position(|word| word.to_le_bytes().contains(&0)));
    if let (Some(found), Some(last)) = (entry_point, last) {
        let (at, length) = (found.at, found.words.len() + 1 - last);
        words.splice(at + 3..=at + 3 + last, [u32::from_le_bytes(*b"main"), 0]);
        words[at] = (length as u32) << 16 | spirv::Op::EntryPoint as u32;
    }
    words
}

fn compile_by_program(program: &Path, prefix: &[String], source: &str) -> Result<Vec<u32>, Failure> {
    let folder = started::folder(&[("shader.wgsl", source)])?;
    let mut command = started::command(program, prefix);
    command.args(["--format", "spirv", "--output-name", "shader.spv", "shader.wgsl"]).current_dir(folder.path());
    started::run(&mut command)?;
    started::module(&started::read(&folder, "shader.spv")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_point_gets_its_name_back() {
        const HEADER: [u32; 5] = [spirv::MAGIC_NUMBER, 0x0001_0400, 0, 9, 0];
        let module = |name: &[u8], interface: &[u32]| {
            let name = name.chunks(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()));
            let operands: Vec<u32> = [5, 4].into_iter().chain(name).chain(interface.iter().copied()).collect();
            let first = (operands.len() as u32 + 1) << 16 | spirv::Op::EntryPoint as u32;
            [&HEADER[..], &[2 << 16 | 17, 1, first], &operands, &[1 << 16 | 253]].concat()
        };
        for interface in [&[][..], &[6, 7]] {
            let expected = module(b"main\0\0\0\0", interface);
            for name in [&b"dawn_entry_point"[..], b"a\0\0\0", b"main\0\0\0\0"] {
                let name = if name.last() == Some(&0) { name.to_vec() } else { [name, &[0; 4]].concat() };
                assert_eq!(called_main(module(&name, interface)), expected, "{name:?}");
            }
        }
        for broken in [&[][..], &[1 << 16 | 15], &[4 << 16 | 15, 5, 4, 0x6162_6364]] {
            let broken = [&HEADER[..], broken].concat();
            assert_eq!(called_main(broken.clone()), broken);
        }
        assert_eq!(words("0302230700000100"), Some(vec![spirv::MAGIC_NUMBER, 0x0001_0000]));
        assert_eq!(words("03022307zz"), None);
    }
}
