//! What a case costs on this side of the drivers, stage by stage. `oracle/benches/predict.rs` has the stages before the toolchain.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tangle_analysis::validate::validate;
use tangle_campaign::prepare::prepare;
use tangle_emit::glsl::glsl;
use tangle_generator::{Config, from_seed};
use tangle_oracle::judge::judge;
use tangle_oracle::map::{LaneMap, SubgroupPromise};
use tangle_oracle::reference::observe;
use tangle_oracle::rules::Spec;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Different cases, so that no one of them decides the figure.
const CASES: u64 = 64;

fn benches(criterion: &mut Criterion) {
    let cases: Vec<_> = (0..CASES).map(|seed| from_seed(seed, &Config::default())).collect();
    let mut group = criterion.benchmark_group("pipeline");
    group.throughput(Throughput::Elements(CASES));
    group.sample_size(10);
    group.bench_function("validate", |bencher| {
        bencher.iter(|| cases.iter().filter(|case| validate(case).is_ok()).count());
    });
    group.bench_function("print", |bencher| bencher.iter(|| cases.iter().map(|case| glsl(case).len()).sum::<usize>()));
    group.bench_function("print, compile and validate SPIR-V", |bencher| {
        bencher.iter(|| cases.iter().filter(|case| prepare((*case).clone()).is_ok()).count());
    });
    let promise = SubgroupPromise::vulkan(8, 4, 128);
    let observed: Vec<_> =
        cases.iter().filter_map(|case| Some((case, observe(case, &LaneMap::linear(case, 8), || Spec).ok()?))).collect();
    group.bench_function("judge", |bencher| {
        bencher.iter(|| observed.iter().map(|(case, seen)| judge(case, seen, promise).counts.checked).sum::<u64>());
    });
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
