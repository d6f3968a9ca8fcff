//! Measures jobs per second and the driver's share of the time on a device:
//!
//! ```text
//!     cargo run --release -p tangle-runner --example throughput -- lvp 200
//! ```
//!
//! Every job is a program that the driver has not seen: 60 lines, 64 invocations, a log slice of 256 words each.

use std::time::Instant;

use tangle_runner::{
    Buffer, BufferKind, Device, DeviceOptions, Init, Inventory, Job, Launch, Outcome, ProbeOptions, ReadBackMode,
    SpirvVersion, Times, drivers, toolchain, worker,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    worker::run_if_requested();
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "lvp".to_owned());
    let count: u64 = arguments.next().map_or(Ok(200), |count| count.parse())?;
    let slice: u32 = arguments.next().map_or(Ok(256), |words| words.parse())?;

    let begin = Instant::now();
    let inventory = Inventory::probe(&drivers(None)?, &ProbeOptions::default());
    println!("{} drivers probed in {:.0?}; {}", inventory.probes.len(), begin.elapsed(), toolchain::version());
    let (driver, info) = inventory.device(&name)?;
    println!("{}: {}, {}", info.name, info.device_name, info.driver_info);
    let device = Device::open(driver, info.index, &DeviceOptions::default())?;

    let begin = Instant::now();
    let modules: Vec<_> = (0..count).map(|seed| toolchain::compile(&shader(seed, slice), SpirvVersion::V1_3)).collect();
    println!("compiled: {:.0} modules/s", count as f64 / begin.elapsed().as_secs_f64());

    let begin = Instant::now();
    let mut sum = Times::default();
    std::thread::scope(|scope| -> Result<(), Box<dyn std::error::Error>> {
        scope.spawn(|| {
            for (id, module) in modules.into_iter().enumerate() {
                module.into_iter().for_each(|spirv| device.submit(job(id as u64, spirv, slice)));
            }
        });
        for _ in 0..count {
            match device.results().recv()?.outcome {
                Outcome::Completed(completed) => add(&mut sum, &completed.times),
                other => println!("{other}"),
            }
        }
        Ok(())
    })?;
    let wall = begin.elapsed();
    let stats = device.stats();
    println!(
        "{:.1} jobs/s; {:.2} ms a job, of which in the driver {:.1} %",
        count as f64 / wall.as_secs_f64(),
        wall.as_secs_f64() * 1000.0 / count as f64,
        stats.driver_share() * 100.0
    );
    println!("mean, µs: {:?}", mean(&sum, count));
    Ok(())
}

fn job(id: u64, spirv: Vec<u32>, slice: u32) -> Job {
    let buffer = |binding, init, read_back| Buffer { binding, kind: BufferKind::Storage, init, read_back };
    let launch = Launch {
        groups: [1, 1, 1],
        buffers: vec![
            buffer(0, Init::Zero { words: 64 * u64::from(slice) }, ReadBackMode::Slices(slice)),
            buffer(1, Init::Data((0..64).collect()), ReadBackMode::None),
        ],
        ..Launch::default()
    };
    Job { id, spirv, launches: vec![launch], ..Job::default() }
}

fn add(sum: &mut Times, times: &Times) {
    sum.module_us += times.module_us;
    sum.pipeline_us += times.pipeline_us;
    sum.prepare_us += times.prepare_us;
    sum.submit_wait_us += times.submit_wait_us;
    sum.read_back_us += times.read_back_us;
    sum.cleanup_us += times.cleanup_us;
    sum.total_us += times.total_us;
    sum.processor_us += times.processor_us;
}

fn mean(sum: &Times, count: u64) -> Times {
    Times {
        module_us: sum.module_us / count,
        pipeline_us: sum.pipeline_us / count,
        prepare_us: sum.prepare_us / count,
        submit_wait_us: sum.submit_wait_us / count,
        read_back_us: sum.read_back_us / count,
        cleanup_us: sum.cleanup_us / count,
        total_us: sum.total_us / count,
        processor_us: sum.processor_us / count,
    }
}

/// A program of divergent branches, loops and subgroup operations that differs with its seed.
fn shader(seed: u64, slice: u32) -> String {
    let mut body = String::new();
    for block in 0..6 {
        let odd = seed.wrapping_mul(0x9e37_79b9).wrapping_add(block * 77) % 251 + 2;
        body.push_str(&format!(
            "    if ((x % {odd}u) > {block}u) {{
        x += subgroupAdd(x & 0xffu);
        log_value(x);
        for (uint i = 0u; i < (inputs[gl_LocalInvocationIndex] & 7u); i++) {{
            x = x * {odd}u + subgroupBallot((x & 1u) == 0u).x;
            if ((x & 15u) == {block}u) break;
        }}
    }} else {{
        x ^= subgroupMax(x) + {odd}u;
        log_value(subgroupBallotBitCount(subgroupBallot(x > {odd}u)));
    }}
"
        ));
    }
    format!(
        "#version 460
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Log {{ uint words[]; }};
layout(set = 0, binding = 1) readonly buffer Input {{ uint inputs[]; }};
uint cursor = 0u;
void log_value(uint value) {{ words[gl_LocalInvocationIndex * {slice}u + cursor++] = value; }}
void main() {{
    uint x = inputs[gl_LocalInvocationIndex] + {seed}u;
{body}    log_value(x);
}}
"
    )
}
