//! What a driver's compiler makes of a case, up to where it dies: for findings, so that a driver engineer sees the machine code.
//!
//! Mesa's drivers print it on standard error when a variable asks for it; the case is run once more, by a worker of its own.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use tangle_runner::{Device, DriverConfig, Options};

use crate::prepare::{Prepared, job};
use crate::target::{Backend, Target};

/// Beginning of `driverName`, and the variable that has the driver print.
/// Source: Mesa, `docs/envvars.rst` and the drivers' own lists of debug options.
const PRINTS: [(&str, &str, &str); 6] = [
    ("radv", "RADV_DEBUG", "shaders"),
    ("NVK", "NAK_DEBUG", "print"),
    ("turnip", "IR3_SHADER_DEBUG", "cs,disasm"),
    ("Intel open-source Mesa driver", "INTEL_DEBUG", "cs"),
    ("Honeykrisp", "AGX_MESA_DEBUG", "shaders"),
    ("llvmpipe", "GALLIVM_DEBUG", "asm"),
];

/// Name of the file in a finding's folder.
pub const FILE: &str = "isa.txt";

/// Longest dump that is kept, bytes.
const LONGEST: u64 = 8 << 20;

/// Longest time for the case.
const LIMIT: Duration = Duration::from_secs(10);

/// Writes what the driver prints of a case to `isa.txt` in a folder; nothing where the driver prints nothing. Best effort: a finding
/// without it is a finding.
pub fn dump(target: &Target, prepared: &Prepared, folder: &Path) {
    let Backend::Vulkan(workers) = &target.backend else { return };
    let device = workers.first();
    let Some(driver) = printing(device.driver(), &device.info().driver_name) else { return };
    let partial = folder.join(format!(".{FILE}"));
    let options = Options { timeout: Some(LIMIT), stderr: Some(partial.clone()), ..device.options().clone() };
    if let Ok(device) = Device::open(&driver, device.info().index, &options) {
        let _ = device.run(job(prepared, 0));
    }
    let mut text = Vec::new();
    let read = fs::File::open(&partial).and_then(|file| file.take(LONGEST).read_to_end(&mut text));
    if read.is_ok() && !text.is_empty() {
        let _ = fs::write(folder.join(FILE), text);
    }
    let _ = fs::remove_file(partial);
}

/// The driver's entry, changed so that it prints.
fn printing(driver: &DriverConfig, driver_name: &str) -> Option<DriverConfig> {
    // Standard error of another machine does not come here.
    let row = PRINTS.iter().find(|(name, ..)| !driver.is_remote() && driver_name.trim().starts_with(name));
    let (_, variable, value) = row?;
    let mut driver = driver.clone();
    let own = driver.env.entry((*variable).into()).or_default();
    *own = [own.as_str(), value].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(",");
    Some(driver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_prints_and_keeps_its_own_options() {
        let mut driver = DriverConfig::from_manifest("radv", Path::new("/radv.json"));
        driver.env.insert("RADV_DEBUG".into(), "llvm".into());
        assert_eq!(
            printing(&driver, "radv").map(|driver| driver.env["RADV_DEBUG"].clone()),
            Some("llvm,shaders".into())
        );
        assert_eq!(printing(&driver, "NVK ").map(|driver| driver.env["NAK_DEBUG"].clone()), Some("print".into()));
        assert_eq!(printing(&driver, "SwiftShader driver"), None);
        driver.remote = vec!["ssh".into()];
        assert_eq!(printing(&driver, "radv"), None);
    }
}
