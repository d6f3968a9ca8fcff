//! What a module costs: to read and decode it, to run it, and both, each time anew. Compilers are not counted. Times are processor time of the thread, so that a busy machine
//! does not change them much.

use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use tangle_generator::{Config, from_seed};
use tangle_interpreter::{Buffer, Dispatch, Draw, LaneMap, Limits, Module, Pipeline, PipelineOptions};
use tangle_program::case::{Case, SpirvVersion, Tier};
use tangle_runner::{thread_time, toolchain};

#[path = "../tests/common/mod.rs"]
mod common;

// As in the `tangle` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Different cases, so that no one of them decides the figure: of 64 one with 1,000 invocations was two fifths of all.
const CASES: u64 = 256;
/// Instructions of a program that is left out: one of 40 has a loop of 65,530 iterations, and would be all that is measured.
const LONG: u64 = 100_000;
/// Lanes of a subgroup.
const SIZE: u32 = 32;

/// Processor time in place of time on the clock.
struct ProcessorTime;

impl Measurement for ProcessorTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        thread_time()
    }

    fn end(&self, started: Duration) -> Duration {
        thread_time().saturating_sub(started)
    }

    fn add(&self, first: &Duration, second: &Duration) -> Duration {
        *first + *second
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

fn pipeline(case: &Case, words: &[u32]) -> Pipeline {
    let module = Module::parse(words).expect("a module");
    Pipeline::new(&module, &common::options(case)).expect("supported")
}

fn benches(criterion: &mut Criterion<ProcessorTime>) {
    let mut group = criterion.benchmark_group("module");
    group.sample_size(10);
    for tier in Tier::ALL {
        let config = Config { tier, max_subgroup_size: SIZE, ..Config::default() };
        let run =
            |pipeline: &Pipeline, dispatch: &Dispatch| pipeline.run(dispatch).expect("a dispatch that fits").steps;
        let cases: Vec<(Case, Vec<u32>, Dispatch)> = (0..CASES)
            .filter_map(|seed| {
                let case = from_seed(seed, &config);
                // glslang dies of some programs (known/glslang-precise-member-of-struct.toml).
                let words = toolchain::make(&tangle_emit::glsl::glsl(&case), case.entry_point.spirv, &[]).ok()?;
                let dispatch = common::dispatch(&case, LaneMap::linear(case.entry_point.group_size(), SIZE));
                Some((case, words, dispatch))
            })
            .filter(|(case, words, dispatch)| run(&pipeline(case, words), dispatch) < LONG)
            .collect();
        group.throughput(Throughput::Elements(cases.len() as u64));
        group.bench_function(BenchmarkId::new("decode", tier.name()), |bencher| {
            bencher.iter(|| {
                cases.iter().map(|(case, words, _)| pipeline(case, words).interface().bindings.len()).sum::<usize>()
            });
        });
        let pipelines: Vec<Pipeline> = cases.iter().map(|(case, words, _)| pipeline(case, words)).collect();
        let run_all =
            || pipelines.iter().zip(&cases).map(|(pipeline, (.., dispatch))| run(pipeline, dispatch)).sum::<u64>();
        let (count, steps) = (cases.len() as u64, run_all());
        println!("{}: {count} programs, {} instructions in each, for all lanes together", tier.name(), steps / count);
        group.bench_function(BenchmarkId::new("run", tier.name()), |bencher| {
            bencher.iter(run_all);
        });
        group.bench_function(BenchmarkId::new("both", tier.name()), |bencher| {
            bencher.iter(|| {
                cases.iter().map(|(case, words, dispatch)| run(&pipeline(case, words), dispatch)).sum::<u64>()
            });
        });
    }
    group.finish();
}

/// One program with more and more iterations: what an instruction costs must not depend on how many there are.
fn sizes(criterion: &mut Criterion<ProcessorTime>) {
    let glsl = "#version 450
        #extension GL_KHR_shader_subgroup_arithmetic : require
        layout(local_size_x = 64) in;
        layout(push_constant) uniform Push { uint n; };
        layout(set = 0, binding = 0) buffer Out { uint words[]; };
        void main() {
            uint x = gl_LocalInvocationIndex;
            for (uint i = 0u; i < n; i++) {
                if ((x & 1u) == 0u) { x = x * 3u + subgroupAdd(x); } else { x = (x >> 1u) ^ i; }
            }
            words[gl_LocalInvocationIndex] = x;
        }";
    let words = toolchain::make(glsl, SpirvVersion::V1_6, &[]).expect("it compiles");
    let module = Module::parse(&words).expect("a module");
    let pipeline = Pipeline::new(&module, &PipelineOptions::default()).expect("supported");
    let mut group = criterion.benchmark_group("iterations");
    group.sample_size(10);
    for iterations in [100u32, 1_000, 10_000, 100_000] {
        let dispatch = Dispatch {
            workgroups: [1, 1, 1],
            lane_map: LaneMap::linear(64, SIZE),
            draw: Draw::default(),
            buffers: vec![Buffer { bytes: vec![0; 256], ..Buffer::default() }],
            push: iterations.to_le_bytes().to_vec(),
            limits: Limits::default(),
        };
        let steps = pipeline.run(&dispatch).map_or(0, |outcome| outcome.steps);
        group.throughput(Throughput::Elements(steps));
        group.bench_function(BenchmarkId::from_parameter(iterations), |bencher| {
            bencher.iter(|| pipeline.run(&dispatch).map_or(0, |outcome| outcome.steps));
        });
    }
    group.finish();
}

criterion_group! {
    name = all;
    config = Criterion::default().with_measurement(ProcessorTime);
    targets = benches, sizes
}

fn main() {
    // The compilers are this program, started again.
    tangle_runner::worker::run_if_requested();
    all();
    Criterion::default().configure_from_args().final_summary();
}
