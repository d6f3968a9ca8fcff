//! What a case costs before any driver sees it: generate, and predict for linear subgroups of several sizes.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tangle_generator::{Config, from_seed};
use tangle_oracle::map::LaneMap;
use tangle_oracle::predict::predict;
use tangle_program::case::Tier;

// As in the `tangle` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Different cases, so that no one of them decides the figure.
const CASES: u64 = 256;

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("case");
    group.throughput(Throughput::Elements(CASES));
    group.sample_size(20);
    for tier in Tier::ALL {
        let config = Config { tier, ..Config::default() };
        group.bench_function(BenchmarkId::new("generate", tier.name()), |bencher| {
            bencher.iter(|| (0..CASES).map(|seed| from_seed(seed, &config).program.functions.len()).sum::<usize>());
        });
        let cases: Vec<_> = (0..CASES).map(|seed| from_seed(seed, &config)).collect();
        for size in [4, 8, 32] {
            group.bench_function(BenchmarkId::new(format!("predict/{}", tier.name()), size), |bencher| {
                bencher.iter_batched(
                    || cases.iter().map(|case| LaneMap::linear(case, size)).collect::<Vec<_>>(),
                    |maps| cases.iter().zip(&maps).filter(|(case, map)| predict(case, map).is_ok()).count(),
                    BatchSize::LargeInput,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
