//! `tangle judge --device` with images, samplers, arrays of descriptors and device addresses, on every Vulkan device of this machine: what they
//! leave is right, or they lack what they name. That something wrong is seen shows on the device that is quickest, whose worker is made to change a
//! bit of what it reads back, and on the interpreter with planted faults.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::common::*;
use serde_json::Value;

/// A shader, what it is run with, and where the first word of each buffer is that it leaves.
struct Shader {
    name: &'static str,
    glsl: &'static str,
    args: &'static [&'static str],
    left: &'static [&'static str],
    /// True if every Vulkan device can run it.
    everywhere: bool,
}

const SHADERS: [Shader; 6] = [
    Shader {
        name: "storage images and texel buffers",
        glsl: "#version 450
            layout(local_size_x = 32) in;
            layout(set = 0, binding = 0, r32ui) uniform uimage2D sums;
            layout(set = 0, binding = 4, rgba32f) uniform image2DArray layers;
            layout(set = 1, binding = 0, rgba8) uniform image3D colours;
            layout(set = 2, binding = 3, r32i) uniform iimageBuffer most;
            void main() {
                uint i = gl_LocalInvocationIndex;
                ivec2 at = ivec2(i & 7u, i >> 3u);
                imageAtomicAdd(sums, at / 2, i + 1u);
                imageStore(layers, ivec3(at, 1), vec4(i, 1.0, 0.5, -2.0));
                imageStore(colours, ivec3(at, i & 1u), vec4(1.0, 0.0, i & 1u, 1.0));
                imageAtomicMax(most, int(i), int(i) - 5);
            }",
        args: &[
            "--image", "0.0=4x2", "--image", "0.4=8x4x2", "--buffer", "0.4=zeros:1024", "--image", "1.0=8x4x2", "--image",
            "2.3=32",
        ],
        left: &[
            "set 0 binding 0, byte 0, texel 0,0,0",
            "set 0 binding 4, byte 0, texel 0,0,0",
            "set 1 binding 0, byte 0, texel 0,0,0",
            "set 2 binding 3, byte 0, texel 0,0,0",
        ],
        everywhere: true,
    },
    Shader {
        name: "sampled images, samplers and uniform texel buffers",
        glsl: "#version 450
            #extension GL_EXT_samplerless_texture_functions : require
            layout(local_size_x = 16) in;
            layout(set = 0, binding = 0) uniform usampler2D combined;
            layout(set = 0, binding = 1) uniform utexture3D apart;
            layout(set = 0, binding = 2) uniform sampler nearest;
            layout(set = 0, binding = 3) uniform isamplerBuffer list;
            layout(set = 0, binding = 4) uniform samplerCube cube;
            layout(set = 0, binding = 5) uniform texture1DArray of_both;
            layout(set = 0, binding = 5) uniform sampler with_it;
            layout(set = 1, binding = 0) buffer Out { uint sum[16]; ivec4 sizes; vec4 open; };
            layout(set = 1, binding = 1) uniform Scale { uint scale; };
            void main() {
                uint i = gl_LocalInvocationIndex;
                ivec2 at = ivec2(i & 3u, i >> 2u);
                sum[i] = scale * (texelFetch(combined, at, 0).y + texelFetch(apart, ivec3(at, 1), 0).w) + uint(texelFetch(list, int(i)).x);
                if (i == 0u) {
                    sizes = ivec4(textureSize(cube, 0), textureSize(list), textureSize(apart, 0).z);
                    open = textureLod(cube, vec3(1, 2, 3), 0.0) + textureLod(usampler3D(apart, nearest), vec3(0.5), 0.0).x
                        + textureLod(sampler1DArray(of_both, with_it), vec2(0.5), 0.0);
                }
            }",
        args: &[
            "--image", "0.0=4x4", "--buffer", "0.0=ramp:64", "--image", "0.1=4x4x2", "--buffer", "0.1=random:1:512",
            "--image", "0.3=16", "--buffer", "0.3=ramp:64", "--image", "0.4=8x8", "--buffer", "1.1=ramp:2",
        ],
        left: &["set 1 binding 0, byte 0"],
        everywhere: true,
    },
    Shader {
        name: "texels smaller than a word",
        glsl: "#version 450
            layout(local_size_x = 64) in;
            layout(binding = 0, r8ui) uniform uimage2D bytes;
            layout(binding = 1, rg16i) uniform iimage1DArray halves;
            layout(binding = 2, rgba16f) uniform image2D floats;
            void main() {
                uint i = gl_LocalInvocationIndex;
                ivec2 at = ivec2(i % 9u, i / 9u);
                if (i >= 45u) return;
                imageStore(bytes, at, uvec4(i));
                imageStore(halves, at, ivec4(-at, 0, 0));
                imageStore(floats, at, vec4(at + 1, 0.5, -1.0));
            }",
        args: &["--image", "0.0=9x5", "--image", "0.1=9x5", "--image", "0.2=9x5"],
        left: &[
            "set 0 binding 0, byte 0, texel 0,0,0",
            "set 0 binding 1, byte 0, texel 0,0,0",
            "set 0 binding 2, byte 0, texel 0,0,0",
        ],
        everywhere: false,
    },
    Shader {
        name: "arrays of descriptors",
        glsl: "#version 460
            #extension GL_EXT_nonuniform_qualifier : require
            layout(local_size_x = 16) in;
            layout(set = 0, binding = 0) buffer B { uint x[4]; } b[3];
            layout(set = 1, binding = 1) uniform U { uint x; } u[3];
            layout(set = 1, binding = 2, r32ui) uniform uimage1D stored[2];
            layout(set = 1, binding = 3) uniform usampler2D fetched[3];
            void main() {
                uint i = gl_LocalInvocationIndex;
                uint x = texelFetch(fetched[nonuniformEXT(i % 3u)], ivec2(i, 0), 0).x;
                if (i < 12u) b[nonuniformEXT(i / 4u)].x[i % 4u] += u[2].x + x;
                imageStore(stored[nonuniformEXT(i & 1u)], int(i), uvec4(i + 100u));
            }",
        args: &[
            "--buffer", "0.0[1]=ramp:4", "--buffer", "1.1=zeros:16", "--buffer", "1.1[2]=random:3:16", "--image",
            "1.2=16", "--image", "1.3=16x1", "--buffer", "1.3[1]=ramp:64",
        ],
        left: &[
            "set 0 binding 0, byte 0",
            "set 0 binding 0 element 1, byte 0",
            "set 0 binding 0 element 2, byte 0",
            "set 1 binding 2, byte 0, texel 0,0,0",
            "set 1 binding 2 element 1, byte 0, texel 0,0,0",
        ],
        everywhere: false,
    },
    Shader {
        name: "run-time arrays of descriptors",
        glsl: "#version 460
            #extension GL_EXT_nonuniform_qualifier : require
            layout(local_size_x = 16) in;
            layout(set = 0, binding = 0) buffer B { uint x[4]; } b[];
            layout(set = 1, binding = 1, r32ui) uniform readonly uimage1D images[];
            void main() {
                uint i = gl_LocalInvocationIndex;
                b[nonuniformEXT(i / 4u)].x[i % 4u] += imageLoad(images[nonuniformEXT(i % 2u)], int(i)).x + i;
                if (i == 0u) b[4].x[3] = 7u;
            }",
        args: &["--descriptors", "0.0=5", "--image", "1.1=16", "--buffer", "1.1[1]=ramp:16"],
        left: &[
            "set 0 binding 0, byte 0",
            "set 0 binding 0 element 1, byte 0",
            "set 0 binding 0 element 2, byte 0",
            "set 0 binding 0 element 3, byte 0",
            "set 0 binding 0 element 4, byte 0",
        ],
        everywhere: false,
    },
    Shader {
        name: "buffers at device addresses",
        glsl: "#version 460
            #extension GL_EXT_buffer_reference : require
            #extension GL_EXT_buffer_reference_uvec2 : require
            #extension GL_EXT_scalar_block_layout : require
            layout(local_size_x = 3) in;
            layout(buffer_reference, scalar) buffer Words { uint first; uvec3 x; };
            layout(push_constant) uniform Push { Words to; };
            layout(set = 5, binding = 5, scalar) buffer In { uint one; uvec2 from; uvec2 copy; };
            void main() {
                to.x[gl_LocalInvocationIndex] = Words(from).x[gl_LocalInvocationIndex] * one;
                if (gl_LocalInvocationIndex == 0u) copy = uvec2(to);
            }",
        args: &[
            "--push", "push.bin", "--buffer", "5.5=in.bin", "--memory", "0x7f0000000000=ramp:4", "--memory",
            "0x7f0000001000=ramp:4",
        ],
        left: &["set 5 binding 5, byte 0", "address 0x7f0000000000, byte 0", "address 0x7f0000001000, byte 0"],
        everywhere: false,
    },
];

/// A folder with the shader, and the contents that the arguments name.
fn folder(glsl: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    // Lower halves first: the address of one buffer, and what the other shaders do not read.
    for (name, contents) in [
        ("shader.comp", glsl.as_bytes().to_vec()),
        ("push.bin", words(&[0x1000, 0x7f00])),
        ("in.bin", words(&[3, 0, 0x7f00, 0, 0])),
    ] {
        std::fs::write(folder.path().join(name), contents).expect("it is written");
    }
    folder
}

fn judge(folder: &Path, args: &[&str]) -> Command {
    let mut command = tangle(["judge", "shader.comp"].iter().chain(args));
    command.current_dir(folder);
    command
}

/// Names of the Vulkan devices that run what they compile.
fn vulkan_devices() -> BTreeSet<String> {
    let all = run(["devices", "--json"]).json();
    let infos = all["devices"].as_array().cloned().unwrap_or_default();
    let is_one = |info: &&Value| info["mode"] == "execute" && info["opengl"].is_null() && info["webgpu"].is_null();
    infos.iter().filter(is_one).map(|info| text(&info["name"])).collect()
}

#[test]
fn devices_leave_what_is_right() {
    // At another vector width a driver has the same bindings.
    let devices: Vec<String> = vulkan_devices().into_iter().filter(|name| !name.contains("-w")).collect();
    if devices.is_empty() {
        note!("no Vulkan driver: images, arrays of descriptors and device addresses are tried on the interpreter only");
    }
    let quick = quick_device().map(|device| device.name.clone());
    let moves: BTreeSet<&str> = crate::common::devices().iter().filter(|d| d.moves).map(|d| d.name.as_str()).collect();
    for Shader { name, glsl, args, left, everywhere } in &SHADERS {
        let folder = folder(glsl);
        let names = devices.iter().map(String::as_str).chain(["interpreter@8"]);
        let named: Vec<&str> = names.flat_map(|name| ["--device", name]).collect();
        let ran = finish(judge(folder.path(), &[*args, &named, &["--json"]].concat()));
        assert!([0, 1].contains(&ran.code()), "{name}: {ran}");
        let results = ran.json()["devices"].as_array().cloned().unwrap_or_default();
        assert_eq!(results.len(), devices.len() + 1, "{name}: {ran}");
        let mut right = BTreeSet::new();
        for result in &results {
            let device = text(&result["device"]);
            match result["result"].as_str() {
                Some("right") => {
                    assert!(number(&result["words"]["compared"]) > 0, "{name}: nothing was compared: {result}");
                    right.insert(device);
                }
                // What is found there today is no fault of tangle's.
                _ if moves.contains(device.as_str()) => note!("{name} on {device}: {result}"),
                _ => {
                    let what = result["what"].as_str().unwrap_or_default();
                    assert!(
                        what.starts_with("not supported: ") && !what.contains('\n'),
                        "{name} on {device}: {result}"
                    );
                    assert!(!everywhere, "{name}: every device can: {result}");
                    note!("{name} on {device}: {what}");
                }
            }
        }
        assert!(right.contains("interpreter@8"));
        note!("{name}: right on {} of {} Vulkan devices", right.len() - 1, devices.len());
        // A changed bit in each buffer, one by one, where the processor reads what shaders write, and where it is copied.
        let Some(device) =
            quick.iter().chain(&right).find(|device| devices.contains(*device) && right.contains(*device))
        else {
            continue;
        };
        for (number, place) in left.iter().enumerate() {
            let mut command = judge(folder.path(), &[*args, &["--device", device]].concat());
            command.env("TANGLE_WORKER_FAULT", format!("flip.{number}@1"));
            let wrong = finish(command).expect(1).stdout;
            assert!(
                wrong.contains("wrong: 1 of ") && wrong.contains(&format!("{place}: ")),
                "{name}, {place}: {wrong}"
            );
        }
    }
}

/// Lanes write through each kind of resource who is elected.
const ELECTED: &str = "#version 460
    #extension GL_KHR_shader_subgroup_basic : require
    #extension GL_EXT_buffer_reference : require
    layout(local_size_x = 64) in;
    layout(buffer_reference, std430) buffer Words { uint x[64]; };
    layout(push_constant) uniform Push { Words words; };
    layout(set = 0, binding = 0) buffer Elements { uint x[64]; } elements[2];
    layout(set = 1, binding = 0, r8ui) uniform uimage2D image;
    void main() {
        uint i = gl_LocalInvocationIndex;
        uint elected = subgroupElect() ? 1u : 0u;
        RESULT
    }";

/// What a folder of a finding says, and what is made of it, whatever the fault shows in.
#[test]
fn planted_faults_are_found_saved_and_made_small() {
    let kinds = [
        (
            "imageStore(image, ivec2(i % 16u, i / 16u), uvec4(elected));",
            "set 1 binding 0, byte 0, texel 0,0,0: 0x1 -> 0x0",
        ),
        ("elements[1].x[i] = elected;", "set 0 binding 0 element 1, byte 0: 0x1 -> 0x0"),
        ("words.x[i] = elected;", "address 0x7f0000001000, byte 0: 0x1 -> 0x0"),
    ];
    for (result, place) in kinds {
        let folder = folder(&ELECTED.replace("RESULT", result));
        let args = [
            "--push",
            "push.bin",
            "--memory",
            "0x7f0000001000=zeros:256",
            "--image",
            "1.0=16x4",
            "--buffer",
            "0.0[1]=random:9:256",
        ];
        let on = |device: &str, more: &[&str]| {
            finish(judge(folder.path(), &[&args[..], &["--device", device], more].concat()))
        };
        assert!(on("interpreter@16", &[]).expect(0).stdout.contains("right: "));
        let faulty = "interpreter:elect_highest@16";
        let wrong = on(faulty, &["--save", "saved"]).expect(1).stdout;
        assert!(wrong.contains(place) && wrong.contains("first wrong step: "), "{wrong}");
        assert!(wrong.contains("by lanes 0xffff of subgroup 0"), "{wrong}");
        let finding = folder.path().join("saved/judge-interpreter-elect-highest-16");
        // The command in it shows the same.
        let command = text(&read_json(&finding.join("judge.json"))["command"]);
        let words: Vec<String> = command.split(' ').skip(1).map(|word| word.replace('\'', "")).collect();
        let mut again = tangle(&words);
        again.current_dir(&finding);
        assert!(finish(again).expect(1).stdout.contains(place), "{command}");
        let path = |path: &Path| path.to_str().expect("a path").to_owned();
        let minimized = run(["minimize", &path(&finding), "--time", "20s"]).expect(0).stdout;
        assert!(minimized.contains("OpGroupNonUniformElect") && minimized.contains("wrong:"), "{minimized}");
        let small = finding.join("minimized");
        let exported = folder.path().join("exported");
        let said = run(["export", &path(&small), "--out", &path(&exported)]).expect(0).stdout;
        assert!(said.lines().last().is_some_and(|line| line.starts_with("module.amber is left out: ")), "{said}");
        let files: Vec<String> = tree(&exported).iter().map(|file| file.display().to_string()).collect();
        for file in ["README.md", "buffer-0.0.1.bin", "memory-0x7f0000001000.bin", "module.spv", "push.bin"] {
            assert!(files.iter().any(|known| known == file), "{file} is not among {files:?}");
        }
        assert!(!files.iter().any(|file| file == "module.amber"));
        let page = folder.path().join("page.html");
        run(["report", &path(&small), "--out", &path(&page)]).expect(0);
        assert!(read(&page).contains(place.split(": ").next().expect("a place")), "{place}");
    }
}

/// What is rounded is open, and nothing is right where nothing was compared.
#[test]
fn a_device_is_not_right_where_all_is_open() {
    let folder = folder(
        "#version 450
        layout(local_size_x = 16) in;
        layout(binding = 0, rgba32f) uniform image2D image;
        void main() { ivec2 at = ivec2(gl_LocalInvocationID.xy); imageStore(image, at, sqrt(imageLoad(image, at) + 2.0)); }",
    );
    let ran = finish(judge(folder.path(), &["--image", "0.0=16x1", "--device", "interpreter@8"]));
    assert!(ran.stdout.contains("nothing compared: all of 64 words are left open"), "{ran}");
    ran.fails_with(&["nothing that it leaves is determined"]);
}

/// What devices cannot be asked to do is said in one line, before one is.
#[test]
fn what_is_not_run_on_devices_is_named() {
    let refused: [(&str, &[&str], &str); 9] = [
        (
            "layout(binding = 0) uniform sampler2DShadow s; layout(binding = 1) buffer O { float o; };
             void main() { o = textureLod(s, vec3(0), 0.0); }",
            &[],
            "depth comparison",
        ),
        (
            "layout(binding = 0) uniform sampler2DMS s; layout(binding = 1) buffer O { float o; };
             void main() { o = texelFetch(s, ivec2(0), 0).x; }",
            &[],
            "multisampled images",
        ),
        (
            "layout(binding = 0) uniform samplerCube s; layout(binding = 1) buffer O { int o; };
             void main() { o = textureSize(s, 0).x; }",
            &["--image", "0.0=4x5"],
            "not square",
        ),
        (
            "layout(binding = 0, r32ui) uniform uimage2D s; void main() { imageStore(s, ivec2(0), uvec4(1)); }",
            &["--image", "0.0=4x5x6"],
            "more dimensions than its type",
        ),
        (
            "layout(binding = 0, r8ui) uniform uimageBuffer s; void main() { imageStore(s, 0, uvec4(1)); }",
            &["--image", "0.0=5"],
            "no whole words",
        ),
        (
            "layout(constant_id = 1) const double d = 1.0LF; layout(binding = 1) buffer O { double o; };
             void main() { o = d; }",
            &[],
            "specialisation constants of 64 bits",
        ),
        (
            "shared S { uint x; } s; layout(binding = 1) buffer O { uint o; }; void main() { s.x = 1u; o = s.x; }",
            &[],
            "the capability WorkgroupMemoryExplicitLayoutKHR",
        ),
        // The address is put together of halves that stand apart.
        (
            "layout(buffer_reference, std430) buffer Words { uint x; };
             layout(binding = 0) buffer In { uint high; uint low; }; void main() { Words(uvec2(low, high)).x = 1u; }",
            &["--buffer", "0.0=apart.bin", "--memory", "0x7f0000001000=zeros:4"],
            "an address has to stand among the inputs",
        ),
        (
            "layout(binding = 0) buffer In { uint x; }; void main() { x = 1u; }",
            &["--memory", "0x10=zeros:16", "--memory", "0x18=zeros:16"],
            "begins before the one before it ends",
        ),
    ];
    for (body, args, says) in refused {
        let extensions = ["GL_EXT_buffer_reference", "GL_EXT_buffer_reference_uvec2", "GL_EXT_shared_memory_block"];
        let extensions: String = extensions.iter().map(|name| format!("#extension {name} : enable\n")).collect();
        let folder = folder(&format!("#version 460\n{extensions}layout(local_size_x = 1) in;\n{body}"));
        let apart: Vec<u8> = [0x7f00_u32, 0x1000].iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(folder.path().join("apart.bin"), apart).expect("it is written");
        finish(judge(folder.path(), &[args, &["--device", "interpreter@8"]].concat())).fails_with(&[says]);
    }
}
