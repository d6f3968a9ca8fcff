//! What `tangle fuzz --stats` prints: what was compared, where time went, how often each construct and operation was generated and checked.

use tangle_generator::stats::Construct;
use tangle_program::subgroup::TABLE;
use tangle_report::statistics::Statistics;
use tangle_report::text::thousands;
use tangle_runner::toolchain;

use super::output::{OutputError, put};

/// Prints what was compared and where the time went, for each device.
pub fn print_counts(statistics: &Statistics) -> Result<(), OutputError> {
    for (name, device) in &statistics.devices {
        let (counts, times) = (device.counts, device.times);
        put(format_args!(
            "\n{name}: {} values tainted, {} skipped; {} steps checked; {:.0} % of the log sites reached\n",
            thousands(counts.tainted),
            thousands(counts.skipped),
            thousands(counts.steps),
            100.0 * counts.sites_reached as f64 / counts.sites.max(1) as f64
        ))?;
        put(format_args!(
            "  {} values logged under divergence, {:.0} % of them checked; {} values checked by the tangles observed\n",
            thousands(counts.divergent),
            100.0 * counts.divergent_checked as f64 / counts.divergent.max(1) as f64,
            thousands(counts.observed)
        ))?;
        put(format_args!(
            "  seconds: generate {:.1}, compile {:.1}, driver {:.1} ({:.0} % of the workers' {:.1}), judge {:.1}, save {:.1}\n",
            times.generate,
            times.compile,
            times.driver,
            100.0 * times.driver_share(),
            times.worker,
            times.judge,
            times.save
        ))?;
    }
    match toolchain::slow() {
        0 => Ok(()),
        slow => put(format_args!(
            "\n{} programs were slow in the compiler or the optimiser, and done with more time\n",
            thousands(slow)
        )),
    }
}

/// Prints how often each construct was generated, and each operation ran and was checked.
pub fn print_operations(statistics: &Statistics) -> Result<(), OutputError> {
    put(format_args!("\n{:22} {:66} {:>12}\n", "construct", "", "generated"))?;
    for &construct in Construct::ALL {
        let count = thousands(statistics.generated.construct(construct));
        put(format_args!("{:22} {:66} {count:>12}\n", construct.name(), construct.about()))?;
    }
    put(format_args!(
        "\n{:32} {:>10} {:>14} {:>14} {:>14} {:>14}\n",
        "operation", "generated", "lanes, full", "lanes, partial", "checked, full", "checked, part."
    ))?;
    for info in &TABLE {
        let used = statistics.operations.get(info.name).copied().unwrap_or_default();
        put(format_args!(
            "{:32} {:>10} {:>14} {:>14} {:>14} {:>14}\n",
            info.name,
            thousands(statistics.generated.operation(info.op)),
            thousands(used.executed_full),
            thousands(used.executed_partial),
            thousands(used.checked_full),
            thousands(used.checked_partial)
        ))?;
    }
    Ok(())
}
