//! What a module costs: to read and decode it, and to run it. Compilers are not counted. Times are processor time of the thread, so that a busy machine
//! does not change them much.

use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tangle_analysis::cost::log_stride;
use tangle_generator::{Config, from_seed};
use tangle_interpreter::{Buffer, Dispatch, LaneMap, Limits, Module, Pipeline, PipelineOptions};
use tangle_program::case::interface::{ARRAYS, INPUTS, LOG, MAP, MAP_WORDS, UNIFORMS};
use tangle_program::case::{Case, SpirvVersion, Tier};
use tangle_program::memory::buffer_bytes;
use tangle_runner::{thread_time, toolchain};

// As in the `tangle` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Different cases, so that no one of them decides the figure.
const CASES: u64 = 64;
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

fn dispatch(case: &Case) -> Dispatch {
    let entry = &case.entry_point;
    let n = entry.invocations() as usize;
    let inputs = (0..n).flat_map(|i| case.data.inputs.iter().map(move |input| input.get(i).copied().unwrap_or(0)));
    let mut uniforms = case.data.uniforms.clone();
    uniforms.resize(uniforms.len().next_multiple_of(4), 0);
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let buffer = |binding, bytes| Buffer { binding, bytes, ..Buffer::default() };
    let arrays = buffer_bytes(&case.program.shared, entry.groups());
    Dispatch {
        workgroups: entry.workgroups().count,
        lane_map: LaneMap::linear(entry.group_size(), SIZE),
        buffers: vec![
            buffer(INPUTS, bytes(&inputs.collect::<Vec<_>>())),
            buffer(UNIFORMS, bytes(&uniforms)),
            buffer(MAP, vec![0; n * MAP_WORDS * 4]),
            buffer(LOG, vec![0; n * log_stride(case) as usize * 4]),
            buffer(ARRAYS, vec![0; arrays.next_multiple_of(4) as usize]),
        ],
        push: bytes(&case.data.push),
        limits: Limits::default(),
    }
}

fn pipeline(case: &Case, words: &[u32]) -> Pipeline {
    let specialization = case.specialization().into_iter().map(|(id, value)| (id, u64::from(value))).collect();
    let options = PipelineOptions { specialization, ..PipelineOptions::default() };
    let module = Module::parse(words).expect("a module");
    Pipeline::new(&module, &options).expect("supported")
}

fn benches(criterion: &mut Criterion<ProcessorTime>) {
    let mut group = criterion.benchmark_group("module");
    group.throughput(Throughput::Elements(CASES));
    group.sample_size(10);
    for tier in Tier::ALL {
        let config = Config { tier, max_subgroup_size: SIZE, ..Config::default() };
        let cases: Vec<(Case, Vec<u32>, Dispatch)> = (0..CASES)
            .map(|seed| {
                let case = from_seed(seed, &config);
                let glsl = tangle_emit::glsl::glsl(&case);
                let words = toolchain::compile(&glsl, case.entry_point.spirv).expect("it compiles");
                let dispatch = dispatch(&case);
                (case, words, dispatch)
            })
            .collect();
        group.bench_function(BenchmarkId::new("decode", tier.name()), |bencher| {
            bencher.iter(|| {
                cases.iter().map(|(case, words, _)| pipeline(case, words).interface().bindings.len()).sum::<usize>()
            });
        });
        let pipelines: Vec<Pipeline> = cases.iter().map(|(case, words, _)| pipeline(case, words)).collect();
        let run = |(pipeline, (.., dispatch)): (&Pipeline, &(_, _, Dispatch))| pipeline.run(dispatch);
        let steps: u64 = pipelines.iter().zip(&cases).filter_map(|one| Some(run(one).ok()?.steps)).sum();
        println!("{}: {} instructions in each program, for all lanes together", tier.name(), steps / CASES);
        group.bench_function(BenchmarkId::new("run", tier.name()), |bencher| {
            bencher.iter(|| {
                let runs = pipelines.iter().zip(&cases).map(run);
                runs.map(|outcome| outcome.map_or(0, |outcome| outcome.steps)).sum::<u64>()
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
    let words = toolchain::compile(glsl, SpirvVersion::V1_6).expect("it compiles");
    let module = Module::parse(&words).expect("a module");
    let pipeline = Pipeline::new(&module, &PipelineOptions::default()).expect("supported");
    let mut group = criterion.benchmark_group("iterations");
    group.sample_size(10);
    for iterations in [100u32, 1_000, 10_000, 100_000] {
        let dispatch = Dispatch {
            workgroups: [1, 1, 1],
            lane_map: LaneMap::linear(64, SIZE),
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
criterion_main!(all);
