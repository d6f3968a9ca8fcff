//! How fast cases are made.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tangle_generator::{Config, Profile, from_seed};

fn generate(c: &mut Criterion) {
    let mut group = c.benchmark_group("generate");
    group.throughput(Throughput::Elements(1));
    for (profile, _) in Profile::ALL {
        let config = Config { profile, ..Config::default() };
        let mut seed = 0;
        group.bench_function(profile.name(), |b| {
            b.iter(|| {
                seed += 1;
                black_box(from_seed(seed, &config))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, generate);
criterion_main!(benches);
